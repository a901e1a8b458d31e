//! JSON with the keys in the order in which they were added.

use serde::Serialize;
use serde_json::Value;

/// A JSON object, in the order its keys were added.
pub type JsonObject = serde_json::Map<String, Value>;

/// Returns the JSON of a view.
pub fn to_json(view: &impl Serialize) -> Value {
    serde_json::to_value(view).expect("a view has texts as keys")
}

/// Returns the JSON object of a view; an empty one if the view is no object.
pub fn to_object(view: &impl Serialize) -> JsonObject {
    object(to_json(view))
}

/// Returns the JSON of a view as text.
pub fn to_text(view: &impl Serialize) -> String {
    serde_json::to_string(view).expect("a view has texts as keys")
}

/// Returns the object in a `json!` value; an empty one for anything else.
pub fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}
