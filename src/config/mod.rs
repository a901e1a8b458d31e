//! Flags, environment and files → one [`Config`], each value with its origin.
//!
//! Order: flags, `MEMDIR_*` (and, where one exists, the three-tool program's) environment
//! variables, the store's `memdir.toml`, the user's `config.toml`, defaults. What travels with a
//! store may only say how its texts are read: a command, an endpoint or a path in its
//! `memdir.toml` is ignored with a warning, because somebody else may have written it. The same
//! holds for the whole tables `[embedding]`, `[llm]` and `[mcp]`, which are the user's: they decide who
//! gets to read, and what agents may do. Promises: no settings of a store fail a command. Each is tried by
//! itself and passed over, with a warning, where it has no sense or would guard less than its user wants.

mod archive;
mod discover;
mod duplicates;
mod edit;
mod embedding;
mod life;
mod llm;
mod maintenance;
mod mcp;
mod settings;
mod sources;
mod units;
mod values;

pub use discover::MARK as SETTINGS_OF_STORE;
pub use discover::StoreOrigin;
pub use discover::is_marked;
pub use discover::is_store;
pub use discover::store_at;
pub use duplicates::DuplicateSettings;
pub use edit::NewValue;
pub use edit::with_settings;
pub use embedding::Embedding;
pub use embedding::ModelName;
pub use embedding::Provider;
pub use life::LifeSettings;
pub use llm::LlmProvider;
pub use llm::LlmSetting;
pub use maintenance::MaintenanceSettings;
pub use mcp::McpSettings;
pub use settings::Config;
pub use settings::ConfigError;
pub use settings::Environment;
pub use settings::Flags;
pub use settings::Origin;
pub use settings::Setting;
pub use units::span;
