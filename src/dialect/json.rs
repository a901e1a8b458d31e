//! JSON with the keys in the order in which they were added.

/// A JSON object, in the order its keys were added.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;
