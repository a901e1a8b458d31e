//! What became of a memory that was to be written.

use crate::engine::ops::hints::Contradicted;
use crate::engine::write::screen::Screened;
use crate::lifecycle::Suggestion;
use crate::model::Stem;

/// A memory that is safely on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    pub stem: Stem,
    pub became: WriteOutcome,
    /// The memories that are now marked as superseded by it.
    pub superseded: Vec<Stem>,
    /// Those that are nearly the same; it is linked with them.
    pub near: Vec<Suggestion>,
    /// Those that it is linked with because they share its topics.
    pub related: Vec<Stem>,
    /// One that has the very same text, and stays beside it.
    pub same_text: Option<Stem>,
    /// Those that it may contradict.
    pub contradicted: Vec<Contradicted>,
    /// The fields that one which was there got from it; none for one that was added.
    pub changed: Vec<&'static str>,
    /// Whether one that was there lives longer than what was to be stored, and goes on so.
    pub lives_on: bool,
    /// The credentials in it.
    pub screened: Screened,
}

impl Remembered {
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

    /// Whether it had been written before, by a call with the same idempotency key.
    pub fn existed(&self) -> bool {
        self.became == WriteOutcome::Repeated
    }
}

/// How a memory came to be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It was written.
    Added,
    /// It had been written before, by a call with the same idempotency key.
    Repeated,
    /// It was there and says the very same; what was stated beside the text is in `changed`.
    Known,
    /// It was there, and has this text now.
    Updated {
        /// What it said before, in the archive; `None` if it said the same.
        earlier: Option<Stem>,
    },
}
