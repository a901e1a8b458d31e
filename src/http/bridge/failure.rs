//! Errors for requests without an answer: what happened, and what to do now.

use std::error::Error;

use ::http::StatusCode;
use serde_json::{Value, json};

use super::timeouts::SILENCE;
use crate::http::reading::MOST_BYTES;
use crate::http::tokens::TokenError;

/// Reason why a request got no answer, or no success.
#[derive(Debug, Clone)]
pub enum RequestFailure {
    /// The server at `place` was not reached; the message was not sent.
    Unreachable { place: String, why: String },
    /// No address of a server is noted; the message was not sent.
    Nowhere,
    /// No token can be read; the message was not sent.
    Token(String),
    /// The server at this place did not prove that it has the token; it got no request.
    Unproven(String),
    /// The connection broke off: the request may be done.
    Gone(String),
    /// The server did not respond in time.
    Silent,
    /// The response is an error.
    Refused(Box<Refused>),
    /// The response is invalid.
    Odd(String),
    /// The maximum number of subscriptions, this one, is reached; the message was not sent.
    Full(usize),
    /// The message is too long, with this number of bytes, and was not sent.
    TooLong(usize),
}

/// A response that is no success.
#[derive(Debug, Clone)]
pub struct Refused {
    /// Address of the server.
    pub place: String,
    /// HTTP status.
    pub status: StatusCode,
    /// Value of the header `Retry-After`.
    pub retry_after: Option<String>,
    /// Whether the request showed a token.
    pub showed_token: bool,
    /// Body, if it is JSON.
    pub said: Option<Value>,
    /// Beginning of a body that is no JSON.
    pub text: String,
}

impl RequestFailure {
    /// Returns the failure of a connection that broke off.
    pub fn gone(error: &hyper::Error) -> RequestFailure {
        let why = error.source().map(ToString::to_string);
        RequestFailure::Gone(why.unwrap_or_else(|| error.to_string()))
    }

    /// Returns the failure of reading the token file.
    pub fn token(error: &TokenError) -> RequestFailure {
        RequestFailure::Token(error.to_string())
    }

    /// Returns whether the server does not have the session of the request.
    pub fn is_lost_session(&self) -> bool {
        matches!(self, RequestFailure::Refused(refused)
            if refused.status == StatusCode::NOT_FOUND && refused.error().is_none())
    }

    /// Returns whether a retry of the same request is useless.
    pub fn is_final(&self) -> bool {
        matches!(self, RequestFailure::Refused(refused) if refused.status.is_client_error()
            && refused.status != StatusCode::TOO_MANY_REQUESTS
            && refused.status != StatusCode::UNAUTHORIZED)
    }

    /// Returns the JSON-RPC error response to the request `id`.
    pub fn answer(&self, id: &Value) -> Value {
        if let RequestFailure::Refused(refused) = self
            && let Some(error) = refused.error()
        {
            return json!({"jsonrpc": "2.0", "id": id, "error": error});
        }
        let mut error = json!({"code": CODE, "message": self.sentence()});
        if let RequestFailure::Refused(refused) = self {
            error["data"] = json!({"status": refused.status.as_u16()});
            if let Some(seconds) = &refused.retry_after {
                error["data"]["retryAfter"] = json!(seconds);
            }
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }

    /// Returns the reason and the remedy, for a person or a model.
    pub fn sentence(&self) -> String {
        match self {
            RequestFailure::Unreachable { place, why } => format!(
                "no memdir server answers at {place} ({why}): start one with `memdir serve`, then ask again"
            ),
            RequestFailure::Nowhere => {
                "no memdir server runs for this store: start one with `memdir serve`, then ask again"
                    .to_owned()
            }
            RequestFailure::Token(why) => format!("nothing was asked, for want of a token: {why}"),
            RequestFailure::Unproven(place) => format!(
                "what listens at {place} does not prove that it knows the token, so it was sent neither that nor the request: if it is an older memdir, start it anew; if it is the right one behind a proxy, or the server of another store, name it in your own settings, by MEMDIR_CONNECT={place} and its MEMDIR_TOKEN"
            ),
            RequestFailure::Gone(why) => format!(
                "the memdir server went away before it answered ({why}): what was asked for may be done or not, so look before you ask again"
            ),
            RequestFailure::Silent => format!(
                "the memdir server has said nothing for {} seconds: what was asked for may be done or not, so look before you ask again",
                SILENCE.as_secs()
            ),
            RequestFailure::Refused(refused) => refused.sentence(),
            RequestFailure::Odd(what) => format!("what answers is no memdir server: {what}"),
            RequestFailure::TooLong(bytes) => format!(
                "nothing was asked: a message to a server may have {MOST_BYTES} bytes, and this one has {bytes}"
            ),
            RequestFailure::Full(count) => {
                format!("{count} subscriptions run already: cancel one, then ask again")
            }
        }
    }
}

/// JSON-RPC code of errors that the implementation defines.
const CODE: i32 = -32000;

impl Refused {
    /// Returns the JSON-RPC error in the response.
    fn error(&self) -> Option<&Value> {
        let error = self.said.as_ref()?.get("error")?;
        error.get("code")?.as_i64().map(|_| error)
    }

    fn sentence(&self) -> String {
        let place = &self.place;
        let message = self.said.as_ref().and_then(|said| said.get("message"));
        let message = message.and_then(Value::as_str);
        let text = Some(self.text.as_str()).filter(|text| !text.is_empty());
        let said = message.or(text).or(self.status.canonical_reason());
        let said = said.unwrap_or("no reason given");
        let wait = match self.retry_after.as_deref() {
            Some("1") => "in a second".to_owned(),
            Some(seconds) => format!("in {seconds} seconds"),
            None => "later".to_owned(),
        };
        match self.status {
            StatusCode::UNAUTHORIZED if self.showed_token => format!(
                "the server at {place} takes another token: set MEMDIR_TOKEN to what `memdir token show` prints where it runs"
            ),
            StatusCode::UNAUTHORIZED => format!(
                "the server at {place} asks for a token: set MEMDIR_TOKEN to what `memdir token show` prints where it runs"
            ),
            StatusCode::FORBIDDEN => format!("the server at {place} refuses: {said}"),
            StatusCode::NOT_FOUND => format!(
                "at {place} there is no such session or no MCP: is it the address that `memdir serve` said?"
            ),
            StatusCode::TOO_MANY_REQUESTS => {
                format!("the server at {place} was asked too often: ask again {wait}")
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                format!("the server at {place} is busy: ask again {wait}")
            }
            // In plain text, where the protocol's own errors are JSON.
            StatusCode::BAD_REQUEST if text.is_some_and(|text| text.contains("Session ID")) => {
                "there is no session yet: send `initialize` first".to_owned()
            }
            status => format!("the server at {place} answers {}: {said}", status.as_u16()),
        }
    }
}
