//! Dates notes without a timestamp by the commit that changed them last.
//!
//! A checkout gives every file the time at which it was written here. For a memory that does not
//! matter, as its name and its frontmatter hold its time; for a note without either, the time
//! of the file is all there is. So that a clone does not make such notes new, memdir gives a file
//! that it took from a commit, brought back, or found as git wrote it, the time of the commit that
//! its text is from. If the file was older than that commit, as in a folder of notes that became a
//! store, the journal of the committing machine records its time. The text stays as it is.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, TimeDelta};

use crate::engine::error::EngineError;
use crate::engine::history::commits::compare::Difference;
use crate::engine::history::commits::{commit_message, quarantine};
use crate::engine::history::merge_plan::MergeStep;
use crate::engine::history::past_commits::PastCommits;
use crate::engine::history::{History, consent, past_commits};
use crate::engine::texts::stem_of;
use crate::files::{FilesError, Place, Version, read_derived, write_derived};
use crate::git;
use crate::git::{Id, LastChanges, Repository};
use crate::journal::{DATE, RESTORE, Record};

/// Dates the notes that git wrote since the last call: by a clone, a checkout or a pull. Only reads
/// the newest commit's id if there was none.
pub(in crate::engine) fn date_what_git_wrote(history: &History) -> Result<(), EngineError> {
    if history.git.is_none() || history.live.indexes_alone() {
        return Ok(());
    }
    let Some(repository) = consent::repository(history)? else {
        return Ok(());
    };
    let Some(head) = repository.head()? else {
        return Ok(());
    };
    let note = history.live.state().join(DATED);
    let dated = read_derived(&note).ok();
    if dated.as_deref() == Some(head.to_string().as_bytes()) {
        return Ok(());
    }
    let dated = dated.and_then(|text| Id::parse(str::from_utf8(&text).ok()?));
    // The commit may be gone by now, for example after a rewrite.
    match dated.map(|dated| git::diff(&repository, Some(dated), head)) {
        Some(Ok(changes)) => {
            let names = changes.into_iter().filter_map(|change| {
                let name = change.path.strip_prefix("files/")?;
                Some((name.to_owned(), change.after?))
            });
            date(history, &repository, names.collect(), head)?;
        }
        Some(Err(_)) | None => date_found(history, &repository, head)?,
    }
    let written = write_derived(&note, head.to_string().as_bytes());
    written.map_err(|source| {
        EngineError::from(FilesError::Io {
            action: "write",
            path: note,
            source,
        })
    })
}

/// Dates those of the files `names` whose text is that of the newest commit.
pub(in crate::engine) fn date_brought_back(
    history: &History,
    names: &BTreeSet<String>,
) -> Result<(), EngineError> {
    let PastCommits { repository, head } = past_commits::history(history)?;
    let mut trees = git::trees(&repository, Some(head))?;
    let mut committed = Vec::new();
    for name in names {
        if let Some(id) = trees.file(&Place::Files.path_of(name))? {
            committed.push((name.clone(), id));
        }
    }
    date(history, &repository, committed, head)
}

/// Dates the notes that `steps` took from `commit`.
pub(in crate::engine) fn date_brought(
    history: &History,
    repository: &Repository,
    steps: &[MergeStep],
    commit: Id,
) -> Result<(), EngineError> {
    let taken = steps.iter().filter(|step| step.text.is_none());
    let taken =
        taken.filter_map(|step| Some((step.path.strip_prefix("files/")?.to_owned(), step.after?)));
    date(history, repository, taken.collect(), commit)
}

/// Dates the notes whose text is that of `commit`.
pub(in crate::engine) fn date_found(
    history: &History,
    repository: &Repository,
    commit: Id,
) -> Result<(), EngineError> {
    let committed = git::trees(repository, Some(commit))?.files_below("files")?;
    let names = committed.into_iter().filter_map(|(path, id)| {
        let name = path.strip_prefix("files/")?;
        Some((name.to_owned(), id))
    });
    date(history, repository, names.collect(), commit)
}

