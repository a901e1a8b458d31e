//! Plans of maintenance, before anything is done.

use chrono::TimeDelta;

use super::proposal::Proposal;
use super::{Cleanup, Compaction, Observations, Reflection};

/// The purpose of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaintenanceKind {
    /// Old episodic memories become summaries, repeated observations become knowledge.
    Compact,
    /// Named or grouped memories become one.
    Consolidate,
    /// Memories of no use any more go to the archive.
    Cleanup,
    /// Confidence is brought in line with use and source.
    Reflect,
    /// Confidence as of now is written into the files.
    Decay,
}

impl MaintenanceKind {
    /// Returns its name, as of the command, in the journal, and in records.
    pub fn as_str(self) -> &'static str {
        match self {
            MaintenanceKind::Compact => "compact",
            MaintenanceKind::Consolidate => "consolidate",
            MaintenanceKind::Cleanup => "cleanup",
            MaintenanceKind::Reflect => "reflect",
            MaintenanceKind::Decay => "decay",
        }
    }
}

/// Plan of one run of maintenance, executed as a whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct MaintenancePlan {
    /// Purpose of the plan.
    pub operation: MaintenanceKind,
    /// Proposals, in order of execution.
    pub proposals: Vec<Proposal>,
}

impl MaintenancePlan {
    /// Returns whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.proposals.is_empty()
    }
}

/// The constants of maintenance.
#[derive(Debug, Clone, PartialEq)]
pub struct Maintenance {
    /// Time between two runs of maintenance by a server; `None`: it does none by itself.
    pub schedule: Option<TimeDelta>,
    /// Constants of compaction.
    pub compaction: Compaction,
    /// Constants of grouping repeated observations.
    pub observations: Observations,
    /// Constants of cleanup.
    pub cleanup: Cleanup,
    /// Constants of reflection.
    pub reflection: Reflection,
    /// Groups of fewer memories are not consolidated unasked for names.
    pub consolidate_min: usize,
    /// Time for which the archive keeps replaced texts that the history holds as well; `None`: for
    /// ever.
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
