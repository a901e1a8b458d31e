//! `memory_stats`: the store in numbers.

use serde::Serialize;
use serde_json::json;

use super::arguments::group;
use super::shown;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::reply::{Reply, ToolError};
use crate::engine::ops;
use crate::model::{Filter, Kind, Scope, Timestamp, is_same_namespace};

/// The store in numbers.
#[derive(Serialize)]
struct StatsView {
    total_memories: usize,
    active_memories: usize,
    superseded_memories: usize,
    by_type: JsonObject,
    by_scope: JsonObject,
    entity_relations: usize,
    db_size_bytes: u64,
    oldest_memory: Option<String>,
    newest_memory: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flagged_for_cleanup: Option<usize>,
}

/// Runs the tool `memory_stats`.
pub(super) fn run(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let namespace = match arguments.set_text("group")? {
        None => None,
        given => Some(group(call, given)?),
    };
    // Just this one: what lies within it is another group.
    let equals = namespace
        .iter()
        .map(|of| ("namespace".to_owned(), of.clone()));
    let filter = Filter {
        equals: equals.collect(),
        ..Filter::default()
    };
    let stats = ops::stats(engine, &filter)?;
    let flagged = ops::flagged(engine, &filter)?.len();
    let archived = match &namespace {
        None => stats.archived,
        Some(of) => {
            let archived = ops::archived(engine)?;
            let is_of = |one: &&str| is_same_namespace(one, of);
            let namespaces = archived.iter().map(|one| one.memory.namespace_or_global());
            namespaces.filter(is_of).count()
        }
    };
    let mut by_type = JsonObject::new();
    for kind in [
        Kind::Episodic,
        Kind::Semantic,
        Kind::Procedural,
        Kind::Entity,
    ] {
        let mut filter = filter.clone();
        shown::only(kind, &mut filter);
        by_type.insert(kind.as_str().to_owned(), json!(ops::count(engine, filter)?));
    }
    let mut by_scope = JsonObject::new();
    for scope in [Scope::Global, Scope::Group] {
        let of_scope = Filter {
            scopes: vec![scope],
            ..filter.clone()
        };
        let found = ops::count(engine, of_scope)?;
        by_scope.insert(scope.as_str().to_owned(), json!(found));
    }
    let entities = Filter {
        kinds: vec![Kind::Entity],
        ..filter
    };
    let shown_time = |at: Option<_>| at.map(|at| Timestamp::from_utc(at).as_str().to_owned());
    let total = stats.memories + archived;
    Ok(Reply::of(&StatsView {
        total_memories: total,
        active_memories: stats.current,
        superseded_memories: total - stats.current,
        by_type,
        by_scope,
        entity_relations: ops::count_links(engine, &entities)?,
        db_size_bytes: stats.bytes,
        oldest_memory: shown_time(stats.oldest),
        newest_memory: shown_time(stats.newest),
        flagged_for_cleanup: Some(flagged).filter(|flagged| *flagged > 0),
    }))
}
