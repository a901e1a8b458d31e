//! What memories are as of now, and what was done with them.
//!
//! Uses and records go to the journal; losing one costs a count, never the operation that it tells
//! of, so a journal that cannot be written is a warning.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use chrono::DateTime;
use chrono::TimeDelta;
use chrono::Utc;

use super::Engine;
use super::EngineError;
use super::sync::OneDeed;
use crate::engine::live::reading::stem_of;
use crate::engine::retrieval::recall::Recalled;
use crate::index::AsOf;
use crate::journal::JournalError;
use crate::journal::Record;
use crate::journal::SESSION;
use crate::journal::Uses;
use crate::lifecycle;
use crate::lifecycle::State;
use crate::lifecycle::Stated;
use crate::model::Memory;
use crate::model::Stem;
use crate::model::Tier;
use crate::model::Timestamp;
use crate::model::Usage;

const UNRECORDED: &str = "uses and changes are not recorded";
/// Why a record is there that tells of a change made where a memory comes from.
pub(super) const BY_IMPORT: &str = "as it was imported";
/// So many records are collected at most.
const MOST_WAITING: usize = 256;

impl Engine {
    /// Does something at one moment: the clock is asked once, the journals at most once, and not
    /// before somebody wants to know what a memory has become by its uses.
    pub(super) fn at_once<T>(&self, act: impl FnOnce(AsOf<'_>) -> T) -> T {
        let uses: OnceLock<Arc<Uses>> = OnceLock::new();
        let unused = Usage::default();
        let state = |stem: &str, stated: &Stated, now: DateTime<Utc>| {
            let uses = uses.get_or_init(|| self.uses());
            let usage = uses.of(stem).unwrap_or(&unused);
            lifecycle::state(stated, usage, &self.life, now)
        };
        act(AsOf {
            now: self.clock.now(),
            state: &state,
        })
    }

    /// The memory as of now, and its uses.
    pub fn state_of(&self, memory: &Memory) -> (State, Usage) {
        let uses = self.uses();
        let usage = uses.of(memory.stem.as_str()).cloned().unwrap_or_default();
        let stated = Stated::of(memory);
        let state = lifecycle::state(&stated, &usage, &self.life, self.clock.now());
        (state, usage)
    }

    /// When a memory ends that gets the tier now and is not used any more; `None` for never.
    pub fn end_of_tier(&self, tier: Tier) -> Option<Timestamp> {
        let life = match tier {
            Tier::Short => self.life.short_life,
            Tier::Mid => self.life.mid_life,
            Tier::Long => return None,
        };
        let end = self.clock.now().checked_add_signed(life)?;
        Some(Timestamp::from_utc(end))
    }

    /// The uses of the memory with this stem.
    pub(super) fn usage_of(&self, stem: &Stem) -> Usage {
        self.uses().of(stem.as_str()).cloned().unwrap_or_default()
    }

    /// All uses, as far as they are known.
    fn uses(&self) -> Arc<Uses> {
        let (uses, trouble) = self.journal.uses();
        if let Some(error) = trouble {
            self.warn_of_journal("some uses do not count", &error);
        }
        uses
    }

    /// Makes sure that all uses are known.
    pub(super) fn check_uses(&self) -> Result<(), EngineError> {
        let (_, trouble) = self.journal.uses();
        Ok(trouble.map_or(Ok(()), Err)?)
    }

    /// Counts one use of each memory that was recalled. Does nothing on a read-only store.
    pub fn count_uses(&self, recalled: &[Recalled]) {
        let stems: Vec<Stem> = recalled
            .iter()
            .filter_map(|one| match one {
                Recalled::Found { memory, .. } => Some(memory.stem.clone()),
                Recalled::Failed { .. } => None,
            })
            .collect();
        // A store that was moved away is not made anew for it.
        if self.is_read_only() || self.check_there().is_err() {
            return;
        }
        if let Err(error) = self.journal.used(self.clock.now(), &stems) {
            self.warn_of_journal(UNRECORDED, &error);
        }
    }

    /// Counts uses that were made before, elsewhere.
    pub(super) fn count_past_uses(&self, uses: &[(DateTime<Utc>, Stem)]) {
        if uses.is_empty() || self.check_there().is_err() {
            return;
        }
        if let Err(error) = self.journal.used_each(uses) {
            self.warn_of_journal(UNRECORDED, &error);
        }
    }

    /// Notes that `did` was done to the file `name`, for whoever asks later.
    pub(super) fn record(&self, did: &str, name: &str, why: Option<&str>) {
        self.record_at(self.clock.now(), did, name, why);
    }

    /// As [`Engine::record`], of what was done at some other moment.
    pub(super) fn record_at(&self, at: DateTime<Utc>, did: &str, name: &str, why: Option<&str>) {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let record = Record {
            at,
            did: did.to_owned(),
            of: vec![stem_of(name).as_str().to_owned()],
            client: client.clone(),
            why: why.map(str::to_owned),
        };
        drop(client);
        let mut waiting = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.records.push(record);
        if waiting.held == 0 || waiting.records.len() >= MOST_WAITING {
            let records = std::mem::take(&mut waiting.records);
            drop(waiting);
            self.write_records(records);
        }
    }

    /// Until what is returned is dropped, records are collected, to be written together.
    pub(super) fn collect_records(&self) -> Collecting<'_> {
        let mut waiting = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.held += 1;
        Collecting(self, OneDeed::begin())
    }

