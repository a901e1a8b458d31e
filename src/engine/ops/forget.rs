//! Forgets memories without loss: they move to `archive/` and back.
//!
//! A rename between `files/` and `archive/` that replaces nothing, with both folders synced, the
//! new name first. If a memory superseded others and was superseded itself, the live one that
//! superseded it first takes over its `supersedes` (`relations/succession`).

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, names, rows, usage};
use crate::engine::ops::relations::{succession, titles};
use crate::engine::ops::retrieval::search;
use crate::engine::parts::Engine;
use crate::engine::texts::{is_called, parse, stem_of};
use crate::files::{FilesError, Place, Version};
use crate::format::MAX_INDEXED_BYTES;
use crate::index::Query;
use crate::journal::{RESTORE, Record};
use crate::lifecycle::DERIVED_FROM;
use crate::model::{Filter, Memory, Stem};
use crate::secrets;

/// A memory that was moved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Stem of the memory.
    pub stem: Stem,
    /// Path below `files/` and `archive/`.
    pub name: String,
}

/// Result of archiving several memories.
#[derive(Debug, Default)]
pub struct Archived {
    /// Memories that were moved, or would be, in the order of their names.
    pub moved: Vec<Moved>,
    /// Names of memories that could not be moved, with the errors.
    pub failed: Vec<(String, EngineError)>,
}

/// A memory in the archive.
#[derive(Debug)]
pub struct Forgotten {
    /// The memory, as read from the archive.
    pub memory: Memory,
    /// Path below `archive/`.
    pub name: String,
    /// Last record of its archiving, if a journal has one.
    pub record: Option<Record>,
    /// Time of its archiving: of that record, else of the last move or change of its file here.
    pub at: DateTime<Utc>,
    /// Time of its archiving or of the last move or change of its file here, whichever is later: the
    /// record may be of an earlier archiving. Irreversible operations use this time.
    pub settled: DateTime<Utc>,
    /// Size of its file in bytes.
    pub bytes: u64,
}

/// Operations in records that may archive memories. Records of others, such as of a write, give no
/// time of an archiving.
const ARCHIVES: [&str; 7] = [
    "forget",
    "compact",
    "consolidate",
    "cleanup",
    "reflect",
    "resolve",
    "undo",
];

/// Operations in records that write new memories.
const WRITES: [&str; 2] = ["remember", "import"];

/// Operations that replace several memories by a new one.
const MERGES: [&str; 2] = ["compact", "consolidate"];

impl Moved {
    /// Returns the memory in the file `name`.
    pub(in crate::engine) fn of(name: String) -> Moved {
        Moved {
            stem: stem_of(&name),
            name,
        }
    }
}

/// Moves the memory called `id` to the archive; [`restore`] brings the same bytes back.
///
/// # Errors
///
/// Fails if there is no such memory, or if the archive holds another one of its name.
pub fn forget(engine: &Engine, id: &str) -> Result<Moved, EngineError> {
    forget_because(engine, id, None)
}

/// As [`forget`], with a reason that the journal records.
///
/// # Errors
///
/// As for [`forget`].
pub fn forget_because(engine: &Engine, id: &str, why: Option<&str>) -> Result<Moved, EngineError> {
    engine.writer.check_writable()?;
    let (_, name) = names::resolve(&engine.live, id)?;
    // A credential in it would keep the whole journal from being committed.
    let why = why.map(secrets::redact);
    relocate(
        engine,
        id,
        name,
        [Place::Files, Place::Archive],
        why.as_deref(),
    )
}

/// Moves every memory that passes `filter` to the archive; with `dry_run` only returns them. A
/// memory that cannot be moved stays and does not stop the others.
///
/// # Errors
///
/// Fails if the store cannot be searched or written.
pub fn forget_all(
    engine: &Engine,
    filter: &Filter,
    why: Option<&str>,
    dry_run: bool,
) -> Result<Archived, EngineError> {
    if !dry_run {
        engine.writer.check_writable()?;
    }
    let names = names_passing(engine, filter)?;
    let why = why.map(secrets::redact);
    Ok(archive_all(engine, names, why.as_deref(), dry_run, |_| {
        true
    }))
}

