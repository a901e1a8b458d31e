//! The forms of the replies of this set.

use crate::dialect::json::JsonObject;
use crate::dialect::reply::{Reply, ToolError};
use serde_json::{Value, json};

/// The reply of one of our own tools that failed.
pub(super) fn failure_object(error: &ToolError) -> Reply {
    Reply::json(json!({"error": error.message()})).failed()
}

pub(super) fn failure(message: String) -> Reply {
    Reply {
        is_error: true,
        ..list_reply(vec![json!({"error": message})], |_| {})
    }
}

pub(super) fn list_reply(entries: Vec<Value>, more: impl FnOnce(&mut JsonObject)) -> Reply {
    let entries = Value::Array(entries);
    reply_as(entries.to_string(), entries, more)
}

/// As [`list_reply`], where the list is written already.
pub(super) fn list_reply_as(
    text: String,
    entries: Vec<Value>,
    more: impl FnOnce(&mut JsonObject),
) -> Reply {
    reply_as(text, Value::Array(entries), more)
}

/// A memory may be large: its text is copied no more often than it is sent.
pub(super) fn reply_as(text: String, entries: Value, more: impl FnOnce(&mut JsonObject)) -> Reply {
    let mut structured = JsonObject::new();
    structured.insert("results".to_owned(), entries);
    more(&mut structured);
    Reply {
        structured,
        text,
        is_error: false,
    }
}
