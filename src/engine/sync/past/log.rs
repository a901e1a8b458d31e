//! What happened to the memories, and what they said before.
//!
//! Promises: a memory is followed by its stem, through the archive, moves between folders, and
//! times when it was not there; commits that did not touch the store are passed over; nothing is
//! written. Works for stores that can only be read. Committing what waits first is the caller's.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use chrono::DateTime;
use chrono::Utc;

use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::live::reading::parse;
use crate::engine::live::reading::stem_of;
use crate::engine::retrieval::recall::Matches;
use crate::engine::sync::commits::commit_message;
use crate::engine::sync::commits::commit_message::CommitMessage;
use crate::files::FilesError;
use crate::files::JOURNALS;
use crate::files::Place;
use crate::files::Version;
use crate::git::CommitInfo;
use crate::git::Id;
use crate::git::Named;
use crate::git::Owner;
use crate::git::Places;
use crate::git::Repository;
use crate::git::STORE_PARTS;
use crate::model::Stem;
use crate::model::plain_id;

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
    /// As many digits of the commit's id as people read.
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

/// A moment in the history, as somebody named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// The name of a commit.
    pub text: String,
    /// The moment that the text means if no commit is called so.
    pub at: Option<DateTime<Utc>>,
}

/// What a memory said at some moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastText {
    /// Its path below the store; `None` if it was not there.
    pub file: Option<String>,
    pub bytes: Vec<u8>,
    /// The commit that holds it; `None`: the file, now.
    pub commit: Option<String>,
}

/// Two texts of one memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Versions {
    pub stem: Stem,
    /// `None` if it never said anything else than now.
    pub before: Option<PastText>,
    pub now: PastText,
}

/// Why the past cannot be told, or brought back.
#[derive(Debug, thiserror::Error)]
pub enum PastError {
    #[error("the store has no history: {why}")]
    NoHistory { why: String, hint: &'static str },
    #[error("there is no commit and no time called `{0}`")]
    UnknownRevision(String),
    #[error("`{0}` could mean more than one commit")]
    AmbiguousRevision(String),
    #[error("the history begins at {begin}, later than `{asked}`")]
    BeforeTheBeginning { asked: String, begin: DateTime<Utc> },
    #[error("`{id}` was not there as of {revision}")]
    NotThere { id: String, revision: String },
    #[error("`{text}` could mean the memory {memory} and the commit {commit}")]
    MemoryOrCommit {
        text: String,
        memory: String,
        commit: String,
    },
    #[error("neither a commit nor a memory is called `{0}`")]
    UnknownTarget(String),
    #[error("there is nothing to undo")]
    NothingToUndo,
    #[error("{commit} is undone already, by {by}")]
    UndoneAlready { commit: String, by: String },
    #[error("{commit} cannot be undone: {}", reasons.join("; "))]
    NotUndone {
        commit: String,
        reasons: Vec<String>,
    },
    #[error("`{0}` was purged: nothing brings it back")]
    Purged(String),
    #[error("nothing can be committed at present: {0}")]
    Paused(String),
}

impl PastError {
    /// What to do about it, as a sentence.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            PastError::NoHistory { hint, .. } => hint,
            PastError::UnknownRevision(_) => {
                "Write the beginning of a commit's id, HEAD~3, a date (2026-01-31), or an amount of time such as 2w. `memdir log` shows the commits."
            }
            PastError::AmbiguousRevision(_) => "Write more digits of the commit's id.",
            PastError::BeforeTheBeginning { .. } => "`memdir log` shows what there is.",
            PastError::NotThere { id, .. } => {
                return Some(format!("`memdir log {id}` shows when it was."));
            }
            PastError::MemoryOrCommit { memory, .. } => {
                return Some(format!(
                    "Write {memory}.md for the memory, or all forty digits for the commit."
                ));
            }
            PastError::UnknownTarget(_) => "`memdir log` shows the commits.",
            PastError::NothingToUndo => {
                "Everything that memdir did on this machine is undone. `memdir undo COMMIT` undoes any commit, also an undo, and one of another machine."
            }
            PastError::UndoneAlready { by, .. } => {
                return Some(format!("`memdir undo {by}` does it again."));
            }
            PastError::NotUndone { .. } => {
                "Nothing was changed. `memdir diff ID COMMIT` compares, `memdir restore ID@COMMIT` brings one memory's text back."
            }
            PastError::Purged(id) => {
                return Some(format!(
                    "`memdir log {id}` shows the commits that hold its text."
                ));
            }
            PastError::Paused(_) => "Nothing was changed. Try again when that is over.",
        };
        Some(hint.to_owned())
    }
}

/// Where memories lie.
pub(in crate::engine::sync) const FOLDERS: [&str; 2] = ["files", "archive"];

