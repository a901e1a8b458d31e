//! The result of a merge of two versions of a memory.

use crate::model::Stem;

/// The result of a merge of two versions of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// One text that holds the changes of both sides.
    One(Vec<u8>),
    /// The sides contradict: both texts stay, as two valid memories.
    Two {
        /// The later side's text, with a link to the other memory.
        kept: Vec<u8>,
        /// The earlier side's text as a memory of its own, with a link to the kept one.
        aside: Vec<u8>,
        /// The new memory's stem; its file is `{aside_stem}.md`.
        aside_stem: Stem,
    },
}
