//! Performs plans, and reverts them.

use std::io;

use crate::engine::error::EngineError;
use crate::engine::ops::maintenance::proposed::{Proposed, RECORDS_KEPT};
use crate::engine::ops::maintenance::record::{PlanState, Recorded, Records, Step};
use crate::engine::ops::update::edited;
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::engine::write::screen::Screened;
use crate::engine::write::{new, replace, screen};
use crate::files::{FilesError, Lock, Place, Replaced, digest};
use crate::format;
use crate::journal::{RESTORE, UNDO_DECAY};
use crate::lifecycle::MaintenanceKind;
use crate::model::{Stem, Timestamp};

/// Result of performing a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Performed {
    /// Id of the plan, by which `undo` reverts it.
    pub id: String,
    /// Memories that it created.
    pub created: Vec<Stem>,
    /// Memories that it changed.
    pub edited: Vec<Stem>,
    /// Memories that it archived.
    pub archived: Vec<Stem>,
    /// Credentials found in the created memories.
    pub screened: Vec<Screened>,
}

/// Result of reverting a plan.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TakenBack {
    /// Id of the plan.
    pub id: String,
    /// Memories that were restored from the archive.
    pub restored: Vec<Stem>,
    /// Memories whose earlier text was restored.
    pub edited: Vec<Stem>,
    /// Memories that the plan had created, and that were removed.
    pub removed: Vec<Stem>,
    /// Files that stay because somebody changed them since; only of an interrupted plan.
    pub kept: Vec<String>,
}

fn plan_records(engine: &Engine) -> Records {
    Records(engine.live.state().join("plans"))
}

fn lock_plans(engine: &Engine) -> Result<Lock, EngineError> {
    let path = engine.live.state().join("locks").join("plans.lock");
    Ok(Lock::take(&path, "another plan of maintenance")?)
}

/// Performs a plan completely or not at all; `None` if there is nothing to do.
///
/// # Errors
///
/// Fails if a memory has changed since the plan was made, or if any step fails; then the steps
/// done so far are reverted.
pub fn perform_plan(
    engine: &Engine,
    proposed: &Proposed,
) -> Result<Option<Performed>, EngineError> {
    engine.writer.check_writable()?;
    if proposed.plan.is_empty() {
        return Ok(None);
    }
    let _lock = lock_plans(engine)?;
    take_back_begun(engine)?;
    let (steps, screened) = self::steps(engine, proposed)?;
    let operation = proposed.plan.operation.as_str();
    let mut record = Recorded::new(operation, engine.live.clock.now(), steps);
    let records = plan_records(engine);
    engine.writer.create()?;
    written(records.write(&mut record), &record.id)?;
    let _together = engine.writer.collect_records();
    if let Err(error) = do_steps(engine, &record) {
        // Steps that cannot be reverted now are reverted by the next process.
        if take_back_steps(engine, &record, true)?.kept.is_empty() {
            written(records.remove(&record.id), &record.id)?;
        }
        return Err(error);
    }
    record.state = PlanState::Done;
    written(records.write(&mut record), &record.id)?;
    for step in &record.steps {
        let why = Some(record.id.as_str());
        engine
            .writer
            .note_change_because(operation, step.name(), why);
    }
    remove_old_records(engine);
    let stems = |is_it: fn(&Step) -> bool| {
        let steps = record.steps.iter().filter(|step| is_it(step));
        steps.map(|step| stem_of(step.name())).collect()
    };
    Ok(Some(Performed {
        id: record.id.clone(),
        created: stems(|step| matches!(step, Step::Create { .. })),
        edited: stems(|step| matches!(step, Step::Edit { .. })),
        archived: stems(|step| matches!(step, Step::Archive { .. })),
        screened,
    }))
}

/// Returns the plans that were performed or begun on this machine, newest first.
///
/// # Errors
///
/// Fails if their records cannot be read.
pub fn plans(engine: &Engine) -> Result<Vec<Recorded>, EngineError> {
    written(plan_records(engine).all(), "plans")
}

