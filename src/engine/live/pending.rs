//! Files that may differ from the newest commit, as known to this process.

use std::collections::BTreeSet;

/// Paths below `files/` or `archive/` that may wait for a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::engine) enum Pending {
    /// Unknown files: everything is compared.
    Everything,
    Names(BTreeSet<String>),
}

/// Maximum number of single files; comparing everything is cheaper than more.
const MAX_NAMES: usize = 10_000;

impl Default for Pending {
    fn default() -> Pending {
        Pending::none()
    }
}

impl Pending {
    /// Returns an empty set.
    pub fn none() -> Pending {
        Pending::Names(BTreeSet::new())
    }

    /// Adds the file `name`.
    pub fn add(&mut self, name: &str) {
        let Pending::Names(names) = self else { return };
        if !names.contains(name) {
            names.insert(name.to_owned());
        }
        if names.len() > MAX_NAMES {
            *self = Pending::Everything;
        }
    }

    /// Adds all files of `other`.
    pub fn add_all(&mut self, other: Pending) {
        match other {
            Pending::Everything => *self = Pending::Everything,
            Pending::Names(names) => names.iter().for_each(|name| self.add(name)),
        }
    }
}
