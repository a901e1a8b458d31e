//! Commands about single memories: write, find, change, forget, and what was.

pub mod archive;
pub mod edit;
pub mod fields;
pub mod find;
pub mod history;
pub mod life;
pub mod stats;
pub mod when;
pub mod write;
