//! The archive: `memory_archive_list`, `_restore`, `_purge` and `_stats`.

use std::collections::BTreeMap;

use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;
use serde_json::Value;
use serde_json::json;

use super::check;
use super::shape;
use super::tool::reads;
use super::tool::takes_away;
use super::tool::tool;
use super::tool::writes;
use super::write::check_free;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::json::JsonObject;
use crate::dialect::parameter::Literal;
use crate::dialect::parameter::Parameter;
use crate::dialect::reply::Reply;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Tool;
use crate::engine::EngineError;
use crate::engine::Forgotten;
use crate::engine::ops;
use crate::model::Stem;
use crate::model::is_same_namespace;

/// Why, in the journal, where a life has ended.
const EXPIRED: &str = "expired";

pub(super) const NAMESPACE: Parameter = Parameter::text("namespace", "Only of this one");
pub(super) const MOST_LISTED: u64 = 1_000;
pub(super) const USUAL: u64 = 50;

pub(super) const LIST: Tool = tool(
    "memory_archive_list",
    "The archived memories with their contents, the last archived first: what was deleted, forgotten, replaced, consolidated, or has ended.",
    &[
        NAMESPACE,
        Parameter::whole("limit", 1, MOST_LISTED, "").or(Literal::Whole(USUAL)),
        Parameter::whole("offset", 0, u64::MAX, "Number of memories to skip").or(Literal::Whole(0)),
    ],
    reads("List the archive"),
    list,
);

pub(super) const RESTORE: Tool = tool(
    "memory_archive_restore",
    "Bring an archived memory back, as it was; its life begins anew. Fails if a live memory has its title in its namespace.",
    &[Parameter::text("id", "").required()],
    writes("Restore a memory"),
    restore,
);

pub(super) const PURGE: Tool = tool(
    "memory_archive_purge",
    "Remove archived memories for good. They cannot be restored. Only on the user's explicit wish; see with dry_run first.",
    &[
        Parameter::whole(
            "older_than_days",
            0,
            36_500,
            "Only archived so long ago; default: all",
        ),
        Parameter::flag("dry_run", "Only say which").or(Literal::Flag(false)),
    ],
    takes_away("Purge the archive"),
    purge,
);

pub(super) const STATS: Tool = tool(
    "memory_archive_stats",
    "The archive in numbers: how many memories, of which namespaces, how large, since when.",
    &[],
    reads("Archive statistics"),
    stats,
);

/// All that is archived, the last one first.
fn archived(call: &Call<'_>) -> Result<Vec<Forgotten>, ToolError> {
    let mut archived = ops::archived(call.engine)?;
    archived.sort_by(|a, b| {
        let newest_first = b.at.timestamp_micros().cmp(&a.at.timestamp_micros());
        newest_first.then_with(|| a.name.cmp(&b.name))
    });
    Ok(archived)
}

/// What is archived of a namespace, or all, the last one first and of one moment by name.
pub(super) fn archived_of(
    call: &Call<'_>,
    namespace: Option<&str>,
) -> Result<Vec<Forgotten>, ToolError> {
    let mut archived = archived(call)?;
    archived.retain(|one| {
        let of = one.memory.namespace_or_global();
        namespace.is_none_or(|wanted| is_same_namespace(wanted, of))
    });
    Ok(archived)
}

fn list(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = arguments.set_text("namespace")?;
    let limit = arguments.at_most("limit", MOST_LISTED)?.unwrap_or(USUAL) as usize;
    let offset = arguments.number("offset")?.unwrap_or(0) as usize;
    let archived = archived_of(call, namespace.as_deref())?;
    let total = archived.len();
    let page = archived.into_iter().skip(offset).take(limit);
    let shown: Vec<Value> = page.map(|one| entry(call, &one)).collect();
    Ok(Reply::json(
        json!({"count": shown.len(), "archived": shown, "total": total}),
    ))
}

