//! OpenAPI 3.1 document of the REST interface, made from the table of endpoints, so that it always
//! matches what is served.

use serde_json::{Value, json};

use crate::dialect::views::schema_of;
use crate::dialect::{
    Endpoint, ErrorView, Form, JsonObject, Parameter, ParameterLocation, Verb, schema,
};

/// Returns the OpenAPI document.
pub fn document() -> Value {
    let mut paths = JsonObject::new();
    for endpoint in crate::dialect::endpoints() {
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[verb(endpoint.verb)] = operation(endpoint);
    }
    paths.insert("/events".to_owned(), json!({"get": events()}));
    paths.insert("/openapi.json".to_owned(), json!({"get": this()}));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "memdir",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The memories of AI agents, over HTTP. Every error is an object with a code, a message and the same as `error`.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": BASE}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Error": schema_of::<ErrorView>()},
            "responses": {"Error": {
                "description": "Why nothing was done",
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
            }},
        },
    })
}

/// Returns the OpenAPI document of a workspace: that of a store, and what a server of workspaces has beside it.
pub fn document_of_workspace() -> Value {
    let mut document = document();
    document["servers"] = json!([{
        "url": format!("/w/{{workspace}}{BASE}"),
        "variables": {"workspace": {"default": "NAME", "description": "Name of the workspace"}},
    }]);
    for (path, operations) in exchange().into_iter().chain(lists()) {
        document["paths"][path] = operations;
    }
    document
}

