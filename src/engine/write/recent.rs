//! Memories that this process wrote last.

use std::collections::VecDeque;
use std::time::Instant;

use crate::lifecycle::Claims;

/// Number of own changes beyond which a new view is made for a hint.
pub(in crate::engine) const MANY_UNSEEN: usize = 64;

/// Maximum number of this process's last memories that are kept: all that a view may lack.
pub(in crate::engine) const RECENT: usize = 2 * MANY_UNSEEN;

/// Memories that can be compared without reading the store.
#[derive(Default)]
pub(in crate::engine) struct Recent {
    /// Written memories, oldest first.
    pub(in crate::engine) written: VecDeque<Written>,
    /// Time when a view was made for a hint.
    pub(in crate::engine) viewed: Option<Instant>,
}

/// A memory that this process wrote.
pub(in crate::engine) struct Written {
    /// Path of its file below `files/`.
    pub(in crate::engine) name: String,
    /// Claims in its text.
    pub(in crate::engine) claims: Claims,
    /// Hash of its text, ignoring white space.
    pub(in crate::engine) text: u128,
}
