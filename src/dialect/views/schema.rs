//! JSON schemas of views, as tools and the HTTP interface serve them.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};

use crate::dialect::json::{JsonObject, object};

/// Returns the schema of `T`, with the schemas of its members inlined.
///
/// Names of types and doc comments are left out: they are for readers of the code. A description
/// for clients is given as `#[schemars(extend("about" = "…"))]`.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(reduce).transform(&mut schema);
    schema.to_value()
}

/// Returns as [`schema_of`], of a view that is an object.
pub fn object_schema<T: JsonSchema>() -> JsonObject {
    object(schema_of::<T>())
}

/// Returns the schema of the reply of a further tool: `T`, or an object with an `error`.
///
/// No member is required, since a reply with an error has no other member. The minimum of counts is left
/// out: each word takes tokens of every conversation of an agent.
pub fn reply_schema<T: JsonSchema>() -> JsonObject {
    let mut schema = Schema::try_from(schema_of::<T>()).unwrap_or_default();
    let shorten = |schema: &mut Schema| {
        remove(schema, "required");
        remove(schema, "minimum");
    };
    RecursiveTransform(shorten).transform(&mut schema);
    let mut schema = schema.to_value();
    schema["properties"]["error"] = json!({"type": "string"});
    object(schema)
}

/// Returns the schema of an object whose `results` are a list of `T` or of objects with an `error`.
pub fn list_schema<T: JsonSchema>() -> JsonObject {
    let results = json!({"type": "array", "items": reply_schema::<T>()});
    object(json!({
        "type": "object",
        "properties": {"results": results},
        "required": ["results"],
    }))
}

/// Removes keys that are of no use to a client from a schema.
fn reduce(schema: &mut Schema) {
    remove(schema, "title");
    remove(schema, "description");
    if let Some(Value::String(format)) = schema.get("format")
        && ["uint", "int", "double", "float"]
            .iter()
            .any(|kind| format.starts_with(kind))
    {
        remove(schema, "format");
    }
    if schema.get("additionalProperties") == Some(&Value::Bool(true)) {
        remove(schema, "additionalProperties");
    }
    if let Some(about) = schema.remove("about") {
        schema.insert("description".to_owned(), about);
    }
    // A member that may be missing is missing where it would be null.
    let required: Vec<Value> = match schema.get("required") {
        Some(Value::Array(required)) => required.clone(),
        _ => Vec::new(),
    };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        let optional = properties
            .iter_mut()
            .filter(|(name, _)| !required.contains(&json!(name)));
        optional.for_each(|(_, property)| refuse_null(property));
    }
}

fn refuse_null(property: &mut Value) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            property["type"] = one.clone();
        }
    }
    if let Some(Value::Array(words)) = property.get_mut("enum") {
        words.retain(|word| !word.is_null());
    }
}

/// Removes a key; the others keep their order.
fn remove(schema: &mut Schema, key: &str) {
    if let Some(object) = schema.as_object_mut() {
        object.shift_remove(key);
    }
}

#[cfg(test)]
mod tests {
    use serde::Serialize;

    use super::*;

    /// A view with a member of every sort.
    #[derive(Serialize, JsonSchema)]
    struct View<'a> {
        /// A comment for readers of the code.
        count: usize,
        #[schemars(extend("about" = "What to send next"))]
        cursor: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        score: Option<f64>,
        #[schemars(skip)]
        title: &'a str,
        inner: Vec<Inner>,
    }

    #[derive(Serialize, JsonSchema)]
    struct Inner {
        title: Option<String>,
    }

    #[test]
    fn a_schema_says_what_is_sent_and_nothing_of_rust() {
        let inner = json!({
            "type": "object",
            "properties": {"title": {"type": ["string", "null"]}},
            "required": ["title"],
        });
        let expected = json!({
            "type": "object",
            "properties": {
                "count": {"type": "integer", "minimum": 0},
                "cursor": {"type": ["string", "null"], "description": "What to send next"},
                "score": {"type": "number"},
                "inner": {"type": "array", "items": inner},
            },
            "required": ["count", "cursor", "inner"],
        });
        let schema = schema_of::<View<'_>>();
        // As texts, because the order of keys counts.
        assert_eq!(schema.to_string(), expected.to_string());
    }

    #[test]
    fn a_reply_of_a_tool_may_be_an_error() {
        let inner = json!({
            "type": "object",
            "properties": {"title": {"type": ["string", "null"]}, "error": {"type": "string"}},
        });
        let expected = json!({
            "type": "object",
            "properties": {"results": {"type": "array", "items": inner}},
            "required": ["results"],
        });
        assert_eq!(
            json!(list_schema::<Inner>()).to_string(),
            expected.to_string()
        );
    }
}
