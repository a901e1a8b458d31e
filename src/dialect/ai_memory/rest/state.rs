//! `/health`, `/stats` and `/namespaces`: the store in words and numbers.

use serde_json::Value;
use serde_json::json;

use super::row::from_tool;
use super::row::reads;
use super::schema;
use crate::dialect::ai_memory::state;
use crate::dialect::ai_memory::titles::Titles;
use crate::dialect::arguments::Arguments;
use crate::dialect::call::Call;
use crate::dialect::endpoint::Answer;
use crate::dialect::endpoint::Endpoint;
use crate::dialect::reply::ToolError;
use crate::engine::ops;

pub(super) const HEALTH: Endpoint = Endpoint {
    statuses: &[200, 503],
    ..reads(
        "/health",
        "health",
        "Whether the store can be read and searched.",
        health,
        || {
            schema::object(
                [
                    ("status", schema::word(&["ok", "error"])),
                    ("service", schema::text()),
                ],
                [("server", schema::text()), ("version", schema::text())],
            )
        },
    )
};

pub(super) const STATS: Endpoint = reads(
    "/stats",
    "stats",
    "The store in numbers.",
    |call, arguments| from_tool(&state::STATS, call, arguments),
    || {
        let tier = schema::object([("tier", schema::tier()), ("count", schema::count())], []);
        schema::object(
            [
                ("total", schema::count()),
                ("by_tier", schema::list(&tier)),
                ("by_namespace", schema::namespaces()),
                ("expiring_soon", schema::count()),
                ("links_count", schema::count()),
                ("db_size_bytes", schema::count()),
                ("archived", schema::count()),
            ],
            [],
        )
    },
);

pub(super) const NAMESPACES: Endpoint = reads(
    "/namespaces",
    "list_namespaces",
    "The namespaces with their numbers of memories, the largest first.",
    namespaces,
    || schema::object([("namespaces", schema::namespaces())], []),
);

fn namespaces(call: &Call<'_>, _: &Arguments) -> Result<Answer, ToolError> {
    let namespaces = state::namespaces(call, &Titles::of(call)?)?;
    Ok(Answer::json(json!({"namespaces": namespaces})))
}

fn health(call: &Call<'_>, _: &Arguments) -> Result<Answer, ToolError> {
    let is_well = ops::facet(call.engine, "namespace").is_ok();
    let answer = |status: &str| -> Value {
        json!({
            "status": status,
            // What clients of this interface look for.
            "service": "ai-memory",
            "server": "memdir",
            "version": env!("CARGO_PKG_VERSION"),
        })
    };
    Ok(match is_well {
        true => Answer::json(answer("ok")),
        false => Answer::json(answer("error")).with_status(503),
    })
}
