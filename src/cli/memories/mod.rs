//! Commands about memories: write, find, change, forget, maintain, and their history.

pub mod archive;
pub mod edit;
pub mod fields;
pub mod find;
pub mod history;
pub mod life;
pub mod maintenance;
pub mod resolve;
pub mod stats;
pub mod when;
pub mod write;
