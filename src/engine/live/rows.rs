//! Files that pass a filter, as indexed, and the memory in one file.

use std::ops::Range;

use rayon::prelude::*;

use crate::engine::error::EngineError;
use crate::engine::live::read_cache::Shared;
use crate::engine::live::reading::{CHUNK, before_reading};
use crate::engine::live::store::LiveStore;
use crate::engine::live::{current_snapshot, usage};
use crate::engine::texts::{parse, stem_of};
use crate::files::{FilesError, Place, Reader, Version};
use crate::format::MAX_INDEXED_BYTES;
use crate::index::{Query, SearchModels, Snapshot};
use crate::model::{Filter, Memory, Stem, Talks};

/// Returns the memories that pass `filter`, newest first, as they are indexed: no file is read.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn stems(live: &LiveStore, filter: &Filter) -> Result<Vec<Stem>, EngineError> {
    let names = names_where(live, filter)?;
    Ok(names.iter().map(|name| stem_of(name)).collect())
}

/// Returns the files, below `files/`, of all memories that pass the filter now, newest first.
pub(in crate::engine) fn names_where(
    live: &LiveStore,
    filter: &Filter,
) -> Result<Vec<String>, EngineError> {
    current_snapshot::with_snapshot(live, |snapshot| names_of(live, snapshot, filter))
}

/// Returns the files, below `files/`, of all memories of a snapshot that pass the filter, as they are
/// indexed.
pub(in crate::engine) fn names_of(
    live: &LiveStore,
    snapshot: &dyn Snapshot,
    filter: &Filter,
) -> Result<Vec<String>, EngineError> {
    Ok(page_of(live, snapshot, filter, 0..usize::MAX / 2)?.1)
}

/// As [`names_of`], but only those at the positions `range`, newest first; with their total
/// number.
pub(in crate::engine) fn page_of(
    live: &LiveStore,
    snapshot: &dyn Snapshot,
    filter: &Filter,
    range: Range<usize>,
) -> Result<(usize, Vec<String>), EngineError> {
    let query = Query {
        offset: range.start,
        ..Query::everything(listed(filter.clone()), range.len())
    };
    let found = usage::at_once(live, |moment| {
        snapshot.search(&query, moment, SearchModels::default(), &|_| None)
    })?;
    let names = found.hits.into_iter().map(|hit| hit.name).collect();
    Ok((found.total, names))
}

/// Returns the filter of a list: it leaves talks out unless it asks for them, or for memories by name.
pub(in crate::engine) fn listed(filter: Filter) -> Filter {
    match filter.talks {
        Talks::Answers if filter.stems.is_none() => Filter {
            talks: Talks::Nowhere,
            ..filter
        },
        _ => filter,
    }
}

/// Number of files that a distant storage is asked for at once, by whoever reads all.
pub(in crate::engine) const TOGETHER: usize = 64;

/// Reads the files `names` in their order, at most `limit` bytes of each: a distant storage is asked for many at once, files of
/// a directory are read one by one.
pub(in crate::engine) fn versions<'a, N: AsRef<str>>(
    reader: &'a dyn Reader,
    names: &'a [N],
    limit: u64,
) -> impl Iterator<Item = Result<Version, FilesError>> + 'a {
    names.chunks(TOGETHER).flat_map(move |names| {
        let all: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let read = reader.read_many(&all, limit);
        let near = if read.is_some() { Vec::new() } else { all };
        let near = near.into_iter().map(move |name| reader.read(name, limit));
        read.into_iter().flatten().chain(near)
    })
}

/// Returns the version that was read; `None` if the file is gone or unreadable.
///
/// # Errors
///
/// Fails if the storage is away: nobody knows then what it holds.
pub(in crate::engine) fn there(
    read: Result<Version, FilesError>,
) -> Result<Option<Version>, FilesError> {
    match read {
        Err(error) if error.is_away() => Err(error),
        read => Ok(read.ok()),
    }
}

/// Has the memories in the files `names` in the cache, if each read by itself would take its way to a server and back.
pub(in crate::engine) fn prefetch<'a>(
    live: &LiveStore,
    names: impl IntoIterator<Item = &'a String>,
) {
    if live.directory().is_none() {
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        read_ahead(live, live.store.reader(Place::Files).as_ref(), &names);
    }
}

