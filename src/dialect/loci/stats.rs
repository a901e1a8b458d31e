//! `memory_stats`: the store in numbers.

use serde_json::json;

use super::arguments::group;
use super::shown;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::reply::object;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::Query;
use crate::engine::ops;
use crate::model::Filter;
use crate::model::Kind;
use crate::model::Scope;
use crate::model::Timestamp;
use crate::model::is_same_namespace;

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
        by_type.insert(kind.as_str().to_owned(), json!(count(engine, filter)?));
    }
    let mut by_scope = JsonObject::new();
    for scope in [Scope::Global, Scope::Group] {
        let scopes = vec![scope];
        let found = count(
            engine,
            Filter {
                scopes,
                ..filter.clone()
            },
        )?;
        by_scope.insert(scope.as_str().to_owned(), json!(found));
    }
    let entities = Filter {
        kinds: vec![Kind::Entity],
        ..filter
    };
    let shown_time = |at: Option<_>| at.map(|at| Timestamp::from_utc(at).as_str().to_owned());
    let total = stats.memories + archived;
    let mut reply = object(json!({
        "total_memories": total,
        "active_memories": stats.current,
        "superseded_memories": total - stats.current,
        "by_type": by_type,
        "by_scope": by_scope,
        "entity_relations": ops::count_links(engine, &entities)?,
        "db_size_bytes": stats.bytes,
        "oldest_memory": shown_time(stats.oldest),
        "newest_memory": shown_time(stats.newest),
    }));
    if flagged > 0 {
        reply.insert("flagged_for_cleanup".to_owned(), json!(flagged));
    }
    Ok(Reply::object(reply))
}

/// How many memories that searches find pass the filter.
fn count(engine: &Engine, filter: Filter) -> Result<usize, EngineError> {
    Ok(ops::search(engine, &Query::everything(filter, 0))?.total)
}
