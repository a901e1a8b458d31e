//! Vectors of meaning for the memories of `live`: models, the thread that embeds, unavailable hosts.

pub(in crate::engine) mod embedding;
pub(in crate::engine) mod models;
pub(in crate::engine) mod outage;
pub(in crate::engine) mod passages;
mod progress_log;
mod questions;
mod sharing;
pub(in crate::engine) mod status;
mod views;

pub use embedding::{embed_all, embed_few};
pub use outage::outage;
pub use status::meaning_status;
