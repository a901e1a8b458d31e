//! The work of a server in the background: it indexes, commits, embeds, and archives expired memories.

pub(in crate::engine) mod background;
pub(in crate::engine) mod schedule;

pub use schedule::maintain_if_due;
