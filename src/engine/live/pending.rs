//! What may differ from the newest commit, as far as this process knows.

use crate::engine::live::store::LiveStore;
use std::collections::BTreeSet;
use std::sync::PoisonError;

/// Paths below `files/` or `archive/` that may wait for a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum Pending {
    /// Nobody knows: everything is compared.
    Everything,
    Names(BTreeSet<String>),
}

/// Comparing everything is cheaper than more single files.
const MOST_NAMES: usize = 10_000;

impl Default for Pending {
    fn default() -> Pending {
        Pending::none()
    }
}

impl Pending {
    pub fn none() -> Pending {
        Pending::Names(BTreeSet::new())
    }

    pub fn add(&mut self, name: &str) {
        let Pending::Names(names) = self else { return };
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
        if names.len() > MOST_NAMES {
            *self = Pending::Everything;
        }
    }

    pub fn add_all(&mut self, other: Pending) {
        match other {
            Pending::Everything => *self = Pending::Everything,
            Pending::Names(names) => names.iter().for_each(|name| self.add(name)),
        }
    }
}

impl LiveStore {
    /// Notes that the file `name` may differ from the newest commit.
    pub(in crate::engine) fn is_to_commit(&self, name: &str) {
        self.pending().add(name);
    }

    /// Notes that any file may.
    pub(in crate::engine) fn all_is_to_commit(&self) {
        *self.pending() = Pending::Everything;
    }

    pub(in crate::engine) fn pending(&self) -> std::sync::MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
