//! Rebuilds a damaged index, and searches without one that cannot be read, so that no query
//! fails because of it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;

use crate::engine::error::EngineError;
use crate::engine::live::freshness::Freshness;
use crate::engine::live::store::LiveStore;
use crate::index::{Index, IndexError, Overlay, Snapshot};

/// Returns the committed index; an unusable one is replaced by an empty one.
pub(in crate::engine) fn committed(live: &LiveStore) -> Result<Arc<dyn Snapshot>, EngineError> {
    match live.index.snapshot(&Overlay::default()) {
        Err(IndexError::Unusable { reason }) => {
            tracing::warn!("the index is unusable ({reason}); it is made anew");
            let lock = live.lock_index()?;
            // The last holder of the lock may have repaired it.
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

/// As [`committed`]; `None` if it cannot be read now, and the files are searched without it for a while.
pub(in crate::engine) fn committed_or_avoided(
    live: &LiveStore,
    freshness: &mut Freshness,
) -> Option<Arc<dyn Snapshot>> {
    let committed = committed(live).inspect_err(|error| avoid_index(freshness, error));
    committed.ok()
}

/// Makes searches read the files without the index for a while, because of `error`.
pub(in crate::engine) fn avoid_index(freshness: &mut Freshness, error: &dyn std::error::Error) {
    tracing::warn!("{error}; the files are searched without it");
    freshness.avoid_index();
}

/// Maximum number of times one query reopens the index; then it searches the files without it.
const MOST_CHANGES: usize = 3;

/// Runs `work`; if it fails because the index is damaged, runs it again over a new one. Results from
/// index files that another process changed meanwhile are discarded, and `work` is repeated.
///
/// The caller must not hold the lock of [`Freshness`].
pub(in crate::engine) fn mending<T>(
    live: &LiveStore,
    work: impl Fn() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    mending_unless(live, |_| false, work)
}

/// As [`mending`], without asking after the index's files where a result `is_proved` by something else: to
/// ask takes a system call a file.
pub(in crate::engine) fn mending_unless<T>(
    live: &LiveStore,
    is_proved: impl Fn(&T) -> bool,
    work: impl Fn() -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    for _ in 0..MOST_CHANGES {
        let mark = live.index.mark();
        // Corrupt data can cause a panic; without a change of the files, the panic is a bug of this program.
        let done = catch_unwind(AssertUnwindSafe(&work));
        let done = match done {
            Ok(Ok(done)) if is_proved(&done) => return Ok(done),
            done => done,
        };
        if let Some(error) = live.index.changed_since(mark) {
            reopen_index(live, &error);
            continue;
        }
        return match done {
            // The new one may be truncated as well while somebody is at it.
            Ok(Err(EngineError::Index(error))) if is_mended(live, &error) => continue,
            Ok(done) => done,
            Err(panic) => resume_unwind(panic),
        };
    }
    live.freshness().avoid_index();
    work()
}

/// Drops the data that this process read from the index.
///
/// Other threads that need a view wait for `freshness` meanwhile, and find it empty.
fn forget_what_was_read(live: &LiveStore, freshness: &mut Freshness) {
    *freshness = Freshness {
        has_failed: freshness.has_failed,
        ..Freshness::default()
    };
    live.index.reopen();
    live.turns.reopen();
}

/// Reopens the index, whose files were changed by others; rebuilds it if they are damaged.
fn reopen_index(live: &LiveStore, error: &IndexError) {
    // In the same order as everywhere: first the known state, then the writer lock.
    let mut freshness = live.freshness();
    forget_what_was_read(live, &mut freshness);
    let Ok(_lock) = live.lock_index() else {
        freshness.avoid_index();
        return;
    };
    if let Some(Ok(false)) = live.turns.existing().map(Index::is_sound) {
        tracing::warn!("{error}; the index of turns is made anew");
        let _ = live.turns.reset(); // The next question tries it again.
    }
    match live.index.is_sound() {
        // Another process has rebuilt it by now, or restored the files.
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

/// Resets the index if `error` or a check proves that it is damaged; avoids it
/// for a while if it cannot be read or replaced now. A full disk is no reason.
fn is_mended(live: &LiveStore, error: &IndexError) -> bool {
    let is_damaged = match error {
        IndexError::Superseded => return true,
        IndexError::Building { .. } => return false,
        IndexError::Unusable { .. } => true,
        // The writer checks existing files first.
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
            // A lack of descriptors or memory: the files can be searched without it.
            avoid_index(&mut live.freshness(), error);
        }
        return was_read;
    }
    // In the same order as everywhere: first the known state, then the writer lock.
    let mut freshness = live.freshness();
    forget_what_was_read(live, &mut freshness);
    let Ok(_lock) = live.lock_index() else {
        // The writer may be stopped; the files can be searched without it.
        freshness.avoid_index();
        return true;
    };
    tracing::warn!("{error}; it is made anew");
    if live.index.reset().is_err() {
        freshness.avoid_index();
    }
    true
}
