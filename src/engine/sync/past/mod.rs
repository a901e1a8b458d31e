//! The history as people use it: log, undo, purge, reset, and the repair of a repository.

pub(in crate::engine::sync) mod erase;
pub(in crate::engine::sync) mod kept;
pub(in crate::engine::sync) mod log;
pub(in crate::engine::sync) mod plan;
pub(in crate::engine::sync) mod purge;
pub(in crate::engine::sync) mod rearrange;
pub(in crate::engine::sync) mod repair;
pub(in crate::engine::sync) mod reset;
pub(in crate::engine::sync) mod tidy;
pub(in crate::engine::sync) mod undo;
