//! The JSON schemas of what the addresses answer, in pieces.

use serde_json::Value;
use serde_json::json;

use crate::dialect::ai_memory::check;
use crate::dialect::ai_memory::titles::OTHERS;
use crate::dialect::json::JsonObject;

/// An object that always has the first members, and sometimes the others.
pub(super) fn object<const A: usize, const B: usize>(
    always: [(&str, Value); A],
    sometimes: [(&str, Value); B],
) -> Value {
    let required: Vec<String> = always.iter().map(|(name, _)| (*name).to_owned()).collect();
    let members = always.into_iter().chain(sometimes);
    let properties: JsonObject = members
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// One object with the members of both.
pub(super) fn with(mut one: Value, other: &Value) -> Value {
    for (name, schema) in other["properties"].as_object().into_iter().flatten() {
        one["properties"][name] = schema.clone();
    }
    let required = other["required"].as_array().into_iter().flatten().cloned();
    if let Some(known) = one["required"].as_array_mut() {
        known.extend(required);
    }
    one
}

pub(super) fn list(of: &Value) -> Value {
    json!({"type": "array", "items": of})
}

pub(super) fn text() -> Value {
    json!({"type": "string"})
}

pub(super) fn texts() -> Value {
    list(&text())
}

/// How many.
pub(super) fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

pub(super) fn flag() -> Value {
    json!({"type": "boolean"})
}

/// What is always so.
pub(super) fn yes() -> Value {
    json!({"type": "boolean", "enum": [true]})
}

pub(super) fn word(words: &[&str]) -> Value {
    json!({"type": "string", "enum": words})
}

pub(super) fn moment() -> Value {
    json!({"type": "string", "format": "date-time"})
}

pub(super) fn moment_or_null() -> Value {
    json!({"type": ["string", "null"], "format": "date-time"})
}

pub(super) fn tier() -> Value {
    word(check::TIERS)
}

/// A memory with all of its fields.
pub(super) fn memory() -> Value {
    object(
        [
            ("id", text()),
            ("tier", tier()),
            ("namespace", text()),
            ("title", text()),
            ("content", text()),
            ("tags", texts()),
            (
                "priority",
                json!({"type": "integer", "minimum": 1, "maximum": 10}),
            ),
            (
                "confidence",
                json!({"type": "number", "minimum": 0, "maximum": 1}),
            ),
            ("source", text()),
            ("access_count", count()),
            ("created_at", moment()),
            ("updated_at", moment()),
            ("last_accessed_at", moment_or_null()),
            ("expires_at", moment_or_null()),
            ("metadata", json!({"type": "object"})),
        ],
        [(OTHERS, texts())],
    )
}

/// One that was searched for; a standard that comes first may have no score.
pub(super) fn found() -> Value {
    with(
        memory(),
        &object([], [("score", json!({"type": "number"}))]),
    )
}

/// One in the archive.
pub(super) fn archived() -> Value {
    let more = object([("archived_at", moment()), ("archive_reason", text())], []);
    with(memory(), &more)
}

/// How one memory stands to another.
pub(super) fn link() -> Value {
    object(
        [
            ("source_id", text()),
            ("target_id", text()),
            ("relation", text()),
            ("created_at", moment_or_null()),
        ],
        [],
    )
}

/// Namespaces with their numbers of memories.
pub(super) fn namespaces() -> Value {
    list(&object([("namespace", text()), ("count", count())], []))
}

/// What becomes of many memories that are taken out of sight: how many under the name `done`.
pub(super) fn taken(done: &str) -> Value {
    object(
        [(done, count()), ("ids", texts())],
        [
            ("dry_run", yes()),
            ("would_delete", count()),
            ("failed", count()),
        ],
    )
}

/// Where a list goes on.
pub(super) fn next_cursor() -> Value {
    json!({
        "type": ["string", "null"],
        "description": "What to send as `cursor` for what comes next; null at the end",
    })
}
