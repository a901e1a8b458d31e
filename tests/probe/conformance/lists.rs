//! What there is: tools, resources and prompts, as the suite wants them listed.

use serde_json::{Value, json};

/// A picture of one point.
pub const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// A sound of no length.
pub const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

/// Tools with no parameters.
const PLAIN: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_tool_with_logging",
    "test_error_handling",
    "test_tool_with_progress",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_logging_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
    "failing_job",
    "protocol_error_job",
    "multi_input",
    "test_tool_with_task",
];

/// Tools with parameters, and what is wanted of them.
const WITH_PARAMETERS: &[(&str, &[(&str, &str)])] = &[
    ("test_sampling", &[("prompt", "string")]),
    ("test_elicitation", &[("message", "string")]),
    ("greet", &[("name", "string")]),
    ("slow_compute", &[("seconds", "number")]),
    ("confirm_delete", &[("filename", "string")]),
];

pub fn tools() -> Vec<Value> {
    let tool = |name: &str, schema: Value| json!({"name": name, "description": "A fixture.", "inputSchema": schema});
    let plain = PLAIN.iter();
    let plain = plain.map(|name| tool(name, json!({"type": "object", "properties": {}})));
    let more = WITH_PARAMETERS.iter().map(|(name, parameters)| {
        let properties = parameters.iter();
        let properties = properties.map(|(name, kind)| ((*name).to_owned(), json!({"type": kind})));
        let properties: serde_json::Map<_, _> = properties.collect();
        let required: Vec<_> = properties.keys().cloned().collect();
        let schema = json!({"type": "object", "properties": properties, "required": required});
        tool(name, schema)
    });
    let special = [
        tool(
            "test_custom_header",
            json!({"type": "object", "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
            }}),
        ),
        tool("json_schema_2020_12_tool", rich_schema()),
    ];
    plain.chain(more).chain(special).collect()
}

/// A schema with what a lesser program drops.
fn rich_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }},
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

pub fn resources() -> Value {
    json!([
        {"uri": "test://static-text", "name": "text", "description": "A fixture.", "mimeType": "text/plain"},
        {"uri": "test://static-binary", "name": "picture", "description": "A fixture.", "mimeType": "image/png"},
        {"uri": "test://watched-resource", "name": "watched", "description": "A fixture.", "mimeType": "text/plain"},
    ])
}

pub fn templates() -> Value {
    json!([{
        "uriTemplate": "test://template/{id}/data",
        "name": "template",
        "description": "A fixture.",
        "mimeType": "application/json",
    }])
}

/// What `uri` names.
pub fn contents(uri: &str) -> Option<Value> {
    let template = uri.strip_prefix("test://template/");
    let id = template.and_then(|rest| rest.strip_suffix("/data"));
    Some(match (uri, id) {
        ("test://static-text", _) => {
            let text = "This is the content of the static text resource.";
            json!({"uri": uri, "mimeType": "text/plain", "text": text})
        }
        ("test://static-binary", _) => json!({"uri": uri, "mimeType": "image/png", "blob": PNG}),
        ("test://watched-resource", _) => {
            json!({"uri": uri, "mimeType": "text/plain", "text": "It never changes."})
        }
        (_, Some(id)) => {
            let data = format!("Data for ID: {id}");
            let text = json!({"id": id, "templateTest": true, "data": data}).to_string();
            json!({"uri": uri, "mimeType": "application/json", "text": text})
        }
        _ => return None,
    })
}

pub fn prompts() -> Value {
    let argument = |name: &str| json!({"name": name, "description": "A word.", "required": true});
    json!([
        {"name": "test_simple_prompt", "description": "A fixture."},
        {
            "name": "test_prompt_with_arguments",
            "description": "A fixture.",
            "arguments": [argument("arg1"), argument("arg2")],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "A fixture.",
            "arguments": [argument("resourceUri")],
        },
        {"name": "test_prompt_with_image", "description": "A fixture."},
        {"name": "test_input_required_result_prompt", "description": "A fixture."},
    ])
}
