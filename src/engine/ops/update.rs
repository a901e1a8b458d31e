//! Changes a memory's file: single keys, the content, or the whole text by hand.

use crate::engine::error::EngineError;
use crate::engine::live::{names, usage};
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::engine::write::put::Edited;
use crate::engine::write::{put, screen};
use crate::files::{Place, Version};
use crate::format;
use crate::format::FormatError;
use crate::journal::TIER;
use crate::model::{
    Change, Kind, Memory, MetaValue, PINNED, Patch, Problem, Stem, Tier, Timestamp, misfit,
};

/// Returns the change that marks a memory as superseded by `stem`.
pub(in crate::engine) fn superseded_by(stem: &Stem) -> Change {
    Change {
        superseded_by: Patch::Set(stem.as_str().to_owned()),
        ..Change::default()
    }
}

/// Applies `change` to the memory called `id`; only the lines of changed keys are touched.
///
/// # Errors
///
/// Fails if there is no such memory, if a value breaks the format's limits, or if another
/// process changes the file at the same moment: then both texts are kept.
pub fn update(engine: &Engine, id: &str, change: &Change) -> Result<Edited, EngineError> {
    update_as(engine, "update", id, change)
}

/// Removes the end of the memory called `id`, whatever it stated.
///
/// # Errors
///
/// As for [`update`].
pub fn promote(engine: &Engine, id: &str) -> Result<Edited, EngineError> {
    let change = Change {
        tier: Patch::Set(Tier::Long),
        expires: Patch::Clear,
        ..Change::default()
    };
    update_as(engine, "promote", id, &change)
}

/// As [`update`], with the name of the operation for the records.
pub(in crate::engine) fn update_as(
    engine: &Engine,
    tool: &str,
    id: &str,
    change: &Change,
) -> Result<Edited, EngineError> {
    let change = with_stems(engine, id, change)?;
    update_with(engine, tool, id, |_| Ok(change.clone()))
}

/// Parts of fields to add to those that a memory has, and to take out.
#[derive(Debug, Default)]
pub struct Parts {
    /// Topics to append. One that exists, compared without case, is no error.
    pub added: Vec<String>,
    /// Topics to take out. One that does not exist is no error.
    pub removed: Vec<String>,
    /// Entries of the metadata to set; null takes one out.
    pub entries: Vec<(String, MetaValue)>,
}

/// As [`update`], with changes of `parts`, which overrule `change`.
///
/// # Errors
///
/// As for [`update`].
pub fn update_parts(
    engine: &Engine,
    id: &str,
    change: &Change,
    parts: &Parts,
) -> Result<Edited, EngineError> {
    let change = with_stems(engine, id, change)?;
    update_with(engine, "update", id, |memory| {
        let is_in = |topics: &[String], topic: &str| {
            let topic = topic.to_lowercase();
            topics.iter().any(|other| other.to_lowercase() == topic)
        };
        let mut topics = memory.topics.clone();
        topics.retain(|topic| !is_in(&parts.removed, topic));
        for topic in &parts.added {
            if !is_in(&topics, topic) {
                topics.push(topic.clone());
            }
        }
        let mut change = change.clone();
        if topics != memory.topics {
            change.topics = Some(topics);
        }
        if !parts.entries.is_empty() {
            change.metadata = with_entries(&memory.metadata, &parts.entries);
        }
        Ok(change)
    })
}

/// Returns the change of metadata that sets the entries `given`; null takes one out.
pub(in crate::engine) fn with_entries(
    known: &[(String, MetaValue)],
    given: &[(String, MetaValue)],
) -> Patch<Vec<(String, MetaValue)>> {
    let mut entries = known.to_vec();
    for (key, value) in given {
        let at = entries.iter().position(|(other, _)| other == key);
        match (at, value) {
            (Some(at), MetaValue::Null) => drop(entries.remove(at)),
            (None, MetaValue::Null) => {}
            (Some(at), value) => entries[at].1 = value.clone(),
            (None, value) => entries.push((key.clone(), value.clone())),
        }
    }
    match entries.is_empty() {
        true => Patch::Clear,
        false => Patch::Set(entries),
    }
}

/// Returns the change of the memory `id` with the ids of `supersedes` replaced by stems.
///
/// # Errors
///
/// Fails if there is no memory of such an id, or if one is the memory itself.
fn with_stems(engine: &Engine, id: &str, change: &Change) -> Result<Change, EngineError> {
    let mut change = change.clone();
    // Where it cannot be read the update says why.
    let own = || names::resolve(&engine.live, id).ok().map(|(_, file)| file);
    if let Patch::Set(ids) = &mut change.supersedes {
        for other in ids {
            let (_, file) = names::resolve(&engine.live, other)?;
            if own().is_some_and(|own| own == file) {
                let what = "a memory cannot supersede itself".to_owned();
                return Err(EngineError::Invalid(what));
            }
            *other = names::link_text(&engine.live, &file);
        }
    }
    Ok(change)
}

