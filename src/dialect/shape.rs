//! How a memory looks as JSON.

use serde_json::Value;
use serde_json::json;

use super::json::JsonObject;
use crate::model::Memory;
use crate::model::MetaValue;

/// The memory with every field that is set, the five mandatory ones first and the content last.
pub(super) fn memory(memory: &Memory, id: &str) -> JsonObject {
    let mut object = JsonObject::new();
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("id", json!(id));
    put("timestamp", json!(memory.timestamp.as_str()));
    put("agent", json!(memory.agent));
    put("user", json!(memory.user));
    put("topics", json!(memory.topics));
    let texts = [
        ("title", memory.title.as_deref()),
        ("kind", memory.kind.map(|kind| kind.as_str())),
        ("namespace", memory.namespace.as_deref()),
        ("scope", memory.scope.map(|scope| scope.as_str())),
        ("tier", memory.tier.map(|tier| tier.as_str())),
    ];
    for (key, text) in texts {
        text.iter().for_each(|text| put(key, json!(text)));
    }
    memory
        .importance
        .iter()
        .for_each(|n| put("importance", json!(n)));
    memory
        .confidence
        .iter()
        .for_each(|n| put("confidence", json!(n)));
    let texts = [
        ("source", memory.source.as_deref()),
        ("status", memory.status.as_deref()),
        ("expires", memory.expires.as_ref().map(|at| at.as_str())),
    ];
    for (key, text) in texts {
        text.iter().for_each(|text| put(key, json!(text)));
    }
    if !memory.supersedes.is_empty() {
        put("supersedes", json!(memory.supersedes));
    }
    memory
        .superseded_by
        .iter()
        .for_each(|stem| put("superseded_by", json!(stem)));
    if !memory.links.is_empty() {
        let link = |link: &crate::model::Link| json!({"to": link.to, "type": link.relation});
        put("links", memory.links.iter().map(link).collect());
    }
    if !memory.metadata.is_empty() {
        put("metadata", map(&memory.metadata));
    }
    put("content", json!(memory.content));
    object
}

/// The entries of a JSON object, as `metadata` holds them.
pub(super) fn metadata(object: JsonObject) -> Vec<(String, MetaValue)> {
    let entries = object.into_iter();
    entries
        .map(|(key, value)| (key, meta_value(value)))
        .collect()
}

fn meta_value(value: Value) -> MetaValue {
    match value {
        Value::Null => MetaValue::Null,
        Value::Bool(value) => MetaValue::Bool(value),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(int), _) => MetaValue::Int(int),
            (None, Some(float)) => MetaValue::Float(float),
            (None, None) => MetaValue::Text(number.to_string()),
        },
        Value::String(text) => MetaValue::Text(text),
        Value::Array(items) => MetaValue::List(items.into_iter().map(meta_value).collect()),
        Value::Object(object) => MetaValue::Map(metadata(object)),
    }
}

/// Metadata as a JSON object.
pub(super) fn map(entries: &[(String, MetaValue)]) -> Value {
    Value::Object(
        entries
            .iter()
            .map(|(key, value)| (key.clone(), meta(value)))
            .collect(),
    )
}

fn meta(value: &MetaValue) -> Value {
    match value {
        MetaValue::Null => Value::Null,
        MetaValue::Bool(value) => json!(value),
        MetaValue::Int(int) => json!(int),
        MetaValue::Float(float) => json!(float),
        MetaValue::Text(text) => json!(text),
        MetaValue::List(items) => items.iter().map(meta).collect(),
        MetaValue::Map(entries) => map(entries),
    }
}
