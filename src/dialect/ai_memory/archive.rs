//! The archive: `memory_archive_list`, `_restore`, `_purge` and `_stats`.

use std::collections::BTreeMap;

use chrono::TimeDelta;
use schemars::JsonSchema;
use serde::Serialize;

use super::shape::{MemoryView, Moment, NamespaceCount};
use super::tool::tool;
use super::write::check_free;
use super::{check, shape};
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::parameter::{Literal, Parameter};
use crate::dialect::reply::{Reply, ToolError};
use crate::dialect::tool_set::{Hints, Tool};
use crate::engine::{EngineError, Forgotten, ops};
use crate::model::{Stem, is_same_namespace};

/// Reason in the journal for a memory that has expired.
const EXPIRED: &str = "expired";

/// Parameter for the namespace.
pub(super) const NAMESPACE: Parameter = Parameter::text("namespace", "Only of this one");
/// Maximum number of memories in one list.
pub(super) const MOST_LISTED: u64 = 1_000;
/// Default number of memories in one list.
pub(super) const USUAL: u64 = 50;

/// Tool `memory_archive_list`.
pub(super) const LIST: Tool = tool(
    "memory_archive_list",
    "The archived memories with their contents, the last archived first: what was deleted, forgotten, replaced, consolidated, or has ended.",
    &[
        NAMESPACE,
        Parameter::whole("limit", 1, MOST_LISTED, "").or(Literal::Whole(USUAL)),
        Parameter::whole("offset", 0, u64::MAX, "Number of memories to skip").or(Literal::Whole(0)),
    ],
    Hints::reads("List the archive"),
    list,
);

/// Tool `memory_archive_restore`.
pub(super) const RESTORE: Tool = tool(
    "memory_archive_restore",
    "Bring an archived memory back, as it was; its life begins anew. Fails if a live memory has its title in its namespace.",
    &[Parameter::text("id", "").required()],
    Hints::writes("Restore a memory"),
    restore,
);

/// Tool `memory_archive_purge`.
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
    Hints::takes_away("Purge the archive"),
    purge,
);

/// Tool `memory_archive_stats`.
pub(super) const STATS: Tool = tool(
    "memory_archive_stats",
    "The archive in numbers: how many memories, of which namespaces, how large, since when.",
    &[],
    Hints::reads("Archive statistics"),
    stats,
);

/// Returns all archived memories, the last archived first.
fn archived(call: &Call<'_>) -> Result<Vec<Forgotten>, ToolError> {
    let mut archived = ops::archived(call.engine)?;
    archived.sort_by(|a, b| {
        let newest_first = b.at.timestamp_micros().cmp(&a.at.timestamp_micros());
        newest_first.then_with(|| a.name.cmp(&b.name))
    });
    Ok(archived)
}

/// Returns the archived memories of a namespace, or all: the last archived first, those of one moment by
/// name.
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

/// A memory in the archive.
#[derive(Serialize, JsonSchema)]
pub(super) struct ArchivedMemory {
    #[serde(flatten)]
    memory: MemoryView,
    archived_at: Moment,
    archive_reason: String,
}

impl ArchivedMemory {
    pub fn of(call: &Call<'_>, one: &Forgotten) -> ArchivedMemory {
        ArchivedMemory {
            memory: MemoryView::of(call.engine, &one.memory),
            archived_at: one.at.into(),
            archive_reason: reason(one),
        }
    }
}

/// A page of the archive.
#[derive(Serialize)]
struct ArchiveView {
    count: usize,
    archived: Vec<ArchivedMemory>,
    total: usize,
}

fn list(call: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let namespace = arguments.set_text("namespace")?;
    let limit = arguments.at_most("limit", MOST_LISTED)?.unwrap_or(USUAL) as usize;
    let offset = arguments.number("offset")?.unwrap_or(0) as usize;
    let archived = archived_of(call, namespace.as_deref())?;
    let total = archived.len();
    let page = archived.into_iter().skip(offset).take(limit);
    let shown: Vec<ArchivedMemory> = page.map(|one| ArchivedMemory::of(call, &one)).collect();
    Ok(Reply::of(&ArchiveView {
        count: shown.len(),
        archived: shown,
        total,
    }))
}

/// Returns `gc` for an expired memory; else the reason in the journal, or the command.
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

/// A memory that came back.
#[derive(Serialize, JsonSchema)]
pub(super) struct RestoredView {
    #[schemars(extend("enum" = [true]))]
    restored: bool,
    id: String,
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
    Ok(Reply::of(&RestoredView {
        restored: true,
        id: engine.live.shown_id(&stem),
    }))
}

/// Memories that were removed for good.
#[derive(Default, Serialize, JsonSchema)]
pub(super) struct PurgedView {
    purged: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("enum" = [true]))]
    dry_run: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    would_purge: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    still_in_history: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<usize>,
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
        return Ok(Reply::of(&PurgedView {
            dry_run: Some(true),
            would_purge: Some(ids.len()),
            ids: Some(ids),
            ..PurgedView::default()
        }));
    }
    let (purged, failed) = ops::purge_forgotten(engine, &wanted)?;
    let in_history = purged.iter().filter(|one| one.is_in_history).count();
    Ok(Reply::of(&PurgedView {
        purged: purged.len(),
        still_in_history: Some(in_history).filter(|count| *count > 0),
        failed: Some(failed.len()).filter(|count| *count > 0),
        ..PurgedView::default()
    }))
}

/// The archive in numbers.
#[derive(Serialize, JsonSchema)]
pub(super) struct ArchiveStatsView {
    archived_total: usize,
    by_namespace: Vec<NamespaceCount>,
    size_bytes: u64,
    oldest_archived_at: Option<Moment>,
    newest_archived_at: Option<Moment>,
}

fn stats(call: &Call<'_>, _: &Arguments) -> Result<Reply, ToolError> {
    let archived = archived(call)?;
    let mut namespaces: BTreeMap<String, usize> = BTreeMap::new();
    for one in &archived {
        let of = one.memory.namespace_or_global().to_owned();
        *namespaces.entry(of).or_default() += 1;
    }
    let moments = || archived.iter().map(|one| one.at);
    Ok(Reply::of(&ArchiveStatsView {
        archived_total: archived.len(),
        by_namespace: shape::namespaces(namespaces),
        size_bytes: archived.iter().map(|one| one.bytes).sum(),
        oldest_archived_at: moments().min().map(Moment::from),
        newest_archived_at: moments().max().map(Moment::from),
    }))
}
