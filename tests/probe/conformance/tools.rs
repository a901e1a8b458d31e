//! The suite's tools. What they say is what the suite's own descriptions ask for.

#![expect(
    deprecated,
    reason = "the older revisions have sampling and logging, and the suite asks for them"
)]

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, InputRequiredResult,
    InputResponses, LoggingLevel, LoggingMessageNotificationParam, ProgressNotificationParam,
    ServerRequest,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::fixtures::{Change, Shared, seal, typed, unseal, whole};
use super::lists::{PNG, WAV};
use super::tasks;

type Called = Result<CallToolResponse, ErrorData>;

pub async fn call(
    shared: &Arc<Shared>,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Called {
    let arguments = request.arguments.unwrap_or_default();
    let argument = |name: &str| {
        arguments
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let answers = request.input_responses.unwrap_or_default();
    let state = request.request_state.as_deref();
    match &*request.name {
        "test_simple_text" => said("This is a simple text response for testing."),
        "test_image_content" => result(json!([image()])),
        "test_audio_content" => {
            result(json!([{"type": "audio", "data": WAV, "mimeType": "audio/wav"}]))
        }
        "test_embedded_resource" => result(json!([resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )])),
        "test_multiple_content_types" => result(json!([
            {"type": "text", "text": "Multiple content types test:"},
            image(),
            resource(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ])),
        "test_error_handling" => {
            let text = "This tool intentionally returns an error for testing";
            complete(json!({"isError": true, "content": [{"type": "text", "text": text}]}))
        }
        "test_custom_header" => said(argument("region")),
        "json_schema_2020_12_tool" => said("It fits."),
        "test_tool_with_logging" => logging(context).await,
        "test_logging_tool" => {
            if context.meta.log_level().is_some() {
                log(context, "asked for").await?;
            }
            said("logged")
        }
        "test_tool_with_progress" => progress(context).await,
        "test_sampling" => {
            let content = json!({"type": "text", "text": argument("prompt")});
            let messages = json!([{"role": "user", "content": content}]);
            let params = json!({"messages": messages, "maxTokens": 100});
            let answer = ask(context, "sampling/createMessage", params).await?;
            said(&format!("LLM response: {}", answer["content"]["text"]))
        }
        "test_elicitation" => {
            let schema = json!({
                "type": "object",
                "properties": {
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"},
                },
                "required": ["username", "email"],
            });
            elicit(context, argument("message"), schema).await
        }
        "test_elicitation_sep1034_defaults" => elicit(context, "With defaults", defaults()).await,
        "test_elicitation_sep1330_enums" => elicit(context, "With choices", choices()).await,
        "test_missing_capability" => {
            let capabilities = context.client_capabilities().unwrap_or_default();
            match capabilities.sampling {
                Some(_) => said("You can sample."),
                None => {
                    let needed = typed(json!({"sampling": {}}))?;
                    Err(ErrorData::missing_required_client_capability(needed))
                }
            }
        }
        "test_trigger_tool_change" => change(shared, Change::Tools),
        "test_trigger_prompt_change" => change(shared, Change::Prompts),
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => {
            match given(&answers, "user_name", "name") {
                Some(name) => said(&format!("Hello, {name}!")),
                None => asks(
                    json!({"user_name": elicitation("What is your name?", "name")}),
                    None,
                ),
            }
        }
        "test_input_required_result_sampling" => {
            let answer = answers.get("capital_question");
            match answer.and_then(|answer| answer["content"]["text"].as_str()) {
                Some(text) => said(text),
                None => asks(
                    json!({"capital_question": sampling("What is the capital of France?", 100)}),
                    None,
                ),
            }
        }
        "test_input_required_result_list_roots" => {
            let answer = answers.get("client_roots");
            match answer.and_then(|answer| answer["roots"].as_array()) {
                Some(roots) => said(&format!("{} roots", roots.len())),
                None => asks(
                    json!({"client_roots": {"method": "roots/list", "params": {}}}),
                    None,
                ),
            }
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => match state {
            Some(state) if unseal(state)? == "confirm" => said("state-ok"),
            _ => {
                let confirm = elicitation("Please confirm", "ok");
                asks(json!({"confirm": confirm}), Some("confirm"))
            }
        },
        "test_input_required_result_multiple_inputs" => match state {
            Some(state) if unseal(state)? == "three" && answers.len() >= 3 => said("all given"),
            _ => {
                let asked = json!({
                    "user_name": elicitation("What is your name?", "name"),
                    "greeting": sampling("Generate a greeting", 50),
                    "client_roots": {"method": "roots/list", "params": {}},
                });
                asks(asked, Some("three"))
            }
        },
        "test_input_required_result_multi_round" => match state.map(unseal).transpose()? {
            None => {
                let step = elicitation("Step 1: What is your name?", "name");
                asks(json!({"step1": step}), Some("round-1"))
            }
            Some("round-1") => {
                let step = elicitation("Step 2: What is your favorite color?", "color");
                asks(json!({"step2": step}), Some("round-2"))
            }
            Some(_) => said("both given"),
        },
        "test_input_required_result_capabilities" => {
            let capabilities = context.client_capabilities().unwrap_or_default();
            let mut asked = json!({});
            if capabilities.sampling.is_some() {
                asked["sampled"] = sampling("Generate a greeting", 50);
            }
            if capabilities.elicitation.is_some() {
                asked["elicited"] = elicitation("What is your name?", "name");
            }
            asks(asked, None)
        }
        "greet" => said(&format!("Hello, {}!", argument("name"))),
        "slow_compute" => tasks::slow_compute(shared, context, &arguments).await,
        "failing_job" => tasks::failing_job(shared, context),
        "protocol_error_job" => tasks::protocol_error_job(shared, context),
        "confirm_delete" => tasks::asking(shared, context, &["confirm"]),
        "multi_input" => tasks::asking(shared, context, &["first", "second"]),
        "test_tool_with_task" => {
            tasks::must_know_tasks(context)?;
            match given(&answers, "user_name", "name") {
                Some(name) => tasks::greeting(shared, context, name.to_owned()),
                None => asks(
                    json!({"user_name": elicitation("What is your name?", "name")}),
                    None,
                ),
            }
        }
        other => {
            let message = format!("unknown tool {other:.64}");
            Err(ErrorData::invalid_params(message, None))
        }
    }
}

fn complete(value: Value) -> Called {
    let result: CallToolResult = whole(value)?;
    Ok(result.into())
}

fn result(content: Value) -> Called {
    complete(json!({"content": content}))
}

fn said(text: &str) -> Called {
    result(json!([{"type": "text", "text": text}]))
}

fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn resource(uri: &str, mime: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}})
}

