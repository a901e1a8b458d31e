//! Headers of the request that carries a client's message.
//!
//! Revision 2026-07-28 wants the method, and the name of what is meant, in headers, so that what
//! lies between need not read the message. A name that a header cannot hold is written in Base64.

use ::http::HeaderValue;
use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use bytes::Bytes;
use serde_json::Value;

use crate::dialect::JsonObject;

/// First revision without sessions.
const STATELESS: &str = "2026-07-28";

/// A message of the client.
#[derive(Debug, Clone)]
pub struct Message {
    /// JSON text.
    pub bytes: Bytes,
    /// Id of the request; `None` of a notification.
    pub id: Option<Value>,
    /// JSON-RPC method.
    pub method: String,
    /// Name of the tool, prompt or resource, for the header.
    pub name: Option<HeaderValue>,
    /// Revision that the message itself states.
    pub version: Option<String>,
    /// URI of the resource in its parameters.
    pub uri: Option<String>,
    /// Id of the request that a cancellation names.
    pub cancels: Option<Value>,
}

impl Message {
    /// Creates a message of its JSON object.
    pub fn of(object: JsonObject) -> Message {
        let method = object.get("method").and_then(Value::as_str);
        let method = method.unwrap_or_default().to_owned();
        let params = object.get("params");
        let param = |key: &str| params?.get(key);
        let text = |key: &str| param(key)?.as_str().map(str::to_owned);
        let name = match method.as_str() {
            "tools/call" | "prompts/get" => text("name"),
            "resources/read" | "resources/subscribe" | "resources/unsubscribe" => text("uri"),
            _ => None,
        };
        let version = param("_meta").and_then(|meta| {
            let version = meta.get("io.modelcontextprotocol/protocolVersion")?;
            version.as_str().map(str::to_owned)
        });
        let cancels = match method.as_str() {
            "notifications/cancelled" => param("requestId").cloned(),
            _ => None,
        };
        Message {
            id: object.get("id").cloned(),
            name: name.as_deref().and_then(header),
            version,
            uri: text("uri"),
            cancels,
            method,
            bytes: Value::Object(object).to_string().into(),
        }
    }

    /// Returns whether it belongs to no session.
    pub fn is_stateless(&self) -> bool {
        // It is what a client begins with that knows of no sessions.
        self.method == "server/discover"
            || self
                .version
                .as_deref()
                .is_some_and(|version| version >= STATELESS)
    }
}

/// Encodes `text` as the value of a header.
fn header(text: &str) -> Option<HeaderValue> {
    let is_wrapped = text.starts_with("=?base64?") && text.ends_with("?=");
    let is_plain = text.chars().all(|c| (' '..='~').contains(&c))
        && text.trim_matches(' ').len() == text.len()
        && !is_wrapped;
    let value = match is_plain {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(text)),
    };
    HeaderValue::from_str(&value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_header_holds_any_name() {
        check("memory://1f3a9c02", "memory://1f3a9c02");
        check("a b", "a b");
        check(" a", "=?base64?IGE=?=");
        check("日本", "=?base64?5pel5pys?=");
        check("a\nb", "=?base64?YQpi?=");
        check("=?base64?YQ==?=", "=?base64?PT9iYXNlNjQ/WVE9PT89?=");
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(header(text).unwrap(), expected);
    }

    #[test]
    fn the_eras_are_told_apart() {
        let of = |value: Value| Message::of(value.as_object().unwrap().clone());
        let meta = |version: &str| json!({"io.modelcontextprotocol/protocolVersion": version});
        let new = of(
            json!({"id": 1, "method": "tools/call", "params": {"name": "x", "_meta": meta("2026-07-28")}}),
        );
        assert!(new.is_stateless());
        assert_eq!(new.name.unwrap(), "x");
        let old =
            of(json!({"id": 1, "method": "tools/list", "params": {"_meta": meta("2025-11-25")}}));
        assert!(!old.is_stateless());
        assert!(!of(json!({"id": 1, "method": "ping"})).is_stateless());
        assert!(of(json!({"id": 1, "method": "server/discover"})).is_stateless());
        let cancel = json!({"method": "notifications/cancelled", "params": {"requestId": "a"}});
        assert_eq!(of(cancel).cancels, Some(json!("a")));
    }
}
