//! Which memories have equal titles in one namespace, as of a snapshot.

use crate::engine::error::EngineError;
use crate::engine::live::rows;
use crate::engine::live::store::LiveStore;
use crate::index::Snapshot;
use crate::model::Filter;
use crate::model::Memory;
use crate::model::Visibility;
use crate::model::normalized_namespace;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::Weak;

/// Files of one title, as they are indexed in one view.
pub(in crate::engine) type Files = Arc<Vec<String>>;

/// The files that share a title, kept for the view that they were found in.
#[derive(Default)]
pub(in crate::engine) struct SharedTitles(Mutex<Option<(Weak<dyn Snapshot>, Files)>>);

/// The files whose titles other files have, too.
pub(in crate::engine) fn with_shared_titles(
    live: &LiveStore,
    snapshot: &Arc<dyn Snapshot>,
) -> Result<Files, EngineError> {
    let mut kept = (live.titles.0.lock()).unwrap_or_else(PoisonError::into_inner);
    if let Some((view, files)) = kept.as_ref()
        && view
            .upgrade()
            .is_some_and(|view| Arc::ptr_eq(&view, snapshot))
    {
        return Ok(Arc::clone(files));
    }
    let mut files = Vec::new();
    for title in snapshot.shared("title")? {
        let filter = Filter {
            equals: vec![("title".to_owned(), title)],
            visibility: Visibility::Everything,
            ..Filter::default()
        };
        let named = rows::names_of(live, snapshot.as_ref(), &filter)?;
        files.extend(
            Some(named)
                .filter(|named| named.len() > 1)
                .unwrap_or_default(),
        );
    }
    let mut seen = HashSet::new();
    files.retain(|name| seen.insert(name.clone()));
    let files = Arc::new(files);
    *kept = Some((Arc::downgrade(snapshot), Arc::clone(&files)));
    Ok(files)
}

/// What a memory is called where titles name memories: by user, namespace and title, compared as
/// [`is_same_title`](crate::lifecycle::is_same_title) does; `None` without a title.
pub(in crate::engine) fn called(memory: &Memory) -> Option<[String; 3]> {
    let title = memory.title.as_deref()?.trim().to_lowercase();
    let namespace = normalized_namespace(memory.namespace_or_global()).to_lowercase();
    (!title.is_empty()).then(|| [memory.user.clone(), namespace, title])
}
