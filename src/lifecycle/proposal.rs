//! One thing that maintenance proposes to do, and a memory as maintenance sees it.

use chrono::{DateTime, Utc};

use super::State;
use crate::model::{Change, Memory, NewMemory, Stem, Usage};

/// A memory as maintenance sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct MaintainedMemory {
    /// The memory.
    pub memory: Memory,
    /// State at the moment of the run.
    pub state: State,
    /// Recorded uses and changes.
    pub usage: Usage,
}

impl MaintainedMemory {
    /// Returns the time of its last change, use, or restoration from the archive.
    pub fn touched(&self) -> DateTime<Utc> {
        let moments = [self.usage.last(), self.usage.restored()];
        let changed = self.state.changed;
        moments.into_iter().flatten().fold(changed, DateTime::max)
    }
}

/// One step of maintenance, done as a whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// Reason, for people.
    pub because: String,
    /// Memory to create.
    pub create: Option<NewMemory>,
    /// Whether a model may write the content in place of the sentences taken from the sources.
    pub is_summary: bool,
    /// Memories to archive.
    pub archive: Vec<Stem>,
    /// Memories to change, with their changes.
    pub edit: Vec<(Stem, Change)>,
}

impl Proposal {
    /// Creates a proposal without any step.
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
