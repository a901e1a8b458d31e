//! `remember` and `forget`.

use std::collections::BTreeSet;

use serde::Serialize;

use super::entry::{Entry, Reach, USUAL_IMPORTANCE, find_own, own_key, reach, with_stem};
use super::renderer::{EntryRenderer, EntryView, SUPERSEDED, SUPERSEDES};
use super::vocabulary::{CATEGORY, KEY, SOURCES};
use super::{entry_arguments, vocabulary};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::preview;
use crate::dialect::preview::PreviewWords;
use crate::dialect::reply::{Reply, ToolError};
use crate::engine::{
    DuplicatePolicy, EngineError, Remembered, Resemblance, Stored, Suggestion, WriteOutcome,
    WritePolicy, live, ops,
};
use crate::model::{MetaValue, NewMemory, Stem};

/// Maximum number of links of a new entry, and minimum number of shared tags for one.
const AUTO_LINKS: usize = 3;
const SHARED_TAGS: usize = 2;
/// Maximum number of characters of a candidate's value that are shown.
const SHOWN: usize = 300;

/// Runs the tool `remember`.
pub(super) fn remember(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let category = entry_arguments::category(arguments, "category")?;
    let key = entry_arguments::key(arguments, "key")?;
    let memory = memory(call, arguments)?;
    if let Some(entry) = find_own(call, category, &key)? {
        let update = NewMemory {
            // What an entry that is there comes from changes only if it is said.
            source: source(arguments)?,
            ..memory.clone()
        };
        match ops::rewrite(call.engine, entry.id(), &update) {
            Ok(remembered) => return written(call, &remembered),
            // Forgotten in this moment.
            Err(EngineError::NotFound(_)) => {}
            // A plain text has no place for the rest: the new one takes the key.
            Err(EngineError::Format(_)) if own_key(&entry.memory).is_none() => {}
            Err(error) => return Err(error.into()),
        }
    }
    let named = |name: &str, text: &str| (name.to_owned(), MetaValue::Text(text.to_owned()));
    let memory = NewMemory {
        title: Some(key.clone()),
        metadata: vec![named(CATEGORY, category), named(KEY, &key)],
        ..memory
    };
    let policy = WritePolicy {
        duplicates: DuplicatePolicy::Suggest,
        force: arguments.flag("force")?.unwrap_or(false),
        broad: arguments.flag("broad")?.unwrap_or(false),
        among: Some(vocabulary::filter(Some(category))),
        resemblance: Resemblance::WordSets,
        // Whoever stores the same key at this moment updates one entry, too.
        named_by: vec![CATEGORY.to_owned(), KEY.to_owned()],
        auto_links: AUTO_LINKS,
        shared_topics: SHARED_TAGS,
        contradictions: false,
        ..call.engine.writer.write_policy().clone()
    };
    match ops::remember_as(call.engine, memory, None, &policy)? {
        Stored::Written(remembered) => written(call, &remembered),
        Stored::Suggested(suggestions) => suggested(call, &suggestions),
    }
}

/// Reads the memory in the arguments, without its category and key.
fn memory(call: &Call<'_>, arguments: &Arguments) -> Result<NewMemory, ToolError> {
    let value = arguments.required_text("value")?;
    if value.trim().is_empty() {
        let what = "`value` is empty: give the text to remember";
        return Err(ToolError::refused(what));
    }
    let importance = arguments.clamped("importance")?.map(|n| n as u8);
    Ok(NewMemory {
        agent: call.agent(),
        user: call.preferences.user.clone(),
        topics: arguments.list("tags")?.unwrap_or_default(),
        importance: Some(importance.unwrap_or(USUAL_IMPORTANCE)),
        confidence: arguments.share("confidence")?,
        source: Some(source(arguments)?.unwrap_or_else(|| SOURCES[0].to_owned())),
        content: value,
        ..NewMemory::default()
    })
}

fn source(arguments: &Arguments) -> Result<Option<String>, ToolError> {
    let source = arguments.set_text("source_type")?;
    let source = source.map(|source| vocabulary::word("source_type", &source, &SOURCES));
    Ok(source.transpose()?.map(str::to_owned))
}

/// An entry that was stored.
#[derive(Serialize)]
struct WrittenView {
    action: &'static str,
    category: &'static str,
    key: String,
    entry: EntryView,
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    superseded_no_more_by: Option<Vec<String>>,
    /// Null where the other memory of that text is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    same_text_as: Option<Option<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn written(call: &Call<'_>, remembered: &Remembered) -> Result<Reply, ToolError> {
    let gone = || EngineError::NotFound(remembered.stem.as_str().to_owned());
    // Not by the key: where that is made of the text, it may be another one now.
    let found = with_stem(call, &remembered.stem)?.ok_or_else(gone)?;
    let was = revive(call, &found)?;
    let entry = with_stem(call, &remembered.stem)?.ok_or_else(gone)?;
    let (action, earlier) = match &remembered.became {
        WriteOutcome::Updated { earlier } => ("UPDATE", earlier.as_ref()),
        _ => ("ADD", None),
    };
    let renderer = EntryRenderer::new(call);
    let same = remembered.same_text.as_ref();
    Ok(Reply::of(&WrittenView {
        action,
        category: entry.category,
        entry: renderer.entry(&entry)?,
        key: entry.key,
        earlier: earlier.map(|stem| format!("archive/{}", call.engine.live.shown_id(stem))),
        superseded_no_more_by: was,
        same_text_as: same
            .map(|same| renderer.name_of(same.as_str()))
            .transpose()?,
        warnings: remembered.screened.warnings(),
    }))
}

