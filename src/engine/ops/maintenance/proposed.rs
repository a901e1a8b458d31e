//! A plan with the texts that it was made from.

use std::collections::BTreeMap;

use chrono::TimeDelta;

use crate::lifecycle::MaintenancePlan;
use crate::model::{Memory, NewMemory, Stem};

/// A plan, and the files it was made from.
#[derive(Debug, Clone)]
pub struct Proposed {
    pub plan: MaintenancePlan,
    /// What cannot be done: because of what it was proposed, and why not.
    pub left_out: Vec<(String, String)>,
    /// How many memories were left alone because something is wrong with their files.
    pub damaged: usize,
    pub(in crate::engine) files: BTreeMap<Stem, File>,
}

impl Proposed {
    /// Has `write` say in other words what new memories stand for: it is given the new memory and
    /// its sources, earliest first. Where it fails, the sentences that were taken from the sources
    /// stay; returned are the failures.
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

    /// The memories that what is made of them says something of: they must be as they were.
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

    /// The memory that a step is about, as it was read.
    pub fn memory(&self, stem: &Stem) -> Option<&Memory> {
        self.files.get(stem).map(|file| &file.memory)
    }
}

/// A memory's file as it was read.
#[derive(Debug, Clone)]
pub(in crate::engine) struct File {
    pub(in crate::engine) name: String,
    pub(in crate::engine) hash: u128,
    pub(in crate::engine) memory: Memory,
}

/// How long ago what maintenance did may lie for its record to be kept.
pub(in crate::engine) const RECORDS_KEPT: TimeDelta = TimeDelta::days(365);