/// One of them, with its content.
pub(super) fn entry(call: &Call<'_>, one: &Forgotten) -> Value {
    let mut entry = shape::memory(call.engine, &one.memory);
    entry.insert("archived_at".to_owned(), shape::moment(one.at));
    entry.insert("archive_reason".to_owned(), json!(reason(one)));
    Value::Object(entry)
}

/// `gc` where its life had ended; else why it went, or what was done.
fn reason(one: &Forgotten) -> String {
    let Some(record) = &one.record else {
        return "unknown".to_owned();
    };
    match record.why.as_deref() {
        Some(EXPIRED) => "gc".to_owned(),
        Some(why) => why.to_owned(),
        None => record.did.clone(),
    }
}

fn restore(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let id = check::id(arguments, "id")?;
    let (stem, name) = ops::resolve_forgotten(engine, &id)?;
    let mut archived = ops::archived(engine)?.into_iter();
    let mut _held = None;
    if let Some(one) = archived.find(|one| one.name == name) {
        let memory = one.memory;
        let namespace = memory.namespace_or_global();
        _held = check_free(call, memory.title.as_deref(), namespace, &memory.user, &[])?;
    }
    ops::restore(engine, stem.as_str())?;
    Ok(Reply::json(
        json!({"restored": true, "id": engine.live.shown_id(&stem)}),
    ))
}

fn purge(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let engine = call.engine;
    let days = arguments.number("older_than_days")?;
    let dry_run = arguments.flag("dry_run")?.unwrap_or(false);
    if engine.live.is_read_only() && !dry_run {
        return Err(EngineError::ReadOnly(engine.live.root().to_owned()).into());
    }
    let before = days.map(|days| engine.live.now() - TimeDelta::days(days as i64));
    let mut chosen = archived(call)?;
    chosen.retain(|one| before.is_none_or(|before| one.settled <= before));
    let wanted: Vec<(Stem, String)> = chosen
        .into_iter()
        .map(|one| (one.memory.stem, one.name))
        .collect();
    if dry_run {
        let stems: Vec<Stem> = wanted.into_iter().map(|(stem, _)| stem).collect();
        let ids = shape::shown_ids(engine, &stems);
        let said = json!({"purged": 0, "dry_run": true, "would_purge": ids.len(), "ids": ids});
        return Ok(Reply::json(said));
    }
    let (purged, failed) = ops::purge_forgotten(engine, &wanted)?;
    let mut reply = JsonObject::new();
    let mut put = |key: &str, value: Value| drop(reply.insert(key.to_owned(), value));
    put("purged", json!(purged.len()));
    let in_history = purged.iter().filter(|one| one.is_in_history).count();
    if in_history > 0 {
        put("still_in_history", json!(in_history));
    }
    if !failed.is_empty() {
        put("failed", json!(failed.len()));
    }
    Ok(Reply::object(reply))
}

fn stats(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let archived = archived(call)?;
    let mut namespaces: BTreeMap<&str, usize> = BTreeMap::new();
    for one in &archived {
        *namespaces
            .entry(one.memory.namespace_or_global())
            .or_default() += 1;
    }
    let mut namespaces: Vec<(&str, usize)> = namespaces.into_iter().collect();
    namespaces.sort_by_key(|(namespace, count)| (std::cmp::Reverse(*count), *namespace));
    let by_namespace: Vec<Value> = namespaces
        .into_iter()
        .map(|(namespace, count)| json!({"namespace": namespace, "count": count}))
        .collect();
    let moment = |at: Option<DateTime<Utc>>| at.map_or(Value::Null, shape::moment);
    Ok(Reply::json(json!({
        "archived_total": archived.len(),
        "by_namespace": by_namespace,
        "size_bytes": archived.iter().map(|one| one.bytes).sum::<u64>(),
        "oldest_archived_at": moment(archived.iter().map(|one| one.at).min()),
        "newest_archived_at": moment(archived.iter().map(|one| one.at).max()),
    })))
}
