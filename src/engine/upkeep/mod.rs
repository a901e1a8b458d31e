//! Background work of a server: indexing, commits, vectors, and archiving of expired memories.

pub(in crate::engine) mod background;
pub(in crate::engine) mod copying;
pub(in crate::engine) mod schedule;

pub use schedule::maintain_if_due;
