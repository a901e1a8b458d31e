//! Memories that have the same title in one namespace.
//!
//! With [`DuplicatePolicy::SameTitle`](crate::lifecycle::DuplicatePolicy) a title identifies one memory,
//! and storing keeps it unique; a merge, an import or an editor may bring a second one. Of several, the
//! one that was changed last counts. Nothing is written here; `conflicts` resolves such pairs.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::engine::error::EngineError;
use crate::engine::live::read_cache::{Files, called};
use crate::engine::live::store::LiveStore;
use crate::engine::live::{current_snapshot, index_recovery, rows, usage};
use crate::engine::locked::locked;
use crate::engine::ops::relations::contender;
use crate::engine::ops::relations::contender::{Conflict, Contender};
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::index::Snapshot;
use crate::model::{Filter, Memory, Visibility};

/// Returns the current memories that share a user, title and namespace, in groups of at least two; in
/// each group, the last changed comes first.
///
/// # Errors
///
/// Fails if the directory cannot be read.
pub fn same_titles(engine: &Engine) -> Result<Vec<Vec<Contender>>, EngineError> {
    index_recovery::mending(&engine.live, || same_titles_now(engine))
}

fn same_titles_now(engine: &Engine) -> Result<Vec<Vec<Contender>>, EngineError> {
    let snapshot = current_snapshot::snapshot(&engine.live)?;
    let files = with_shared_titles(&engine.live, &snapshot)?;
    if files.is_empty() {
        return Ok(Vec::new());
    }
    // Which ones are live is queried anew: the cached files may have expired.
    let filter = Filter {
        stems: Some(files.iter().map(|name| stem_of(name)).collect()),
        ..Filter::default()
    };
    let mut groups: BTreeMap<[String; 3], Vec<Contender>> = BTreeMap::new();
    for name in rows::names_of(&engine.live, snapshot.as_ref(), &filter)? {
        if let Some(contender) = contender::contender(engine, &name)?
            && let Some(called) = called(&contender.memory)
        {
            groups.entry(called).or_default().push(contender);
        }
    }
    let mut groups: Vec<Vec<Contender>> = groups.into_values().collect();
    groups.retain(|group| group.len() > 1);
    for group in &mut groups {
        changed_last_first(engine, group, |one| &one.memory);
    }
    Ok(groups)
}

/// Sorts `items` so that the memory changed last comes first.
pub(in crate::engine) fn changed_last_first<T>(
    engine: &Engine,
    items: &mut [T],
    memory: impl Fn(&T) -> &Memory,
) {
    items.sort_by_cached_key(|item| {
        let memory = memory(item);
        let changed = usage::state_of(&engine.live, memory).0.changed;
        Reverse((changed, memory.timestamp.utc(), memory.stem.clone()))
    });
}

/// Returns the groups of [`same_titles`] as pairs: the one that counts, and another one.
pub(in crate::engine) fn title_pairs(engine: &Engine) -> Result<Vec<Conflict>, EngineError> {
    let groups = same_titles(engine)?.into_iter();
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

/// Returns the files whose titles other files have, too.
pub(in crate::engine) fn with_shared_titles(
    live: &LiveStore,
    snapshot: &Arc<dyn Snapshot>,
) -> Result<Files, EngineError> {
    let mut kept = locked(&live.titles.0);
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
