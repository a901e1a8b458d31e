//! Memories with equal titles in one namespace, as of a snapshot.

use std::sync::{Arc, Mutex, Weak};

use crate::index::Snapshot;
use crate::model::{Memory, normalized_namespace};

/// Files that share their titles with others, as indexed in one view.
pub(in crate::engine) type Files = Arc<Vec<String>>;

/// Cache of the files that share a title, for one view.
#[derive(Default)]
pub(in crate::engine) struct SharedTitles(
    /// View and its files.
    pub(in crate::engine) Mutex<Option<(Weak<dyn Snapshot>, Files)>>,
);

/// Returns the key of a memory if titles identify memories: user, namespace and title, compared as in
/// `lifecycle::duplicate::is_same_title`; `None` without a title.
pub(in crate::engine) fn called(memory: &Memory) -> Option<[String; 3]> {
    let title = memory.title.as_deref()?.trim().to_lowercase();
    let namespace = normalized_namespace(memory.namespace_or_global()).to_lowercase();
    (!title.is_empty()).then(|| [memory.user.clone(), namespace, title])
}
