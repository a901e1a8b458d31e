//! Imports memories of other programs, and exports own ones.
//!
//! Memories are imported one at a time: the old id or path becomes `metadata.source_id`, so that a second
//! import adds nothing. One that cannot be read does not stop the others. A source has its own ids
//! and may list a relation before its memories, so relations wait until all memories are
//! there (`relations/relating`). `.memdir/import-at-work` exists until then: after an interrupted
//! import, the next one sets all of them. docs/IMPORT.md has the sources field by field.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, TimeDelta, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::names::{EARLIER_OF, SOURCE_ID};
use crate::engine::live::{current_snapshot, index_recovery, rows, usage};
use crate::engine::ops::relations::relating;
use crate::engine::ops::relations::relating::{End, Relating};
use crate::engine::ops::{forget, sessions};
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::engine::write::new;
use crate::engine::write::screen::Screened;
use crate::engine::write::writer::{BY_IMPORT, Writer};
use crate::files::{CrashMarker, Lock, Place};
use crate::format::MAX_INDEXED_BYTES;
use crate::import::{EndReason, Foreign, ForeignItem, ForeignRelation, ImportError};
use crate::index::{Query, SearchModels};
use crate::lifecycle::Stated;
use crate::model::{
    Filter, GLOBAL, Handle, Kind, Memory, MetaValue, NewMemory, Stem, Timestamp, Usage, Visibility,
    is_same_namespace,
};
use crate::{lifecycle, secrets};

/// Options of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Import {
    /// Whether to only return what would happen.
    pub dry_run: bool,
    /// Whether the user named the namespace: what was imported into another one is another memory.
    pub into_namespace: bool,
}

/// State here of a memory that was imported before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownAs {
    /// It has the text of the source.
    Same,
    /// Its text differs: it was changed here or there, or two memories of one source have one id and time.
    OtherText,
    /// It is in the archive, or was purged.
    Forgotten,
}

/// Result for one item of a source.
#[derive(Debug)]
pub enum Imported {
    /// It was imported.
    Added {
        /// Id of the memory in the source.
        source_id: Option<String>,
        /// Stem of the new memory; `None` in a dry run.
        stem: Option<Stem>,
        /// Credentials found in it.
        screened: Screened,
        /// Kinds of content that no memory has a field for.
        not_carried: Vec<&'static str>,
        /// A memory of this import with the same text.
        same_text: Option<Stem>,
    },
    /// It was imported before.
    Known {
        /// Id of the memory in the source.
        source_id: Option<String>,
        /// Stem of the memory here.
        stem: Option<Stem>,
        /// State of the memory here.
        state: KnownAs,
    },
    /// It is left out by design.
    LeftOut {
        /// Id of the memory in the source.
        source_id: Option<String>,
        /// Kind of what was left out.
        what: &'static str,
    },
    /// It could not be imported.
    Failed {
        /// Name of the item in the source.
        source: String,
        /// Message of the error.
        reason: String,
        /// Error of the store, if it is not one of the memory. It may name folders of this
        /// machine, and so may the reason.
        fault: Option<EngineError>,
    },
}

/// Totals of an import, besides the memories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// Number of relations between the memories that are links now, or will be.
    pub linked: usize,
    /// Number of new memories that have expired already.
    pub expired: usize,
    /// Number of things that could not be carried over, by kind.
    pub not_carried: BTreeMap<&'static str, usize>,
}

impl Report {
    fn lacks(&mut self, what: &'static str, count: usize) {
        if count > 0 {
            *self.not_carried.entry(what).or_default() += count;
        }
    }
}

/// Metadata key with a hash of text and time, for memories without an id or a time.
pub(in crate::engine) const SOURCE_HASH: &str = "source_hash";

/// Kind of a memory without text, which is not imported.
const NO_TEXT: &str = "memories without text";

/// Number of uses that are written at once.
const MOST_USES: usize = 1024;

