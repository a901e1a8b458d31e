//! The only way to change a memory.
//!
//! Promise: a memory is on disk completely or not at all, and every replaced version stays
//! reachable.

pub(in crate::engine) mod change_notes;
pub(in crate::engine) mod changes;
pub(in crate::engine) mod journals;
pub(in crate::engine) mod new;
pub(in crate::engine) mod put;
pub(in crate::engine) mod recent;
pub(in crate::engine) mod replace;
pub(in crate::engine) mod screen;
pub(in crate::engine) mod title_lock;
pub(in crate::engine) mod tombstones;
pub(in crate::engine) mod writer;

pub use screen::{new_problems, preview};
pub use title_lock::hold_title;
