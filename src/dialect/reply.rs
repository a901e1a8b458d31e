//! Replies and errors of tools.

use serde::Serialize;
use serde_json::{Value, json};

use super::arguments::BadArgument;
use super::json::{JsonObject, to_object};
use crate::engine::EngineError;

pub use super::json::object;

/// The reply of a tool: an object for programs, a text for models.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// Structured reply; empty of a text alone.
    pub structured: JsonObject,
    /// Text of the reply.
    pub text: String,
    /// Whether it is marked as an error.
    pub is_error: bool,
}

impl Reply {
    /// Returns a reply with an object, and the same as text.
    pub fn object(object: JsonObject) -> Reply {
        Reply {
            text: written(&object),
            structured: object,
            is_error: false,
        }
    }

    /// Returns a reply with a view, and the same as text.
    pub fn of(view: &impl Serialize) -> Reply {
        Reply::object(to_object(view))
    }

    /// Returns as [`Reply::object`], of a `json!` object; anything else is an empty one.
    pub fn json(value: Value) -> Reply {
        Reply::object(object(value))
    }

    /// Returns a reply with a text alone.
    pub fn text(text: impl Into<String>) -> Reply {
        Reply {
            structured: JsonObject::new(),
            text: text.into(),
            is_error: false,
        }
    }

    /// Returns the reply, marked as an error.
    pub fn failed(self) -> Reply {
        Reply {
            is_error: true,
            ..self
        }
    }
}

/// Returns the reply of most tool sets to a call that failed: an object with the `error`.
pub fn refuse(error: &ToolError) -> Reply {
    Reply::json(json!({"error": error.message()})).failed()
}

/// Error of a call.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    #[error(transparent)]
    Argument(#[from] BadArgument),
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The call contradicts the present state, such as a title that is taken.
    #[error("{0}")]
    Conflict(String),
    /// The tool set forbids the call; the message is the tool set's own.
    #[error("{0}")]
    Refused(String),
}

impl ToolError {
    /// Returns [`ToolError::Refused`] with a message.
    pub fn refused(why: impl Into<String>) -> ToolError {
        ToolError::Refused(why.into())
    }

    /// Returns the error with its causes, without paths outside of the store.
    pub fn message(&self) -> String {
        match self {
            ToolError::Engine(error) => full(error),
            other => other.to_string(),
        }
    }
}

/// Returns an error of the engine with its causes.
pub fn full(error: &EngineError) -> String {
    // Where the store lies is the user's business.
    if let EngineError::ReadOnly(_) = error {
        return "this store can only be read".to_owned();
    }
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text = format!("{text}: {next_text}");
        }
        cause = next.source();
    }
    text
}

/// Adds a note to an answer, if there is one.
pub fn add_note(answer: &mut JsonObject, note: Option<String>) {
    if let Some(note) = note {
        answer.insert("note".to_owned(), Value::String(note));
    }
}

/// Usual size of an object in bytes: a hit with its preview.
const USUAL_BYTES: usize = 512;

/// Returns an object as JSON text.
pub fn written(object: &JsonObject) -> String {
    let mut text = Vec::with_capacity(USUAL_BYTES);
    match serde_json::to_writer(&mut text, object) {
        Ok(()) => String::from_utf8(text).unwrap_or_default(),
        Err(_) => String::new(),
    }
}
