//! The history as people use it: log, undo, restore, purge, reset.

pub(in crate::engine) mod erase;
pub(in crate::engine) mod kept;
pub(in crate::engine) mod log;
pub(in crate::engine) mod plan;
pub(in crate::engine) mod purge;
pub(in crate::engine) mod rearrange;
pub(in crate::engine) mod recorded;
pub(in crate::engine) mod reset;
pub(in crate::engine) mod undo;
pub(in crate::engine) mod undo_recorded;
pub(in crate::engine) mod undone_before;
