//! Vectors on disk: kept by key, found by nearness.
//!
//! A folder of immutable files, each with a sorted table of keys, every vector in eight bits a
//! number for scanning, and in sixteen for exact comparison, and the tokens of short texts in a bit a
//! direction. Promises: a file is put in place whole
//! and never changed, so that readers need no lock and a killed writer leaves nothing wrong behind;
//! what is damaged is left out, never compared; the same key in two files is the same vector, so
//! that files can be joined at any time. One process at a time adds and tidies; what the keys stand
//! for, and when a vector is missing, is left to the caller.

mod dot;
mod segment;
mod shared;
mod store;
mod tokens;

pub use segment::VectorEntry;
pub use shared::{SharedAnswer, SharedVectors};
pub use store::{VectorLocation, VectorStore, View};
pub use tokens::{AskedToken, TOKEN_BYTES, token_code};

/// Key of a vector: a hash of whatever it was made of.
pub type VectorKey = u128;