    fn write_records(&self, records: Vec<Record>) {
        if records.is_empty() || self.check_there().is_err() {
            return;
        }
        // What was done to many at once is one line.
        let mut lines: Vec<Record> = Vec::new();
        for record in records {
            match lines.last_mut() {
                Some(last) if is_same_deed(last, &record) => last.of.extend(record.of),
                _ => lines.push(record),
            }
        }
        if let Err(error) = self.journal.record(lines) {
            self.warn_of_journal(UNRECORDED, &error);
        }
    }

    /// What was done to the memory called by the stem, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read.
    pub fn records_of(&self, stem: &Stem) -> Result<Vec<Record>, EngineError> {
        let is_of = |record: &Record| {
            record.did != SESSION && record.of.iter().any(|of| of == stem.as_str())
        };
        Ok(self.journal.records(is_of)?)
    }

    /// What was done in the store since a moment, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read.
    pub fn records_since(&self, since: Option<DateTime<Utc>>) -> Result<Vec<Record>, EngineError> {
        let is_since = |record: &Record| since.is_none_or(|since| record.at >= since);
        Ok(self.journal.records(is_since)?)
    }

    /// Sums up the uses in the journals that this copy has left.
    pub(super) fn sum_up_journals(&self) {
        if self.is_read_only() || self.check_there().is_err() {
            return;
        }
        if let Err(error) = self.journal.sum_up() {
            self.warn_of_journal("uses in old journals are not summed up", &error);
        }
    }

    fn warn_of_journal(&self, what: &str, error: &JournalError) {
        if !self.warned_of_journal.swap(true, Ordering::Relaxed) {
            tracing::warn!("{what}: {error}");
        }
    }
}

/// Whether two records, made a moment after each other, tell of one deed.
fn is_same_deed(one: &Record, other: &Record) -> bool {
    let apart = (other.at - one.at).abs();
    (&one.did, &one.client, &one.why) == (&other.did, &other.client, &other.why)
        && apart < TimeDelta::seconds(1)
}

/// Records that wait to be written together.
#[derive(Default)]
pub(super) struct Waiting {
    records: Vec<Record>,
    held: usize,
}

/// Writes the records that were collected, when it is dropped.
pub(super) struct Collecting<'a>(&'a Engine, OneDeed);

impl Drop for Collecting<'_> {
    fn drop(&mut self) {
        let mut waiting = self
            .0
            .records
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        waiting.held -= 1;
        if waiting.held == 0 {
            let records = std::mem::take(&mut waiting.records);
            drop(waiting);
            self.0.write_records(records);
        }
    }
}
