//! Makes the index agree with the files before anything is answered.
//!
//! Compares the directory with what is indexed: new, changed and missing files are read into an
//! overlay that searches see at once; many of them are indexed at once instead. Between two
//! looks, a changed folder is noticed by its modification time on every operation, a file
//! changed in place by a sweep over all stamps, at most a second apart and never for more than a
//! twentieth of the time.

use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use rayon::prelude::*;

use super::Engine;
use super::EngineError;
use crate::clock::Clock;
use crate::files::Entry;
use crate::files::FilesError;
use crate::files::Listing;
use crate::files::Place;
use crate::files::Reader;
use crate::files::Skipped;
use crate::format::MAX_INDEXED_BYTES;
use crate::index::Document;
use crate::index::IndexError;
use crate::index::Indexed;
use crate::index::Overlay;
use crate::index::Snapshot;
use crate::model::Problem;
use crate::model::Stem;

/// What this process knows of the store.
#[derive(Default)]
pub(super) struct Freshness {
    folders: Vec<(String, i64)>,
    swept: Option<Sweep>,
    overlay: Overlay,
    /// Which committed state the overlay was made for.
    state: String,
    /// What is committed with the overlay over it.
    current: Option<Arc<dyn Snapshot>>,
    /// Names that are no readable memories, with the reason.
    pub(super) skipped: Vec<Skipped>,
    /// Until when this process knows racy files to be as indexed, in nanoseconds since 1970.
    verified: i64,
    /// How many files are committed.
    indexed: usize,
    /// How many racy files the last look read for nothing.
    racy: usize,
}

#[derive(Clone, Copy)]
struct Sweep {
    at: Instant,
    cost: Duration,
}

/// How far indexing has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub done: usize,
    pub total: usize,
}

/// From so many changed files on they are indexed at once and not searched through an overlay:
/// about what a commit costs.
const INDEX_AT_ONCE: usize = 256;
/// From so many on a command indexes them after it has answered.
const INDEX_AFTERWARDS: usize = 32;
/// Files read and parsed together: enough for all cores, few enough to hold in memory.
const CHUNK: usize = 1024;
/// In-place changes are looked for at least so often.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// A file younger than this when it was read may change again without its stamp changing.
const RACY_NANOS: i64 = 2_000_000_000;
/// Looks at the directory before a view is taken that somebody's commit may have overtaken.
const MAX_LOOKS: usize = 10;
/// The coarsest step in which systems keep the times of folders: a tick of 100 Hz, doubled.
const YOUNG_FOLDER_NANOS: i64 = 20_000_000;

impl Engine {
    /// A view of the store in which every file is as it is on disk now.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read; never because of the index, which is made anew if
    /// it is unusable.
    pub(super) fn snapshot(&self) -> Result<Arc<dyn Snapshot>, EngineError> {
        self.fresh_snapshot(false)
    }

    /// As [`Engine::snapshot`], looking at every file's stamp whatever was looked at before.
    pub(super) fn fresh_snapshot(
        &self,
        look_again: bool,
    ) -> Result<Arc<dyn Snapshot>, EngineError> {
        let mut freshness = self.freshness();
        if look_again || freshness.must_look(self) {
            self.look(&mut freshness)?;
        }
        if let Some(current) = &freshness.current {
            return Ok(current.clone());
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let current = self.index.snapshot(&freshness.overlay)?;
            // The overlay says what differs from one committed state. Over another one, which
            // somebody committed in between, it would hide or double files.
            if current.state() == freshness.state || tries == MAX_LOOKS {
                freshness.current = Some(current.clone());
                return Ok(current);
            }
            self.look(&mut freshness)?;
        }
    }

