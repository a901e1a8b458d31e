//! Parses one line of input: a message, nothing, or a fault to answer.
//!
//! A line that is not JSON gets the error -32700, and JSON that is no message -32600, with the request's
//! id where there is one and otherwise `null`, as JSON-RPC requires. Only requests are answered, so that
//! two programs never answer each other's answers. The handler checks whether a method exists.

use rmcp::model::{ClientJsonRpcMessage, ErrorCode};
use serde_json::{Value, json};

use crate::dialect::JsonObject;
use crate::mcp::surrogates;

/// A parsed line of input.
pub(super) enum Line<T> {
    Message(T),
    /// No message; the line is the answer.
    Refused(String),
    /// Neither a message nor a fault to answer.
    Ignored,
}

/// Parses `line`, with or without its line ending.
pub(super) fn parse(line: &[u8]) -> Line<Box<ClientJsonRpcMessage>> {
    parse_line(line, parse_object)
}

/// Parses as [`parse`], but returns the message unchanged, for forwarding.
pub(super) fn parse_whole(line: &[u8]) -> Line<JsonObject> {
    parse_line(line, |mut object| {
        drop_odd_arguments(&mut object);
        match parse_object(object.clone()) {
            Line::Message(_) => Line::Message(object),
            Line::Refused(answer) => Line::Refused(answer),
            Line::Ignored => Line::Ignored,
        }
    })
}

fn parse_line<T>(line: &[u8], parse_object: fn(JsonObject) -> Line<T>) -> Line<T> {
    // Some Windows tools begin their output with a byte order mark.
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return Line::Ignored;
    }
    let value = serde_json::from_slice(line).or_else(|error| {
        surrogates::mend(line).map_or(Err(error), |line| serde_json::from_slice(&line))
    });
    match value {
        Ok(Value::Object(object)) => parse_object(object),
        Ok(Value::Array(_)) => refuse(
            Value::Null,
            ErrorCode::INVALID_REQUEST,
            "invalid request: batches are not supported, send one message per line",
        ),
        Ok(_) => refuse(
            Value::Null,
            ErrorCode::INVALID_REQUEST,
            "invalid request: a message is a JSON object",
        ),
        Err(error) => refuse(
            Value::Null,
            ErrorCode::PARSE_ERROR,
            &format!("parse error: {error}"),
        ),
    }
}

/// Returns the answer to a line longer than [`MAX_LINE_BYTES`].
pub(super) fn refusal_of_long_line() -> String {
    error_line(
        Value::Null,
        ErrorCode::INVALID_REQUEST,
        &format!("invalid request: a message may have at most {MAX_LINE_BYTES} bytes"),
    )
}

fn parse_object(mut object: JsonObject) -> Line<Box<ClientJsonRpcMessage>> {
    let is_answer = object.contains_key("result") || object.contains_key("error");
    if is_answer && !object.contains_key("method") {
        // This server never asks a client anything.
        return Line::Ignored;
    }
    let is_notification =
        object.get("method").is_some_and(Value::is_string) && !object.contains_key("id");
    let id = match object.get("id") {
        Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
        _ => Value::Null,
    };
    drop_odd_arguments(&mut object);
    match serde_json::from_value(Value::Object(object)) {
        Ok(message) => Line::Message(Box::new(message)),
        Err(_) if is_notification => Line::Ignored,
        Err(_) => refuse(
            id,
            ErrorCode::INVALID_REQUEST,
            "invalid request: not a JSON-RPC 2.0 message whose id is a string or an integer and whose params are an object",
        ),
    }
}

/// Removes the `arguments` of a call if they are no object.
///
/// rmcp would refuse the whole request with an error that the model does not see; the tool's reply names
/// the missing arguments.
fn drop_odd_arguments(object: &mut JsonObject) {
    if object.get("method").and_then(Value::as_str) != Some("tools/call") {
        return;
    }
    if let Some(Value::Object(params)) = object.get_mut("params")
        && params
            .get("arguments")
            .is_some_and(|arguments| !arguments.is_object())
    {
        params.shift_remove("arguments");
    }
}

fn refuse<T>(id: Value, code: ErrorCode, message: &str) -> Line<T> {
    Line::Refused(error_line(id, code, message))
}

/// Returns an error as a line; rmcp would omit an unknown id instead of `null`.
fn error_line(id: Value, code: ErrorCode, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code.0, "message": message}}).to_string()
}

/// Maximum length of a line without its line feed, in bytes: sixteen memories of the largest size, and
/// small enough for several copies while parsing.
pub const MAX_LINE_BYTES: usize = 4 << 20;
