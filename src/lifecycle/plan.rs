//! What maintenance means to do, before anything is done.

use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;

use super::Cleanup;
use super::Compaction;
use super::Observations;
use super::Reflection;
use super::State;
use crate::model::Change;
use crate::model::Memory;
use crate::model::NewMemory;
use crate::model::Stem;
use crate::model::Usage;

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

/// What a plan is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Old episodic memories become summaries, repeated observations become knowledge.
    Compact,
    /// Named or grouped memories become one.
    Consolidate,
    /// What is of no use any more goes to the archive.
    Cleanup,
    /// Confidence is brought in line with use and source.
    Reflect,
    /// Confidence as of now is written into the files.
    Decay,
}

impl Operation {
    /// The word for it: of the command, in the journal, and in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Operation::Compact => "compact",
            Operation::Consolidate => "consolidate",
            Operation::Cleanup => "cleanup",
            Operation::Reflect => "reflect",
            Operation::Decay => "decay",
        }
    }
}

/// One thing to do, whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// For people: what was found.
    pub because: String,
    pub create: Option<NewMemory>,
    /// Where a model may write the content in place of the sentences taken from the sources.
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

/// Everything that one run is to do: all of it, or nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub operation: Operation,
    pub proposals: Vec<Proposal>,
}

impl Plan {
    pub fn is_empty(&self) -> bool {
        self.proposals.is_empty()
    }
}

/// The constants of maintenance.
#[derive(Debug, Clone, PartialEq)]
pub struct Maintenance {
    /// How often a server compacts and cleans up by itself; `None`: never.
    pub schedule: Option<TimeDelta>,
    pub compaction: Compaction,
    pub observations: Observations,
    pub cleanup: Cleanup,
    pub reflection: Reflection,
    /// Groups of fewer memories are not consolidated unasked for names.
    pub consolidate_min: usize,
    /// How long replaced texts stay in the archive that the history holds as well; `None`: for ever.
    pub keep_replaced: Option<TimeDelta>,
}

impl Default for Maintenance {
    fn default() -> Maintenance {
        Maintenance {
            schedule: None,
            compaction: Compaction::default(),
            observations: Observations::default(),
            cleanup: Cleanup::default(),
            reflection: Reflection::default(),
            consolidate_min: 3,
            keep_replaced: Some(TimeDelta::days(90)),
        }
    }
}
