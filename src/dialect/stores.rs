//! Several stores behind one tool set: which one a memory belongs to, and one order of the hits of all.
//!
//! Promises: a memory goes to one store, by its namespace; hits of one store keep their order among
//! themselves. Stores are searched as they are, by the engine of each.

use std::sync::Arc;

use crate::engine::{Engine, Hit, live};

/// One of several stores that a server serves.
#[derive(Clone)]
pub struct ServedStore {
    /// Name in replies.
    pub name: String,
    /// The namespace whose memories belong to it; `None` for the store of everything else.
    pub namespace: Option<String>,
    /// The engine of the store.
    pub engine: Arc<Engine>,
}

/// A hit with the store that it was found in.
pub struct FoundIn<'a> {
    /// Engine of the store.
    pub engine: &'a Engine,
    /// Name of the store; `None` if there is one alone.
    pub store: Option<&'a str>,
    /// The hit.
    pub hit: Hit,
}

/// Returns the store that memories of a namespace belong to: the one of the namespace or of one above it,
/// else the store of everything else, else the first.
pub fn home_of<'a>(stores: &'a [ServedStore], namespace: &str) -> Option<&'a ServedStore> {
    let holds = |store: &&ServedStore| {
        let own = store.namespace.as_deref();
        own.is_some_and(|own| is_within(namespace, own))
    };
    let of_namespace = stores.iter().find(holds);
    let of_the_rest = || stores.iter().find(|store| store.namespace.is_none());
    of_namespace.or_else(of_the_rest).or_else(|| stores.first())
}

/// Returns the first store that has a memory called `id`, the main store before the others.
pub fn holder_of<'a>(stores: &'a [ServedStore], id: &str) -> Option<&'a ServedStore> {
    let has = |store: &&ServedStore| live::resolve(&store.engine.live, id).is_ok();
    stores.iter().find(has)
}

/// Returns whether a namespace is `around` or lies in it.
fn is_within(namespace: &str, around: &str) -> bool {
    let (namespace, around) = (namespace.to_lowercase(), around.to_lowercase());
    let rest = namespace.strip_prefix(&around);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the hits of several stores in one order: by the relevance of each, by their scores where these
/// are counts, else in turn. Hits of one store keep their order, which its own ranking knows best.
pub fn merge<'a>(lists: Vec<Vec<FoundIn<'a>>>, are_counts: bool) -> Vec<FoundIn<'a>> {
    let count = lists.iter().map(Vec::len).sum();
    let mut lists: Vec<_> = lists
        .into_iter()
        .map(|list| list.into_iter().enumerate().peekable())
        .collect();
    let mut merged = Vec::with_capacity(count);
    let worth = |(number, found): &(usize, FoundIn<'_>)| match found.hit.relevance() {
        Some(relevance) => f64::from(relevance),
        None if are_counts => found.hit.score,
        None => -(*number as f64),
    };
    while merged.len() < count {
        let heads = lists.iter_mut().enumerate();
        let heads = heads.filter_map(|(place, list)| Some((place, worth(list.peek()?))));
        // Of equals the first: the main store's.
        let best = heads.reduce(|best, head| if head.1 > best.1 { head } else { best });
        let Some((place, _)) = best else { break };
        merged.extend(lists[place].next().map(|(_, found)| found));
    }
    merged
}