/// As [`forget_all`]; `filter.since` is also met by memories of an earlier time that were written since then,
/// as the journals say.
///
/// # Errors
///
/// As for [`forget_all`].
pub fn forget_written_since(
    engine: &Engine,
    filter: &Filter,
    why: Option<&str>,
    dry_run: bool,
) -> Result<Archived, EngineError> {
    if !dry_run {
        engine.writer.check_writable()?;
    }
    let records = usage::records_since(&engine.live, filter.since)?.into_iter();
    let written = records.filter(|record| WRITES.contains(&record.did.as_str()));
    let written = written.flat_map(|record| record.of);
    let filter_of_written = Filter {
        since: None,
        stems: Some(written.map(|stem| Stem::from_file_name(&stem)).collect()),
        ..filter.clone()
    };
    let mut names = names_passing(engine, filter)?;
    names.extend(names_passing(engine, &filter_of_written)?);
    names.sort_unstable();
    names.dedup();
    let why = why.map(secrets::redact);
    Ok(archive_all(engine, names, why.as_deref(), dry_run, |_| {
        true
    }))
}

/// Returns the files of all memories that pass a filter, sorted. Every hit of a search was read from its
/// file.
fn names_passing(engine: &Engine, filter: &Filter) -> Result<Vec<String>, EngineError> {
    let query = Query::everything(filter.clone(), usize::MAX);
    let hits = search::search(engine, &query)?.hits.into_iter();
    let mut names: Vec<String> = hits.map(|hit| hit.name).collect();
    names.sort_unstable();
    Ok(names)
}

/// Moves the memories in these files to the archive, except those for which `is_meant` is false
/// when it is their turn.
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

/// Returns the forgotten memories that can be read, newest first.
///
/// # Errors
///
/// Fails if the archive cannot be listed or a journal cannot be read.
pub fn archived(engine: &Engine) -> Result<Vec<Forgotten>, EngineError> {
    let reader = engine.live.store.reader(Place::Archive);
    let names = engine.live.store.list(Place::Archive)?.names();
    let went = self::went(engine)?;
    let read = rows::versions(reader.as_ref(), &names, MAX_INDEXED_BYTES as u64).flatten();
    let mut forgotten: Vec<Forgotten> = read.map(|version| forgotten_in(version, &went)).collect();
    forgotten.sort_by_key(|one| std::cmp::Reverse(one.memory.timestamp.utc()));
    Ok(forgotten)
}

/// Returns the record of the last archiving of each stem.
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

/// Returns the forgotten memory called `id`, with its file's name below `archive/`.
///
/// # Errors
///
/// Fails if there is none, or if several have the name.
pub fn resolve_forgotten(engine: &Engine, id: &str) -> Result<(Stem, String), EngineError> {
    names::resolve_archived(&engine.live, id)
}

/// Returns the forgotten memory called `id`, with the record of its archiving.
///
/// # Errors
///
/// As for [`resolve_forgotten`], and if a journal cannot be read.
pub fn forgotten(engine: &Engine, id: &str) -> Result<Forgotten, EngineError> {
    let mut one = forgotten_each(engine, &[id])?;
    one.pop().expect("there is one for each id")
}

/// As [`forgotten`], for each of `ids` in their order.
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
        match reader.read(&name, MAX_INDEXED_BYTES as u64) {
            Ok(version) => Ok(forgotten_in(version, &went)),
            Err(_) => Err(EngineError::NotFound((*id).to_owned())),
        }
    };
    Ok(ids.iter().map(one).collect())
}

/// Returns the live memory that a forgotten one was merged into: the summary made of it by a compaction
/// or a consolidation, or its successor. `None` if it was archived for another reason.
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
        rows::prefetch(&engine.live, &live);
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

/// Moves the forgotten memory called `id` back.
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

/// Returns the memory in a file of the archive, with the record of its archiving.
fn forgotten_in(version: Version, went: &HashMap<String, Record>) -> Forgotten {
    let memory = parse(&version.entry, &version.bytes);
    let record = went.get(memory.stem.as_str()).cloned();
    let lies_since = DateTime::from_timestamp_nanos(version.entry.changed);
    let at = record.as_ref().map_or(lies_since, |record| record.at);
    Forgotten {
        memory,
        name: version.entry.name,
        record,
        at,
        settled: at.max(lies_since),
        bytes: version.entry.stamp.size,
    }
}

/// Whether a memory has a link that it was made from the memory `stem`.
fn is_made_of(memory: &Memory, stem: &Stem) -> bool {
    let mut links = memory.links.iter();
    links.any(|link| link.relation == DERIVED_FROM && is_called(stem, &link.to))
}
