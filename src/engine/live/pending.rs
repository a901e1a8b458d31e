//! The files that may differ from the newest commit, as far as this process knows.

use std::collections::BTreeSet;

/// Paths below `files/` or `archive/` that may wait for a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum Pending {
    /// Nobody knows: everything is compared.
    Everything,
    Names(BTreeSet<String>),
}

/// Comparing everything is cheaper than more single files.
const MAX_NAMES: usize = 10_000;

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
        if names.len() > MAX_NAMES {
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
