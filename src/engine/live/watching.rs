//! Watches the memory folder: this process gets changes from the system's events if possible.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::live::current_snapshot;
use crate::engine::live::store::LiveStore;
use crate::engine::live::watch_state::Watching;
use crate::engine::locked::locked;
use crate::files::{ChangeFeed, Place, Reader, Store};

/// Time before another attempt to watch.
const RETRY: Duration = Duration::from_secs(5);

/// Has a process that answers several times find changes by the system's events, as a server does; without,
/// each answer after a pause looks at every file.
pub fn follow_events(live: &LiveStore) {
    live.start_watching();
}

/// Checks that every change that was made before the call is known.
///
/// # Errors
///
/// Fails with the reason, as a part of a sentence.
pub fn check_caught_up(live: &LiveStore) -> Result<(), String> {
    let looked = live.call(None, false, || current_snapshot::snapshot(live).map(drop));
    let (looked, ended) = looked.map_err(|error| error.to_string())?;
    looked.map_err(|error| error.to_string())?;
    match ended.age.is_some() || ended.is_incomplete {
        true => Err("its changes cannot be asked for".to_owned()),
        false => Ok(()),
    }
}

/// Returns whether the index holds the memories that are known, so that searches do not read them all.
pub fn is_indexed(live: &LiveStore) -> bool {
    !live.freshness().is_behind()
}

/// Returns the number of memories in the index, without waiting; `None` before there is one, and while it is changed.
pub fn indexed_count(live: &LiveStore) -> Option<usize> {
    let freshness = live.try_freshness()?;
    Some(freshness.committed.as_ref()?.len())
}

impl LiveStore {
    /// Begins to watch the memory folder, or logs why it cannot be watched.
    pub(in crate::engine) fn start_watching(&self) {
        let started = self.store.changes(self.waker());
        let reader = self.store.reader(Place::Files);
        // An open folder cannot be renamed on Windows, and keeps a disk that it lies on from being ejected.
        let is_own = |store: &Store| !store.follows_links();
        let reader = match cfg!(unix) && self.directory().is_some_and(is_own) {
            true => reader.held(),
            false => reader,
        };
        let mut watching = self.watching_state();
        *watching = match started {
            Ok(changes) => Watching::Events {
                watch: Arc::from(changes),
                reader: Arc::from(reader),
            },
            Err(reason) => {
                let known =
                    matches!(&*watching, Watching::Polling { reason: old, .. } if *old == reason);
                if !known {
                    tracing::info!("the folder is looked at instead of watched: {reason}");
                }
                Watching::Polling {
                    reason,
                    since: Instant::now(),
                }
            }
        };
    }

    /// Returns the watch, while it can be relied on.
    pub(in crate::engine) fn watch(&self) -> Option<Arc<dyn ChangeFeed>> {
        let mut watching = self.watching_state();
        match &*watching {
            Watching::Events { watch, .. } => match watch.lost() {
                None => return Some(Arc::clone(watch)),
                Some(reason) => {
                    *watching = Watching::Polling {
                        reason,
                        since: Instant::now(),
                    };
                }
            },
            Watching::Polling { since, .. } if since.elapsed() > RETRY => {}
            _ => return None,
        }
        drop(watching);
        self.wake(); // It is started again in the background.
        None
    }

    /// Returns a reader of the live files for an operation that has a view. While the folder is watched, the reader keeps it
    /// open: each view checks before that its path still names this folder.
    pub(in crate::engine) fn reader(&self) -> Arc<dyn Reader> {
        match &*self.watching_state() {
            Watching::Events { reader, .. } => Arc::clone(reader),
            _ => Arc::from(self.store.reader(Place::Files)),
        }
    }

    /// Stops using a watch that works but does not report everything.
    pub(in crate::engine) fn distrust_watch(&self, reason: &str) {
        tracing::warn!("the folder is looked at instead of watched: {reason}");
        *self.watching_state() = Watching::Polling {
            reason: reason.to_owned(),
            since: Instant::now(),
        };
    }

    /// Tries again to watch if the watch was lost some time ago; true if it works now and did
    /// not before.
    pub(in crate::engine) fn watch_again(&self) -> bool {
        let is_due = match &*self.watching_state() {
            Watching::Polling { since, .. } => since.elapsed() > RETRY,
            _ => false,
        };
        if is_due {
            self.start_watching();
        }
        is_due && self.watch().is_some()
    }

    /// Returns a description of the method of detecting changes.
    pub(in crate::engine) fn watching(&self) -> String {
        match &*self.watching_state() {
            Watching::Never => "never".to_owned(),
            Watching::Events { .. } => "events".to_owned(),
            Watching::Polling { reason, .. } => {
                format!("polling ({})", reason.replace('\n', " "))
            }
        }
    }

    /// Makes the next operation read the file `name`, which this process changed.
    pub(in crate::engine) fn note_own_change(&self, name: &str) {
        self.note_pending(name);
        locked(&self.own_changes).insert(name.to_owned());
        self.wake();
    }

    /// Takes the names of the files that this process changed.
    pub(in crate::engine) fn take_own_changes(&self) -> BTreeSet<String> {
        let mut own = locked(&self.own_changes);
        std::mem::take(&mut own)
    }
}