/// State of a running import.
#[derive(Default)]
struct Progress {
    known: ImportIndex,
    relating: Relating,
    uses: Vec<(DateTime<Utc>, Stem)>,
    /// Times of the last changes in the source, by file.
    updated: Vec<(String, DateTime<Utc>)>,
    /// Files of memories that are no longer live in the source.
    ended: Vec<(String, EndReason)>,
    /// Stems of the source's memories in this store.
    stems: BTreeSet<Stem>,
    /// Number of sessions with the source.
    sessions: usize,
    /// First imported memory of each text, by namespace.
    texts: HashMap<(Option<String>, u128), Stem>,
    report: Report,
    /// Folders below `files/` with new files, which are to be synced.
    folders: BTreeSet<String>,
}

/// Imports `items` one by one, then sets the relations between them; calls `each` with the result
/// of each. Importing the same again changes nothing. A failure does not stop the
/// others.
///
/// # Errors
///
/// Fails if the store cannot be read or written at all.
pub fn import(
    engine: &Engine,
    items: impl Iterator<Item = Result<impl Into<ForeignItem>, ImportError>>,
    options: Import,
    each: &mut dyn FnMut(Imported),
) -> Result<Report, EngineError> {
    if options.dry_run {
        return import_all(engine, items, options, false, each);
    }
    engine.writer.check_writable()?;
    // Two imports of the same source at once would add each memory twice.
    let _lock = Lock::take(&engine.live.state().join("import.lock"), "another import")?;
    // An interrupted one may have left memories without their relations.
    let at_work = CrashMarker::begin(&engine.live.state().join("import-at-work"))?;
    let report = import_all(engine, items, options, at_work.was_interrupted, each);
    if report.is_err() {
        at_work.leave_unfinished();
    }
    report
}

fn import_all(
    engine: &Engine,
    items: impl Iterator<Item = Result<impl Into<ForeignItem>, ImportError>>,
    options: Import,
    relate_all: bool,
    each: &mut dyn FnMut(Imported),
) -> Result<Report, EngineError> {
    let mut progress = Progress {
        known: index_recovery::mending(&engine.live, || self::known(engine))?,
        ..Progress::default()
    };
    let _together = engine.writer.collect_records();
    for item in items {
        let imported = match item.map(Into::into) {
            Ok(ForeignItem::Memory(foreign)) => {
                import_one(engine, *foreign, options, &mut progress)
            }
            Ok(ForeignItem::ForeignRelation(relation)) => {
                progress.relating.wants(relation);
                continue;
            }
            Ok(ForeignItem::Sessions(count)) => {
                progress.sessions += count;
                continue;
            }
            Ok(ForeignItem::LeftOut { source_id, what }) => {
                progress.report.lacks(what, 1);
                Imported::LeftOut { source_id, what }
            }
            Err(error) => Imported::Failed {
                source: error.source_name(),
                reason: error.to_string(),
                fault: None,
            },
        };
        if let Imported::Added { stem, .. } | Imported::Known { stem, .. } = &imported {
            progress.stems.extend(stem.clone());
        }
        each(imported);
        if progress.uses.len() >= MOST_USES {
            engine
                .writer
                .count_past_uses(&std::mem::take(&mut progress.uses));
        }
    }
    // Once, and before the import is reported as done.
    for folder in &progress.folders {
        engine.writer.sync_folder(Place::Files, folder)?;
    }
    engine.writer.count_past_uses(&progress.uses);
    if progress.sessions > 0 && !options.dry_run {
        sessions::carry_sessions(engine, progress.sessions, &progress.stems)?;
    }
    let Progress {
        known,
        relating,
        ended,
        updated,
        mut report,
        ..
    } = progress;
    let related = relating::relate_imported(engine, relating, relate_all, &|source_id| {
        known.only(source_id)
    })?;
    // After the relations, which do not count as a change in the source.
    for (name, at) in updated {
        engine
            .writer
            .record_at(at, "update", &name, Some(BY_IMPORT));
    }
    end_imported(engine, ended)?;
    report.linked = related.set;
    report.lacks("links to what is not there", related.dangling);
    report.lacks("links to a name that several have", related.ambiguous);
    report.lacks("links of a memory to itself", related.to_itself);
    report.lacks("times of links", related.dated);
    report.lacks("links that a memory has no room for", related.no_room);
    report.lacks(
        "rings of memories that replace each other",
        related.circular,
    );
    Ok(report)
}