/// Reads the memory in the file `name` as [`read_memories`] does; `None` if it is gone.
pub(in crate::engine) fn read_memory(live: &LiveStore, name: &str) -> Option<Memory> {
    let reader = live.store.reader(Place::Files);
    let version = version_of(live, reader.as_ref(), name, before_reading(live))?;
    Some(version.1.into_memory())
}

/// Reads the memory in the file `name` with `reader`; `None` if it is gone.
pub(in crate::engine) fn memory_of(reader: &dyn Reader, name: &str) -> Option<Memory> {
    let version = reader.read(name, MAX_INDEXED_BYTES as u64).ok()?;
    Some(parse(&version.entry, &version.bytes))
}

/// Reads the memories in the files `names`, in parallel and in the same order, without those that are gone. In a
/// server, what it has read before and is unchanged is not read again.
pub(in crate::engine) fn read_memories(live: &LiveStore, names: &[String]) -> Vec<Shared> {
    let reader = live.store.reader(Place::Files).held();
    let now = before_reading(live);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    read_ahead(live, reader.as_ref(), &all);
    names
        .par_iter()
        .filter_map(|name| version_of(live, reader.as_ref(), name, now))
        .map(|(_, memory)| memory)
        .collect()
}

/// Reads the files `names` that are not cached together, where the store is no directory: each read by itself takes its
/// way to a server and back.
pub(in crate::engine) fn read_ahead(live: &LiveStore, reader: &dyn Reader, names: &[&str]) {
    let Some(cache) = live
        .read_cache()
        .filter(|_| live.directory().is_none() && names.len() > 1)
    else {
        return;
    };
    let unknown = names.iter().copied();
    let unknown: Vec<&str> = unknown
        .filter(|name| cache.get(reader, name).is_none())
        .collect();
    let now = before_reading(live);
    let chunks = unknown.chunks(CHUNK);
    let read = chunks.filter_map(|names| reader.read_many(names, MAX_INDEXED_BYTES as u64));
    for version in read.flatten().flatten() {
        let memory = Shared::from(parse(&version.entry, &version.bytes));
        cache.put(&version.entry, version.hash, &memory, now);
    }
}

/// Reads one memory as [`read_memories`] does, with the hash of its file; `now` is a time before the read.
pub(in crate::engine) fn version_of(
    live: &LiveStore,
    reader: &dyn Reader,
    name: &str,
    now: i64,
) -> Option<(u128, Shared)> {
    let known = live.read_cache();
    if let Some(version) = known.and_then(|known| known.get(reader, name)) {
        return Some(version);
    }
    let version = reader.read(name, MAX_INDEXED_BYTES as u64).ok()?;
    let memory = Shared::from(parse(&version.entry, &version.bytes));
    if let Some(known) = known {
        known.put(&version.entry, version.hash, &memory, now);
    }
    Some((version.hash, memory))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::files::Entry;

    /// A distant storage without files, with the number of its questions.
    #[derive(Default)]
    struct Distant(AtomicUsize);

    impl Reader for Distant {
        fn read(&self, name: &str, _: u64) -> Result<Version, FilesError> {
            Err(FilesError::Missing { path: name.into() })
        }

        fn read_many(
            &self,
            names: &[&str],
            limit: u64,
        ) -> Option<Vec<Result<Version, FilesError>>> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Some(names.iter().map(|name| self.read(name, limit)).collect())
        }

        fn look(&self, _: &str) -> Option<Entry> {
            None
        }

        fn held(self: Box<Self>) -> Box<dyn Reader> {
            self
        }
    }

    #[test]
    fn a_distant_storage_is_asked_for_many_files_at_once() {
        let distant = Distant::default();
        let names: Vec<String> = (0..2 * TOGETHER + 1)
            .map(|number| format!("{number}.md"))
            .collect();
        let read =
            versions(&distant, &names, 1).map(|read| read.err().map(|error| error.to_string()));
        let single = names
            .iter()
            .map(|name| distant.read(name, 1).err().map(|error| error.to_string()));
        assert!(read.eq(single));
        assert_eq!(distant.0.into_inner(), 3);
    }
}
