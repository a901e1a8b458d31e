//! Vectors of meaning for what `live` shows: models, the thread that embeds, hosts that do not answer.

pub(in crate::engine) mod embedding;
pub(in crate::engine) mod models;
pub(in crate::engine) mod outage;
pub(in crate::engine) mod status;

pub use embedding::{embed_all, embed_few};
pub use outage::outage;
pub use status::meaning_status;
