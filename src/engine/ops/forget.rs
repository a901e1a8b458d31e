//! Forgetting, which never loses: memories move to `archive/` and back.
//!
//! A rename between `files/` and `archive/` that replaces nothing, with both folders synced, the
//! new name first. Before a memory goes that replaced others and was replaced itself, the live one
//! that replaced it takes over its `supersedes` (`relations/succession`).

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, names, rows, usage};
use crate::engine::ops::relations::{succession, titles};
use crate::engine::ops::retrieval::search;
use crate::engine::parts::Engine;
use crate::engine::texts::{is_called, parse, stem_of};
use crate::files::{Entry, FilesError, Place, Reader};
use crate::format::MAX_INDEXED_BYTES;
use crate::index::Query;
use crate::journal::{RESTORE, Record};
use crate::lifecycle::DERIVED_FROM;
use crate::model::{Filter, Memory, Stem};
use crate::secrets;

/// A memory that was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    pub stem: Stem,
    /// Its path below `files/` and `archive/`.
    pub name: String,
}

/// What became of memories that were to be archived.
#[derive(Debug, Default)]
pub struct Archived {
    /// Those that were moved, or would be, in the order of their names.
    pub moved: Vec<Moved>,
    /// Those that could not be, with the reason.
    pub failed: Vec<(String, EngineError)>,
}

/// A memory in the archive.
#[derive(Debug)]
pub struct Forgotten {
    pub memory: Memory,
    /// Its path below `archive/`.
    pub name: String,
    /// The last record of its going, if a journal has one.
    pub record: Option<Record>,
    /// When it was forgotten: by that record, else when its file was last moved or changed here.
    pub at: DateTime<Utc>,
    /// That, or when its file was last moved or changed here, whichever is later: a record may tell
    /// of an earlier going. What cannot be taken back asks this one.
    pub settled: DateTime<Utc>,
    /// Of its file.
    pub bytes: u64,
}

/// What is done to memories that may take them to the archive, as a record says it. Any other one,
/// such as that it was written, does not say when it went.
const ARCHIVES: [&str; 7] = [
    "forget",
    "compact",
    "consolidate",
    "cleanup",
    "reflect",
    "resolve",
    "undo",
];

/// Of these, what puts a new memory in the place of several.
const MERGES: [&str; 2] = ["compact", "consolidate"];

impl Moved {
    pub(in crate::engine) fn of(name: String) -> Moved {
        Moved {
            stem: stem_of(&name),
            name,
        }
    }
}

/// Moves the memory called `id` to the archive; `restore` brings the same bytes back.
///
/// # Errors
///
/// Fails if there is no such memory, or if the archive holds another one of its name.
pub fn forget(engine: &Engine, id: &str) -> Result<Moved, EngineError> {
    forget_because(engine, id, None)
}

/// As [`forget`], with a reason for whoever asks later.
///
/// # Errors
///
/// As for [`forget`].
pub fn forget_because(engine: &Engine, id: &str, why: Option<&str>) -> Result<Moved, EngineError> {
    engine.writer.check_writable()?;
    let (_, name) = names::resolve(&engine.live, id)?;
    // A credential would keep the whole journal from being committed.
    let why = why.map(secrets::redact);
    relocate(
        engine,
        id,
        name,
        [Place::Files, Place::Archive],
        why.as_deref(),
    )
}

/// Moves every memory that passes `filter` to the archive; with `dry_run` only says which. One
/// that cannot be moved stays where it is and does not stop the others.
///
/// # Errors
///
/// Fails if the store cannot be searched, or not be written.
pub fn forget_all(
    engine: &Engine,
    filter: &Filter,
    why: Option<&str>,
    dry_run: bool,
) -> Result<Archived, EngineError> {
    if !dry_run {
        engine.writer.check_writable()?;
    }
    // Every hit of a search was read from its file, and is as the filter wants it.
    let query = Query::everything(filter.clone(), usize::MAX);
    let hits = search::search(engine, &query)?.hits.into_iter();
    let mut names: Vec<String> = hits.map(|hit| hit.name).collect();
    names.sort_unstable();
    let why = why.map(secrets::redact);
    Ok(archive_all(engine, names, why.as_deref(), dry_run, |_| {
        true
    }))
}

/// Moves the memories in these files to the archive, but for those that are not to be moved
/// any more when it is their turn.
pub(in crate::engine) fn archive_all(
    engine: &Engine,
    names: Vec<String>,
    why: Option<&str>,
    dry_run: bool,
    is_meant: impl Fn(&str) -> bool,
) -> Archived {
    let _together = engine.writer.collect_records();
    let mut archived = Archived::default();
    for name in names {
        if !is_meant(&name) {
            continue;
        }
        if dry_run {
            archived.moved.push(Moved::of(name));
            continue;
        }
        let places = [Place::Files, Place::Archive];
        match relocate(engine, &name, name.clone(), places, why) {
            Ok(moved) => archived.moved.push(moved),
            Err(EngineError::NotFound(_)) => {} // Somebody else was faster.
            Err(error) => archived.failed.push((name, error)),
        }
    }
    archived
}

/// The forgotten memories, newest first, as far as they can be read.
///
/// # Errors
///
/// Fails if the archive cannot be listed, or a journal not be read.
pub fn archived(engine: &Engine) -> Result<Vec<Forgotten>, EngineError> {
    let reader = engine.live.store.reader(Place::Archive);
    let entries = engine.live.store.list(Place::Archive)?.entries.into_iter();
    let went = self::went(engine)?;
    let read = |entry: Entry| forgotten_in(reader.as_ref(), &entry, &went);
    let mut forgotten: Vec<Forgotten> = entries.filter_map(read).collect();
    forgotten.sort_by_key(|one| std::cmp::Reverse(one.memory.timestamp.utc()));
    Ok(forgotten)
}