/// Reverts the plan called `id`: archived memories are restored, changed ones get their earlier text,
/// and created ones are removed. With `dry_run` only returns what would be done.
///
/// # Errors
///
/// Fails if there is no such plan, if it was reverted already, or if its results were changed since;
/// then nothing is done.
pub fn take_back(engine: &Engine, id: &str, dry_run: bool) -> Result<TakenBack, EngineError> {
    if !dry_run {
        engine.writer.check_writable()?;
    }
    let records = plan_records(engine);
    let _lock = match dry_run {
        true => None,
        false => Some(lock_plans(engine)?),
    };
    let Some(mut record) = written(records.read(id), id)? else {
        return Err(EngineError::Invalid(format!(
            "there is no plan `{id}` on this machine"
        )));
    };
    if record.state == PlanState::TakenBack {
        return Err(EngineError::Invalid(format!(
            "the plan {id} was taken back already"
        )));
    }
    let is_interrupted = record.state == PlanState::Begun;
    let changed = changed_since(engine, &record);
    if !changed.is_empty() && !is_interrupted {
        return Err(EngineError::Invalid(format!(
            "the plan {id} cannot be taken back, because this was changed since: {}",
            changed.join(", ")
        )));
    }
    if dry_run {
        return Ok(would_take_back(&record));
    }
    // If it is interrupted, the next process continues it.
    record.state = PlanState::Begun;
    written(records.write(&mut record), id)?;
    let _together = engine.writer.collect_records();
    let taken = take_back_steps(engine, &record, is_interrupted)?;
    if taken.kept.is_empty() {
        record.state = PlanState::TakenBack;
        written(records.write(&mut record), id)?;
    }
    Ok(taken)
}

/// Reverts the plans that were begun and not finished by a process that is gone; does nothing
/// while a plan is being performed.
///
/// # Errors
///
/// Fails if one cannot be reverted.
pub fn recover_plans(engine: &Engine) -> Result<Vec<TakenBack>, EngineError> {
    if engine.live.is_read_only() || !engine.live.state().join("plans").is_dir() {
        return Ok(Vec::new());
    }
    let _lock = match lock_plans(engine) {
        Err(EngineError::Files(FilesError::Busy { .. })) => return Ok(Vec::new()),
        other => other?,
    };
    take_back_begun(engine)
}

/// As [`recover_plans`], for a caller that holds the lock.
fn take_back_begun(engine: &Engine) -> Result<Vec<TakenBack>, EngineError> {
    let records = plan_records(engine);
    let begun = written(records.all(), "plans")?.into_iter();
    let mut taken = Vec::new();
    for mut record in begun.filter(|record| record.state == PlanState::Begun) {
        let _together = engine.writer.collect_records();
        let id = record.id.clone();
        tracing::warn!("the plan {id} was interrupted; it is taken back");
        let ended = take_back_steps(engine, &record, true)?;
        if ended.kept.is_empty() {
            record.state = PlanState::TakenBack;
            written(records.write(&mut record), &id)?;
        }
        taken.push(ended);
    }
    Ok(taken)
}

/// Converts an error of the record of `what`.
pub(in crate::engine) fn written<T>(done: io::Result<T>, what: &str) -> Result<T, EngineError> {
    done.map_err(|error| {
        EngineError::Invalid(format!("the record of {what} cannot be kept: {error}"))
    })
}

/// Checks whether a plan could be performed now.
///
/// # Errors
///
/// As for [`perform_plan`].
pub fn check_plan(engine: &Engine, proposed: &Proposed) -> Result<(), EngineError> {
    engine.writer.check_writable()?;
    steps(engine, proposed).map(drop)
}

/// Returns the steps of a plan, each on the text that it was made for.
fn steps(engine: &Engine, proposed: &Proposed) -> Result<(Vec<Step>, Vec<Screened>), EngineError> {
    let mut steps = Vec::new();
    let mut screened = Vec::new();
    // New memories are written before others are archived.
    for new in proposed
        .plan
        .proposals
        .iter()
        .filter_map(|one| one.create.as_ref())
    {
        let timestamp = new.timestamp.clone();
        let timestamp = timestamp.unwrap_or_else(|| Timestamp::from_utc(engine.live.clock.now()));
        let stem = Stem::new(timestamp.utc(), new::draw_handle(&engine.writer));
        let text = format::render(new, &stem, &timestamp)?;
        let name = engine.live.new_name(&stem);
        let (bytes, found) = screen::screen(&engine.writer, &name, None, text.into_bytes())?;
        screened.push(found);
        let text = utf8(&name, bytes)?;
        steps.push(Step::Create { name, text });
    }
    let reader = engine.live.store.reader(Place::Files);
    let as_seen = |stem: &Stem| {
        let file = proposed.files.get(stem);
        let file = file.ok_or_else(|| EngineError::NotFound(stem.as_str().to_owned()))?;
        let version = reader.read(&file.name, u64::MAX)?;
        if version.hash != file.hash {
            return Err(EngineError::Invalid(format!(
                "nothing was done: somebody changed {} since the plan was made",
                file.name
            )));
        }
        Ok((file.name.clone(), version))
    };
    for stem in proposed.sources() {
        as_seen(stem)?;
    }
    for (stem, change) in proposed.plan.proposals.iter().flat_map(|one| &one.edit) {
        let (name, version) = as_seen(stem)?;
        let memory = parse(&version.entry, &version.bytes);
        let after = edited(&memory, &version.bytes, change)?;
        let before = utf8(&name, version.bytes)?;
        let after = utf8(&name, after)?;
        steps.push(Step::Edit {
            name,
            before,
            after,
        });
    }
    for stem in proposed.plan.proposals.iter().flat_map(|one| &one.archive) {
        let (name, version) = as_seen(stem)?;
        let hash = format!("{:032x}", version.hash);
        let step = Step::Archive { name, hash };
        // Two proposals may have the same source.
        if !steps.contains(&step) {
            steps.push(step);
        }
    }
    Ok((steps, screened))
}

