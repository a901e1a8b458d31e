//! Reads commits, trees and objects.

pub(in crate::git) mod history;
pub(in crate::git) mod inspect;
pub(in crate::git) mod last_changes;
pub(in crate::git) mod revisions;
pub(in crate::git) mod tree_entry;
pub(in crate::git) mod trees;
pub(in crate::git) mod words;