/// Archives memories that are no longer live in the source, unless another one supersedes them here.
fn end_imported(engine: &Engine, ended: Vec<(String, EndReason)>) -> Result<(), EngineError> {
    let mut by_reason: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, ended) in ended {
        let why = match ended {
            EndReason::Archived(why) => why,
            EndReason::Superseded => {
                let version = engine.live.store.reader(Place::Files).read(&name, u64::MAX);
                let is_replaced = version.is_ok_and(|version| {
                    parse(&version.entry, &version.bytes)
                        .superseded_by
                        .is_some()
                });
                if is_replaced {
                    continue;
                }
                "superseded where it comes from, which does not say by what".to_owned()
            }
        };
        by_reason.entry(why).or_default().push(name);
    }
    for (why, names) in by_reason {
        let archived = forget::archive_all(engine, names, Some(&why), false, |_| true);
        if let Some((_, error)) = archived.failed.into_iter().next() {
            return Err(error);
        }
    }
    Ok(())
}

/// Returns the memories that were imported before, with forgotten ones: importing again does not bring
/// them back.
fn known(engine: &Engine) -> Result<ImportIndex, EngineError> {
    let mut known = ImportIndex::default();
    let reader = engine.live.store.reader(Place::Files);
    let snapshot = current_snapshot::snapshot(&engine.live)?;
    for (name, _) in snapshot.files() {
        known.there(stem_of(name), Some(name.to_owned()));
    }
    let mut holders = snapshot.holders(&format!("metadata.{SOURCE_ID}"))?;
    holders.extend(snapshot.holders(&format!("metadata.{SOURCE_HASH}"))?);
    let holders: Vec<String> = holders.into_iter().map(|(_, name)| name).collect();
    for read in rows::versions(reader.as_ref(), &holders, MAX_INDEXED_BYTES as u64) {
        let Some(version) = rows::there(read)? else {
            continue;
        };
        let memory = parse(&version.entry, &version.bytes);
        known.add(&memory, Some(version.entry.name));
    }
    let purged = engine.live.store.purged()?;
    for stem in &purged {
        known.there(Stem::from_file_name(stem), None);
    }
    let archive = engine.live.store.reader(Place::Archive);
    let archived = engine.live.store.list(Place::Archive)?.names();
    for name in &archived {
        known.there(stem_of(name), None);
    }
    for read in rows::versions(archive.as_ref(), &archived, MAX_INDEXED_BYTES as u64) {
        let Some(version) = rows::there(read)? else {
            continue;
        };
        known.add(&parse(&version.entry, &version.bytes), None);
    }
    Ok(known)
}