fn do_steps(engine: &Engine, record: &Recorded) -> Result<(), EngineError> {
    for step in &record.steps {
        match step {
            Step::Create { name, text } => {
                engine.writer.add((Place::Files, name), text.as_bytes())?;
            }
            Step::Edit {
                name,
                before,
                after,
            } => {
                swap_text(engine, name, before, after)?;
            }
            Step::Archive { name, hash } => {
                let version = engine
                    .live
                    .store
                    .reader(Place::Files)
                    .read(name, u64::MAX)?;
                if format!("{:032x}", version.hash) != *hash {
                    return Err(changed_meanwhile(name));
                }
                let (from, to) = (
                    (Place::Files, name.as_str()),
                    (Place::Archive, name.as_str()),
                );
                engine.writer.rename(from, to)?;
            }
        }
    }
    sync_names(engine, record, [Place::Archive, Place::Files])
}

/// Syncs the folders of moved files, so that the moves survive a power cut: the new names first, then
/// the removal of the old ones.
fn sync_names(
    engine: &Engine,
    record: &Recorded,
    to_and_from: [Place; 2],
) -> Result<(), EngineError> {
    let mut folders: Vec<&str> = record
        .steps
        .iter()
        .filter(|step| matches!(step, Step::Archive { .. }))
        .map(|step| {
            step.name()
                .rsplit_once('/')
                .map_or("", |(folder, _)| folder)
        })
        .collect();
    folders.sort_unstable();
    folders.dedup();
    for place in to_and_from {
        for folder in &folders {
            match engine.writer.sync_folder(place, folder) {
                // Nothing was moved there yet.
                Err(FilesError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                other => other?,
            }
        }
    }
    Ok(())
}

/// Replaces the text `from` by `to`; does nothing if it is `to` already.
fn swap_text(engine: &Engine, name: &str, from: &str, to: &str) -> Result<(), EngineError> {
    let seen = engine
        .live
        .store
        .reader(Place::Files)
        .read(name, u64::MAX)?;
    if seen.bytes == to.as_bytes() {
        return Ok(());
    }
    if seen.bytes != from.as_bytes() {
        return Err(changed_meanwhile(name));
    }
    match replace::replace_text(&engine.writer, Place::Files, name, &seen, to.as_bytes())? {
        Replaced::Done => Ok(()),
        Replaced::Stale | Replaced::KeptOther => Err(changed_meanwhile(name)),
    }
}

/// Returns the files that are neither as the steps have left them, nor as they were before.
fn changed_since(engine: &Engine, record: &Recorded) -> Vec<String> {
    let steps = record.steps.iter();
    let changed = steps.filter(|step| {
        let read = |place| {
            engine
                .live
                .store
                .reader(place)
                .read(step.name(), u64::MAX)
                .ok()
        };
        let live = read(Place::Files);
        !match step {
            Step::Create { text, .. } => {
                live.is_none_or(|version| version.bytes == text.as_bytes())
            }
            Step::Edit { before, after, .. } => live.is_some_and(|version| {
                [before, after]
                    .iter()
                    .any(|text| version.bytes == text.as_bytes())
            }),
            Step::Archive { hash, .. } => match (live, read(Place::Archive)) {
                // Somebody restored it.
                (Some(_), None) => true,
                (None, Some(version)) => format!("{:032x}", version.hash) == *hash,
                _ => false,
            },
        }
    });
    changed.map(|step| step.name().to_owned()).collect()
}

fn would_take_back(record: &Recorded) -> TakenBack {
    let mut taken = TakenBack {
        id: record.id.clone(),
        ..TakenBack::default()
    };
    for step in record.steps.iter().rev() {
        let stem = stem_of(step.name());
        match step {
            Step::Create { .. } => taken.removed.push(stem),
            Step::Edit { .. } => taken.edited.push(stem),
            Step::Archive { .. } => taken.restored.push(stem),
        }
    }
    taken
}

/// Reverts the performed steps, the last one first: archived memories are restored before their
/// summary is removed. With `leniently`, files that were changed since stay as they are.
fn take_back_steps(
    engine: &Engine,
    record: &Recorded,
    leniently: bool,
) -> Result<TakenBack, EngineError> {
    let mut taken = TakenBack {
        id: record.id.clone(),
        ..TakenBack::default()
    };
    let is_decay = record.operation == MaintenanceKind::Decay.as_str();
    let mut are_moves_synced = false;
    for step in record.steps.iter().rev() {
        if !matches!(step, Step::Archive { .. }) && !are_moves_synced {
            sync_back(engine, record)?;
            are_moves_synced = true;
        }
        let name = step.name();
        let stem = stem_of(name);
        if matches!(step, Step::Create { .. }) && !taken.kept.is_empty() {
            // It is the summary of a memory that could not be restored.
            taken.kept.push(name.to_owned());
            continue;
        }
        match take_back_step(engine, step, leniently) {
            Ok(false) => {}
            Ok(true) => {
                let (did, list) = match step {
                    Step::Archive { .. } => (RESTORE, &mut taken.restored),
                    Step::Edit { .. } if is_decay => (UNDO_DECAY, &mut taken.edited),
                    Step::Edit { .. } => ("undo", &mut taken.edited),
                    Step::Create { .. } => ("undo", &mut taken.removed),
                };
                list.push(stem);
                engine
                    .writer
                    .note_change_because(did, name, Some(&record.id));
            }
            Err(error) if leniently => {
                tracing::warn!("{name} stays as it is: {error}");
                taken.kept.push(name.to_owned());
            }
            Err(error) => return Err(error),
        }
    }
    if !are_moves_synced {
        sync_back(engine, record)?;
    }
    Ok(taken)
}

fn sync_back(engine: &Engine, record: &Recorded) -> Result<(), EngineError> {
    sync_names(engine, record, [Place::Files, Place::Archive])
}

/// Reverts one step; false if there was nothing to revert.
fn take_back_step(engine: &Engine, step: &Step, leniently: bool) -> Result<bool, EngineError> {
    let read = |place, name: &str| match engine.live.store.reader(place).read(name, u64::MAX) {
        Err(FilesError::Missing { .. }) => Ok(None),
        other => other.map(Some),
    };
    match step {
        Step::Archive { name, hash } => {
            let archived = read(Place::Archive, name)?;
            let Some(version) = archived else {
                // It was never moved, or somebody restored it.
                return match read(Place::Files, name)? {
                    Some(_) => Ok(false),
                    None => Err(EngineError::NotFound(name.clone())),
                };
            };
            if read(Place::Files, name)?.is_some() {
                return Ok(false); // Somebody brought it back otherwise.
            }
            // Even if its text has changed, it belongs among the live memories.
            if !leniently && format!("{:032x}", version.hash) != *hash {
                return Err(changed_meanwhile(name));
            }
            let (from, to) = (
                (Place::Archive, name.as_str()),
                (Place::Files, name.as_str()),
            );
            engine.writer.rename(from, to)?;
            Ok(true)
        }
        Step::Edit {
            name,
            before,
            after,
        } => {
            let live = read(Place::Files, name)?;
            let says = |text: &str| {
                let live = live.as_ref();
                live.is_some_and(|version| version.bytes == text.as_bytes())
            };
            let is_before = says(before);
            if !is_before && !says(after) && leniently {
                return Ok(false); // Somebody has changed or forgotten it since.
            }
            if !is_before {
                swap_text(engine, name, after, before)?;
            }
            Ok(!is_before)
        }
        Step::Create { name, text } => {
            let Some(version) = read(Place::Files, name)? else {
                return Ok(false);
            };
            if version.hash != digest(text.as_bytes()) {
                // Somebody has changed it.
                return match leniently {
                    true => Ok(false),
                    false => Err(changed_meanwhile(name)),
                };
            }
            // Its text is in the record.
            match engine.writer.remove((Place::Files, name), &version)? {
                Replaced::Done => Ok(true),
                Replaced::Stale | Replaced::KeptOther => Err(changed_meanwhile(name)),
            }
        }
    }
}

/// Removes the records of plans older than [`RECORDS_KEPT`].
fn remove_old_records(engine: &Engine) {
    let records = plan_records(engine);
    let before = engine.live.clock.now() - RECORDS_KEPT;
    let all = records.all().unwrap_or_default().into_iter();
    let old = all.filter(|record| record.state != PlanState::Begun && record.at < before);
    for record in old {
        let _ = records.remove(&record.id); // The next one does it.
    }
}

fn changed_meanwhile(name: &str) -> EngineError {
    EngineError::Invalid(format!("somebody changed {name} meanwhile"))
}

fn utf8(name: &str, bytes: Vec<u8>) -> Result<String, EngineError> {
    String::from_utf8(bytes)
        .map_err(|_| EngineError::Invalid(format!("{name} is not UTF-8, and is left as it is")))
}
