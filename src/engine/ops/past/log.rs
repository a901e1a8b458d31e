//! What happened to the memories, and what they said before.
//!
//! Promises: a memory is followed by its stem, through the archive, moves between folders, and
//! times when it was not there; commits that did not touch the store are passed over; nothing is
//! written. Works for stores that can only be read. Committing what waits first is the caller's.
//!
//! The commits are walked, newest first. A commit touched the store if the ids of `files/`,
//! `archive/`, `tombstones/` or the settings differ from those of every parent; it touched a memory
//! if what lies under its stem, in whatever folder, differs. Folders are read raw, each once. An id
//! is looked for among the live memories, then the forgotten ones, then all names there ever were.

use chrono::{DateTime, Utc};

use crate::engine::error::EngineError;
use crate::engine::history::commits::commit_message;
use crate::engine::history::commits::commit_message::CommitMessage;
use crate::engine::history::past_commits;
use crate::engine::history::past_commits::{PastCommits, PastText, Revision, time_of};
use crate::engine::live::names;
use crate::engine::live::names::Matches;
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::files::{FilesError, Place, Version};
use crate::git;
use crate::git::{CommitInfo, Id};
use crate::model::{Stem, plain_id};

/// One commit, as far as people want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastChange {
    /// The commit's whole id.
    pub commit: String,
    pub at: DateTime<Utc>,
    /// What happened: the commit's first line.
    pub what: String,
    /// Whom the commit names; empty where it names nobody.
    pub agents: Vec<String>,
    pub users: Vec<String>,
    pub tools: Vec<String>,
    /// Who committed, by name.
    pub author: String,
    /// What was done to which memories, by their short ids, as far as the commit says so.
    pub memories: Vec<(String, String)>,
}

impl PastChange {
    /// The first ten digits of the commit's id.
    pub fn short(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }
}

/// Some commits, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The memory that was asked for.
    pub stem: Option<Stem>,
    pub changes: Vec<PastChange>,
    /// There are older ones.
    pub has_more: bool,
}

/// Two texts of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    pub stem: Stem,
    /// `None` if it never said anything else than now.
    pub before: Option<PastText>,
    pub now: PastText,
}

/// The newest `most` commits that touched the store; with an `id`, those that touched that
/// memory, be it live, forgotten or gone.
///
/// # Errors
///
/// Fails if there is no history, or no such memory in it.
pub fn log(engine: &Engine, id: Option<&str>, most: usize) -> Result<Log, EngineError> {
    let history = past_commits::history(&engine.history)?;
    let stem = id
        .map(|id| resolve_ever(engine, &history, id))
        .transpose()?;
    let mut log = Log {
        stem: stem.clone(),
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
    match &stem {
        Some(stem) => history.each_of(stem, |moment, _| take(moment))?,
        None => history.each(take)?,
    }
    Ok(log)
}

/// What the live or forgotten memory called `id` is called in lists; `None` if there is none.
pub fn headline(engine: &Engine, id: &str) -> Option<String> {
    let found =
        names::resolve(&engine.live, id).or_else(|_| names::resolve_archived(&engine.live, id));
    let (_, version) = present(engine, &found.ok()?.0).ok()??;
    let memory = parse(&version.entry, &version.bytes);
    Some(memory.headline().to_owned())
}

/// As [`headline`], as of the commit of that whole id; of a memory that it deleted, as of
/// before.
pub fn headline_at(engine: &Engine, id: &str, commit: &str) -> Option<String> {
    let headline = || -> Result<Option<String>, EngineError> {
        let history = past_commits::history(&engine.history)?;
        let stem = resolve_ever(engine, &history, id)?;
        let Some(commit) = Id::parse(commit) else {
            return Ok(None);
        };
        let mut text = history.text_at(&stem, commit, None);
        if let Some(parent) = git::parents(&history.repository, commit)?.first()
            && text.is_err()
        {
            text = history.text_at(&stem, *parent, None);
        }
        let memory = crate::format::parse(&stem, &text?.bytes, DateTime::UNIX_EPOCH);
        Ok(Some(memory.headline().to_owned()))
    };
    headline().ok().flatten()
}

/// What the memory called `id` says now, and what it said at `revision`; without one, the
/// newest text that was another.
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
    let stem = resolve_ever(engine, &history, id)?;
    let now = match present(engine, &stem)? {
        Some((place, version)) => PastText {
            file: Some(place.path_of(&version.entry.name)),
            bytes: version.bytes,
            commit: None,
        },
        None => PastText {
            file: None,
            bytes: Vec::new(),
            commit: None,
        },
    };
    let before = match revision {
        Some(revision) => {
            let commit = history.find(revision)?;
            Some(history.text_at(&stem, commit, now.file.as_deref())?)
        }
        None => history.last_other(&stem, &now)?,
    };
    Ok(Versions { stem, before, now })
}

/// The memory called `id`: a live one, else a forgotten one, else one that was there once.
pub(in crate::engine) fn resolve_ever(
    engine: &Engine,
    history: &PastCommits,
    id: &str,
) -> Result<Stem, EngineError> {
    match names::resolve(&engine.live, id) {
        Err(EngineError::NotFound(_)) => {}
        other => return other.map(|(stem, _)| stem),
    }
    match names::resolve_archived(&engine.live, id) {
        Err(EngineError::NotFound(_)) => {}
        other => return other.map(|(stem, _)| stem),
    }
    let mut matches = Matches::new(id);
    for name in history.names_like(&plain_id(id))? {
        matches.take(&name);
    }
    let not_found = |_| EngineError::NotFound(id.to_owned());
    match matches.only() {
        Err(error @ EngineError::NotFound(_)) => Err(not_found(error)),
        other => other.map(|(stem, _)| stem),
    }
}

/// The file of the memory `stem`, live or forgotten.
pub(in crate::engine) fn present(
    engine: &Engine,
    stem: &Stem,
) -> Result<Option<(Place, Version)>, EngineError> {
    for place in [Place::Files, Place::Archive] {
        for entry in engine.live.store.list(place)?.entries {
            if stem_of(&entry.name) != *stem {
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
