//! Throws a damaged index away, and does without one that cannot be read, so that no question
//! fails because of it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::engine::error::EngineError;
use crate::engine::live::freshness::Freshness;
use crate::engine::live::store::LiveStore;
use crate::index::{IndexError, Overlay, Snapshot};

/// The committed index; made anew, empty, if it is unusable.
pub(in crate::engine) fn committed(live: &LiveStore) -> Result<Arc<dyn Snapshot>, EngineError> {
    match live.index.snapshot(&Overlay::default()) {
        Err(IndexError::Unusable { reason }) => {
            tracing::warn!("the index is unusable ({reason}); it is made anew");
            let lock = live.lock_index()?;
            // Whoever held the lock may have mended it.
            let snapshot = live.index.snapshot(&Overlay::default()).or_else(|_| {
                live.index.reset()?;
                live.index.snapshot(&Overlay::default())
            });
            drop(lock);
            Ok(snapshot?)
        }
        other => Ok(other?),
    }
}

/// As [`committed`]; `None` if it cannot be had now, and the files are searched without it for a while.
pub(in crate::engine) fn committed_or_avoided(
    live: &LiveStore,
    freshness: &mut Freshness,
) -> Option<Arc<dyn Snapshot>> {
    let committed = committed(live).inspect_err(|error| avoid_index(freshness, error));
    committed.ok()
}

/// Has the files searched without the index for a while, because of `error`.
pub(in crate::engine) fn avoid_index(freshness: &mut Freshness, error: &dyn std::error::Error) {
    tracing::warn!("{error}; the files are searched without it");
    freshness.avoid_index();
}

/// Maximum number of times one question reopens the index; then it searches the files without it.
const MOST_CHANGES: usize = 3;

/// Does `work`; if the index fails it and is damaged, once more over a new one. What was read
/// of index files that somebody else changed meanwhile is thrown away, and done again.
///
/// The caller must not hold the lock of [`Freshness`].
pub(in crate::engine) fn mending<T>(
    live: &LiveStore,
    work: impl Fn() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    for _ in 0..MOST_CHANGES {
        let mark = live.index.mark();
        // Nonsense can make it panic; without a change below it, the panic is a fault of ours.
        let done = catch_unwind(AssertUnwindSafe(&work));
        if let Some(error) = live.index.changed_since(mark) {
            reopen_index(live, &error);
            continue;
        }
        return match done {
            // The new one may be cut as well while somebody is at it.
            Ok(Err(EngineError::Index(error))) if is_mended(live, &error) => continue,
            Ok(done) => done,
            Err(panic) => resume_unwind(panic),
        };
    }
    live.freshness().avoid_index();
    work()
}

/// Drops what this process read of the index, so that nobody goes on from it.
///
/// Whoever asks for a view waits for `freshness` meanwhile, and finds nothing there.
fn forget_what_was_read(live: &LiveStore, freshness: &mut Freshness) {
    *freshness = Freshness::default();
    live.index.reopen();
}

/// Opens the index again, whose files were changed below it; makes it anew if they are damaged.
fn reopen_index(live: &LiveStore, error: &IndexError) {
    // In the order of every other place: what is known first, then the right to write.
    let mut freshness = live.freshness();
    forget_what_was_read(live, &mut freshness);
    let Ok(_lock) = live.lock_index() else {
        freshness.avoid_index();
        return;
    };
    match live.index.is_sound() {
        // Somebody else has made it anew by now, or put the files back.
        Ok(true) => tracing::debug!("{error}; it is opened again"),
        Ok(false) => {
            tracing::warn!("{error}; it is made anew");
            if live.index.reset().is_err() {
                freshness.avoid_index();
            }
        }
        Err(error) => {
            avoid_index(&mut freshness, &error);
        }
    }
}

/// Begins the index anew if `error` says that it is damaged, or if its files are; has it
/// avoided for a while if it cannot be read or replaced now. A full disk is no reason.
fn is_mended(live: &LiveStore, error: &IndexError) -> bool {
    let is_damaged = match error {
        IndexError::Unusable { .. } => true,
        // Whoever writes proves what is there first.
        IndexError::Failed {
            action: "write", ..
        } => return false,
        IndexError::Failed { .. } => {
            let parts = live.index.damaged_parts();
            parts.map_or(true, |parts| !parts.is_empty())
        }
    };
    if !is_damaged {
        let was_read = matches!(error, IndexError::Failed { action: "read", .. });
        if was_read {
            // For want of descriptors or memory: the files can be searched without it.
            avoid_index(&mut live.freshness(), error);
        }
        return was_read;
    }
    // In the order of every other place: what is known first, then the right to write.
    let mut freshness = live.freshness();
    forget_what_was_read(live, &mut freshness);
    let Ok(_lock) = live.lock_index() else {
        // Whoever writes it may be stopped; the files can be searched without it.
        freshness.avoid_index();
        return true;
    };
    tracing::warn!("{error}; it is made anew");
    if live.index.reset().is_err() {
        freshness.avoid_index();
    }
    true
}
