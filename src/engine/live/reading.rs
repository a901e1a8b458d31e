//! Reads files as documents for the index.

use crate::engine::error::EngineError;
use crate::engine::live::store::LiveStore;
use crate::engine::texts::{is_racy, parse, stem_of};
use crate::files::{Entry, FilesError, Listing, Place, Reader, Skipped, Version};
use crate::format::MAX_INDEXED_BYTES;
use crate::index::{Document, Indexed, Scan, Snapshot};
use crate::model::{Problem, Timestamp, is_possible_time};
use chrono::DateTime;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Duration;

/// Result of reading one name.
pub(in crate::engine) enum Read {
    Document {
        document: Box<Document>,
        /// [`Entry::changed`] of the file.
        changed: i64,
    },
    /// The file has the known bytes under another stamp, or under the same.
    Touched {
        name: String,
        /// Version with the present stamp.
        indexed: Indexed,
        /// [`Entry::changed`] of the file.
        changed: i64,
    },
    Gone(String),
    Skipped(Skipped),
}

/// Returns the indexed version of a file by its name.
pub(in crate::engine) type KnownVersions<'a> = dyn Fn(&str) -> Option<Indexed> + Sync + 'a;

/// Number of files read and parsed together: enough for all cores, few enough to hold in memory.
pub(in crate::engine) const CHUNK: usize = 1024;

/// Reads the files `names`, in parallel if they are many; in the same order. Files whose bytes are those of
/// their `known` versions are not parsed.
///
/// # Errors
///
/// Fails if the store cannot be reached: of a file that cannot be asked for nobody knows whether it is gone.
pub(in crate::engine) fn read_all(
    live: &LiveStore,
    names: &[&str],
    known: &KnownVersions<'_>,
) -> Result<Vec<Read>, FilesError> {
    let reader = live.store.reader(Place::Files);
    let now = before_reading(live);
    if let Some(read) = reader.read_many(names, MAX_INDEXED_BYTES as u64) {
        let read: Vec<_> = names.iter().zip(read).collect();
        let taken = read.into_par_iter();
        return taken
            .map(|(name, read)| taken_in(name, read, now, known))
            .collect();
    }
    if names.len() < 16 {
        return names
            .iter()
            .map(|name| read(reader.as_ref(), name, now, known))
            .collect();
    }
    names
        .par_iter()
        .map(|name| read(reader.as_ref(), name, now, known))
        .collect()
}

/// Reads the memories in the files `names`; those that are gone or unreadable are left out.
pub(in crate::engine) fn documents(live: &LiveStore, names: &[&str]) -> Vec<Document> {
    let read = read_all(live, names, &|_| None).unwrap_or_else(|error| {
        tracing::warn!("texts are left out: {error}");
        Vec::new()
    });
    read.into_iter().filter_map(Read::into_document).collect()
}

/// Maximum number of files that a search reads while the background indexes them: that is about as long as people
/// wait, and searches that read more would keep the index from being made.
const MAX_SCANNED: usize = 20_000;

/// Maximum time for which a search waits for the index: less than a call of a client may take.
const INDEX_PATIENCE: Duration = Duration::from_secs(25);

/// Returns a view that searches the files themselves, if the index lacks too many of them. Its searches of many files
/// wait for the index instead, if `is_awaited`.
pub(in crate::engine) fn scan(
    live: &LiveStore,
    listing: &Listing,
    is_awaited: bool,
) -> Arc<dyn Snapshot> {
    let entries = listing.entries.iter();
    let files = entries.map(|entry| (entry.name.clone(), entry.stamp));
    let reader = live.store.reader(Place::Files);
    let now = before_reading(live);
    let documents = move |names: &[&str]| -> Vec<Option<Document>> {
        let document = |name: &str, version| {
            let read = taken_in(name, version, now, &|_| None);
            read.ok().and_then(Read::into_document)
        };
        let limit = MAX_INDEXED_BYTES as u64;
        match reader.read_many(names, limit) {
            Some(versions) => {
                let versions = names.iter().zip(versions);
                versions.map(|(name, read)| document(name, read)).collect()
            }
            None => {
                let names = names.iter();
                names
                    .map(|name| document(name, reader.read(name, limit)))
                    .collect()
            }
        }
    };
    let scan =
        Scan::new(files.collect(), Box::new(documents), &live.languages).with_people(&live.people);
    if !is_awaited || listing.entries.len() <= MAX_SCANNED {
        return Arc::new(scan);
    }
    let awaited = Arc::clone(&live.awaited_index);
    let made = awaited.announce(listing.entries.len());
    Arc::new(scan.calling(Box::new(move || awaited.wait(made, INDEX_PATIENCE))))
}

