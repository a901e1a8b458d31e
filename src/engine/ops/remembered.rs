//! Result of writing a memory.

use crate::engine::ops::hints::Contradicted;
use crate::engine::write::screen::Screened;
use crate::lifecycle::Suggestion;
use crate::model::Stem;

/// A memory that is synced to the disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    /// Stem of the memory.
    pub stem: Stem,
    /// Kind of the result.
    pub became: WriteOutcome,
    /// Memories that are now marked as superseded by it.
    pub superseded: Vec<Stem>,
    /// Memories that are nearly the same, and that it is linked with.
    pub near: Vec<Suggestion>,
    /// Memories that it is linked with because they share its topics.
    pub related: Vec<Stem>,
    /// Another memory with the same text.
    pub same_text: Option<Stem>,
    /// Memories that it may contradict.
    pub contradicted: Vec<Contradicted>,
    /// Fields of an existing memory that were changed; empty for a new one.
    pub changed: Vec<&'static str>,
    /// Whether an existing memory expires later than the given one, and keeps its expiry.
    pub lives_on: bool,
    /// Credentials found in it.
    pub screened: Screened,
}

impl Remembered {
    /// Returns a result without further details.
    pub(in crate::engine) fn of(stem: Stem, became: WriteOutcome) -> Remembered {
        Remembered {
            stem,
            became,
            superseded: Vec::new(),
            near: Vec::new(),
            related: Vec::new(),
            same_text: None,
            contradicted: Vec::new(),
            changed: Vec::new(),
            lives_on: false,
            screened: Screened::default(),
        }
    }

    /// Whether it was written before, by a call with the same idempotency key.
    pub fn existed(&self) -> bool {
        self.became == WriteOutcome::Repeated
    }
}

/// Kind of the result of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It was written.
    Added,
    /// It was written before, by a call with the same idempotency key.
    Repeated,
    /// A memory with the same text existed; fields that it got are in `changed`.
    Known,
    /// It existed, and has this text now.
    Updated {
        /// Stem of its earlier text in the archive; `None` if the text is the same.
        earlier: Option<Stem>,
    },
}
