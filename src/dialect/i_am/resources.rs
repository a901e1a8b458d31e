//! The resources `memory://schema` and `memory://stats`.

use serde_json::json;

use super::summary::stats;
use super::vocabulary::{CATEGORIES, RELATIONS, SCHEMA_VERSION, SOURCES, STATUSES};
use crate::dialect::call::Call;
use crate::dialect::json::to_text;
use crate::dialect::reply::ToolError;
use crate::dialect::tool_set::Resource;

/// Resources of the set.
pub(super) const RESOURCES: &[Resource] = &[
    Resource {
        uri: "memory://schema",
        name: "schema",
        title: "Schema",
        description: "Schema version, valid categories, statuses, relations, and field documentation",
        mime: "application/json",
        // It changes with the program only.
        ttl_ms: 60 * 60 * 1000,
        read: schema,
    },
    Resource {
        uri: "memory://stats",
        name: "stats",
        title: "Stats",
        description: "Category counts, total entries, session count, file size",
        mime: "application/json",
        ttl_ms: 0,
        read: numbers,
    },
];

fn schema(_: &Call<'_>, _: &str) -> Result<Option<String>, ToolError> {
    let fields = json!({
        "value": "string: the memory content",
        "created_at": "ISO 8601: creation timestamp (UTC)",
        "updated_at": "ISO 8601: last modification timestamp (UTC)",
        "tags": "string[]: tags for categorization and search",
        "confidence": "float (0.0-1.0): certainty level, null if unset",
        "importance": "int (1-10): priority level, default 5",
        "source": "{type, detail}: origin metadata",
        "access_count": "int: times recalled or searched",
        "last_accessed": "ISO 8601: last access timestamp (UTC), null if never",
        "status": "string: lifecycle state",
        "links": "array: [{target: \"category.key\", relation: \"...\"}]",
    });
    Ok(Some(
        json!({
            "schema_version": SCHEMA_VERSION,
            "categories": CATEGORIES,
            "statuses": STATUSES,
            "relations": RELATIONS,
            "source_types": SOURCES,
            "fields": fields,
        })
        .to_string(),
    ))
}

fn numbers(call: &Call<'_>, _: &str) -> Result<Option<String>, ToolError> {
    Ok(Some(to_text(&stats(call)?)))
}
