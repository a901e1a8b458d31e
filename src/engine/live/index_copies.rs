//! Copies of the index that servers share, so that one which opens a store need not read every memory.
//!
//! Promises: whatever goes wrong costs time, and changes no answer, as every memory is compared with a fetched index; a
//! copy holds all changes up to its number; words of erased texts are cleared from the files of the index before they
//! are published, and from those of every server that has the store open. It leaves to `upkeep` when that is done.

use crate::engine::error::EngineError;
use crate::engine::live::store::LiveStore;
use crate::engine::live::{current_snapshot, indexing, leader};
use crate::files::FilesError;
use crate::index::IndexCopies;

/// Minimum number of memories of which an index is published: fewer are read as quickly.
const MIN_MEMORIES: usize = 500;

/// Minimum number of changes after which another copy is published, and the part of the memories that have to change.
const MIN_CHANGES: u64 = 500;
const PART: u64 = 50;

/// Fetches a copy of the index, if there is no index. Without one the memories are read.
pub(in crate::engine) fn fetch(live: &LiveStore, copies: &dyn IndexCopies) {
    match try_to_fetch(live, copies) {
        Ok(None) => {}
        Ok(Some(number)) => tracing::info!("a copy of the index was fetched, as of {number}"),
        Err(error) => tracing::warn!("no copy of the index is used: {error}"),
    }
}

fn try_to_fetch(live: &LiveStore, copies: &dyn IndexCopies) -> Result<Option<u64>, EngineError> {
    let Some(name) = live.index.name() else {
        return Ok(None);
    };
    let Some(_lock) = live.try_lock_index()? else {
        return Ok(None);
    };
    let Some(mut incoming) = live.index.receive()? else {
        return Ok(None);
    };
    let fetched = copies.fetch(name, incoming.as_mut());
    let fetched = fetched.and_then(|number| match number {
        Some(number) => incoming.finish().map(|()| Some(number)),
        None => Ok(None),
    });
    fetched.map_err(|error| failed("fetch", live, error))
}

/// State of an index and its copies, as a look has left them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) struct Looked {
    /// Number of the last erasure whose words are cleared.
    pub cleared: u64,
    /// Whether something waits that may come without a change: changes that are not indexed, words that are not cleared, a
    /// copy that another server is about to publish.
    pub is_due_again: bool,
}

/// Clears the words of erased texts from the index, unless that was done for all up to `cleared`, and publishes a copy
/// of it if there is none, or one that is old. Does nothing while another process indexes the store, or while changes
/// wait to be indexed.
///
/// # Errors
///
/// Fails if the index or the place of copies cannot be read or written.
pub(in crate::engine) fn publish_if_due(
    live: &LiveStore,
    copies: &dyn IndexCopies,
    cleared: u64,
) -> Result<Looked, EngineError> {
    let looked = |cleared: u64, is_due_again: bool| {
        Ok(Looked {
            cleared,
            is_due_again,
        })
    };
    // Another process looks, too.
    let Some(name) = live.index.name().filter(|_| !leader::is_led(live)) else {
        return looked(cleared, false);
    };
    let known = copies.state(name);
    let known = known.map_err(|error| failed("read", live, error))?;
    let mut cleared = cleared;
    if known.erased > cleared {
        // What erased them is indexed before.
        if settled(live).is_none_or(|settled| settled.number < known.erased)
            || !indexing::clear_remains_beside_searches(live)?
        {
            return looked(cleared, true);
        }
        cleared = known.erased;
        current_snapshot::snapshot(live)?;
    }
    let Some(settled) = settled(live) else {
        return looked(cleared, true);
    };
    let least = MIN_CHANGES.max(settled.memories as u64 / PART);
    let is_old = |number: u64| settled.number.abs_diff(number) >= least;
    if settled.memories < MIN_MEMORIES || !known.number.is_none_or(is_old) {
        return looked(cleared, false);
    }
    let files = {
        let Some(_lock) = live.try_lock_index()? else {
            return looked(cleared, true);
        };
        live.index.state_files()?
    };
    // Another state has changes that `number` does not count.
    let Some(files) = files.filter(|files| files.state == settled.state) else {
        return looked(cleared, true);
    };
    let published = copies.publish(name, settled.number, &files.files);
    let is_published = published.map_err(|error| failed("publish", live, error))?;
    if is_published {
        let (number, memories) = (settled.number, settled.memories);
        tracing::info!("a copy of the index of {memories} memories was published, as of {number}");
    }
    looked(cleared, !is_published)
}

/// A committed state that holds every change up to a number.
struct Settled {
    state: String,
    number: u64,
    memories: usize,
}

/// Returns the committed state; `None` while something is not in it.
fn settled(live: &LiveStore) -> Option<Settled> {
    let freshness = live.freshness();
    let committed = freshness.committed.as_ref()?;
    // A storage with numbers of changes has one folder, whose time is the last one that was taken in.
    let [(_, number)] = freshness.folders.as_slice() else {
        return None;
    };
    let number = u64::try_from(*number).ok()?;
    freshness.is_settled().then(|| Settled {
        state: committed.state().to_owned(),
        number,
        memories: committed.len(),
    })
}

fn failed(action: &'static str, live: &LiveStore, source: std::io::Error) -> EngineError {
    let path = live.state().join(live.index.name().unwrap_or_default());
    EngineError::Files(FilesError::Io {
        action,
        path,
        source,
    })
}
