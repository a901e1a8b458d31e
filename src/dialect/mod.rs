//! Tool sets as clients know them: names, arguments, replies.
//!
//! A dialect is a table of tools, resources and prompts. It holds no state and contains no storage,
//! search or lifecycle code; what differs between dialects is passed to the engine as values. What a
//! tool can be given stands in one table ([`Parameter`]), from which its schema is made and its
//! arguments are read.

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
mod preview;
mod reply;
mod tool_set;
mod toon;
pub mod views;

use std::sync::Arc;

pub use arguments::Arguments;
pub use arguments::BadArgument;
pub use call::Assistant;
pub use call::Call;
pub use call::Caller;
pub use call::FeatureTier;
pub use call::Preferences;
pub use endpoint::Endpoint;
pub use endpoint::ErrorView;
pub use endpoint::ParameterLocation;
pub use endpoint::Refusal;
pub use endpoint::Verb;
pub use json::JsonObject;
pub use parameter::Form;
pub use parameter::Literal;
pub use parameter::Parameter;
pub use parameter::schema;
pub use preview::Preview;
pub use preview::PreviewWords;
pub use preview::preview;
pub use reply::Reply;
pub use reply::ToolError;
pub use tool_set::About;
pub use tool_set::Dialect;
pub use tool_set::Hints;
pub use tool_set::Prompt;
pub use tool_set::Resource;
pub use tool_set::Tool;

/// The tool sets, the usual one first.
pub const NAMES: [&str; 4] = ["core", "loci", "ai-memory", "i-am"];

/// The tool set called `name`.
pub fn named(name: &str) -> Option<Arc<dyn Dialect>> {
    match name {
        "core" => Some(Arc::new(core::Core::default())),
        "loci" => Some(Arc::new(loci::Loci)),
        "ai-memory" => Some(Arc::new(ai_memory::AiMemory)),
        "i-am" => Some(Arc::new(i_am::IAm)),
        _ => None,
    }
}

/// The addresses of the HTTP interface: those of the prefixed tool set, and further ones.
pub fn endpoints() -> impl Iterator<Item = &'static Endpoint> {
    ai_memory::ENDPOINTS.iter().chain(core::ENDPOINTS)
}
