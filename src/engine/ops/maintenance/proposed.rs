//! A plan with the files that it was made from.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use crate::lifecycle::MaintenancePlan;
use crate::model::{Memory, NewMemory, Stem};

/// A plan, and the files that it was made from.
#[derive(Debug, Clone)]
pub struct Proposed {
    /// Plan of maintenance.
    pub plan: MaintenancePlan,
    /// Proposals that are impossible: their motive, and the reason against them.
    pub left_out: Vec<(String, String)>,
    /// Number of memories that were left out because of problems in their files.
    pub damaged: usize,
    /// Files of the memories.
    pub(in crate::engine) files: BTreeMap<Stem, File>,
}

impl Proposed {
    /// Rewrites the content of new summaries with `write`, which gets the new memory and
    /// its sources, earliest first. Where it fails, the sentences taken from the sources
    /// stay; returns the errors.
    pub fn write_summaries<E>(
        &mut self,
        write: impl Fn(&NewMemory, &[&Memory]) -> Result<String, E>,
    ) -> Vec<E> {
        let mut failures = Vec::new();
        for proposal in self.plan.proposals.iter_mut().filter(|one| one.is_summary) {
            let sources = proposal
                .archive
                .iter()
                .filter_map(|stem| self.files.get(stem));
            let sources: Vec<&Memory> = sources.map(|file| &file.memory).collect();
            let Some(new) = &mut proposal.create else {
                continue;
            };
            match write(new, &sources) {
                Ok(content) => new.content = content,
                Err(error) => failures.push(error),
            }
        }
        failures
    }

    /// Returns the memories that new memories are derived from: they must be unchanged.
    pub(in crate::engine) fn sources(&self) -> impl Iterator<Item = &Stem> {
        let new = self
            .plan
            .proposals
            .iter()
            .filter_map(|one| one.create.as_ref());
        let links = new.flat_map(|new| &new.links);
        links.filter_map(|link| {
            let stem = Stem::parse(&link.to)?;
            self.files.get_key_value(&stem).map(|(stem, _)| stem)
        })
    }

    /// Returns the memory of a step, as it was read.
    pub fn memory(&self, stem: &Stem) -> Option<&Memory> {
        self.files.get(stem).map(|file| &file.memory)
    }
}

/// File of a memory, as it was read.
#[derive(Debug, Clone)]
pub(in crate::engine) struct File {
    /// Path below `files/`.
    pub(in crate::engine) name: String,
    /// Hash of its bytes.
    pub(in crate::engine) hash: u128,
    /// The parsed memory.
    pub(in crate::engine) memory: Memory,
}

/// Time for which the record of a plan is kept.
pub(in crate::engine) const RECORDS_KEPT: TimeDelta = TimeDelta::days(365);