/// Returns the operations of the exchange with joined folders.
fn exchange() -> [(&'static str, Value); 4] {
    let path = json!({"type": "string"});
    let hash = json!({"type": ["string", "null"], "description": "BLAKE3, 32 hex digits"});
    let text = json!({"type": ["string", "null"]});
    let operation = |name: &str, summary: &str, question: Value, reply: Value| {
        let mut operation = beside(name, summary, object(reply));
        operation["requestBody"] = json!({
            "required": true,
            "content": {"application/json": {"schema": object(question)}},
        });
        json!({"post": operation})
    };
    let state = operation(
        "exchange_state",
        "Where the workspace stands.",
        json!({}),
        json!({"workspace": path, "number": number(), "may_write": {"type": "boolean"}}),
    );
    let file = json!({"path": path, "hash": hash, "bytes": number(), "modified": number()});
    let listing = operation(
        "exchange_listing",
        "The files of memories and tombstones after a path, in the order of their paths: at most 50,000; with the mark of \
         an earlier answer, those that changed since.",
        json!({"after": path, "since": path}),
        json!({
            "workspace": path,
            "number": number(),
            "mark": path,
            "since": text,
            "files": list(object(file)),
            "removed": list(path.clone()),
            "has_more": {"type": "boolean"},
        }),
    );
    let texts = operation(
        "exchange_texts",
        "The texts of the first of these paths, at least of one; null for one that is gone, or no UTF-8.",
        json!({"paths": list(path.clone())}),
        json!({"texts": list(text.clone())}),
    );
    let change = json!({"path": path, "before": hash, "text": text});
    let changes = operation(
        "exchange_changes",
        "Gives files that have the hash `before`, null for none, another text; null removes them.",
        json!({"changes": list(object(change))}),
        json!({"done": list(json!({"type": "boolean"}))}),
    );
    [
        ("/exchange/state", state),
        ("/exchange/listing", listing),
        ("/exchange/texts", texts),
        ("/exchange/changes", changes),
    ]
}

/// Returns the operations by which the owners of a workspace see who has access, and what was done.
fn lists() -> [(&'static str, Value); 2] {
    let items = || list(json!({"type": "object"}));
    let tokens = beside(
        "tokens",
        "The tokens of the workspace, without their secrets; for its owners.",
        object(json!({"tokens": items()})),
    );
    let mut audit = beside(
        "audit",
        "Lines of the audit of the workspace; for its owners.",
        object(json!({"lines": items()})),
    );
    audit["parameters"] = json!([
        {"name": "after", "in": "query", "required": false, "schema": number()},
        {"name": "limit", "in": "query", "required": false, "schema":
            {"type": "integer", "minimum": 0, "maximum": 1000, "default": 100}},
    ]);
    [
        ("/tokens", json!({"get": tokens})),
        ("/audit", json!({"get": audit})),
    ]
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn number() -> Value {
    json!({"type": "integer", "minimum": 0})
}

/// Returns an operation that is not in the table of endpoints.
fn beside(name: &str, summary: &str, reply: Value) -> Value {
    let mut responses = json!({
        "200": {"description": "Done", "content": {"application/json": {"schema": reply}}},
    });
    for status in ["400", "401", "403", "429", "500", "503"] {
        responses[status] = json!({"$ref": "#/components/responses/Error"});
    }
    json!({"operationId": name, "summary": summary, "responses": responses})
}

fn verb(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "get",
        Verb::Post => "post",
        Verb::Put => "put",
        Verb::Delete => "delete",
    }
}

fn operation(endpoint: &Endpoint) -> Value {
    let place = |one: &&Parameter| match endpoint.is_in_path(one.name) {
        true => Some("path"),
        false => (endpoint.place == ParameterLocation::Query).then_some("query"),
    };
    let parameters = endpoint
        .parameters
        .iter()
        .filter_map(|one| place(&one).map(|place| parameter(one, place)));
    let parameters: Vec<Value> = parameters.collect();
    let mut operation = JsonObject::new();
    let mut put = |key: &str, value: Value| drop(operation.insert(key.to_owned(), value));
    put("operationId", json!(endpoint.name));
    put("summary", json!(endpoint.summary));
    if !parameters.is_empty() {
        put("parameters", json!(parameters));
    }
    if let Some(body) = body(endpoint) {
        put("requestBody", body);
    }
    put("responses", responses(endpoint));
    Value::Object(operation)
}

fn parameter(one: &Parameter, place: &str) -> Value {
    let mut schema = one.schema();
    // It says so once.
    let about = schema
        .as_object_mut()
        .and_then(|it| it.shift_remove("description"));
    let mut parameter = json!({
        "name": one.name,
        "in": place,
        "required": one.is_required || place == "path",
        "schema": schema,
    });
    if let Some(about) = about {
        parameter["description"] = about;
    }
    if matches!(one.form, Form::Texts { .. }) {
        // With commas between, or the name again.
        parameter["style"] = json!("form");
        parameter["explode"] = json!(true);
    }
    parameter
}

fn body(endpoint: &Endpoint) -> Option<Value> {
    let in_body: Vec<Parameter> = endpoint
        .parameters
        .iter()
        .filter(|one| !endpoint.is_in_path(one.name))
        .copied()
        .collect();
    let schema = match endpoint.place {
        ParameterLocation::Query => return None,
        ParameterLocation::Body if in_body.is_empty() => return None,
        ParameterLocation::Body => Value::Object(schema(&in_body)),
        ParameterLocation::List => in_body.first()?.schema(),
    };
    let required =
        endpoint.place == ParameterLocation::List || in_body.iter().any(|one| one.is_required);
    Some(json!({
        "required": required,
        "content": {"application/json": {"schema": schema}},
    }))
}

fn responses(endpoint: &Endpoint) -> Value {
    let mut responses = JsonObject::new();
    for status in endpoint.statuses {
        let answer = json!({
            "description": if *status < 300 { "Done" } else { "Not well" },
            "content": {"application/json": {"schema": (endpoint.reply)()}},
        });
        responses.insert(status.to_string(), answer);
    }
    let has_body = endpoint.place != ParameterLocation::Query;
    let of_body = [("408", has_body), ("413", has_body), ("415", true)];
    let of_body = of_body
        .iter()
        .filter(|(_, is_said)| *is_said)
        .map(|(status, _)| *status);
    let usual = [
        "400", "401", "403", "404", "405", "409", "429", "500", "503",
    ];
    for status in usual.into_iter().chain(of_body) {
        let error = json!({"$ref": "#/components/responses/Error"});
        responses.entry(status).or_insert(error);
    }
    responses.sort_keys();
    Value::Object(responses)
}

fn events() -> Value {
    json!({
        "operationId": "events",
        "summary": "Which memories changed, as they change: server-sent events `changed` with the ids as JSON, and `lost` after which a list has to be read anew.",
        "responses": {
            "200": {"description": "A stream that does not end", "content": {"text/event-stream": {"schema": {"type": "string"}}}},
            "401": {"$ref": "#/components/responses/Error"},
            "403": {"$ref": "#/components/responses/Error"},
            "503": {"$ref": "#/components/responses/Error"},
        },
    })
}

fn this() -> Value {
    json!({
        "operationId": "openapi",
        "summary": "This document.",
        "responses": {
            "200": {"description": "It", "content": {"application/json": {"schema": {"type": "object"}}}},
            "401": {"$ref": "#/components/responses/Error"},
            "403": {"$ref": "#/components/responses/Error"},
        },
    })
}

/// Base path of the REST interface.
pub const BASE: &str = "/api/v1";