/// Records the times of notes among `differences` that state none and that their commit would
/// make newer.
pub(in crate::engine) fn record_dates(
    history: &History,
    repository: &Repository,
    differences: &[Difference],
) -> Result<(), EngineError> {
    let now = history.live.clock.now();
    let mut records = Vec::new();
    for difference in differences {
        let Some((name, id)) = difference.path.strip_prefix("files/").zip(difference.after) else {
            continue;
        };
        let Some(version) = undated(history, name, id)? else {
            continue;
        };
        let at = DateTime::from_timestamp_nanos(version.entry.stamp.modified);
        if now - at > COMMIT_WAITS && quarantine::passes(history, repository, difference)? {
            records.push(Record {
                at,
                did: DATE.to_owned(),
                of: vec![name.to_owned()],
                client: String::new(),
                why: Some(id.to_string()),
            });
        }
    }
    if records.is_empty() {
        return Ok(());
    }
    let known = recorded_dates(history)?;
    records.retain(|record| !known.contains_key(&dated_text(record)));
    Ok(history.live.journal.record(records)?)
}

/// Returns the recorded times of notes that were older than their commits, by the name of the note
/// and the id of the text.
fn recorded_dates(history: &History) -> Result<HashMap<(String, String), i64>, EngineError> {
    let records = history.live.journal.records(&|record| record.did == DATE)?;
    let dates = records.into_iter();
    Ok(dates
        .filter_map(|record| Some((dated_text(&record), record.at.timestamp_nanos_opt()?)))
        .collect())
}

fn dated_text(record: &Record) -> (String, String) {
    let name = record.of.first().cloned().unwrap_or_default();
    (name, record.why.clone().unwrap_or_default())
}

/// Dates those of `names` whose text is still that of the commit `to`.
fn date(
    history: &History,
    repository: &Repository,
    names: Vec<(String, Id)>,
    to: Id,
) -> Result<(), EngineError> {
    let mut last_changes: Option<LastChanges<'_>> = None;
    let mut recorded = None;
    for (name, id) in names {
        date_file(history, &name, id, || {
            let recorded = match &mut recorded {
                Some(recorded) => recorded,
                empty => empty.insert(recorded_dates(history)?),
            };
            if let Some(at) = recorded.get(&(name.clone(), id.to_string())) {
                return Ok(*at);
            }
            let changes = match &mut last_changes {
                Some(changes) => changes,
                empty => empty.insert(git::last_changes(repository, to, None, |path| path)?),
            };
            let at = changes.of_text(&Place::Files.path_of(&name), brings_back)?;
            Ok(at.saturating_mul(1_000_000_000))
        })?;
    }
    Ok(())
}

/// Sets the modification time of a note with the text `id` and no timestamp to `at`, in nanoseconds since
/// 1970, if its file has a later one.
pub(in crate::engine) fn date_file(
    history: &History,
    name: &str,
    id: Id,
    at: impl FnOnce() -> Result<i64, EngineError>,
) -> Result<(), EngineError> {
    let Some(version) = undated(history, name, id)? else {
        return Ok(());
    };
    let at = at()?;
    if at.saturating_add(STEP) <= version.entry.stamp.modified {
        history.writer.set_modified(&version, at)?;
    }
    Ok(())
}

/// Returns the note called `name`, if its text is `id` and states no time.
fn undated(history: &History, name: &str, id: Id) -> Result<Option<Version>, EngineError> {
    if stem_of(name).time().is_some() {
        return Ok(None);
    }
    let version = match history.live.store.reader(Place::Files).read(name, u64::MAX) {
        Err(FilesError::Missing { .. } | FilesError::NotRegular { .. }) => return Ok(None),
        other => other?,
    };
    let is_undated = Id::of_text(&version.bytes) == id && !states_its_time(&version);
    Ok(is_undated.then_some(version))
}

/// State file with the commit up to which notes were dated.
const DATED: &str = "dated";

/// Resolution of commit times, in nanoseconds: within it, a file is as old as its commit.
const STEP: i64 = 1_000_000_000;

/// Maximum time between a change and its commit: an older file existed before.
const COMMIT_WAITS: TimeDelta = TimeDelta::minutes(1);

/// Whether a commit with this message restores earlier texts of memories.
fn brings_back(message: &str) -> bool {
    let tools = commit_message::read(message).tools;
    // As `restore (claude-code)`, with the client.
    let mut tools = tools.iter().filter_map(|tool| tool.split(' ').next());
    tools.any(|tool| tool == "undo" || tool == RESTORE)
}

/// Whether the name or the frontmatter of a file states its time.
fn states_its_time(version: &Version) -> bool {
    let nothing = DateTime::UNIX_EPOCH;
    let stem = stem_of(&version.entry.name);
    crate::format::parse(&stem, &version.bytes, nothing)
        .timestamp
        .utc()
        != nothing
}
