//! History of a store whose storage keeps it, without git: changes by numbers, and the texts that stood there.
//!
//! A change is named by its number. Who made it, and by which tool, is in the journal; a record belongs to the change
//! of its memory that is nearest in time.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};

use crate::engine::error::{EngineError, PastError};
use crate::engine::history::past_commits::{PastText, Revision};
use crate::engine::live::names;
use crate::engine::live::names::Matches;
use crate::engine::ops::past::log::{Log, PastChange, Versions, present_text};
use crate::engine::ops::past::undo::RestoredText;
use crate::engine::ops::past::{log, undo};
use crate::engine::parts::Engine;
use crate::engine::texts::{files_of, key_of, stem_of};
use crate::files::{ChangeLog, FilesOf, Place, RecordedChange};
use crate::journal::{Record, SESSION};
use crate::model::{Stem, plain_id};

/// Maximum time between a change and its record: two clocks, and a slow write.
const APART: TimeDelta = TimeDelta::seconds(5);

/// Returns the newest `most` changes of the store; with an `id`, those of that memory, whether live, forgotten or
/// gone: of the history that the storage keeps, or of git's.
///
/// # Errors
///
/// As for [`log::log`].
pub fn log(engine: &Engine, id: Option<&str>, most: usize) -> Result<Log, EngineError> {
    let Some(history) = engine.live.store.change_log() else {
        return log::log(engine, id, most);
    };
    let found = id.map(|id| resolve(engine, history, id)).transpose()?;
    let files = found.as_ref().map(|(stem, name)| files_of(stem, name));
    let mut changes = history.recorded(files, most.saturating_add(1))?;
    let has_more = changes.len() > most;
    changes.truncate(most);
    let earliest = changes.last().map(|change| time_of(change) - APART);
    let is_wanted = |record: &Record| {
        record.did != SESSION && earliest.is_some_and(|earliest| record.at >= earliest)
    };
    let records = engine.live.journal.records(&is_wanted)?;
    let changes = changes.iter().map(|change| shown(change, &records));
    Ok(Log {
        stem: found.map(|(stem, _)| stem),
        changes: changes.collect(),
        has_more,
    })
}

/// Returns the present text of the memory called `id`, and its text at `revision`; without a revision, the newest text
/// that differs.
///
/// # Errors
///
/// As for [`log::versions`].
pub fn versions(
    engine: &Engine,
    id: &str,
    revision: Option<&Revision>,
) -> Result<Versions, EngineError> {
    let Some(history) = engine.live.store.change_log() else {
        return log::versions(engine, id, revision);
    };
    let (stem, name) = resolve(engine, history, id)?;
    let files = files_of(&stem, &name);
    let now = present_text(engine, files)?;
    let before = match revision {
        Some(revision) => {
            let number = number_of(history, files, revision)?;
            Some(text_at(history, (files, stem.short()), number)?)
        }
        None => last_other(history, (files, stem.short()), &now)?,
    };
    Ok(Versions { stem, before, now })
}

/// Gives the memory called `id` the text that it had as of `revision`, and makes it live.
///
/// # Errors
///
/// As for [`undo::restore_as_of`].
pub fn restore_as_of(
    engine: &Engine,
    id: &str,
    revision: &Revision,
) -> Result<RestoredText, EngineError> {
    let Some(history) = engine.live.store.change_log() else {
        return undo::restore_as_of(engine, id, revision);
    };
    engine.writer.check_writable()?;
    let (stem, name) = resolve(engine, history, id)?;
    let files = files_of(&stem, &name);
    let number = number_of(history, files, revision)?;
    let text = text_at(history, (files, stem.short()), number)?;
    let (name, names) = undo::put_back(engine, (&stem, files), &text, id)?;
    Ok(RestoredText {
        stem,
        name,
        as_of: number.to_string(),
        changed: !names.is_empty(),
    })
}

/// Returns the memory called `id`, with the name of its file: a live one, else a forgotten one, else one that was there
/// once.
pub(super) fn resolve(
    engine: &Engine,
    history: &dyn ChangeLog,
    id: &str,
) -> Result<(Stem, String), EngineError> {
    match names::resolve(&engine.live, id) {
        Err(EngineError::NotFound(_)) => {}
        other => return other,
    }
    match names::resolve_archived(&engine.live, id) {
        Err(EngineError::NotFound(_)) => {}
        other => return other,
    }
    let plain = plain_id(id);
    let beginning = plain.rsplit('/').next().unwrap_or(&plain);
    let mut matches = Matches::new(id);
    let names = history.names_like(beginning)?;
    let names: BTreeSet<&str> = names.iter().map(|name| key_of(name)).collect();
    names.into_iter().for_each(|name| matches.take(name));
    match matches.only() {
        Err(EngineError::NotFound(_)) => Err(EngineError::NotFound(id.to_owned())),
        other => other,
    }
}