/// By stems, the records of how memories went to the archive the last time.
fn went(engine: &Engine) -> Result<HashMap<String, Record>, EngineError> {
    let mut went: HashMap<String, Record> = HashMap::new();
    for record in usage::records_since(&engine.live, None)? {
        for stem in &record.of {
            match record.did.as_str() {
                RESTORE => drop(went.remove(stem)),
                did if ARCHIVES.contains(&did) => {
                    went.insert(stem.clone(), record.clone());
                }
                _ => {}
            }
        }
    }
    Ok(went)
}

/// The forgotten memory called `id`, with its file's name below `archive/`.
///
/// # Errors
///
/// Fails if there is none, or if more than one is called so.
pub fn resolve_forgotten(engine: &Engine, id: &str) -> Result<(Stem, String), EngineError> {
    names::resolve_archived(&engine.live, id)
}

/// The forgotten memory called `id`, with what is known of its going.
///
/// # Errors
///
/// As for [`resolve_forgotten`], and if a journal cannot be read.
pub fn forgotten(engine: &Engine, id: &str) -> Result<Forgotten, EngineError> {
    let mut one = forgotten_each(engine, &[id])?;
    one.pop().expect("there is one for each id")
}

/// As [`forgotten`], of each of `ids` in their order.
///
/// # Errors
///
/// Fails if a journal cannot be read.
pub fn forgotten_each(
    engine: &Engine,
    ids: &[&str],
) -> Result<Vec<Result<Forgotten, EngineError>>, EngineError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let reader = engine.live.store.reader(Place::Archive);
    let went = self::went(engine)?;
    let one = |id: &&str| {
        let (_, name) = names::resolve_archived(&engine.live, id)?;
        let entry = engine.live.store.look_at(Place::Archive, &name);
        let read = entry.and_then(Result::ok);
        let read = read.and_then(|entry| forgotten_in(reader.as_ref(), &entry, &went));
        read.ok_or_else(|| EngineError::NotFound((*id).to_owned()))
    };
    Ok(ids.iter().map(one).collect())
}

/// The live memory that a forgotten one was merged into: the summary that a compaction or a
/// consolidation made of it, or what became of that. `None` if it went in another way.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub fn merged_into(engine: &Engine, forgotten: &Forgotten) -> Result<Option<Stem>, EngineError> {
    let did = forgotten.record.as_ref().map(|record| record.did.as_str());
    if !did.is_some_and(|did| MERGES.contains(&did)) {
        return Ok(None);
    }
    let mut at = forgotten.memory.stem.clone();
    let mut seen = HashSet::new();
    let mut archived: Option<Vec<Forgotten>> = None;
    while seen.insert(at.clone()) {
        let called = [at.as_str(), at.short()];
        let live = current_snapshot::with_snapshot(&engine.live, |snapshot| {
            names::holding(&engine.live, snapshot, "links", &called)
        })?;
        let live = live
            .iter()
            .filter_map(|name| rows::read_memory(&engine.live, name));
        let mut live: Vec<Memory> = live.filter(|memory| is_made_of(memory, &at)).collect();
        if !live.is_empty() {
            titles::changed_last_first(engine, &mut live, |memory| memory);
            return succession::current_of(engine, &live[0].stem).map(Some);
        }
        // The summary may have been merged itself.
        if archived.is_none() {
            archived = Some(self::archived(engine)?);
        }
        let mut summaries = archived.iter().flatten();
        match summaries.find(|one| is_made_of(&one.memory, &at)) {
            Some(summary) => at = summary.memory.stem.clone(),
            None => break,
        }
    }
    Ok(None)
}

/// Brings the forgotten memory called `id` back.
///
/// # Errors
///
/// Fails if the archive holds no such memory, or if a live one has its name.
pub fn restore(engine: &Engine, id: &str) -> Result<Moved, EngineError> {
    engine.writer.check_writable()?;
    let (_, name) = names::resolve_archived(&engine.live, id)?;
    relocate(engine, id, name, [Place::Archive, Place::Files], None)
}

fn relocate(
    engine: &Engine,
    id: &str,
    name: String,
    [from, to]: [Place; 2],
    why: Option<&str>,
) -> Result<Moved, EngineError> {
    if to == Place::Archive {
        succession::hand_on(engine, &name);
    }
    match engine.writer.relocate(&name, from, to) {
        Err(FilesError::Missing { .. }) => return Err(EngineError::NotFound(id.to_owned())),
        other => other?,
    }
    let tool = match to {
        Place::Archive => "forget",
        Place::Files => RESTORE,
    };
    engine.writer.note_change_because(tool, &name, why);
    Ok(Moved::of(name))
}

/// The memory in a file of the archive, with the record of how it went.
fn forgotten_in(
    reader: &dyn Reader,
    entry: &Entry,
    went: &HashMap<String, Record>,
) -> Option<Forgotten> {
    let version = reader.read(&entry.name, MAX_INDEXED_BYTES as u64).ok()?;
    let memory = parse(&version.entry, &version.bytes);
    let record = went.get(memory.stem.as_str()).cloned();
    let lies_since = DateTime::from_timestamp_nanos(entry.changed);
    let at = record.as_ref().map_or(lies_since, |record| record.at);
    Some(Forgotten {
        memory,
        name: entry.name.clone(),
        record,
        at,
        settled: at.max(lies_since),
        bytes: entry.stamp.size,
    })
}

/// Whether a memory says that it was made of the memory `stem`.
fn is_made_of(memory: &Memory, stem: &Stem) -> bool {
    let mut links = memory.links.iter();
    links.any(|link| link.relation == DERIVED_FROM && is_called(stem, &link.to))
}
