//! `/archive`: what is out of sight.

use serde_json::Value;
use serde_json::json;

use super::listing;
use super::listing::Listing;
use super::row::from_tool;
use super::row::reads;
use super::row::writes;
use super::schema;
use crate::dialect::ai_memory::archive;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::Answer;
use crate::dialect::endpoint::Endpoint;
use crate::dialect::endpoint::ParameterLocation;
use crate::dialect::endpoint::Verb;
use crate::dialect::reply::ToolError;
use crate::model::Position;

pub(super) const LIST: Endpoint = Endpoint {
    parameters: &[
        archive::NAMESPACE,
        listing::limit(archive::USUAL, "At most 1,000: more counts as that"),
        listing::OFFSET,
        listing::CURSOR,
    ],
    ..reads(
        "/archive",
        "list_archive",
        "The archived memories, the last archived first, page by page.",
        list,
        || {
            schema::object(
                [
                    ("archived", schema::list(&schema::archived())),
                    ("count", schema::count()),
                    ("total", schema::count()),
                    ("next_cursor", schema::next_cursor()),
                ],
                [],
            )
        },
    )
};

pub(super) const RESTORE: Endpoint = Endpoint {
    parameters: archive::RESTORE.parameters,
    ..writes(
        Verb::Post,
        "/archive/{id}/restore",
        "restore_memory",
        "Bring an archived memory back, as it was.",
        |call, arguments| from_tool(&archive::RESTORE, call, arguments),
        || schema::object([("restored", schema::yes()), ("id", schema::text())], []),
    )
};

pub(super) const PURGE: Endpoint = Endpoint {
    parameters: archive::PURGE.parameters,
    place: ParameterLocation::Query,
    ..writes(
        Verb::Delete,
        "/archive",
        "purge_archive",
        "Remove archived memories for good.",
        |call, arguments| from_tool(&archive::PURGE, call, arguments),
        || {
            schema::object(
                [("purged", schema::count())],
                [
                    ("dry_run", schema::yes()),
                    ("would_purge", schema::count()),
                    ("ids", schema::texts()),
                    ("still_in_history", schema::count()),
                    ("failed", schema::count()),
                ],
            )
        },
    )
};

pub(super) const STATS: Endpoint = Endpoint {
    parameters: archive::STATS.parameters,
    ..reads(
        "/archive/stats",
        "archive_stats",
        "The archive in numbers.",
        |call, arguments| from_tool(&archive::STATS, call, arguments),
        || {
            schema::object(
                [
                    ("archived_total", schema::count()),
                    ("by_namespace", schema::namespaces()),
                    ("size_bytes", schema::count()),
                    ("oldest_archived_at", schema::moment_or_null()),
                    ("newest_archived_at", schema::moment_or_null()),
                ],
                [],
            )
        },
    )
};

fn list(call: &Call<'_>, arguments: &Arguments) -> Result<Answer, ToolError> {
    let namespace = arguments.set_text("namespace")?;
    let limit = arguments.at_most("limit", archive::MOST_LISTED)?;
    let limit = limit.unwrap_or(archive::USUAL) as usize;
    let listing = Listing::of(&format!("archive {namespace:?}"), arguments)?;
    let mut archived = archive::archived_of(call, namespace.as_deref())?;
    let total = archived.len();
    if let Some(position) = &listing.after {
        archived.retain(|one| position.is_before(one.at, &one.name));
    }
    let is_more = listing.offset.saturating_add(limit) < archived.len();
    let page: Vec<_> = archived
        .into_iter()
        .skip(listing.offset)
        .take(limit)
        .collect();
    let last = page.last().map(|one| Position {
        at: one.at,
        name: one.name.clone(),
    });
    let shown: Vec<Value> = page.iter().map(|one| archive::entry(call, one)).collect();
    Ok(Answer::json(json!({
        "count": shown.len(),
        "archived": shown,
        "total": total,
        "next_cursor": listing.next(last.filter(|_| is_more)),
    })))
}