/// The commits of a store that has some.
pub(in crate::engine::sync) struct History {
    pub repository: Repository,
    /// The newest.
    pub head: Id,
}

impl Engine {
    /// The newest `most` commits that touched the store; with an `id`, those that touched that
    /// memory, be it live, forgotten or gone.
    ///
    /// # Errors
    ///
    /// Fails if there is no history, or no such memory in it.
    pub fn log(&self, id: Option<&str>, most: usize) -> Result<Log, EngineError> {
        let history = self.history()?;
        let stem = id.map(|id| self.resolve_ever(&history, id)).transpose()?;
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
    pub fn headline(&self, id: &str) -> Option<String> {
        let found = self.resolve(id).or_else(|_| self.resolve_archived(id));
        let (_, version) = self.present(&found.ok()?.0).ok()??;
        let memory = parse(&version.entry, &version.bytes);
        Some(memory.headline().to_owned())
    }

    /// As [`Engine::headline`], as of the commit of that whole id; of a memory that it deleted, as of
    /// before.
    pub fn headline_at(&self, id: &str, commit: &str) -> Option<String> {
        let headline = || -> Result<Option<String>, EngineError> {
            let history = self.history()?;
            let stem = self.resolve_ever(&history, id)?;
            let Some(commit) = Id::parse(commit) else {
                return Ok(None);
            };
            let mut text = history.text_at(&stem, commit, None);
            if let Some(parent) = history.repository.parents(commit)?.first()
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
    pub fn versions(&self, id: &str, revision: Option<&Revision>) -> Result<Versions, EngineError> {
        let history = self.history()?;
        let stem = self.resolve_ever(&history, id)?;
        let now = match self.present(&stem)? {
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

    /// The store's history.
    pub(in crate::engine::sync) fn history(&self) -> Result<History, EngineError> {
        let none = |why: &str, hint| {
            let why = why.to_owned();
            Err(PastError::NoHistory { why, hint }.into())
        };
        let is_off = self.git.is_none() && !self.is_read_only();
        let Some(repository) = self.repository()? else {
            if is_off {
                return none(
                    "its setting `git` is off",
                    "Set `git = true` in its memdir.toml, then run `memdir sync`; the history begins there.",
                );
            }
            return none(
                "nothing was committed yet",
                "`memdir sync` commits what is there.",
            );
        };
        if repository.owner() == Owner::Other {
            let folder = repository.work_folder();
            return none(
                &format!(
                    "it lies in a repository of somebody else, {}, and memdir commits nothing there",
                    folder.display()
                ),
                "What people committed there is shown by `git log` in that folder.",
            );
        }
        let Some(head) = repository.head()? else {
            return none(
                "nothing was committed yet",
                "`memdir sync` commits what is there.",
            );
        };
        Ok(History { repository, head })
    }

    /// The memory called `id`: a live one, else a forgotten one, else one that was there once.
    pub(in crate::engine::sync) fn resolve_ever(
        &self,
        history: &History,
        id: &str,
    ) -> Result<Stem, EngineError> {
        match self.resolve(id) {
            Err(EngineError::NotFound(_)) => {}
            other => return other.map(|(stem, _)| stem),
        }
        match self.resolve_archived(id) {
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
    pub(in crate::engine::sync) fn present(
        &self,
        stem: &Stem,
    ) -> Result<Option<(Place, Version)>, EngineError> {
        for place in [Place::Files, Place::Archive] {
            for entry in self.store.list(place)?.entries {
                if stem_of(&entry.name) != *stem {
                    continue;
                }
                match self.store.reader(place).read(&entry.name, u64::MAX) {
                    Ok(version) => return Ok(Some((place, version))),
                    Err(FilesError::Missing { .. }) => {} // It may be in the other place by now.
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(None)
    }
}

impl History {
    /// Hands the commits that touched the store to `take`, newest first, until it says no.
    pub fn each(
        &self,
        mut take: impl FnMut(CommitInfo) -> Result<bool, EngineError>,
    ) -> Result<(), EngineError> {
        // Uses of memories change none.
        let parts = STORE_PARTS.into_iter().filter(|part| *part != JOURNALS);
        let parts: Vec<&str> = parts.collect();
        for id in self.repository.newest_first(self.head)? {
            let id = id?;
            let parents = self.repository.parents(id)?;
            let here = self.repository.entries_at(id, &parts)?;
            let mut is_touched = parents.is_empty() && here.iter().any(Option::is_some);
            if !parents.is_empty() {
                is_touched = true;
                for parent in parents {
                    // What a merge took over as it was, happened elsewhere.
                    is_touched &= self.repository.entries_at(parent, &parts)? != here;
                }
            }
            if is_touched && !take(self.repository.moment(id)?)? {
                break;
            }
        }
        Ok(())
    }

    /// As [`History::each`], of the commits that touched the memory `stem`; each with where its
    /// file lay after it, and what it held.
    pub fn each_of(
        &self,
        stem: &Stem,
        mut take: impl FnMut(CommitInfo, BTreeMap<String, Id>) -> Result<bool, EngineError>,
    ) -> Result<(), EngineError> {
        let mut places = self.places_of(stem)?;
        for id in self.repository.newest_first(self.head)? {
            let id = id?;
            let parents = self.repository.parents(id)?;
            let here = places.at(id)?;
            let mut is_touched = !parents.is_empty() || !here.is_empty();
            for parent in parents {
                is_touched &= places.at(parent)? != here;
            }
            if is_touched && !take(self.repository.moment(id)?, here)? {
                break;
            }
        }
        Ok(())
    }

    fn places_of(&self, stem: &Stem) -> Result<Places<'_>, EngineError> {
        let name = format!("{stem}.md").into_bytes();
        let is_it = move |other: &[u8]| other == name;
        Ok(self.repository.places(&FOLDERS, is_it)?)
    }

    /// The file names, without folders, that ever were there and that `id` could mean.
    fn names_like(&self, id: &str) -> Result<BTreeSet<String>, EngineError> {
        let id = id.rsplit('/').next().unwrap_or(id).as_bytes();
        let begins = |text: &[u8]| {
            let begin = text.get(..id.len());
            !id.is_empty() && begin.is_some_and(|begin| begin.eq_ignore_ascii_case(id))
        };
        let is_like = |name: &[u8]| {
            let is_canonical = name.len() == 27 && name.ends_with(b".md");
            begins(name) || (is_canonical && begins(&name[16..]))
        };
        let mut places = self.repository.places(&FOLDERS, is_like)?;
        let mut names = BTreeSet::new();
        for commit in self.repository.newest_first(self.head)? {
            for path in places.at(commit?)?.into_keys() {
                let name = path.rsplit('/').next().unwrap_or_default();
                names.insert(name.to_owned());
            }
        }
        Ok(names)
    }

    /// The commit that `revision` means.
    pub fn find(&self, revision: &Revision) -> Result<Id, EngineError> {
        let text = &revision.text;
        match self.repository.named(text, self.head)? {
            Named::One(id) => return Ok(id),
            Named::Several if revision.at.is_none() => {
                return Err(PastError::AmbiguousRevision(text.clone()).into());
            }
            Named::Several | Named::Nothing => {}
        }
        let Some(at) = revision.at else {
            return Err(PastError::UnknownRevision(text.clone()).into());
        };
        let mut begin = at;
        for id in self.repository.newest_first(self.head)? {
            let moment = self.repository.moment(id?)?;
            begin = time_of(&moment);
            if begin <= at {
                return Ok(moment.id);
            }
        }
        let asked = text.clone();
        Err(PastError::BeforeTheBeginning { asked, begin }.into())
    }

    /// What the memory `stem` said at `commit`; of two files of that name, the one at `path`.
    pub fn text_at(
        &self,
        stem: &Stem,
        commit: Id,
        path: Option<&str>,
    ) -> Result<PastText, EngineError> {
        let places = self.places_of(stem)?.at(commit)?;
        match self.text_in(&places, path, commit)? {
            Some(text) => Ok(text),
            None => Err(PastError::NotThere {
                id: stem.short().to_owned(),
                revision: commit.short(),
            }
            .into()),
        }
    }

    /// The newest text of the memory `stem` that is not what it says `now`.
    fn last_other(&self, stem: &Stem, now: &PastText) -> Result<Option<PastText>, EngineError> {
        let now_id = now.file.as_ref().map(|_| Id::of_text(&now.bytes));
        let mut found = None;
        self.each_of(stem, |moment, places| {
            let text = self.text_in(&places, now.file.as_deref(), moment.id)?;
            found = text.filter(|text| Some(Id::of_text(&text.bytes)) != now_id);
            Ok(found.is_none())
        })?;
        Ok(found)
    }

    fn text_in(
        &self,
        places: &BTreeMap<String, Id>,
        path: Option<&str>,
        commit: Id,
    ) -> Result<Option<PastText>, EngineError> {
        // A live file rather than a forgotten one.
        let same = path.and_then(|path| places.get_key_value(path));
        let Some((file, text)) = same.or_else(|| places.last_key_value()) else {
            return Ok(None);
        };
        Ok(Some(PastText {
            file: Some(file.clone()),
            bytes: self.repository.text(*text)?,
            commit: Some(commit.to_string()),
        }))
    }
}

/// When a commit was made.
pub(in crate::engine::sync) fn time_of(moment: &CommitInfo) -> DateTime<Utc> {
    DateTime::from_timestamp(moment.at, 0).unwrap_or_default()
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
