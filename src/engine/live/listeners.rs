//! The listeners that are told of changes.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::engine::locked::locked;
use crate::engine::texts::is_called;
use crate::index::Snapshot;
use crate::model::Stem;

/// The registered listeners, and the state that they know.
#[derive(Default)]
pub(in crate::engine) struct Listeners(Mutex<ListenerState>);

impl Listeners {
    pub(in crate::engine) fn known(&self) -> MutexGuard<'_, ListenerState> {
        locked(&self.0)
    }

    /// Listeners that registered before anything was read know the state that is read now.
    pub(in crate::engine) fn know(&self, read: &Arc<dyn Snapshot>) {
        let mut known = self.known();
        if !known.listeners.is_empty() && known.state.is_none() {
            known.state = Some(Arc::clone(read));
        }
    }
}

#[derive(Default)]
pub(in crate::engine) struct ListenerState {
    pub(in crate::engine) listeners: Vec<(u64, Tell)>,
    pub(in crate::engine) next: u64,
    /// The state that all of them know, if they do.
    pub(in crate::engine) state: Option<Arc<dyn Snapshot>>,
}

pub(in crate::engine) type Tell = Box<dyn Fn(&Changed) + Send + Sync>;

/// The changes since the last notification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changed {
    /// The memories that appeared, have another text, or are gone.
    pub stems: BTreeSet<Stem>,
}

impl Changed {
    /// Whether the memory called `id` is among them.
    pub fn touches(&self, id: &str) -> bool {
        self.stems.iter().any(|stem| is_called(stem, id))
    }
}
