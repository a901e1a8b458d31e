//! Scheduled maintenance by a server, if its user has enabled it.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use crate::engine::error::EngineError;
use crate::engine::ops::maintenance::proposed::Proposed;
use crate::engine::ops::maintenance::{perform, propose};
use crate::engine::ops::past::kept;
use crate::engine::parts::Engine;
use crate::files::Lock;
use crate::model::Filter;

/// Names of the file with the time of the last maintenance, beside the records of plans, and of its lock.
const LAST: [&str; 2] = ["scheduled", "schedule.lock"];

/// The same for the cleanup of the archive.
const LAST_KEPT: [&str; 2] = ["kept", "kept.lock"];

/// Interval of the cleanup of the archive.
const KEPT_INTERVAL: TimeDelta = TimeDelta::days(1);

/// Reverts interrupted plans, and runs scheduled maintenance, in a thread of its
/// own: comparing observations may take a while.
pub(in crate::engine) fn start_maintenance(engine: &Arc<Engine>) -> std::io::Result<()> {
    let engine = Arc::clone(engine);
    let thread = std::thread::Builder::new().name("maintenance".to_owned());
    let work = move || {
        if let Err(error) = perform::recover_plans(&engine) {
            tracing::warn!("cannot take back an interrupted plan: {error}");
        }
        if let Err(error) = remove_replaced_if_due(&engine) {
            tracing::warn!("cannot remove replaced texts from the archive: {error}");
        }
        if let Err(error) = maintain_if_due(&engine) {
            tracing::warn!("cannot maintain the store: {error}");
        }
    };
    thread.spawn(work).map(drop)
}

/// Compacts and cleans up, if due by the schedule; true if it was due.
///
/// # Errors
///
/// Fails if a plan cannot be made or performed; it is tried again after the interval.
pub fn maintain_if_due(engine: &Engine) -> Result<bool, EngineError> {
    let Some(interval) = engine.maintenance.schedule else {
        return Ok(false);
    };
    let Some(_lock) = due(engine, LAST, interval)? else {
        return Ok(false);
    };
    let everything = Filter::default();
    let constants = &engine.maintenance;
    let compacted = propose::plan_compaction(
        engine,
        &everything,
        &constants.compaction,
        &constants.observations,
    )
    .and_then(|plan| perform_unasked(engine, &plan));
    // Compacted memories are no longer there to be cleaned up; a failed compaction does not prevent the cleanup.
    let cleaned = propose::plan_cleanup(engine, &everything, &constants.cleanup)
        .and_then(|plan| perform_unasked(engine, &plan));
    compacted.and(cleaned).map(|()| true)
}

/// Removes the replaced texts that the archive need not keep, once a day.
///
/// # Errors
///
/// As for [`kept::remove_replaced`].
pub(in crate::engine) fn remove_replaced_if_due(engine: &Engine) -> Result<(), EngineError> {
    if let Some(_lock) = due(engine, LAST_KEPT, KEPT_INTERVAL)? {
        let removed = kept::remove_replaced(engine, false)?.len();
        if removed > 0 {
            tracing::info!("{removed} replaced texts left the archive; the history holds them");
        }
    }
    Ok(())
}

/// Takes the lock for work that is due and records it as done; `None` if it is not due, or another
/// process does it.
fn due(
    engine: &Engine,
    [last, lock]: [&str; 2],
    interval: TimeDelta,
) -> Result<Option<Lock>, EngineError> {
    if engine.live.is_read_only() || engine.live.check_there().is_err() {
        return Ok(None);
    }
    // Only one of several processes does it.
    let path = engine.live.state().join("locks").join(lock);
    let Some(lock) = Lock::try_take(&path)? else {
        return Ok(None);
    };
    let now = engine.live.clock.now();
    let path = engine.live.state().join("plans").join(last);
    let last = crate::files::read_derived(&path).ok();
    let last = last.and_then(|text| String::from_utf8(text).ok());
    let last: Option<DateTime<Utc>> = last.and_then(|text| text.trim().parse().ok());
    // A time in the future is from a wrong clock.
    if last.is_some_and(|last| last <= now && now < last + interval) {
        return Ok(None);
    }
    let noted = crate::files::create_private_folder(&engine.live.state().join("plans"))
        .and_then(|()| crate::files::write_derived(&path, now.to_rfc3339().as_bytes()));
    perform::written(noted, "the schedule")?;
    Ok(Some(lock))
}

fn perform_unasked(engine: &Engine, plan: &Proposed) -> Result<(), EngineError> {
    for (because, trouble) in &plan.left_out {
        tracing::warn!("left as it is: {because}: {trouble}");
    }
    if let Some(done) = perform::perform_plan(engine, plan)? {
        let operation = plan.plan.operation.as_str();
        let (created, archived) = (done.created.len(), done.archived.len());
        tracing::info!(
            "{operation}: {created} memories were made, {archived} archived; \
                 `memdir undo {}` takes it back",
            done.id
        );
    }
    Ok(())
}
