//! Commands about single memories: write, find, change, forget, and what was.

pub(in crate::cli) mod archive;
pub(in crate::cli) mod edit;
pub(in crate::cli) mod fields;
pub(in crate::cli) mod find;
pub(in crate::cli) mod history;
pub(in crate::cli) mod life;
pub(in crate::cli) mod stats;
pub(in crate::cli) mod when;
pub(in crate::cli) mod write;
