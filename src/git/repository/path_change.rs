//! How one file differs between two commits.

use crate::git::Id;

/// How one file differs between two commits. `None` where it is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// Below the store.
    pub path: String,
    pub before: Option<Id>,
    pub after: Option<Id>,
}