    /// Brings the overlay up to date with the directory.
    fn look(&self, freshness: &mut Freshness) -> Result<(), EngineError> {
        let started = Instant::now();
        let mut listing = self.store.list(Place::Files)?;
        if !self.is_read_only() && !listing.temps.is_empty() {
            let cleared = self.store.remove_leftovers(Place::Files, &listing.temps);
            for leftover in &cleared {
                tracing::info!(name = %leftover.name, "cleared what an interrupted write left");
            }
            if !cleared.is_empty() {
                // One of them may have become a conflict copy.
                listing = self.store.list(Place::Files)?;
            }
        }
        let committed = self.committed()?;
        freshness.verified = freshness.verified.max(committed.verified());
        let mut changes = changes(&listing, committed.as_ref(), freshness.verified);
        let mut committed = committed;
        if changes.len() >= INDEX_AT_ONCE && self.index_if_possible(&changes)? {
            committed = self.committed()?;
            freshness.verified = freshness.verified.max(committed.verified());
            changes = self::changes(&listing, committed.as_ref(), freshness.verified);
        }
        let read_from = self.now_nanos();
        let overlay = self.overlay(&changes, &freshness.overlay, committed.as_ref());
        if !changes.racy.is_empty() && overlay.all_racy_as_indexed {
            freshness.verified = freshness.verified.max(read_from);
        }
        freshness.racy = changes.racy.len();
        freshness.indexed = committed.len();
        committed.state().clone_into(&mut freshness.state);
        freshness.skipped = listing.skipped;
        freshness.skipped.extend(overlay.skipped);
        freshness.overlay = overlay.overlay;
        // A folder that was changed a moment ago may change again without its time changing.
        let young = self.now_nanos() - YOUNG_FOLDER_NANOS;
        freshness.folders = listing.folders;
        for (_, modified) in &mut freshness.folders {
            if *modified > young {
                *modified = i64::MIN;
            }
        }
        if !freshness.overlay.files.is_empty() {
            self.wake();
        }
        // Without an overlay the committed state is the current one.
        freshness.current = freshness.overlay.files.is_empty().then_some(committed);
        freshness.swept = Some(Sweep {
            at: started,
            cost: started.elapsed(),
        });
        Ok(())
    }

    /// The committed index; made anew, empty, if it is unusable.
    fn committed(&self) -> Result<Arc<dyn Snapshot>, EngineError> {
        match self.index.snapshot(&Overlay::default()) {
            Err(IndexError::Unusable { reason }) => {
                tracing::warn!("the index is unusable ({reason}); it is made anew");
                let lock = self.lock_index()?;
                // Whoever held the lock may have mended it.
                let snapshot = self.index.snapshot(&Overlay::default()).or_else(|_| {
                    self.index.reset()?;
                    self.index.snapshot(&Overlay::default())
                });
                drop(lock);
                Ok(snapshot?)
            }
            other => Ok(other?),
        }
    }

    /// As [`Engine::index_now`]; a disk on which the index cannot grow costs speed, no answer.
    fn index_if_possible(&self, changes: &Changes) -> Result<bool, EngineError> {
        match self.index_now(changes, &mut |_| {}) {
            Err(
                error @ (EngineError::Index(IndexError::Failed { .. }) | EngineError::Files(_)),
            ) => {
                tracing::warn!(
                    "cannot index {} files, they are searched one by one: {error}",
                    changes.len()
                );
                Ok(false)
            }
            other => other,
        }
    }

