//! Requests that are unanswered, and what a server has to be told of a session that it goes on with.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::greeting::Aside;
use crate::dialect::JsonObject;
use crate::mcp;

/// State of a session as seen from between client and server.
#[derive(Default)]
pub(super) struct Ledger {
    /// Unanswered requests, oldest first.
    pub unanswered: Vec<Request>,
    /// The client's `initialize`.
    initialize: Option<JsonObject>,
    /// The client's notification that it is initialized.
    initialized: Option<Vec<u8>>,
    /// Requests of `resources/subscribe`, by address.
    subscribed: BTreeMap<String, JsonObject>,
}

/// An unanswered request.
pub(super) struct Request {
    /// Its id, as JSON.
    pub id: String,
    /// Its line, with the line feed.
    line: Vec<u8>,
    /// Memories that it was about to write.
    pub writes: Vec<String>,
    /// Whether it is a subscription that the client was told of.
    is_acknowledged: bool,
}

/// A message that another server gets first.
pub(super) enum Opening {
    /// `initialize`, whose answer is waited for and kept from the client.
    Initialize(Vec<u8>),
    /// A message without an answer.
    Notification(Vec<u8>),
    /// A subscription to this address, whose answer is kept from the client.
    Subscribe { uri: String, line: Vec<u8> },
    /// A request that the client waits for.
    Request(Vec<u8>),
}

/// Id of the repeated `initialize`.
pub(super) const INITIALIZE: &str = "memdir relay: initialize";

/// Beginning of the ids of repeated subscriptions, before the address.
pub(super) const SUBSCRIBE: &str = "memdir relay: subscribe ";

/// Method of the notification that a subscription has begun.
pub(super) const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

impl Ledger {
    /// Notes a line of the client, with its line feed, before it is passed on.
    pub fn sent(&mut self, line: &[u8]) {
        let Some(message) = mcp::read_message(line) else {
            return; // It is refused, or no message.
        };
        let method = message.get("method").and_then(Value::as_str);
        let uri = || {
            let uri = message.get("params")?.get("uri")?.as_str()?;
            Some(uri.to_owned())
        };
        match method.unwrap_or_default() {
            "initialize" => self.initialize = Some(message.clone()),
            "notifications/initialized" => self.initialized = Some(line.to_owned()),
            "notifications/cancelled" => {
                let id = message
                    .get("params")
                    .and_then(|params| params.get("requestId"));
                if let Some(id) = id {
                    // It gets no answer.
                    self.take(&id.to_string());
                }
            }
            "resources/subscribe" => {
                self.subscribed
                    .extend(uri().map(|uri| (uri, message.clone())));
            }
            "resources/unsubscribe" => {
                if let Some(uri) = uri() {
                    self.subscribed.remove(&uri);
                }
            }
            _ => {}
        }
        if let Some(id) = message.get("id") {
            self.unanswered.push(Request {
                id: id.to_string(),
                line: line.to_owned(),
                writes: Vec::new(),
                is_acknowledged: false,
            });
        }
    }

    /// Notes a line of the server that is no message.
    pub fn noted(&mut self, aside: Aside) {
        if let Aside::Writes { request, memory } = aside
            && let Some(known) = self.unanswered.iter_mut().find(|known| known.id == request)
        {
            known.writes.push(memory);
        }
    }

    /// Notes a message of the server, which the client gets.
    pub fn answered(&mut self, message: &Value) {
        if let Some(id) = acknowledged(message) {
            let known = self.unanswered.iter_mut().find(|known| known.id == id);
            if let Some(known) = known {
                known.is_acknowledged = true;
            }
        }
        if message.get("method").is_none()
            && let Some(id) = message.get("id")
        {
            self.take(&id.to_string());
        }
    }

    fn take(&mut self, id: &str) {
        if let Some(at) = self.unanswered.iter().position(|known| known.id == id) {
            self.unanswered.remove(at);
        }
    }

    /// Returns whether the client was told that the subscription `id` has begun.
    pub fn is_acknowledged(&self, id: &str) -> bool {
        let mut known = self.unanswered.iter();
        known.any(|known| known.id == id && known.is_acknowledged)
    }

    /// Returns what another server has to be sent before the client's next lines.
    pub fn openings(&self) -> Vec<Opening> {
        let with_id = |message: &JsonObject, id: &str| {
            let mut message = message.clone();
            message.insert("id".to_owned(), json!(id));
            lined(&Value::Object(message))
        };
        let is_open = |method: &str| {
            let lines = self.unanswered.iter();
            let methods = lines.filter_map(|known| mcp::read_message(&known.line));
            methods
                .into_iter()
                .any(|known| known.get("method") == Some(&json!(method)))
        };
        let mut openings = Vec::new();
        if let Some(initialize) = &self.initialize
            && !is_open("initialize")
        {
            openings.push(Opening::Initialize(with_id(initialize, INITIALIZE)));
        }
        let initialized = self.initialized.clone();
        openings.extend(initialized.map(Opening::Notification));
        openings.extend(
            self.subscribed
                .iter()
                .map(|(uri, message)| Opening::Subscribe {
                    uri: uri.clone(),
                    line: with_id(message, &format!("{SUBSCRIBE}{uri}")),
                }),
        );
        let lines = self.unanswered.iter().map(|known| known.line.clone());
        openings.extend(lines.map(Opening::Request));
        openings
    }
}

/// Returns the id, as JSON, of the subscription that `message` says has begun.
pub(super) fn acknowledged(message: &Value) -> Option<String> {
    (message.get("method")? == ACKNOWLEDGED).then_some(())?;
    let meta = message.get("params")?.get("_meta")?;
    let id = meta.get("io.modelcontextprotocol/subscriptionId")?;
    Some(id.to_string())
}

/// Returns `message` as a line, with its line feed.
pub(super) fn lined(message: &Value) -> Vec<u8> {
    format!("{message}\n").into_bytes()
}
