//! Which memories have equal titles in one namespace, as of a snapshot.

use std::sync::{Arc, Mutex, Weak};

use crate::index::Snapshot;
use crate::model::{Memory, normalized_namespace};

/// Files of one title, as they are indexed in one view.
pub(in crate::engine) type Files = Arc<Vec<String>>;

/// The files that share a title, kept for the view that they were found in.
#[derive(Default)]
pub(in crate::engine) struct SharedTitles(
    pub(in crate::engine) Mutex<Option<(Weak<dyn Snapshot>, Files)>>,
);

/// The key of a memory where titles name memories: by user, namespace and title, compared as
/// [`is_same_title`](crate::lifecycle::is_same_title) does; `None` without a title.
pub(in crate::engine) fn called(memory: &Memory) -> Option<[String; 3]> {
    let title = memory.title.as_deref()?.trim().to_lowercase();
    let namespace = normalized_namespace(memory.namespace_or_global()).to_lowercase();
    (!title.is_empty()).then(|| [memory.user.clone(), namespace, title])
}