/// As [`update_as`], with a change computed from the memory: `change` is called
/// again if the file changed meanwhile.
pub(in crate::engine) fn update_with(
    engine: &Engine,
    tool: &str,
    id: &str,
    change: impl Fn(&Memory) -> Result<Change, EngineError>,
) -> Result<Edited, EngineError> {
    update_read(engine, tool, id, || names::read(&engine.live, id), change)
}

/// As [`update_with`], for a caller that knows the memory's file: `read` returns its name and
/// version.
pub(in crate::engine) fn update_read(
    engine: &Engine,
    tool: &str,
    id: &str,
    read: impl Fn() -> Result<(String, Version), EngineError>,
    change: impl Fn(&Memory) -> Result<Change, EngineError>,
) -> Result<Edited, EngineError> {
    engine.writer.check_writable()?;
    put::until_put(id, || {
        let (name, version) = read()?;
        let memory = parse(&version.entry, &version.bytes);
        let (change, tool) = with_end_of_tier(engine, &memory, change(&memory)?, tool);
        check_change(&memory, &change)?;
        let bytes = edited(&memory, &version.bytes, &change)?;
        let (bytes, screened) = screen::screen(&engine.writer, &name, Some(&version.bytes), bytes)?;
        let edited = put::put(&engine.writer, &name, &version, &bytes, tool)?;
        Ok(edited.map(|edited| Edited { screened, ..edited }))
    })
}

/// Adds to a change of the tier the end that follows from the new tier as of now, unless it states one;
/// returns it with the operation for its record. Counted from its age the memory might be expired at
/// once; if the tier is raised, a later end is kept.
pub(in crate::engine) fn with_end_of_tier<'a>(
    engine: &Engine,
    memory: &Memory,
    mut change: Change,
    tool: &'a str,
) -> (Change, &'a str) {
    let Patch::Set(wanted) = change.tier else {
        return (change, tool);
    };
    let (state, _) = usage::state_of(&engine.live, memory);
    if tool != "update" || (memory.tier == Some(wanted) && state.tier == Some(wanted)) {
        return (change, tool);
    }
    if change.expires.is_keep() {
        let end = usage::end_of_tier(&engine.live, wanted);
        let is_raised = tier_rank(wanted) > state.tier.map_or(2, tier_rank);
        let is_kept =
            |end: &Timestamp| is_raised && state.expires.is_some_and(|known| known > end.utc());
        change.expires = match end {
            None if memory.expires.is_some() => Patch::Clear,
            None => Patch::Keep,
            Some(end) if is_kept(&end) => Patch::Keep,
            Some(end) => Patch::Set(end),
        };
    }
    (change, TIER)
}

/// Has every brief of its namespace begin with the memory called `id`, or no longer.
///
/// # Errors
///
/// As for [`update`]; [`EngineError::Invalid`] if its file says so by a key of its own, which is no entry of
/// `metadata`: only an editor takes that out.
pub fn pin(engine: &Engine, id: &str, is_wanted: bool) -> Result<Edited, EngineError> {
    let edited = update_with(engine, "update", id, |memory| {
        if memory.is_pinned() == is_wanted {
            return Ok(Change::default());
        }
        let mut metadata = memory.metadata.clone();
        metadata.retain(|(key, _)| key != PINNED);
        if is_wanted {
            metadata.push((PINNED.to_owned(), MetaValue::Bool(true)));
        }
        let metadata = match metadata.is_empty() {
            true => Patch::Clear,
            false => Patch::Set(metadata),
        };
        Ok(Change {
            metadata,
            ..Change::default()
        })
    })?;
    match edited.memory.is_pinned() == is_wanted {
        true => Ok(edited),
        false => Err(EngineError::Invalid(format!(
            "the file of `{id}` says `{PINNED}: true` by itself: take the line out with an editor"
        ))),
    }
}

/// Returns the text of a memory: its file's name and version.
///
/// # Errors
///
/// Fails if there is no such memory.
pub fn read_text(engine: &Engine, id: &str) -> Result<(String, Version), EngineError> {
    names::read(&engine.live, id)
}

