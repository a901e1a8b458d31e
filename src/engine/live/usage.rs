//! State of memories as of now, from their files, the uses and records of the journals, and the clock.
//!
//! A search reads the clock once and passes a function with its query, which computes the state
//! of a stem from the values of its file. The index calls it only for memories whose passing depends
//! on the result: those with a tier or an end, or if the filter wants a tier, an importance or a
//! confidence.

use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::store::LiveStore;
use crate::index::AsOf;
use crate::journal::{JournalError, Record, SESSION, Uses};
use crate::lifecycle;
use crate::lifecycle::{State, Stated};
use crate::model::{Memory, Stem, Tier, Timestamp, Usage};

/// Warning about a journal that cannot be written.
pub(in crate::engine) const UNRECORDED: &str = "uses and changes are not recorded";

/// Runs `act` as of one moment: the clock is read once, the journals at most once, and not
/// before the state of a memory is needed.
pub(in crate::engine) fn at_once<T>(live: &LiveStore, act: impl FnOnce(AsOf<'_>) -> T) -> T {
    let uses: OnceLock<Arc<Uses>> = OnceLock::new();
    let unused = Usage::default();
    let state = |stem: &str, stated: &Stated, now: DateTime<Utc>| {
        let uses = uses.get_or_init(|| self::uses(live));
        let usage = uses.of(stem).unwrap_or(&unused);
        lifecycle::state(stated, usage, &live.life, now)
    };
    act(AsOf {
        now: live.clock.now(),
        state: &state,
    })
}

/// Returns the state of a memory as of now, and its uses. For several memories, see [`UsesOfAll`].
pub fn state_of(live: &LiveStore, memory: &Memory) -> (State, Usage) {
    UsesOfAll::read(live).state_of(live, memory)
}

/// Uses of all memories at one moment. Reading them looks at every journal.
pub struct UsesOfAll(Arc<Uses>);

impl UsesOfAll {
    /// Reads all journals.
    pub fn read(live: &LiveStore) -> UsesOfAll {
        UsesOfAll(uses(live))
    }

    /// Returns the state of a memory as of now by these uses, and its uses.
    pub fn state_of(&self, live: &LiveStore, memory: &Memory) -> (State, Usage) {
        let usage = self.0.of(memory.stem.as_str());
        let usage = usage.cloned().unwrap_or_default();
        let stated = Stated::of(memory);
        let state = lifecycle::state(&stated, &usage, &live.life, live.clock.now());
        (state, usage)
    }
}

/// Returns when a memory expires that gets the tier now and is not used any more; `None` for never.
pub fn end_of_tier(live: &LiveStore, tier: Tier) -> Option<Timestamp> {
    let life = match tier {
        Tier::Short => live.life.short_life,
        Tier::Mid => live.life.mid_life,
        Tier::Long => return None,
    };
    let end = live.clock.now().checked_add_signed(life)?;
    Some(Timestamp::from_utc(end))
}

/// Returns the uses of the memory with this stem.
pub(in crate::engine) fn usage_of(live: &LiveStore, stem: &Stem) -> Usage {
    uses(live).of(stem.as_str()).cloned().unwrap_or_default()
}

/// Returns all uses that can be read.
fn uses(live: &LiveStore) -> Arc<Uses> {
    let (uses, trouble) = live.journal.uses();
    if let Some(error) = trouble {
        warn_of_journal(live, "some uses do not count", &error);
    }
    uses
}

/// Fails if some uses cannot be read.
pub(in crate::engine) fn check_uses(live: &LiveStore) -> Result<(), EngineError> {
    let (_, trouble) = live.journal.uses();
    Ok(trouble.map_or(Ok(()), Err)?)
}

/// Returns the records of changes of one memory, oldest first.
///
/// # Errors
///
/// Fails if a journal cannot be read.
pub fn records_of(live: &LiveStore, stem: &Stem) -> Result<Vec<Record>, EngineError> {
    let is_of =
        |record: &Record| record.did != SESSION && record.of.iter().any(|of| of == stem.as_str());
    Ok(live.journal.records(&is_of)?)
}

/// Returns the records of all changes since a moment, oldest first.
///
/// # Errors
///
/// Fails if a journal cannot be read.
pub fn records_since(
    live: &LiveStore,
    since: Option<DateTime<Utc>>,
) -> Result<Vec<Record>, EngineError> {
    let is_since = |record: &Record| since.is_none_or(|since| record.at >= since);
    Ok(live.journal.records(&is_since)?)
}

/// Writes the uses that wait for the journal; returns false if they wait on.
pub(in crate::engine) fn write_noted_uses(live: &LiveStore) -> bool {
    // A store that was moved away is not recreated.
    if live.check_there().is_err() {
        return false;
    }
    let written = live.journal.write_noted();
    if let Err(error) = &written {
        warn_of_journal(live, UNRECORDED, error);
    }
    written.is_ok()
}

/// Sums up the uses in the closed journals of this copy.
pub(in crate::engine) fn sum_up_journals(live: &LiveStore) {
    if live.is_read_only() || live.check_there().is_err() {
        return;
    }
    if let Err(error) = live.journal.sum_up() {
        warn_of_journal(live, "uses in old journals are not summed up", &error);
    }
}

/// Logs the first error of a journal.
pub(in crate::engine) fn warn_of_journal(live: &LiveStore, what: &str, error: &JournalError) {
    if !live.warned_of_journal.swap(true, Ordering::Relaxed) {
        tracing::warn!("{what}: {error}");
    }
}