/// Returns the present time in nanoseconds since 1970.
pub(in crate::engine) fn now_nanos(live: &LiveStore) -> i64 {
    live.clock.now().timestamp_nanos_opt().unwrap_or(i64::MAX)
}

/// Returns the time before files are read, for which [`is_racy`] asks. Where each change has a number, stamps hold it, and no
/// file is in doubt: the time is the latest one.
pub(in crate::engine) fn before_reading(live: &LiveStore) -> i64 {
    match live.store.sequence() {
        Some(_) => i64::MAX,
        None => now_nanos(live),
    }
}

impl Read {
    fn into_document(self) -> Option<Document> {
        match self {
            Read::Document { document, .. } => Some(*document),
            Read::Touched { .. } | Read::Gone(_) | Read::Skipped(_) => None,
        }
    }
}

/// Reads one file; `now` is a time before the read.
fn read(
    reader: &dyn Reader,
    name: &str,
    now: i64,
    known: &KnownVersions<'_>,
) -> Result<Read, FilesError> {
    taken_in(
        name,
        reader.read(name, MAX_INDEXED_BYTES as u64),
        now,
        known,
    )
}

/// Returns the result of reading the file `name`, which was begun after `now`.
fn taken_in(
    name: &str,
    version: Result<Version, FilesError>,
    now: i64,
    known: &KnownVersions<'_>,
) -> Result<Read, FilesError> {
    let limit = MAX_INDEXED_BYTES as u64;
    Ok(match version {
        Ok(version) => {
            let Entry { stamp, changed, .. } = version.entry;
            let indexed = Indexed {
                stamp,
                hash: version.hash,
                racy: is_racy(changed, now),
            };
            let is_known = known(name).is_some_and(|known| {
                (known.hash, known.stamp.size) == (indexed.hash, indexed.stamp.size)
            });
            if is_known && is_dated_by(name) {
                return Ok(touched(version.entry, indexed));
            }
            let mut memory = parse(&version.entry, &version.bytes);
            // A memory that states no time is as old as its file, and was so before the file was touched.
            let modified = Timestamp::from_utc(DateTime::from_timestamp_nanos(stamp.modified));
            if is_known && memory.timestamp != modified {
                return Ok(touched(version.entry, indexed));
            }
            if stamp.size > limit {
                memory
                    .problems
                    .push(Problem::PartlyIndexed { bytes: stamp.size });
            }
            let document = Box::new(Document {
                name: version.entry.name,
                indexed,
                memory,
                bytes: version.bytes,
            });
            Read::Document { document, changed }
        }
        Err(FilesError::Missing { .. }) => Read::Gone(name.to_owned()),
        Err(error) if error.is_away() => return Err(error),
        Err(error) => Read::Skipped(Skipped {
            name: name.to_owned(),
            reason: reason(&error),
        }),
    })
}

fn touched(entry: Entry, indexed: Indexed) -> Read {
    Read::Touched {
        name: entry.name,
        indexed,
        changed: entry.changed,
    }
}

/// Whether the name of a file states a time, so that the memory does not depend on the time of the file.
fn is_dated_by(name: &str) -> bool {
    stem_of(name).time().is_some_and(is_possible_time)
}

fn reason(error: &FilesError) -> String {
    match error {
        FilesError::NotRegular { .. } => "it is not a regular file".to_owned(),
        FilesError::Io { source, .. } => format!("it cannot be read: {source}"),
        other => other.to_string(),
    }
}

/// Returns the bytes of a file of the store; `None` if it is gone.
pub(in crate::engine) fn bytes_at(
    live: &LiveStore,
    path: &str,
) -> Result<Option<Vec<u8>>, EngineError> {
    Ok(live.store.version_at(path)?.map(|version| version.bytes))
}

/// Runs both at once, the second on a thread of its own, and returns both results.
pub(in crate::engine) fn side_by_side<A, B: Send>(
    one: impl FnOnce() -> A,
    other: impl Fn() -> B + Sync,
) -> (A, B) {
    std::thread::scope(|scope| {
        let other_done = std::thread::Builder::new().spawn_scoped(scope, &other);
        let one_done = one();
        let other_done = match other_done {
            Ok(thread) => thread
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // Without a free thread, one after the other.
            Err(_) => other(),
        };
        (one_done, other_done)
    })
}
