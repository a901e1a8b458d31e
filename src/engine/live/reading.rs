//! Reads files into what is indexed.

use crate::engine::error::EngineError;
use crate::engine::live::store::LiveStore;
use crate::files::Entry;
use crate::files::FilesError;
use crate::files::Listing;
use crate::files::Place;
use crate::files::Reader;
use crate::files::Skipped;
use crate::files::Version;
use crate::format::MAX_INDEXED_BYTES;
use crate::index::Document;
use crate::index::Indexed;
use crate::index::Scan;
use crate::index::Snapshot;
use crate::model::Memory;
use crate::model::Problem;
use crate::model::Stem;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Duration;
use std::time::SystemTime;

/// What was found under a name.
pub(in crate::engine) enum Read {
    Document {
        document: Box<Document>,
        /// As [`Entry::changed`].
        changed: i64,
    },
    Gone(String),
    Skipped(Skipped),
}

/// Files read and parsed together: enough for all cores, few enough to hold in memory.
pub(in crate::engine) const CHUNK: usize = 1024;

/// A file that changed so shortly before it was read may change again without a trace: file
/// systems keep times in steps of at most this.
pub(in crate::engine) const RACY_NANOS: i64 = 2_000_000_000;

/// Reads the files `names`, on all cores where that pays; in the same order.
pub(in crate::engine) fn read_all(live: &LiveStore, names: &[&str]) -> Vec<Read> {
    let reader = live.store.reader(Place::Files);
    let now = now_nanos(live);
    if names.len() < 16 {
        return names.iter().map(|name| read(&reader, name, now)).collect();
    }
    names
        .par_iter()
        .map(|name| read(&reader, name, now))
        .collect()
}

/// A view of the files themselves, for when the index says too little of them.
pub(in crate::engine) fn scan(live: &LiveStore, listing: &Listing) -> Arc<dyn Snapshot> {
    let entries = listing.entries.iter();
    let files = entries.map(|entry| (entry.name.clone(), entry.stamp));
    let reader = live.store.reader(Place::Files);
    let now = now_nanos(live);
    let document = move |name: &str| match read(&reader, name, now) {
        Read::Document { document, .. } => Some(*document),
        Read::Gone(_) | Read::Skipped(_) => None,
    };
    let scan = Scan::new(files.collect(), Box::new(document), &live.languages);
    Arc::new(scan)
}

pub(in crate::engine) fn now_nanos(live: &LiveStore) -> i64 {
    live.clock.now().timestamp_nanos_opt().unwrap_or(i64::MAX)
}

/// Reads one file; `now` is a moment before.
fn read(reader: &Reader, name: &str, now: i64) -> Read {
    let limit = MAX_INDEXED_BYTES as u64;
    match reader.read(name, limit) {
        Ok(version) => {
            let Entry { stamp, changed, .. } = version.entry;
            let mut memory = parse(&version.entry, &version.bytes);
            if stamp.size > limit {
                memory
                    .problems
                    .push(Problem::PartlyIndexed { bytes: stamp.size });
            }
            let indexed = Indexed {
                stamp,
                hash: version.hash,
                racy: is_racy(changed, now),
            };
            let document = Box::new(Document {
                name: version.entry.name,
                indexed,
                memory,
                bytes: version.bytes,
            });
            Read::Document { document, changed }
        }
        Err(FilesError::Missing { .. }) => Read::Gone(name.to_owned()),
        Err(error) => Read::Skipped(Skipped {
            name: name.to_owned(),
            reason: reason(&error),
        }),
    }
}

/// Whether a file that was changed at `changed` and is read after `now` may change again without a
/// trace.
pub(in crate::engine) fn is_racy(changed: i64, now: i64) -> bool {
    changed > now.saturating_sub(RACY_NANOS)
}

fn reason(error: &FilesError) -> String {
    match error {
        FilesError::NotRegular { .. } => "it is not a regular file".to_owned(),
        FilesError::Io { source, .. } => format!("it cannot be read: {source}"),
        other => other.to_string(),
    }
}

/// Whether a file's text looks as if its writer had only begun: nothing, or a frontmatter without
/// its end.
pub(in crate::engine) fn is_half_written(memory: &Memory) -> bool {
    let begins_a_fence = |content: &str| !content.is_empty() && "---\n".starts_with(content);
    memory.problems.iter().any(|problem| match problem {
        Problem::Empty | Problem::FrontmatterNotClosed => true,
        Problem::NoFrontmatter => begins_a_fence(&memory.content),
        _ => false,
    })
}

/// How long ago a moment of the file system's clock was; `None` if it lies ahead.
pub(in crate::engine) fn age(nanos: i64) -> Option<Duration> {
    let since = Duration::from_nanos(u64::try_from(nanos).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)?.elapsed().ok()
}

/// Reads the memory out of a file's bytes.
pub(in crate::engine) fn parse(entry: &Entry, bytes: &[u8]) -> Memory {
    let modified = chrono::DateTime::from_timestamp_nanos(entry.stamp.modified);
    crate::format::parse(&stem_of(&entry.name), bytes, modified)
}

/// The stem of a file name below the memory directory.
pub(in crate::engine) fn stem_of(name: &str) -> Stem {
    let file = name.rsplit('/').next().unwrap_or(name);
    Stem::from_file_name(file.strip_suffix(".md").unwrap_or(file))
}

/// The bytes of a file of the store; `None` if it is gone.
pub(in crate::engine) fn bytes_at(
    live: &LiveStore,
    path: &str,
) -> Result<Option<Vec<u8>>, EngineError> {
    Ok(version_at(live, path)?.map(|version| version.bytes))
}

/// The file of the store at `path` as it is now; `None` if there is none.
pub(in crate::engine) fn version_at(
    live: &LiveStore,
    path: &str,
) -> Result<Option<Version>, EngineError> {
    let read = match (path.strip_prefix("files/"), path.strip_prefix("archive/")) {
        (Some(name), _) => live.store.reader(Place::Files).read(name, u64::MAX),
        (_, Some(name)) => live.store.reader(Place::Archive).read(name, u64::MAX),
        _ => live.store.beside().read(path, u64::MAX),
    };
    match read {
        Ok(version) => Ok(Some(version)),
        Err(FilesError::Missing { .. } | FilesError::NotRegular { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The place and the name below it that a path below the store means.
pub(in crate::engine) fn place_of(path: &str) -> Option<(Place, String)> {
    [Place::Files, Place::Archive].iter().find_map(|place| {
        let name = path.strip_prefix(&place.path_of(""))?;
        Some((*place, name.to_owned()))
    })
}

/// The name below `files/` or `archive/`.
pub(in crate::engine) fn name_of(path: &str) -> &str {
    path.split_once('/').map_or(path, |(_, name)| name)
}

/// Where memories lie.
pub(in crate::engine) const FOLDERS: [&str; 2] = ["files", "archive"];
