//! From flags and settings to what a command works with: the store, the embedder, the language model.

pub mod afterwards;
pub mod context;
#[cfg(feature = "team")]
pub mod database;
pub mod each;
pub mod editor;
pub mod embedding;
pub mod environment;
#[cfg(unix)]
pub mod fingerprint;
#[cfg(feature = "team")]
pub mod issuer;
pub mod layout_offer;
pub mod llm;
pub mod model_notes;
pub mod no_store;
pub mod service;
pub mod workspace;