    /// Indexes `changes` now; `Ok(false)` if another process is indexing.
    fn index_now(
        &self,
        changes: &Changes,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<bool, EngineError> {
        let Some(_lock) = self.try_lock_index()? else {
            return Ok(false);
        };
        let mut batch = self.index.batch(changes.len())?;
        changes.removed.iter().for_each(|name| batch.delete(name));
        let reader = self.store.reader(Place::Files);
        let total = changes.unread().count();
        let unread: Vec<&Entry> = changes.unread().collect();
        let verified = self.now_nanos();
        let mut done = 0;
        for chunk in unread.chunks(CHUNK) {
            let mut documents = Vec::with_capacity(chunk.len());
            for read in self.read_all(&reader, chunk) {
                match read {
                    Read::Document(document) => documents.push(*document),
                    Read::Gone(name) => batch.delete(&name),
                    Read::Skipped(skipped) => batch.delete(&skipped.name),
                }
            }
            batch.upsert_all(documents)?;
            done += chunk.len();
            progress(Progress { done, total });
        }
        // Every racy file was read again after this moment, so none is in doubt any more.
        batch.commit(verified)?;
        Ok(true)
    }

    /// Makes the index anew from nothing, or only brings it up to date; returns how many files
    /// were read.
    ///
    /// # Errors
    ///
    /// Fails if another process is indexing, or if directory or index cannot be used.
    pub fn reindex(
        &self,
        full: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<usize, EngineError> {
        let progress = std::cell::RefCell::new(progress);
        self.mending(|| self.reindex_once(full, *progress.borrow_mut()))
    }

    fn reindex_once(
        &self,
        full: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<usize, EngineError> {
        let mut freshness = self.freshness();
        if full {
            let _lock = self.lock_index()?;
            self.index.reset()?;
        }
        let listing = self.store.list(Place::Files)?;
        let committed = self.committed()?;
        let changes = changes(&listing, committed.as_ref(), committed.verified());
        let count = changes.unread().count();
        if !changes.is_empty() && !self.index_now(&changes, progress)? {
            return Err(EngineError::Files(FilesError::Busy {
                what: "the index".to_owned(),
                holder: std::fs::read_to_string(self.writer_lock_path()).unwrap_or_default(),
            }));
        }
        *freshness = Freshness::default();
        Ok(count)
    }

    /// Indexes what waits in the overlay, if there is enough of it to be worth a commit, or if
    /// `all`. Silent when another process is indexing: that one does it.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be written.
    pub fn settle(&self, all: bool) -> Result<(), EngineError> {
        self.mending(|| self.settle_once(all))
    }

    fn settle_once(&self, all: bool) -> Result<(), EngineError> {
        let mut freshness = self.freshness();
        // Racy files cost every later look a reading until their state is written down.
        let waiting = freshness.overlay.files.len() + freshness.racy;
        let is_new = freshness.indexed == 0;
        let least = if all || is_new { 1 } else { INDEX_AFTERWARDS };
        if waiting < least {
            return Ok(());
        }
        let Some(_lock) = self.try_lock_index()? else {
            return Ok(());
        };
        let mut batch = self.index.batch(waiting)?;
        for (name, document) in &freshness.overlay.files {
            match document {
                Some(document) => batch.upsert(Document::clone(document))?,
                None => batch.delete(name),
            }
        }
        batch.commit(freshness.verified)?;
        // Nobody else can have committed meanwhile: the lock is still held.
        let committed = self.index.snapshot(&Overlay::default())?;
        committed.state().clone_into(&mut freshness.state);
        freshness.racy = 0;
        freshness.indexed = committed.len();
        freshness.overlay = Overlay::default();
        freshness.current = Some(committed);
        Ok(())
    }

    /// How many files wait to be indexed; searches find them all the same.
    pub(super) fn waiting(&self) -> usize {
        self.freshness().overlay.files.len()
    }

    /// Lets the next operation look at the directory again: this process changed it.
    pub(super) fn changed_by_us(&self) {
        self.freshness().folders.clear();
        self.wake();
    }

    fn overlay(&self, changes: &Changes, known: &Overlay, committed: &dyn Snapshot) -> Looked {
        let reader = self.store.reader(Place::Files);
        let mut looked = Looked {
            all_racy_as_indexed: true,
            ..Looked::default()
        };
        let mut unread = Vec::new();
        for entry in &changes.changed {
            match known.files.get(&entry.name) {
                Some(Some(document))
                    if document.indexed.stamp == entry.stamp && !document.indexed.racy =>
                {
                    looked
                        .overlay
                        .files
                        .insert(entry.name.clone(), Some(document.clone()));
                }
                _ => unread.push(entry),
            }
        }
        unread.extend(&changes.racy);
        for chunk in unread.chunks(CHUNK) {
            for read in self.read_all(&reader, chunk) {
                match read {
                    Read::Document(document) => {
                        let as_indexed = committed.indexed(&document.name).is_some_and(|indexed| {
                            indexed.hash == document.indexed.hash
                                && indexed.stamp == document.indexed.stamp
                        });
                        // What changed without a trace stays in doubt until it is committed, and
                        // what is too young still is looked at again.
                        if !as_indexed || document.indexed.racy {
                            looked.all_racy_as_indexed = false;
                        }
                        if !as_indexed {
                            let name = document.name.clone();
                            looked.overlay.files.insert(name, Some(Arc::new(*document)));
                        }
                    }
                    Read::Gone(name) => drop(looked.overlay.files.insert(name, None)),
                    Read::Skipped(skipped) => {
                        looked.overlay.files.insert(skipped.name.clone(), None);
                        looked.skipped.push(skipped);
                    }
                }
            }
        }
        for name in &changes.removed {
            looked.overlay.files.insert(name.clone(), None);
        }
        // A file that cannot be read and is not indexed needs no place in the overlay.
        looked
            .overlay
            .files
            .retain(|name, document| document.is_some() || committed.indexed(name).is_some());
        looked
    }

    fn read_all(&self, reader: &Reader, entries: &[&Entry]) -> Vec<Read> {
        let clock = self.clock.as_ref();
        if entries.len() < 16 {
            return entries
                .iter()
                .map(|entry| read(reader, entry, clock))
                .collect();
        }
        entries
            .par_iter()
            .map(|entry| read(reader, entry, clock))
            .collect()
    }

    fn now_nanos(&self) -> i64 {
        self.clock.now().timestamp_nanos_opt().unwrap_or(i64::MAX)
    }
}

impl Freshness {
    /// The last view, however old.
    pub(super) fn current(&self) -> Option<Arc<dyn Snapshot>> {
        self.current.clone()
    }

    fn must_look(&self, engine: &Engine) -> bool {
        let Some(sweep) = self.swept else { return true };
        let interval = SWEEP_INTERVAL.max(sweep.cost * 20);
        sweep.at.elapsed() >= interval || engine.store.folders_changed(Place::Files, &self.folders)
    }
}

/// How the directory differs from the index.
#[derive(Default)]
struct Changes {
    /// New files, and those with another stamp.
    changed: Vec<Entry>,
    /// Files with the indexed stamp that may have changed all the same.
    racy: Vec<Entry>,
    removed: Vec<String>,
}

impl Changes {
    fn len(&self) -> usize {
        self.changed.len() + self.removed.len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0 && self.racy.is_empty()
    }

    fn unread(&self) -> impl Iterator<Item = &Entry> {
        self.changed.iter().chain(&self.racy)
    }
}

/// Compares the directory with what is indexed: two listings in the order of names.
fn changes(listing: &Listing, committed: &dyn Snapshot, verified: i64) -> Changes {
    let mut changes = Changes::default();
    let mut entries = listing.entries.iter().peekable();
    committed.for_each(&mut |name, indexed| {
        while let Some(new) = entries.next_if(|entry| entry.name.as_str() < name) {
            changes.changed.push(new.clone());
        }
        match entries.next_if(|entry| entry.name == name) {
            None => changes.removed.push(name.to_owned()),
            Some(entry) if entry.stamp != indexed.stamp => changes.changed.push(entry.clone()),
            Some(entry) => {
                let in_doubt = entry.stamp.modified > verified.saturating_sub(RACY_NANOS);
                if indexed.racy && in_doubt {
                    changes.racy.push(entry.clone());
                }
            }
        }
    });
    changes.changed.extend(entries.cloned());
    changes
}

#[derive(Default)]
struct Looked {
    overlay: Overlay,
    skipped: Vec<Skipped>,
    all_racy_as_indexed: bool,
}

enum Read {
    Document(Box<Document>),
    Gone(String),
    Skipped(Skipped),
}

fn read(reader: &Reader, entry: &Entry, clock: &dyn Clock) -> Read {
    let limit = MAX_INDEXED_BYTES as u64;
    match reader.read(&entry.name, limit) {
        Ok(version) => {
            let now = clock.now().timestamp_nanos_opt().unwrap_or(i64::MAX);
            let stamp = version.entry.stamp;
            let mut memory = parse(&version.entry, &version.bytes);
            if stamp.size > limit {
                memory
                    .problems
                    .push(Problem::PartlyIndexed { bytes: stamp.size });
            }
            let racy = stamp.modified > now.saturating_sub(RACY_NANOS);
            let indexed = Indexed {
                stamp,
                hash: version.hash,
                racy,
            };
            let name = version.entry.name;
            Read::Document(Box::new(Document {
                name,
                indexed,
                memory,
                bytes: version.bytes,
            }))
        }
        Err(FilesError::Missing { .. }) => Read::Gone(entry.name.clone()),
        Err(error) => Read::Skipped(Skipped {
            name: entry.name.clone(),
            reason: reason(&error),
        }),
    }
}

fn reason(error: &FilesError) -> String {
    match error {
        FilesError::NotRegular { .. } => "it is not a regular file".to_owned(),
        FilesError::Io { source, .. } => format!("it cannot be read: {source}"),
        other => other.to_string(),
    }
}

/// Reads the memory out of a file's bytes.
pub(super) fn parse(entry: &Entry, bytes: &[u8]) -> crate::model::Memory {
    let modified = chrono::DateTime::from_timestamp_nanos(entry.stamp.modified);
    crate::format::parse(&stem_of(&entry.name), bytes, modified)
}

/// The stem of a file name below the memory directory.
pub(super) fn stem_of(name: &str) -> Stem {
    let file = name.rsplit('/').next().unwrap_or(name);
    Stem::from_file_name(file.strip_suffix(".md").unwrap_or(file))
}
