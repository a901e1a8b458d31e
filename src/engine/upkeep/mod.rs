//! What a server does unasked: it indexes, commits, embeds, archives what has expired.

pub(in crate::engine) mod background;
pub(in crate::engine) mod schedule;

pub use schedule::maintain_if_due;
