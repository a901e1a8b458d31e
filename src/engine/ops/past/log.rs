//! History of the memories and their earlier texts.
//!
//! Promises: a memory is followed by its stem, through the archive, moves between folders, and
//! times when it did not exist; commits that did not touch the store are skipped; nothing is
//! written. Works for read-only stores. The caller commits pending changes first.
//!
//! The commits are walked, newest first. A commit touched the store if the ids of `files/`,
//! `archive/`, `tombstones/` or the settings differ from those of every parent; it touched a memory
//! if the files under its stem, in whatever folder, differ. Tree objects are read raw, each once. An id
//! is resolved among the live memories, then the forgotten ones, then all names of the history.

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::history::commits::commit_message;
use crate::engine::history::commits::commit_message::CommitMessage;
use crate::engine::history::past_commits;
use crate::engine::history::past_commits::{PastCommits, PastText, Revision, time_of};
use crate::engine::live::names;
use crate::engine::live::names::Matches;
use crate::engine::parts::Engine;
use crate::engine::texts::{files_of, parse};
use crate::files::{FilesError, FilesOf, Place, Version};
use crate::git;
use crate::git::{CommitInfo, Id};
use crate::model::{Stem, plain_id};

/// One commit, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastChange {
    /// Full commit id.
    pub commit: String,
    /// Time of the commit.
    pub at: DateTime<Utc>,
    /// First line of the commit's message.
    pub what: String,
    /// Agents that the commit names; empty where it names none.
    pub agents: Vec<String>,
    /// Users that the commit names.
    pub users: Vec<String>,
    /// Tools that the commit names.
    pub tools: Vec<String>,
    /// Name of the committer.
    pub author: String,
    /// Operation and short id of each changed memory, as far as the message lists them.
    pub memories: Vec<(String, String)>,
}

impl PastChange {
    /// Returns the first ten digits of the commit's id.
    pub fn short(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }
}

/// A page of commits, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// Memory that was asked for.
    pub stem: Option<Stem>,
    /// Commits, newest first.
    pub changes: Vec<PastChange>,
    /// Whether there are older ones.
    pub has_more: bool,
}

/// Two texts of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    /// Stem of the memory.
    pub stem: Stem,
    /// Earlier text; `None` if there was no other text.
    pub before: Option<PastText>,
    /// Present text.
    pub now: PastText,
}

/// Returns the newest `most` commits that touched the store; with an `id`, those that touched that
/// memory, whether live, forgotten or gone.
///
/// # Errors
///
/// Fails if there is no history, or no such memory in it.
pub fn log(engine: &Engine, id: Option<&str>, most: usize) -> Result<Log, EngineError> {
    let history = past_commits::history(&engine.history)?;
    let found = id
        .map(|id| resolve_ever(engine, &history, id))
        .transpose()?;
    let mut log = Log {
        stem: found.as_ref().map(|(stem, _)| stem.clone()),
        changes: Vec::new(),
        has_more: false,
    };
    let mut take = |moment: CommitInfo| {
        log.has_more = log.changes.len() >= most;
        if !log.has_more {
            log.changes.push(change(moment));
        }
        Ok(!log.has_more)
    };
    match &found {
        Some((stem, name)) => history.each_of(files_of(stem, name), |moment, _| take(moment))?,
        None => history.each(take)?,
    }
    Ok(log)
}

/// Returns the headline of the live or forgotten memory called `id`; `None` if there is none.
pub fn headline(engine: &Engine, id: &str) -> Option<String> {
    let found =
        names::resolve(&engine.live, id).or_else(|_| names::resolve_archived(&engine.live, id));
    let (stem, name) = found.ok()?;
    let (_, version) = present(engine, files_of(&stem, &name)).ok()??;
    let memory = parse(&version.entry, &version.bytes);
    Some(memory.headline().to_owned())
}

/// As [`headline`], as of the commit of that full id; of a memory that it deleted, as of its parent.
pub fn headline_at(engine: &Engine, id: &str, commit: &str) -> Option<String> {
    let headline = || -> Result<Option<String>, EngineError> {
        let history = past_commits::history(&engine.history)?;
        let (stem, name) = resolve_ever(engine, &history, id)?;
        let named = (files_of(&stem, &name), stem.short());
        let Some(commit) = Id::parse(commit) else {
            return Ok(None);
        };
        let mut text = history.text_at(named, commit, None);
        if let Some(parent) = git::parents(&history.repository, commit)?.first()
            && text.is_err()
        {
            text = history.text_at(named, *parent, None);
        }
        let memory = crate::format::parse(&stem, &text?.bytes, DateTime::UNIX_EPOCH);
        Ok(Some(memory.headline().to_owned()))
    };
    headline().ok().flatten()
}

/// Returns the present text of the memory called `id`, and its text at `revision`; without a revision,
/// the newest text that differs.
///
/// # Errors
///
/// Fails if there is no history, no such memory in it, or no such revision, or if the memory
/// was not there then.
pub fn versions(
    engine: &Engine,
    id: &str,
    revision: Option<&Revision>,
) -> Result<Versions, EngineError> {
    let history = past_commits::history(&engine.history)?;
    let (stem, name) = resolve_ever(engine, &history, id)?;
    let files = files_of(&stem, &name);
    let now = present_text(engine, files)?;
    let before = match revision {
        Some(revision) => {
            let commit = history.find(revision)?;
            let named = (files, stem.short());
            Some(history.text_at(named, commit, now.file.as_deref())?)
        }
        None => history.last_other(files, &now)?,
    };
    Ok(Versions { stem, before, now })
}

/// Returns the present text of a memory, live or forgotten; one without a file and without bytes if it is gone.
pub(in crate::engine) fn present_text(
    engine: &Engine,
    files: FilesOf<'_>,
) -> Result<PastText, EngineError> {
    let (file, bytes) = match present(engine, files)? {
        Some((place, version)) => (Some(place.path_of(&version.entry.name)), version.bytes),
        None => (None, Vec::new()),
    };
    Ok(PastText {
        file,
        bytes,
        commit: None,
    })
}

/// Returns the memory called `id`, with the name of its file: a live one, else a forgotten one, else one from
/// the history.
pub(in crate::engine) fn resolve_ever(
    engine: &Engine,
    history: &PastCommits,
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
    let mut matches = Matches::new(id);
    for name in history.names_like(&plain_id(id))? {
        matches.take(&name);
    }
    match matches.only() {
        Err(EngineError::NotFound(_)) => Err(EngineError::NotFound(id.to_owned())),
        other => other,
    }
}

/// Returns the first of `files` that is there, a live one or else a forgotten one.
pub(in crate::engine) fn present(
    engine: &Engine,
    files: FilesOf<'_>,
) -> Result<Option<(Place, Version)>, EngineError> {
    for place in [Place::Files, Place::Archive] {
        for entry in engine.live.store.list_called(place, &files.file())? {
            if !files.has(&entry.name) {
                continue;
            }
            match engine.live.store.reader(place).read(&entry.name, u64::MAX) {
                Ok(version) => return Ok(Some((place, version))),
                Err(FilesError::Missing { .. }) => {} // It may be in the other place by now.
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(None)
}

fn change(moment: CommitInfo) -> PastChange {
    let CommitMessage {
        subject,
        agents,
        users,
        tools,
        memories,
        ..
    } = commit_message::read(&moment.message);
    PastChange {
        commit: moment.id.to_string(),
        at: time_of(&moment),
        what: subject,
        agents,
        users,
        tools,
        author: moment.author,
        memories,
    }
}