/// Imports one memory: looks whether it was imported before, writes it, and notes what waits for
/// the rest of the source.
fn import_one(
    engine: &Engine,
    mut foreign: Foreign,
    options: Import,
    progress: &mut Progress,
) -> Imported {
    let memory = &mut foreign.memory;
    let source_id = foreign.source_id.clone();
    // The name of an entity is content by itself.
    let is_named = memory.kind == Some(Kind::Entity) && memory.title.is_some();
    if memory.content.trim().is_empty() && !is_named {
        progress.report.lacks(NO_TEXT, 1);
        return Imported::LeftOut {
            source_id,
            what: NO_TEXT,
        };
    }
    want_relations(progress, &mut foreign);
    let key = mark_source(&mut foreign);
    let found = progress
        .known
        .find(&foreign.memory, key.as_deref(), options);
    if let Some((stem, name, is_same)) = found {
        let state = match is_same {
            _ if name.is_none() => KnownAs::Forgotten,
            true => KnownAs::Same,
            false => KnownAs::OtherText,
        };
        let end = End {
            stem: Some(stem.clone()),
            name,
            is_new: false,
        };
        let names = foreign.names;
        progress.relating.became(source_id.as_deref(), names, end);
        return Imported::Known {
            source_id,
            stem: Some(stem),
            state,
        };
    }
    let has_ended = has_ended(engine, &foreign.memory, foreign.last_used.as_ref());
    let mut end = End {
        stem: None,
        name: None,
        is_new: true,
    };
    let mut screened = Screened::default();
    let mut same_text = None;
    if !options.dry_run {
        // The memories that it supersedes may come later, or not at all: the names are kept as written.
        let add = Writer::add_unsynced;
        match new::write_new_by(&engine.writer, &foreign.memory, "import", add) {
            Ok((stem, found)) => {
                screened = found;
                same_text = note_written(engine, progress, &mut foreign, &stem, key.as_deref());
                end.name = Some(engine.live.new_name(&stem));
                end.stem = Some(stem);
            }
            Err(error) => return failed(foreign.source, error),
        }
    }
    let stem = end.stem.clone();
    let names = foreign.names;
    progress.relating.became(source_id.as_deref(), names, end);
    progress.relating.states(&foreign.memory);
    progress.report.expired += usize::from(has_ended);
    for what in &foreign.not_carried {
        progress.report.lacks(what, 1);
    }
    Imported::Added {
        source_id,
        stem,
        screened,
        not_carried: foreign.not_carried,
        same_text,
    }
}

/// Notes the relations that a memory states in its source; they become links when all memories
/// are there.
fn want_relations(progress: &mut Progress, foreign: &mut Foreign) {
    let Some(id) = &foreign.source_id else {
        return;
    };
    for relation in foreign.relations.drain(..) {
        progress.relating.wants(ForeignRelation {
            from: id.clone(),
            relation: relation.relation,
            to: relation.to,
            is_dated: false,
        });
    }
}

/// Writes into a memory's metadata what identifies it in its source, and returns the key by which
/// a second import finds it: its id there, or a hash of its text where it has no id and no time.
fn mark_source(foreign: &mut Foreign) -> Option<String> {
    let memory = &mut foreign.memory;
    let source_id = foreign.source_id.clone();
    let has_own_name = source_id.is_some() && memory.timestamp.is_some();
    let hash = (!has_own_name && memory.handle.is_none()).then(|| source_hash(memory));
    let key = source_id.clone().or_else(|| hash.clone());
    if let Some(id) = source_id {
        memory.metadata.retain(|(key, _)| key != SOURCE_ID);
        let id = (SOURCE_ID.to_owned(), MetaValue::Text(id));
        memory.metadata.insert(0, id);
    }
    if let Some(hash) = hash {
        memory.metadata.retain(|(key, _)| key != SOURCE_HASH);
        let hash = (SOURCE_HASH.to_owned(), MetaValue::Text(hash));
        memory.metadata.push(hash);
    }
    key
}

/// Notes what is to be done for a memory that was written as `stem` once all are there; returns the
/// first memory of this import with the same text, if there is one.
fn note_written(
    engine: &Engine,
    progress: &mut Progress,
    foreign: &mut Foreign,
    stem: &Stem,
    key: Option<&str>,
) -> Option<Stem> {
    let memory = &foreign.memory;
    let name = engine.live.new_name(stem);
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    progress.folders.insert(folder.to_owned());
    let text = (memory.namespace.clone(), digest(memory.content.trim()));
    let same_text = progress.texts.get(&text).cloned();
    progress.texts.entry(text).or_insert_with(|| stem.clone());
    progress.known.took(stem, &name, key, memory);
    if let Some(at) = &foreign.last_used {
        // Equal lines are united: each use needs a time of its own.
        let each = (0..=foreign.earlier_uses).rev().map(|number| {
            let before = TimeDelta::seconds(i64::try_from(number).unwrap_or(0));
            (at.utc() - before, stem.clone())
        });
        progress.uses.extend(each);
    }
    if let Some(updated) = &foreign.updated {
        progress.updated.push((name.clone(), updated.utc()));
    }
    let ended = foreign.ended.take().into_iter();
    progress
        .ended
        .extend(ended.map(|ended| (name.clone(), ended)));
    same_text
}