fn change(shared: &Shared, change: Change) -> Called {
    let heard = shared.changes.send(change).unwrap_or(0);
    said(&format!("{heard} listened"))
}

/// Asks the client for more, and has it say so much again.
fn asks(requests: Value, state: Option<&str>) -> Called {
    let requests = typed(requests)?;
    Ok(InputRequiredResult::new(Some(requests), state.map(seal)).into())
}

/// A question of one field.
pub fn elicitation(message: &str, field: &str) -> Value {
    let kind = if matches!(field, "ok" | "confirm") {
        "boolean"
    } else {
        "string"
    };
    let properties = json!({field: {"type": kind}});
    let schema = json!({"type": "object", "properties": properties, "required": [field]});
    json!({
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    })
}

fn sampling(text: &str, most_tokens: u32) -> Value {
    let messages = json!([{"role": "user", "content": {"type": "text", "text": text}}]);
    let params = json!({"messages": messages, "maxTokens": most_tokens});
    json!({"method": "sampling/createMessage", "params": params})
}

/// What was answered to a question of one field.
fn given<'a>(answers: &'a InputResponses, key: &str, field: &str) -> Option<&'a str> {
    let answer = answers.get(key)?;
    (answer["action"] == "accept").then(|| answer["content"][field].as_str())?
}

/// Asks the client in the midst of a call, as the older revisions do.
async fn ask(
    context: &RequestContext<RoleServer>,
    method: &str,
    params: Value,
) -> Result<Value, ErrorData> {
    let request: ServerRequest = typed(json!({"method": method, "params": params}))?;
    let failed = |error: String| ErrorData::internal_error(error, None);
    let answer = context.peer.send_request(request).await;
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    serde_json::to_value(answer).map_err(|error| failed(error.to_string()))
}

async fn elicit(context: &RequestContext<RoleServer>, message: &str, schema: Value) -> Called {
    let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
    let answer = ask(context, "elicitation/create", params).await?;
    let (action, content) = (&answer["action"], &answer["content"]);
    said(&format!(
        "User response: action={action}, content={content}"
    ))
}

async fn log(context: &RequestContext<RoleServer>, text: &str) -> Result<(), ErrorData> {
    let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(text));
    let told = context.peer.notify_logging_message(message).await;
    told.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

async fn logging(context: &RequestContext<RoleServer>) -> Called {
    log(context, "Tool execution started").await?;
    log(context, "Tool processing data").await?;
    log(context, "Tool execution completed").await?;
    said("logged")
}

async fn progress(context: &RequestContext<RoleServer>) -> Called {
    if let Some(token) = context.meta.get_progress_token() {
        for done in [0.0, 50.0, 100.0] {
            let progress = ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
            let told = context.peer.notify_progress(progress).await;
            told.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        }
    }
    said("done")
}

/// A form with a default for each kind of field.
fn defaults() -> Value {
    json!({"type": "object", "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": true},
    }})
}

/// A form with each way to offer choices.
fn choices() -> Value {
    let titled = json!([
        {"const": "value1", "title": "First"},
        {"const": "value2", "title": "Second"},
        {"const": "value3", "title": "Third"},
    ]);
    let plain = json!(["option1", "option2", "option3"]);
    json!({"type": "object", "properties": {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }})
}
