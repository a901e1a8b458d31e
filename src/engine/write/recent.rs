//! The memories that this process wrote last.

use std::collections::VecDeque;
use std::time::Instant;

use crate::lifecycle::Claims;

pub(in crate::engine) const MANY_UNSEEN: usize = 64;

/// Number of this process's last memories that are known without a view: all that a view may lack.
pub(in crate::engine) const RECENT: usize = 2 * MANY_UNSEEN;

/// Memories that are known without a look at the store.
#[derive(Default)]
pub(in crate::engine) struct Recent {
    /// Oldest first.
    pub(in crate::engine) written: VecDeque<Written>,
    /// When a view was made for a hint.
    pub(in crate::engine) viewed: Option<Instant>,
}

/// A memory that this process wrote.
pub(in crate::engine) struct Written {
    /// Its file, below `files/`.
    pub(in crate::engine) name: String,
    pub(in crate::engine) claims: Claims,
    pub(in crate::engine) text: u128,
}