/// Returns the result for an item of `source` that could not be written.
fn failed(source: String, error: EngineError) -> Imported {
    let is_of_memory = matches!(
        error,
        EngineError::Format(_) | EngineError::Invalid(_) | EngineError::Secrets(_)
    );
    Imported::Failed {
        source,
        reason: error.to_string(),
        fault: (!is_of_memory).then_some(error),
    }
}

/// Whether an imported memory has expired already.
fn has_ended(engine: &Engine, memory: &NewMemory, last_used: Option<&Timestamp>) -> bool {
    let now = engine.live.clock.now();
    let stated = Stated {
        timestamp: memory.timestamp.as_ref().map_or(now, Timestamp::utc),
        updated: None,
        expires: memory.expires.as_ref().map(Timestamp::utc),
        tier: memory.tier,
        kind: memory.kind,
        importance: memory.importance,
        confidence: memory.confidence,
    };
    let mut usage = Usage::default();
    if let Some(at) = last_used {
        usage.add(at.utc());
    }
    lifecycle::state(&stated, &usage, &engine.live.life, now).is_expired(now)
}

/// Calls `each` with every memory that passes `filter`, oldest first, and its file's name;
/// holds one whole memory at a time, of a database some. Returns their number.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn export(
    engine: &Engine,
    filter: &Filter,
    each: &mut dyn FnMut(Memory, String),
) -> Result<usize, EngineError> {
    let filter = rows::listed(Filter {
        visibility: Visibility::Everything,
        ..filter.clone()
    });
    let query = Query::everything(filter, usize::MAX);
    let reader = engine.live.store.reader(Place::Files);
    let texts = |name: &str| {
        let version = reader.read(name, MAX_INDEXED_BYTES as u64).ok()?;
        Some(parse(&version.entry, &version.bytes))
    };
    let found = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        usage::at_once(&engine.live, |moment| {
            Ok(snapshot.search(&query, moment, SearchModels::default(), &texts)?)
        })
    })?;
    let mut count = 0;
    let names: Vec<String> = found.hits.into_iter().rev().map(|hit| hit.name).collect();
    for read in rows::versions(reader.as_ref(), &names, u64::MAX) {
        // Gone since it was listed: not exported.
        let Some(version) = rows::there(read)? else {
            continue;
        };
        let memory = parse(&version.entry, &version.bytes);
        each(memory, version.entry.name);
        count += 1;
    }
    Ok(count)
}

fn source_hash(memory: &NewMemory) -> String {
    let at = memory.timestamp.as_ref().map_or("", |at| at.as_str());
    format!(
        "{:032x}",
        crate::files::digest(format!("{at}\n{}", memory.content).as_bytes())
    )
}

/// Index of the memories in the store, for finding those imported before.
#[derive(Default)]
struct ImportIndex {
    /// Live file of each stem, if it has one.
    stems: HashMap<Stem, Option<String>>,
    /// Stem of each handle; `None` where several have it.
    by_handle: HashMap<Handle, Option<Stem>>,
    by_source: HashMap<String, Vec<ImportedSource>>,
}

/// A memory with a source id, or a hash in its place.
struct ImportedSource {
    stem: Stem,
    /// Live file; `None` if it was forgotten.
    name: Option<String>,
    at: Option<String>,
    namespace: Option<String>,
    /// Hash of the text. Texts of a whole store would not fit into memory.
    digest: u128,
    /// Hash that was recorded at its import.
    hash: Option<String>,
}

fn digest(text: &str) -> u128 {
    crate::files::digest(text.as_bytes())
}

impl ImportIndex {
    /// Adds a memory of the store, live or not.
    fn there(&mut self, stem: Stem, name: Option<String>) {
        if let Some(handle) = stem.handle() {
            let known = self.by_handle.entry(handle);
            known
                .and_modify(|known| *known = known.take().filter(|known| *known == stem))
                .or_insert_with(|| Some(stem.clone()));
        }
        let file = self.stems.entry(stem).or_default();
        *file = file.take().or(name);
    }

