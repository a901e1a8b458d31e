//! The mark beside a text that wants to steer who reads it.

use serde_json::json;

use crate::dialect::json::JsonObject;
use crate::injection;

/// Says in `object` why what is shown of a memory is to be read with care; nothing of an ordinary
/// memory. The text itself stays as it is, and is to come after this.
pub(super) fn mark(object: &mut JsonObject, title: Option<&str>, text: &str) {
    let reasons = reasons(title, text);
    if !reasons.is_empty() {
        object.insert("suspicious".to_owned(), json!(reasons));
    }
}

/// Why a memory, or as much as is shown of it, is to be read with care.
pub fn reasons(title: Option<&str>, text: &str) -> Vec<&'static str> {
    match title {
        Some(title) => injection::find(&[title, text].join("\n")),
        None => injection::find(text),
    }
}
