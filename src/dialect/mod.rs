//! Tool sets as clients know them: names, arguments, replies.
//!
//! A dialect is a table of tools. It holds no state and contains no storage, search or lifecycle
//! code; what differs between dialects is passed to the engine as values.

pub mod arguments;
pub mod core;
mod preview;
mod remembered;
mod shape;

pub use preview::Preview;
pub use preview::preview;

use crate::engine::Engine;

/// A JSON object, in the order its keys were added.
pub type JsonObject = serde_json::Map<String, serde_json::Value>;

/// What a server says of itself.
#[derive(Debug, Clone, Copy)]
pub struct About {
    pub name: &'static str,
    pub title: &'static str,
    pub version: &'static str,
    pub instructions: &'static str,
}

/// What a client may know of a tool before calling it. No tool reaches out to other systems.
#[derive(Debug, Clone, Copy)]
pub struct Hints {
    pub title: &'static str,
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
}

/// Who calls, as far as the protocol tells.
#[derive(Debug, Default, Clone)]
pub struct Caller {
    pub client: Option<String>,
    pub version: Option<String>,
}

/// What a tool answers: an object for programs, a text for models.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub structured: JsonObject,
    pub text: String,
    pub is_error: bool,
}

/// One tool: what the client sees, and what it does.
pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    /// The JSON schema of the arguments.
    pub arguments: fn() -> JsonObject,
    /// The JSON schema of the structured reply: always an object, because clients lose every
    /// tool of a server that has an array there.
    pub result: fn() -> JsonObject,
    pub hints: Hints,
    pub run: fn(&Engine, &Caller, JsonObject) -> Reply,
}

/// A set of tools as one kind of client knows it.
pub trait Dialect: Send + Sync {
    /// Server name, version and instructions shown at connection.
    fn about(&self) -> About;
    fn tools(&self) -> &'static [Tool];
}
