//! Reads a request's arguments from its path, its query and its body, by the row of its endpoint.

use std::time::Duration;

use ::http::Request;
use ::http::StatusCode;
use axum::RequestExt;
use axum::body::Body;
use axum::extract::RawPathParams;
use bytes::Bytes;
use http_body_util::BodyExt;
use serde_json::Value;

use super::answer::RequestError;
use crate::dialect::{Endpoint, Form, JsonObject, ParameterLocation};

/// Maximum size of a body in bytes.
pub const MOST_BYTES: usize = 1024 * 1024;

/// Maximum size of a body that may be a whole store.
const MOST_LARGE_BYTES: usize = 64 * 1024 * 1024;

/// Maximum size of a body with changes of a workspace in bytes: one text, each of whose bytes takes six in JSON.
pub const MOST_CHANGES: usize = 13 << 20;

/// Path below the REST interface of the changes of a workspace.
pub const CHANGES: &str = "/exchange/changes";

/// Maximum time until the next part of a body arrives.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of bytes that are taken in of a refused body.
const MOST_DRAINED: usize = 16 << 20;

/// Minimum bytes a second of a body that takes longer than [`READ_TIMEOUT`].
const MIN_BYTES_PER_SECOND: usize = 16 * 1024;

/// Reads the arguments of a request to `endpoint`.
pub async fn arguments(
    endpoint: &Endpoint,
    mut request: Request<Body>,
) -> Result<JsonObject, RequestError> {
    let mut values = JsonObject::new();
    let path = request.extract_parts::<RawPathParams>().await;
    let path = path.map_err(|_| RequestError::bad("the address is no UTF-8 text"))?;
    let query = request.uri().query().unwrap_or_default().to_owned();
    let most = most_bytes(endpoint);
    match endpoint.place {
        ParameterLocation::Query => {
            add_query(&query, &mut values);
            // What is not looked at was meant to do something, such as `dry_run`.
            let body = read(request.into_body(), most).await?;
            let says_nothing = || serde_json::from_slice(&body).is_ok_and(|body| is_empty(&body));
            if !body.trim_ascii().is_empty() && !says_nothing() {
                let message = "this request takes its arguments in its address, and has a body";
                return Err(RequestError::bad(message));
            }
        }
        ParameterLocation::Body | ParameterLocation::List if !query.is_empty() => {
            drain(request.body_mut());
            let message =
                "this request takes its arguments in its body, and has some in its address";
            return Err(RequestError::bad(message));
        }
        ParameterLocation::Body => {
            let body = read(request.into_body(), most).await?;
            if !body.trim_ascii().is_empty() {
                let Value::Object(given) = parsed(&body)? else {
                    return Err(RequestError::bad("the body must be a JSON object"));
                };
                values = endpoint.unwrapped(given).map_err(RequestError::bad)?;
                let in_path = |name: &str| endpoint.is_in_path(name);
                values
                    .retain(|name, _| in_path(name) || !endpoint.ignored.contains(&name.as_str()));
            }
        }
        ParameterLocation::List => {
            let body = read(request.into_body(), most).await?;
            let list @ Value::Array(_) = parsed(&body)? else {
                return Err(RequestError::bad("the body must be a JSON array"));
            };
            let mut parameters = endpoint.parameters.iter();
            let of_list = parameters.find(|one| matches!(one.form, Form::Objects { .. }));
            values.insert(of_list.map_or("items", |one| one.name).to_owned(), list);
        }
    }
    for (name, value) in &path {
        let is_ignored = endpoint.ignored.contains(&name);
        let is_same = values.get(name).is_some_and(|one| one == value);
        if values.contains_key(name) && !(is_ignored && is_same) {
            let message = format!("`{name}` stands in the address and once more");
            return Err(RequestError::bad(message));
        }
        values.insert(name.to_owned(), Value::String(value.to_owned()));
    }
    Ok(values)
}

/// Returns whether a body says nothing.
fn is_empty(body: &Value) -> bool {
    match body {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Returns the maximum size of a body for `endpoint` in bytes.
pub fn most_bytes(endpoint: &Endpoint) -> usize {
    match endpoint.is_large {
        true => MOST_LARGE_BYTES,
        false => MOST_BYTES,
    }
}

fn parsed(body: &[u8]) -> Result<Value, RequestError> {
    let parsed = serde_json::from_slice(body);
    parsed.map_err(|error| RequestError::bad(format!("the body is no JSON: {error}")))
}

/// Adds the query's values; a name that occurs several times becomes a list.
fn add_query(query: &str, values: &mut JsonObject) {
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = Value::String(value.into_owned());
        match values.get_mut(&*name) {
            Some(Value::Array(list)) => list.push(value),
            Some(first) => {
                let list = vec![first.take(), value];
                *first = Value::Array(list);
            }
            None => drop(values.insert(name.into_owned(), value)),
        }
    }
}

/// Reads a whole body, if it is not too long and arrives fast enough.
pub async fn read(mut body: Body, most: usize) -> Result<Bytes, RequestError> {
    let mut bytes = Vec::new();
    let begun = tokio::time::Instant::now();
    loop {
        let late = || {
            let what = "the body comes too slowly";
            RequestError::new(StatusCode::REQUEST_TIMEOUT, "TIMEOUT", what)
        };
        let frame = tokio::time::timeout(READ_TIMEOUT, body.frame()).await;
        let Some(frame) = frame.map_err(|_| late())? else {
            return Ok(bytes.into());
        };
        let frame = frame.map_err(|_| RequestError::bad("the body broke off"))?;
        if let Ok(data) = frame.into_data() {
            if data.len() > most - bytes.len() {
                drain(&mut body);
                return Err(too_long(most));
            }
            bytes.extend_from_slice(&data);
        }
        let elapsed = begun.elapsed();
        if elapsed > READ_TIMEOUT && bytes.len() < MIN_BYTES_PER_SECOND * elapsed.as_secs() as usize
        {
            return Err(late());
        }
    }
}

/// Takes in what is left of a refused body and drops it, in the background: a client that sends it whole before
/// it reads would get no answer, but an error of its connection.
pub fn drain(body: &mut Body) {
    let mut body = std::mem::take(body);
    let all = async move {
        let mut left = MOST_DRAINED;
        while let Some(Ok(frame)) = body.frame().await {
            let taken = frame.into_data().map_or(0, |data| data.len());
            left = match left.checked_sub(taken) {
                Some(left) => left,
                None => return,
            };
        }
    };
    tokio::spawn(async { tokio::time::timeout(READ_TIMEOUT, all).await });
}

/// Returns the error for a body of more than `most` bytes.
pub fn too_long(most: usize) -> RequestError {
    let what = format!("the body has more than {most} bytes");
    RequestError::new(StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE", what)
}