/// Removes the supersession of an entry by others: else an entry that was just stored would not be found.
/// Returns the names of the others, if there were any.
fn revive(call: &Call<'_>, entry: &Entry) -> Result<Option<Vec<String>>, ToolError> {
    let renderer = EntryRenderer::new(call);
    if renderer.status(&entry.memory)? != SUPERSEDED {
        return Ok(None);
    }
    let stated = entry.memory.superseded_by.iter();
    let stated = stated.filter_map(|by| Some(live::resolve(&call.engine.live, by).ok()?.0));
    let relations = ops::relations_of(call.engine, entry.memory.stem.as_str())?.from;
    let relations = relations.into_iter();
    let known = relations.filter(|relation| relation.relation == SUPERSEDES);
    let newer: BTreeSet<Stem> = known.map(|one| one.from).chain(stated).collect();
    let mut names = Vec::new();
    for stem in newer {
        ops::unlink(call.engine, stem.as_str(), entry.id(), Some(SUPERSEDES))?;
        names.extend(renderer.name_of(stem.as_str())?);
    }
    Ok(Some(names))
}

/// Entries that may be meant instead.
#[derive(Serialize)]
struct CandidatesView {
    action: &'static str,
    candidates: Vec<Candidate>,
    recommendation: Option<&'static str>,
    message: &'static str,
}

#[derive(Serialize)]
struct Candidate {
    category: &'static str,
    key: String,
    value: String,
    truncated: bool,
    tags: Vec<String>,
    importance: u8,
    status: &'static str,
    recommendation: &'static str,
    reasons: Vec<String>,
}

fn suggested(call: &Call<'_>, suggestions: &[Suggestion]) -> Result<Reply, ToolError> {
    let renderer = EntryRenderer::new(call);
    let mut candidates = Vec::new();
    for suggestion in suggestions {
        let Some(entry) = with_stem(call, &suggestion.stem)? else {
            continue; // Gone since it was found.
        };
        let reasons = suggestion.reasons.iter().map(ToString::to_string);
        let value = preview(&entry.memory.content, &PreviewWords::default(), SHOWN);
        candidates.push(Candidate {
            category: entry.category,
            value: value.text,
            truncated: value.truncated,
            importance: entry.importance(),
            status: renderer.status(&entry.memory)?,
            key: entry.key,
            tags: entry.memory.topics,
            recommendation: suggestion.action.word(),
            reasons: reasons.collect(),
        });
    }
    // The strongest comes first.
    let recommendation = suggestions.first().map(|first| first.action.word());
    Ok(Reply::of(&CandidatesView {
        action: "candidates",
        candidates,
        recommendation,
        message: "nothing was stored: remember under the key of a candidate to update it, or with force=true to add",
    }))
}

/// An entry that went to the archive.
#[derive(Serialize)]
struct ForgottenView {
    action: &'static str,
    category: &'static str,
    key: String,
    entry: EntryView,
    backup: String,
    links_removed: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    links_kept: Vec<String>,
}

/// Runs the tool `forget`.
pub(super) fn forget(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let entry = entry_arguments::entry(call, arguments, "category", "key")?;
    if own_key(&entry.memory) == Some(&entry.key) && reach(call, &entry.memory) == Reach::Other {
        return Err(ToolError::refused(format!(
            "the key '{}' is one of the project `{}`: forget it there, or with `memdir forget {}`",
            entry.key,
            entry.memory.namespace_or_global(),
            call.engine.live.shown_id(&entry.memory.stem)
        )));
    }
    let view = EntryRenderer::new(call).entry(&entry)?;
    let incoming = super::links::incoming(call, &entry)?;
    // The archive holds the whole file before any link is touched.
    let moved = ops::forget(call.engine, entry.id())?;
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    for other in incoming {
        match super::links::cut(call, &other, &entry) {
            Ok(0) => {}
            Ok(_) => removed.push(other.name()),
            Err(error) => kept.push(format!("{}: {}", other.name(), error.message())),
        }
    }
    removed.sort_unstable();
    Ok(Reply::of(&ForgottenView {
        action: "FORGET",
        category: entry.category,
        key: entry.key,
        entry: view,
        backup: format!("archive/{}", moved.name),
        links_removed: removed,
        links_kept: kept,
    }))
}
