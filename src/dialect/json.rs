//! JSON with the keys in the order in which they were added.

use serde::Serialize;
use serde_json::Value;

/// A JSON object, in the order its keys were added.
pub type JsonObject = serde_json::Map<String, Value>;

/// The JSON of a view.
pub fn to_json(view: &impl Serialize) -> Value {
    serde_json::to_value(view).expect("a view has texts as keys")
}

/// The JSON object of a view that is one.
pub fn to_object(view: &impl Serialize) -> JsonObject {
    object(to_json(view))
}

/// The JSON of a view as text.
pub fn to_text(view: &impl Serialize) -> String {
    serde_json::to_string(view).expect("a view has texts as keys")
}

/// The object that a `json!` value is; anything else is an empty one.
pub fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
