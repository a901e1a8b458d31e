//! The difference of one file between two commits.

use crate::git::Id;

/// The difference of one file between two commits. `None` where it is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// Path below the store.
    pub path: String,
    /// Former text.
    pub before: Option<Id>,
    /// New text.
    pub after: Option<Id>,
}
