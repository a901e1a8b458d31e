//! Flags, environment and files → one [`Config`], each value with its origin. `table` lists every
//! setting once; `layer` reads a file by it, `values` joins what files and variables state.
//!
//! Order: flags, `MEMDIR_*` (and, where one exists, the three-tool program's) environment
//! variables, the store's `memdir.toml`, the user's `config.toml`, defaults. What travels with a
//! store may only say how its texts are read: a command, an endpoint or a path in its
//! `memdir.toml` is ignored with a warning, because somebody else may have written it. The same
//! holds for the whole tables `[embedding]`, `[rerank]`, `[llm]` and `[mcp]`, which are the user's: they decide who
//! gets to read, and what agents may do. Promises: no settings of a store fail a command. Each is tried by
//! itself and passed over, with a warning, where it has no sense or would guard less than its user wants.

mod choices;
mod discover;
mod edit;
mod embedding;
mod environment;
mod key;
mod layer;
mod lives;
mod llm;
mod mcp;
mod setting;
mod settings;
mod store;
mod table;
mod units;
mod value;
mod values;
mod variables;

pub use choices::{Capture, LlmProvider, Provider};
pub use discover::{MARK as SETTINGS_OF_STORE, StoreOrigin, is_marked, is_store, store_at};
pub use edit::{NewValue, with_settings};
pub use embedding::{Embedding, ModelName, RerankSettings};
pub use environment::{Environment, Flags};
pub use llm::LlmSetting;
pub use mcp::McpSettings;
pub use setting::{ConfigError, Origin, Setting};
pub use settings::Config;
pub use table::help;
pub use units::span;

#[cfg(test)]
mod tests;
