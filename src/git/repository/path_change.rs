//! The difference of one file between two commits.

use crate::git::Id;

/// The difference of one file between two commits. `None` where it is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// Below the store.
    pub path: String,
    pub before: Option<Id>,
    pub after: Option<Id>,
}
