//! From flags and settings to what a command works with: the store, the embedder, the language model.

pub(in crate::cli) mod afterwards;
pub(in crate::cli) mod context;
pub(in crate::cli) mod embedding;
pub(in crate::cli) mod llm;
pub(in crate::cli) mod no_store;
pub(in crate::cli) mod opened;
pub(in crate::cli) mod surroundings;
