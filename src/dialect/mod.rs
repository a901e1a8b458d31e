//! Tool sets for clients: names, arguments, replies.
//!
//! A dialect is a table of tools, resources and prompts. It holds no state and contains no storage,
//! search or lifecycle code; differences between dialects are passed to the engine as values. The
//! parameters of a tool are one table ([`Parameter`]), from which its schema is made and its arguments
//! are read.

mod ai_memory;
pub mod arguments;
mod budget;
mod call;
pub mod core;
mod cursor;
mod endpoint;
mod i_am;
pub mod json;
mod loci;
mod metadata;
mod parameter;
mod passage;
mod preview;
mod record;
mod reply;
pub mod session_text;
mod stores;
mod tool_set;
mod toon;
pub mod views;

use std::sync::Arc;

pub use arguments::{Arguments, BadArgument};
pub use call::{Assistant, Call, Caller, FeatureTier, Preferences};
pub use endpoint::{Endpoint, ErrorView, ParameterLocation, Refusal, Verb};
pub use json::JsonObject;
pub use parameter::{Form, Literal, Parameter, schema};
pub use passage::preview_of_hit;
pub use preview::{Preview, PreviewWords, preview};
pub use record::{CallOutcome, CallRecord, Recorder};
pub use reply::{Reply, ToolError};
pub use stores::ServedStore;
pub use tool_set::{About, Dialect, Hints, Prompt, Resource, Tool};

/// Names of the tool sets, the default first.
pub const NAMES: [&str; 4] = ["core", "loci", "ai-memory", "i-am"];

/// Returns the tool set called `name`.
pub fn named(name: &str) -> Option<Arc<dyn Dialect>> {
    match name {
        "core" => Some(Arc::new(core::Core::default())),
        "loci" => Some(Arc::new(loci::Loci)),
        "ai-memory" => Some(Arc::new(ai_memory::AiMemory)),
        "i-am" => Some(Arc::new(i_am::IAm)),
        _ => None,
    }
}

/// Returns the endpoints of the HTTP interface: those of the prefixed tool set, and further ones.
pub fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    ai_memory::ENDPOINTS.iter().chain(core::ENDPOINTS)
}