/// Returns the number of the change that `revision` means: a number, or the last one of `files` at a time.
fn number_of(
    history: &dyn ChangeLog,
    files: FilesOf<'_>,
    revision: &Revision,
) -> Result<u64, EngineError> {
    if let Ok(number) = revision.text.parse() {
        return Ok(number);
    }
    let Some(at) = revision.at else {
        return Err(PastError::UnknownRevision(revision.text.clone()).into());
    };
    let nanos = at.timestamp_nanos_opt().unwrap_or(i64::MAX);
    let number = history.number_at(files, nanos)?;
    number.ok_or_else(|| {
        PastError::BeforeTheBeginning {
            asked: revision.text.clone(),
            begin: at,
        }
        .into()
    })
}

/// Returns the text of the memory with these files after the change `number`; `id` names it in an error.
fn text_at(
    history: &dyn ChangeLog,
    (files, id): (FilesOf<'_>, &str),
    number: u64,
) -> Result<PastText, EngineError> {
    match history.text_after(files, number)? {
        Some((file, bytes)) => Ok(PastText {
            file: Some(file),
            bytes,
            commit: Some(number.to_string()),
        }),
        None => Err(PastError::NotThere {
            id: id.to_owned(),
            revision: number.to_string(),
        }
        .into()),
    }
}

/// Returns the newest text of the memory that differs from `now`.
fn last_other(
    history: &dyn ChangeLog,
    named: (FilesOf<'_>, &str),
    now: &PastText,
) -> Result<Option<PastText>, EngineError> {
    for change in history.recorded(Some(named.0), usize::MAX)? {
        match text_at(history, named, change.number) {
            Ok(text) if now.file.is_none() || text.bytes != now.bytes => return Ok(Some(text)),
            Ok(_) | Err(EngineError::Past(PastError::NotThere { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Returns what a change did, such as `update 1f3a9c02`.
pub(super) fn description(engine: &Engine, change: &RecordedChange) -> Result<String, EngineError> {
    let at = time_of(change);
    let is_near = |record: &Record| record.did != SESSION && (record.at - at).abs() <= APART;
    let records = engine.live.journal.records(&is_near)?;
    Ok(shown(change, &records).what)
}

fn time_of(change: &RecordedChange) -> DateTime<Utc> {
    DateTime::from_timestamp_nanos(change.at)
}

/// Returns a change as it is shown, by the record in the journal that is nearest in time.
fn shown(change: &RecordedChange, records: &[Record]) -> PastChange {
    let at = time_of(change);
    let mut stems: Vec<Stem> = change.files.iter().map(|(path, _)| stem_of(path)).collect();
    stems.dedup();
    let is_of = |record: &&Record| {
        let of = |stem: &Stem| record.of.iter().any(|of| of == stem.as_str());
        (record.at - at).abs() <= APART && stems.iter().any(of)
    };
    let record = records
        .iter()
        .filter(is_of)
        .min_by_key(|record| (record.at - at).abs())
        // What was done elsewhere before names its author itself.
        .filter(|_| change.author.is_none());
    let did = match (change.undoes, record) {
        (Some(_), _) => "undo",
        (None, Some(record)) => record.did.as_str(),
        (None, None) => kind_of(change),
    };
    let what = match stems.as_slice() {
        [stem] => format!("{did} {}", stem.short()),
        stems => format!("{did} {} memories", stems.len()),
    };
    let memories = stems.iter();
    PastChange {
        commit: change.number.to_string(),
        at,
        what,
        agents: Vec::new(),
        users: Vec::new(),
        tools: change
            .tool
            .clone()
            .or_else(|| Some(record?.did.clone()))
            .into_iter()
            .collect(),
        author: change
            .author
            .clone()
            .or_else(|| Some(record?.client.clone()))
            .unwrap_or_default(),
        memories: memories
            .map(|stem| (did.to_owned(), stem.short().to_owned()))
            .collect(),
    }
}

/// Returns the kind of a change that the journal does not name.
fn kind_of(change: &RecordedChange) -> &'static str {
    let is_in = |path: &str, place: Place| Place::of(path).is_some_and(|(of, _)| of == place);
    match change.files.as_slice() {
        [(_, true), (to, false)] if is_in(to, Place::Archive) => "forget",
        [(from, true), (_, false)] if is_in(from, Place::Archive) => "restore",
        [(_, true), (_, false)] => "move",
        files if files.iter().all(|(_, is_removed)| *is_removed) => "remove",
        _ => "write",
    }
}
