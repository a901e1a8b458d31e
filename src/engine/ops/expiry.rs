//! Moves expired memories to the archive, from which they can be restored.
//!
//! The leader checks every half hour. Memories that expired a day ago are moved, unless a journal
//! cannot be read or they would be many at once.

use chrono::{DateTime, TimeDelta, Utc};

use crate::engine::error::EngineError;
use crate::engine::live::{rows, usage};
use crate::engine::ops::forget;
use crate::engine::ops::forget::Archived;
use crate::engine::ops::retrieval::search;
use crate::engine::ops::talks;
use crate::engine::parts::Engine;
use crate::engine::texts::parse;
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::model::{Filter, TALK, Talks, Visibility, is_talk_name};

/// Minimum time since the expiry of a memory before it is archived automatically: journals of other
/// machines, which may record a use of it, come within an hour while both are on.
const GRACE: TimeDelta = TimeDelta::days(1);

/// Number of expired memories that are always archived automatically. More of them are left if they are
/// more than one in [`SHARE`] of all: a clock may be wrong, or a setting have come from elsewhere.
const MOST: usize = 20;

/// Share of expired memories, as one in this number; see [`MOST`].
const SHARE: usize = 5;

/// Reason in the journal.
const EXPIRED: &str = "expired";

/// Moves every expired memory to the archive; with `dry_run` only returns them.
/// A memory that cannot be moved stays and does not stop the others.
///
/// # Errors
///
/// Fails if the store cannot be searched or written.
pub fn expire(engine: &Engine, dry_run: bool) -> Result<Archived, EngineError> {
    expire_until(engine, engine.live.clock.now(), None, dry_run)
}

/// As [`expire`], for automatic runs: leaves memories whose end another machine may have put off, and
/// moves nothing if they are too many at once.
///
/// # Errors
///
/// As for [`expire`].
pub(in crate::engine) fn expire_unasked(engine: &Engine) -> Result<Archived, EngineError> {
    let until = engine.live.clock.now() - GRACE;
    expire_until(engine, until, Some(search::counts(engine).files), false)
}

fn expire_until(
    engine: &Engine,
    until: DateTime<Utc>,
    of: Option<usize>,
    dry_run: bool,
) -> Result<Archived, EngineError> {
    if !dry_run {
        engine.writer.check_writable()?;
    }
    // Without all uses the expiry is unknown.
    usage::check_uses(&engine.live)?;
    let filter = Filter {
        visibility: Visibility::Expired,
        talks: Talks::Everywhere,
        ..Filter::default()
    };
    let mut names = rows::names_where(&engine.live, &filter)?;
    names.sort_unstable();
    // A memory that was just written stays, whatever end it states.
    let written_until = of.map(|_| until);
    let has_expired = |name: &str| self::has_expired(engine, name, until, written_until);
    names.retain(|name| has_expired(name));
    if let Some(all) = of
        && names.len() > MOST
        && names.len() * SHARE > all
    {
        return Err(EngineError::TooManyExpired(names.len()));
    }
    names.extend(old_talks(engine)?);
    names.sort_unstable();
    names.dedup();
    // The file decides, with the latest uses.
    let is_meant = |name: &str| has_expired(name) || is_old_talk(engine, name);
    Ok(forget::archive_all(
        engine,
        names,
        Some(EXPIRED),
        dry_run,
        is_meant,
    ))
}

/// Returns the files of talks that may be older than they are kept; none if they are kept for ever.
fn old_talks(engine: &Engine) -> Result<Vec<String>, EngineError> {
    let Some(keep) = engine.live.keep_talks else {
        return Ok(Vec::new());
    };
    let filter = Filter {
        equals: vec![(format!("metadata.{TALK}"), "true".to_owned())],
        until: Some(engine.live.clock.now() - keep),
        visibility: Visibility::Everything,
        talks: Talks::Everywhere,
        ..Filter::default()
    };
    let mut names = rows::names_where(&engine.live, &filter)?;
    names.retain(|name| is_old_talk(engine, name));
    Ok(names)
}

/// Whether the last message of a talk is older than talks are kept.
fn is_old_talk(engine: &Engine, name: &str) -> bool {
    let (Some(keep), Some(memory)) = (
        engine.live.keep_talks,
        rows::read_memory(&engine.live, name),
    ) else {
        return false;
    };
    let ended = talks::moment(&memory, talks::ENDED).unwrap_or_else(|| memory.timestamp.utc());
    is_talk_name(name) && memory.is_talk() && ended < engine.live.clock.now() - keep
}

fn has_expired(
    engine: &Engine,
    name: &str,
    until: DateTime<Utc>,
    written_until: Option<DateTime<Utc>>,
) -> bool {
    let reader = engine.live.store.reader(Place::Files);
    let Ok(version) = reader.read(name, MAX_INDEXED_BYTES as u64) else {
        return false;
    };
    let memory = parse(&version.entry, &version.bytes);
    let is_young = |until: DateTime<Utc>| memory.timestamp.utc() > until;
    if written_until.is_some_and(is_young) {
        return false;
    }
    let (state, _) = usage::state_of(&engine.live, &memory);
    state.is_expired(until)
}