/// As [`read_text`], for an editor.
///
/// # Errors
///
/// As for [`read_text`], and if nothing can be written.
pub fn open_text(engine: &Engine, id: &str) -> Result<(String, Version), EngineError> {
    engine.writer.check_writable()?;
    read_text(engine, id)
}

/// Saves an edited text over the version it was made from.
///
/// # Errors
///
/// As for [`update`].
pub fn save_text(
    engine: &Engine,
    name: &str,
    seen: &Version,
    bytes: &[u8],
) -> Result<Edited, EngineError> {
    engine.writer.check_writable()?;
    if bytes.contains(&0) && !seen.bytes.contains(&0) {
        let what = "the text holds a NUL (U+0000), which no memory can: take it out";
        return Err(EngineError::Invalid(what.to_owned()));
    }
    let (bytes, screened) =
        screen::screen(&engine.writer, name, Some(&seen.bytes), bytes.to_vec())?;
    if let Some(edited) = put::put(&engine.writer, name, seen, &bytes, "edit")? {
        return Ok(Edited { screened, ..edited });
    }
    let copy = engine.writer.add_copy(name, &bytes)?;
    engine.writer.note_change("edit", &copy);
    Err(EngineError::ChangedMeanwhile {
        id: stem_of(name).short().to_owned(),
        copy: engine.live.path(Place::Files, &copy).display().to_string(),
    })
}

/// Returns the rank of a tier by lifetime; a memory of no tier lives as long as one of the highest.
pub fn tier_rank(tier: Tier) -> u8 {
    match tier {
        Tier::Short => 0,
        Tier::Mid => 1,
        Tier::Long => 2,
    }
}

/// Returns the bytes of `memory` after `change`. A text without frontmatter gets one, if anything changes.
pub(in crate::engine) fn edited(
    memory: &Memory,
    bytes: &[u8],
    change: &Change,
) -> Result<Vec<u8>, FormatError> {
    let framed = format::with_frontmatter(bytes, memory);
    let edited = format::edit(&framed, change)?;
    Ok(match edited == *framed {
        true => bytes.to_vec(),
        false => edited,
    })
}

/// Checks that a change loses nothing that could not be read, and that its values fit the memory's kind; values that the
/// file holds already pass.
pub(in crate::engine) fn check_change(memory: &Memory, change: &Change) -> Result<(), EngineError> {
    let changes = [
        ("supersedes", !change.supersedes.is_keep()),
        ("links", !change.links.is_keep()),
        ("metadata", !change.metadata.is_keep()),
    ];
    let changed = changes.into_iter().filter(|(_, is_changed)| *is_changed);
    for (key, _) in changed {
        check_readable(memory, key)?;
    }
    let has = |problem: Problem| memory.problems.contains(&problem);
    if change.content.is_some() && has(Problem::FrontmatterNotClosed) {
        return Err(FormatError::FrontmatterNotClosed.into());
    }
    if change.content.is_some() && has(Problem::NotUtf8) && has(Problem::NoFrontmatter) {
        return Err(FormatError::NotUtf8.into());
    }
    if change.kind.is_keep() && change.metadata.is_keep() {
        return Ok(());
    }
    let kind = match change.kind {
        Patch::Keep => memory.kind,
        Patch::Set(kind) => Some(kind),
        Patch::Clear => None,
    };
    match &change.metadata {
        Patch::Keep => check_details(kind, &memory.metadata),
        Patch::Set(metadata) => check_details(kind, metadata),
        Patch::Clear => Ok(()),
    }
}

/// Fails if a key could not be read, or not whole: to write it anew would lose what it holds.
fn check_readable(memory: &Memory, key: &str) -> Result<(), EngineError> {
    let is_of = |problem: &&Problem| match problem {
        Problem::Key { key: of, .. } => of == key,
        Problem::FrontmatterTooLarge { .. } => key != "supersedes",
        _ => false,
    };
    match memory.problems.iter().find(is_of) {
        None => Ok(()),
        Some(problem) => Err(EngineError::Invalid(format!(
            "`{key}` of {id} cannot be read, so it is not changed: {problem}. `memdir edit {id}` corrects it",
            id = memory.stem.short()
        ))),
    }
}

/// Checks that the metadata is valid for the kind.
pub(in crate::engine) fn check_details(
    kind: Option<Kind>,
    metadata: &[(String, MetaValue)],
) -> Result<(), EngineError> {
    let misfit = kind.and_then(|kind| Some((kind, misfit(kind, metadata)?)));
    match misfit {
        None => Ok(()),
        Some((kind, (key, wanted))) => Err(EngineError::Invalid(format!(
            "`metadata.{key}` of a memory of the kind {kind} must be {wanted}"
        ))),
    }
}
