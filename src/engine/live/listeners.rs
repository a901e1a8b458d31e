//! Registered listeners for changes.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::engine::locked::locked;
use crate::engine::texts::{ids_of, linked_id};
use crate::index::Snapshot;
use crate::model::Stem;

/// Registered listeners, and the state that they have been notified of.
#[derive(Default)]
pub(in crate::engine) struct Listeners(Mutex<ListenerState>);

impl Listeners {
    /// Locks the listeners.
    pub(in crate::engine) fn known(&self) -> MutexGuard<'_, ListenerState> {
        locked(&self.0)
    }

    /// Returns whether anybody listens.
    pub(in crate::engine) fn has_any(&self) -> bool {
        !self.known().listeners.is_empty()
    }

    /// Returns all listeners.
    pub(in crate::engine) fn all(&self) -> Vec<Tell> {
        let known = self.known();
        known
            .listeners
            .iter()
            .map(|(_, tell)| Arc::clone(tell))
            .collect()
    }

    /// Sets the state that all listeners are about to be notified of; returns the one that they know, if anybody listens and
    /// there is one.
    pub(in crate::engine) fn replace(&self, now: &Arc<dyn Snapshot>) -> Option<Arc<dyn Snapshot>> {
        let mut known = self.known();
        match known.listeners.is_empty() {
            true => None,
            false => known.state.replace(Arc::clone(now)),
        }
    }

    /// Sets the state for listeners that registered before anything was read.
    pub(in crate::engine) fn know(&self, read: &Arc<dyn Snapshot>) {
        let mut known = self.known();
        if !known.listeners.is_empty() && known.state.is_none() {
            known.state = Some(Arc::clone(read));
        }
    }
}

/// State of the registered listeners.
#[derive(Default)]
pub(in crate::engine) struct ListenerState {
    /// Listeners with their numbers.
    pub(in crate::engine) listeners: Vec<(u64, Tell)>,
    /// Number of the next listener.
    pub(in crate::engine) next: u64,
    /// State that all of them have been notified of, if there is one.
    pub(in crate::engine) state: Option<Arc<dyn Snapshot>>,
}

/// Callback of a listener; it may be called once more just after the listener ended.
pub(in crate::engine) type Tell = Arc<dyn Fn(&Changed) + Send + Sync>;

/// Changes since the last notification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    /// Memories that appeared, have another text, or are gone; while an index is made, also those that were only touched.
    pub stems: BTreeSet<Stem>,
    /// Their ids, long and short ones, as they are compared.
    called: Arc<HashSet<String>>,
}

impl Changed {
    /// Returns the change of the memories `stems`.
    pub(in crate::engine) fn of(stems: BTreeSet<Stem>) -> Changed {
        let called: HashSet<String> = stems.iter().flat_map(ids_of).collect();
        Changed {
            stems,
            called: Arc::new(called),
        }
    }

    /// Whether the memory called `id` is among them.
    pub fn touches(&self, id: &str) -> bool {
        self.called.contains(&linked_id(id))
    }
}
