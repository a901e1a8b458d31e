//! The metadata of a memory as JSON.

use serde_json::{Value, json};

use super::json::JsonObject;
use crate::model::MetaValue;

/// Converts a JSON object to a memory's metadata.
pub(super) fn from_json(object: JsonObject) -> Vec<(String, MetaValue)> {
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
        Value::Object(object) => MetaValue::Map(from_json(object)),
    }
}

/// Converts metadata to a JSON object.
pub(super) fn to_json(entries: &[(String, MetaValue)]) -> Value {
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
        MetaValue::Map(entries) => to_json(entries),
    }
}
