//! `memory_consolidate`: one memory in place of several.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::tool::tool;
use super::write::check_free;
use super::{check, shape};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::parameter::{Literal, Parameter};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::tool_set::{Hints, Tool};
use crate::engine::{Proposed, live, ops};
use crate::model::{Memory, Stem, Tier};

/// Maximum number of tags of a consolidated memory: as many as the format allows.
const MOST_TAGS: usize = 100;

/// Tool `memory_consolidate`.
pub(super) const CONSOLIDATE: Tool = tool(
    "memory_consolidate",
    "Make one memory of 2 to 100. They go to the archive; the new one has all their tags, the highest priority, and links to them. Give the summary yourself where you can: without one, a language model writes it if there is one, else it is made of their sentences.",
    &[
        Parameter::new(
            "ids",
            crate::dialect::parameter::Form::Texts {
                least: 2,
                most: 100,
            },
            "",
        )
        .required(),
        Parameter::text("title", "Of the new one").required(),
        Parameter::text("summary", "Its content"),
        Parameter::text("namespace", "Default: theirs, if it is one; else global"),
        Parameter::word("tier", check::TIERS, "").or(Literal::Text("long")),
    ],
    Hints::writes("Consolidate memories"),
    consolidate,
);

/// One memory in place of several.
#[derive(Serialize, JsonSchema)]
pub(super) struct ConsolidatedView {
    #[schemars(required)]
    id: Option<String>,
    consolidated: usize,
    archived: Vec<String>,
    #[schemars(extend("enum" = ["caller", "model", "sentences"]))]
    summary_by: &'static str,
    undo: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

fn consolidate(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let ids = check::ids(arguments)?;
    let title = check::title(arguments)?;
    let title = title.ok_or_else(|| check::missing("title"))?;
    let summary = check::content(arguments, "summary")?;
    let namespace = check::namespace(arguments)?;
    let tier: Tier = arguments.word("tier")?.unwrap_or(Tier::Long);
    let budget = engine.summary_length();
    let mut proposed = ops::plan_consolidation(engine, &ids, Some(&title), budget)?;
    if let Some((_, why)) = proposed.left_out.first() {
        return Err(ToolError::Conflict(why.clone()));
    }
    let sources = sources(&proposed);
    let tags = tags(&sources);
    let states = sources
        .iter()
        .map(|memory| live::state_of(&engine.live, memory).0);
    let priority = states.map(|state| state.importance).max();
    let stems: Vec<Stem> = sources.iter().map(|one| one.stem.clone()).collect();
    let by = match summary {
        Some(_) => "caller",
        None => write_summary(call, &mut proposed),
    };
    let mut _held = None;
    for new in proposed
        .plan
        .proposals
        .iter_mut()
        .filter_map(|one| one.create.as_mut())
    {
        new.topics.clone_from(&tags);
        new.importance = priority;
        new.tier = Some(tier);
        match namespace.as_deref() {
            Some("global") => new.namespace = None,
            Some(namespace) => new.namespace = Some(namespace.to_owned()),
            None => {}
        }
        if let Some(summary) = &summary {
            new.content.clone_from(summary);
        }
        // The sources make room for it.
        let namespace = new.namespace.as_deref().unwrap_or("global");
        _held = check_free(call, Some(&title), namespace, &new.user, &stems)?;
    }
    let performed = ops::perform_plan(engine, &proposed)?;
    let performed = performed
        .ok_or_else(|| ToolError::Conflict("there is nothing to consolidate".to_owned()))?;
    let created = performed.created.first();
    Ok(Reply::of(&ConsolidatedView {
        id: created.map(|stem| engine.live.shown_id(stem)),
        consolidated: performed.archived.len(),
        archived: shape::shown_ids(engine, &performed.archived),
        summary_by: by,
        undo: performed.id,
        warnings: performed
            .screened
            .iter()
            .flat_map(|one| one.warnings())
            .collect(),
    }))
}

/// Writes the summary with the language model, if there is one and it answers. Returns the author for the
/// reply.
fn write_summary(call: &Call<'_>, proposed: &mut Proposed) -> &'static str {
    let Some(assistant) = call.assistant() else {
        return "sentences";
    };
    let failures = proposed.write_summaries(|_, sources| {
        let text = |memory: &&Memory| format!("{}\n{}", shape::title(memory), memory.content);
        let texts: Vec<String> = sources.iter().map(text).collect();
        assistant.summarize(&texts)
    });
    match failures.first() {
        None => "model",
        Some(error) => {
            tracing::warn!("a summary was made of sentences of its sources: {error}");
            "sentences"
        }
    }
}

fn sources(proposed: &Proposed) -> Vec<Memory> {
    let stems = proposed.plan.proposals.iter().flat_map(|one| &one.archive);
    stems
        .filter_map(|stem| proposed.memory(stem))
        .cloned()
        .collect()
}

/// Returns all tags of all sources, the commonest first.
fn tags(sources: &[Memory]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for tag in sources.iter().flat_map(|memory| &memory.topics) {
        *counts.entry(tag).or_default() += 1;
    }
    let mut tags: Vec<(&str, usize)> = counts.into_iter().collect();
    tags.sort_by_key(|(tag, count)| (std::cmp::Reverse(*count), *tag));
    let tags = tags.into_iter().take(MOST_TAGS);
    tags.map(|(tag, _)| tag.to_owned()).collect()
}
