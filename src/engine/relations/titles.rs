//! Memories that have one title in one namespace: found whatever way they came in.
//!
//! Where a title names a memory ([`DuplicatePolicy::SameTitle`](crate::lifecycle::DuplicatePolicy)),
//! storing keeps it to one; a merge, an import or an editor may bring a second one. Of several, the
//! one that was changed last counts. Nothing is written here; `conflicts` settles such pairs.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::Weak;

use crate::engine::Conflict;
use crate::engine::Contender;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::live::reading::stem_of;
use crate::index::Snapshot;
use crate::model::Filter;
use crate::model::Memory;
use crate::model::Visibility;
use crate::model::normalized_namespace;

/// Files of one title, as they are indexed in one view.
type Files = Arc<Vec<String>>;

/// The files that share a title, kept for the view that they were found in.
#[derive(Default)]
pub(in crate::engine) struct SharedTitles(Mutex<Option<(Weak<dyn Snapshot>, Files)>>);

impl Engine {
    /// The current memories of which several of one user have one title in one namespace, in groups
    /// of at least two; in each, the one that was changed last comes first.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read.
    pub fn same_titles(&self) -> Result<Vec<Vec<Contender>>, EngineError> {
        self.mending(|| self.same_titles_now())
    }

    fn same_titles_now(&self) -> Result<Vec<Vec<Contender>>, EngineError> {
        let snapshot = self.snapshot()?;
        let files = self.with_shared_titles(&snapshot)?;
        if files.is_empty() {
            return Ok(Vec::new());
        }
        // What lives is asked anew: a view stands, and lives end.
        let filter = Filter {
            stems: Some(files.iter().map(|name| stem_of(name)).collect()),
            ..Filter::default()
        };
        let mut groups: BTreeMap<[String; 3], Vec<Contender>> = BTreeMap::new();
        for name in self.names_of(snapshot.as_ref(), &filter)? {
            if let Some(contender) = self.contender(&name)?
                && let Some(called) = called(&contender.memory)
            {
                groups.entry(called).or_default().push(contender);
            }
        }
        let mut groups: Vec<Vec<Contender>> = groups.into_values().collect();
        groups.retain(|group| group.len() > 1);
        for group in &mut groups {
            self.changed_last_first(group, |one| &one.memory);
        }
        Ok(groups)
    }

    /// Sorts `items` so that the memory that was changed last comes first.
    pub(in crate::engine) fn changed_last_first<T>(
        &self,
        items: &mut [T],
        memory: impl Fn(&T) -> &Memory,
    ) {
        items.sort_by_cached_key(|item| {
            let memory = memory(item);
            let changed = self.state_of(memory).0.changed;
            Reverse((changed, memory.timestamp.utc(), memory.stem.clone()))
        });
    }

    /// The groups of [`Engine::same_titles`] as pairs: the one that counts, and another one.
    pub(in crate::engine) fn title_pairs(&self) -> Result<Vec<Conflict>, EngineError> {
        let groups = self.same_titles()?.into_iter();
        let pairs = groups.flat_map(|group| {
            let mut group = group.into_iter();
            let newest = group.next();
            group.filter_map(move |other| {
                let pair = [newest.clone()?, other];
                Some(Conflict { pair })
            })
        });
        Ok(pairs.collect())
    }

    /// The files whose titles other files have, too.
    fn with_shared_titles(&self, snapshot: &Arc<dyn Snapshot>) -> Result<Files, EngineError> {
        let mut kept = (self.titles.0.lock()).unwrap_or_else(PoisonError::into_inner);
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
            let named = self.names_of(snapshot.as_ref(), &filter)?;
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
}

/// What a memory is called where titles name memories: by user, namespace and title, compared as
/// [`is_same_title`](crate::lifecycle::is_same_title) does; `None` without a title.
fn called(memory: &Memory) -> Option<[String; 3]> {
    let title = memory.title.as_deref()?.trim().to_lowercase();
    let namespace = normalized_namespace(memory.namespace_or_global()).to_lowercase();
    (!title.is_empty()).then(|| [memory.user.clone(), namespace, title])
}
