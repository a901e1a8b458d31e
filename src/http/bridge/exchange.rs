//! Exchange of one client message with the server.

use ::http::HeaderMap;
use ::http::HeaderValue;
use ::http::Method;
use ::http::header;
use bytes::Bytes;
use serde_json::Value;
use tokio::sync::mpsc;

use super::client::{HttpClient, SuccessResponse};
use super::events::Messages;
use super::failure::RequestFailure;
use super::message::Message;
use crate::http::reading::MOST_BYTES;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Session and protocol revision agreed on with a server.
#[derive(Debug, Clone, Default)]
pub struct NegotiatedSession {
    /// Number of sessions before this one.
    pub generation: u64,
    /// Id of the session.
    pub session: Option<HeaderValue>,
    /// Revision of the protocol.
    pub version: Option<HeaderValue>,
}

/// Both sides of the bridge: the server, and the queue of lines to the client.
pub struct Exchange {
    /// HTTP client of the server.
    pub client: HttpClient,
    /// Queue of lines to the client.
    pub outgoing: mpsc::Sender<String>,
}

/// Response to a request.
pub struct Answered {
    /// The JSON-RPC response: a result or an error.
    pub answer: Value,
    /// Id of the session that began with it.
    pub session: Option<HeaderValue>,
}

impl Exchange {
    /// Writes a message to the client.
    pub async fn say(&self, message: &Value) {
        // Nobody is left to tell once the client is gone; that ends the bridge.
        let _ = self.outgoing.send(message.to_string()).await;
    }

    /// Sends a request and waits for its response. Messages before the response are written to the
    /// client at once; the response is not.
    ///
    /// # Errors
    ///
    /// Fails if there is no response, or one to another request.
    pub async fn ask(
        &self,
        message: &Message,
        known: &NegotiatedSession,
    ) -> Result<Answered, RequestFailure> {
        let begun = self.post(message, known).await?;
        let session = begun.headers.get(SESSION).cloned();
        let mut messages = begun.messages;
        while let Some(mut value) = next(&mut messages).await? {
            let is_error = value.get("error").is_some();
            if is_error || value.get("result").is_some() {
                match (value.get("id"), &message.id) {
                    (known, id) if known == id.as_ref() => {}
                    // An error of a request that could not be read.
                    (None | Some(Value::Null), Some(id)) if is_error => value["id"] = id.clone(),
                    _ => {
                        let reason = "it answered another request".to_owned();
                        return Err(RequestFailure::Odd(reason));
                    }
                }
                return Ok(Answered {
                    answer: value,
                    session,
                });
            }
            self.say(&value).await;
        }
        Err(RequestFailure::Gone("the answer broke off".to_owned()))
    }

    /// Sends a notification.
    ///
    /// # Errors
    ///
    /// Fails if the server does not take it.
    pub async fn tell(
        &self,
        message: &Message,
        known: &NegotiatedSession,
    ) -> Result<(), RequestFailure> {
        self.post(message, known).await.map(drop)
    }

    async fn post(
        &self,
        message: &Message,
        known: &NegotiatedSession,
    ) -> Result<SuccessResponse, RequestFailure> {
        if message.bytes.len() > MOST_BYTES {
            // It would be cut off while it is sent, and the reason be lost.
            return Err(RequestFailure::TooLong(message.bytes.len()));
        }
        let mut headers = headers(known);
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        if let Some(version) = &message.version {
            // One that no header can hold is refused by the server, for want of the header.
            if let Ok(version) = HeaderValue::from_str(version) {
                headers.insert(VERSION, version);
            }
        }
        if message.is_stateless() {
            headers.remove(SESSION);
            if let Ok(method) = HeaderValue::from_str(&message.method) {
                headers.insert(METHOD, method);
            }
            if let Some(name) = &message.name {
                headers.insert(NAME, name.clone());
            }
        }
        let body = message.bytes.clone();
        self.client.send(Method::POST, headers, body).await
    }

    /// Opens the stream of the server's own messages.
    ///
    /// # Errors
    ///
    /// Fails if there is none.
    pub async fn listen(&self, known: &NegotiatedSession) -> Result<Messages, RequestFailure> {
        let mut headers = headers(known);
        let events = HeaderValue::from_static("text/event-stream");
        headers.insert(header::ACCEPT, events);
        let begun = self.client.send(Method::GET, headers, Bytes::new()).await?;
        Ok(begun.messages)
    }

    /// Ends the session.
    ///
    /// # Errors
    ///
    /// Fails if the server does not confirm it.
    pub async fn end(&self, known: &NegotiatedSession) -> Result<(), RequestFailure> {
        let ended = self
            .client
            .send(Method::DELETE, headers(known), Bytes::new());
        ended.await.map(drop)
    }
}

fn headers(known: &NegotiatedSession) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let both = HeaderValue::from_static("application/json, text/event-stream");
    headers.insert(header::ACCEPT, both);
    if let Some(session) = &known.session {
        headers.insert(SESSION, session.clone());
    }
    if let Some(version) = &known.version {
        headers.insert(VERSION, version.clone());
    }
    headers
}

/// Reads the next message of the protocol.
///
/// # Errors
///
/// Fails if the connection breaks off, or if the data is no such message: none of that may reach the
/// client.
pub async fn next(messages: &mut Messages) -> Result<Option<Value>, RequestFailure> {
    let Some(bytes) = messages.next().await? else {
        return Ok(None);
    };
    match serde_json::from_slice::<Value>(&bytes) {
        Ok(value) if value.get("jsonrpc").is_some_and(|version| version == "2.0") => {
            Ok(Some(value))
        }
        _ => Err(RequestFailure::Odd("it does not speak JSON-RPC".to_owned())),
    }
}
