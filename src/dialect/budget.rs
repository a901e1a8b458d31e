//! Answers that fit into so many tokens.

use serde_json::Value;
use serde_json::json;

use super::JsonObject;
use super::reply::written;
use crate::model::estimated_tokens;

/// Cuts an entry's `content` so that the entry takes about `tokens`, and says so by `truncated`.
pub(super) fn fit(entry: &mut JsonObject, tokens: usize) {
    let has_content = entry.get("content").is_some_and(Value::is_string);
    if !has_content || estimated_tokens(&written(entry)) <= tokens {
        return;
    }
    entry.insert("truncated".to_owned(), json!(true));
    let whole = estimated_tokens(&written(entry));
    let Some(Value::String(content)) = entry.get_mut("content") else {
        return;
    };
    let keep = tokens.saturating_sub(whole - estimated_tokens(content).min(whole));
    let characters = content.chars().count() * keep / estimated_tokens(content).max(1);
    *content = content.chars().take(characters).collect();
}
