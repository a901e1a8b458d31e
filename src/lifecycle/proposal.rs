//! One thing that maintenance proposes to do, and a memory as maintenance sees it.

use chrono::{DateTime, Utc};

use super::State;
use crate::model::{Change, Memory, NewMemory, Stem, Usage};

/// A memory as maintenance sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct MaintainedMemory {
    pub memory: Memory,
    pub state: State,
    pub usage: Usage,
}

impl MaintainedMemory {
    /// When anybody last wrote it, used it, or brought it back from the archive.
    pub fn touched(&self) -> DateTime<Utc> {
        let moments = [self.usage.last(), self.usage.restored()];
        let changed = self.state.changed;
        moments.into_iter().flatten().fold(changed, DateTime::max)
    }
}

/// One thing to do, whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// For people: what was found.
    pub because: String,
    pub create: Option<NewMemory>,
    /// Whether a model may write the content in place of the sentences taken from the sources.
    pub is_summary: bool,
    pub archive: Vec<Stem>,
    pub edit: Vec<(Stem, Change)>,
}

impl Proposal {
    /// One that does nothing yet.
    pub fn new(because: String) -> Proposal {
        Proposal {
            because,
            create: None,
            is_summary: false,
            archive: Vec::new(),
            edit: Vec::new(),
        }
    }
}
