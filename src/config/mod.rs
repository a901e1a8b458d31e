//! Flags, environment and files → one [`Config`], each value with its origin. `table` lists every
//! setting once; `layer` reads a file by it, `values` joins what files and variables state.
//!
//! Order: flags, `MEMDIR_*` (and, where one exists, the three-tool program's) environment
//! variables, the store's `memdir.toml`, the user's `config.toml`, defaults. What travels with a
//! store may only say how its texts are read: a command, an endpoint or a path in its
//! `memdir.toml` is ignored with a warning, because somebody else may have written it. The same
//! holds for the whole tables `[embedding]`, `[llm]` and `[mcp]`, which are the user's: they decide who
//! gets to read, and what agents may do. Promises: no settings of a store fail a command. Each is tried by
//! itself and passed over, with a warning, where it has no sense or would guard less than its user wants.

mod discover;
mod edit;
mod embedding;
mod environment;
mod key;
mod layer;
mod lives;
mod llm;
mod mcp;
mod providers;
mod setting;
mod settings;
mod store;
mod table;
mod units;
mod value;
mod values;
mod variables;

pub use discover::MARK as SETTINGS_OF_STORE;
pub use discover::StoreOrigin;
pub use discover::is_marked;
pub use discover::is_store;
pub use discover::store_at;
pub use edit::NewValue;
pub use edit::with_settings;
pub use embedding::Embedding;
pub use embedding::ModelName;
pub use environment::Environment;
pub use environment::Flags;
pub use llm::LlmSetting;
pub use mcp::McpSettings;
pub use providers::LlmProvider;
pub use providers::Provider;
pub use setting::ConfigError;
pub use setting::Origin;
pub use setting::Setting;
pub use settings::Config;
pub use table::help;
pub use units::span;

#[cfg(test)]
mod tests;
