//! Forms of the replies of this set.

use crate::dialect::json::JsonObject;
use crate::dialect::reply::{Reply, ToolError};
use serde_json::{Value, json};

/// Returns the reply of a further tool that failed.
pub(super) fn failure_object(error: &ToolError) -> Reply {
    Reply::json(json!({"error": error.message()})).failed()
}

/// Returns the reply of a tool of the specification that failed: a list with an error.
pub(super) fn failure(message: String) -> Reply {
    Reply {
        is_error: true,
        ..list_reply(vec![json!({"error": message})], |_| {})
    }
}

/// Returns a reply with a list, and with further members that `more` adds.
pub(super) fn list_reply(entries: Vec<Value>, more: impl FnOnce(&mut JsonObject)) -> Reply {
    let entries = Value::Array(entries);
    reply_as(entries.to_string(), entries, more)
}

/// Returns as [`list_reply`], of a list that is serialized already.
pub(super) fn list_reply_as(
    text: String,
    entries: Vec<Value>,
    more: impl FnOnce(&mut JsonObject),
) -> Reply {
    reply_as(text, Value::Array(entries), more)
}

/// Returns a reply with `entries`, whose JSON is `text`, without copying the large texts again.
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