    fn add(&mut self, memory: &Memory, name: Option<String>) {
        // An earlier text of a memory is not what came in.
        if memory.metadata_text(EARLIER_OF).is_some() {
            return;
        }
        let text = |key: &str| memory.metadata_text(key).map(str::to_owned);
        let hash = text(SOURCE_HASH);
        if let Some(id) = text(SOURCE_ID).or_else(|| hash.clone()) {
            self.by_source.entry(id).or_default().push(ImportedSource {
                stem: memory.stem.clone(),
                name,
                at: Some(memory.timestamp.as_str().to_owned()),
                namespace: memory.namespace.clone(),
                digest: digest(&memory.content),
                hash,
            });
        }
    }

    /// Adds a memory that was just written.
    fn took(&mut self, stem: &Stem, name: &str, key: Option<&str>, memory: &NewMemory) {
        self.there(stem.clone(), Some(name.to_owned()));
        if let Some(id) = key {
            let seen = ImportedSource {
                stem: stem.clone(),
                name: Some(name.to_owned()),
                // Of memories with one id and time in a source, such as a copied note, each text counts.
                at: None,
                namespace: memory.namespace.clone(),
                digest: digest(&memory.content),
                hash: None,
            };
            self.by_source.entry(id.to_owned()).or_default().push(seen);
        }
    }

    /// Returns the memory that `memory` became before, its live file, and whether that has its text. Two sources may
    /// use one id for different memories: it is the same only if its time or its text is the same, too, and in a
    /// namespace that the user named only if it is there.
    fn find(
        &self,
        memory: &NewMemory,
        source_id: Option<&str>,
        options: Import,
    ) -> Option<(Stem, Option<String>, bool)> {
        let own = memory.handle.zip(memory.timestamp.as_ref());
        let own = own.map(|(handle, at)| Stem::new(at.utc(), handle));
        if let Some(stem) = own
            && let Some(name) = self.stems.get(&stem)
        {
            return Some((stem, name.clone(), true));
        }
        let at = memory.timestamp.as_ref().map(|at| at.as_str());
        let seen = self.by_source.get(source_id?)?;
        let (text, hash) = (digest(&memory.content), source_hash(memory));
        // A text that was redacted at its import, or later.
        let redacted = digest(&secrets::redact(&memory.content));
        let is_same = |seen: &&ImportedSource| {
            [text, redacted].contains(&seen.digest) || seen.hash.as_ref() == Some(&hash)
        };
        let is_there = |seen: &&ImportedSource| {
            let [here, wanted] =
                [&seen.namespace, &memory.namespace].map(|name| name.as_deref().unwrap_or(GLOBAL));
            !options.into_namespace || is_same_namespace(here, wanted)
        };
        let known = || seen.iter().filter(is_there);
        // A live one goes before one that was forgotten.
        let same = known()
            .filter(is_same)
            .max_by_key(|seen| seen.name.is_some());
        let of_time = || known().find(|seen| at.is_some() && seen.at.as_deref() == at);
        let found = same.map(|seen| (seen, true));
        let (seen, is_same) = found.or_else(|| Some((of_time()?, false)))?;
        Some((seen.stem.clone(), seen.name.clone(), is_same))
    }

    /// Returns the one memory of former runs with this id, in its source or here.
    fn only(&self, source_id: &str) -> Option<End> {
        let (stem, name) = match self.by_source.get(source_id).map(Vec::as_slice) {
            Some([seen]) => (seen.stem.clone(), seen.name.clone()),
            Some(_) => return None,
            None => {
                let stem = match Handle::parse(source_id) {
                    Some(handle) => self.by_handle.get(&handle)?.clone()?,
                    None => Stem::parse(source_id)?,
                };
                let name = self.stems.get(&stem)?.clone();
                (stem, name)
            }
        };
        Some(End {
            stem: Some(stem),
            name,
            is_new: false,
        })
    }
}
