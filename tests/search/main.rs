//! What searches find and in which order, with and without a model.

mod arms;
mod chats;
#[cfg(feature = "tract")]
mod embedding;
mod keyword_properties;
#[cfg(feature = "tract")]
mod meaning;
mod models;
mod moments;
mod names;
#[cfg(feature = "tract")]
mod questions_first;
mod rankings;
mod relevance;
#[cfg(feature = "tract")]
mod reranking;
mod scan;
#[path = "../support/mod.rs"]
mod support;
mod vocabulary;
