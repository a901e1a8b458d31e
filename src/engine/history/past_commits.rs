//! Reads past commits of a store.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};

use crate::engine::error::{EngineError, PastError};
use crate::engine::history::{History, consent};
use crate::engine::texts::{FOLDERS, key_of, name_of, stem_of};
use crate::files::{FilesOf, JOURNALS};
use crate::format;
use crate::git;
use crate::git::{CommitInfo, Id, NamedCommit, Owner, Places, Repository, STORE_PARTS};
use crate::model::Memory;

/// Commits of a store that has some.
pub(in crate::engine) struct PastCommits {
    /// The store's repository.
    pub repository: Repository,
    /// Newest commit.
    pub head: Id,
}

/// Name of the tool that gives notes ids, in the trailers of commits.
const ADOPT: &str = "adopt";

/// A file that a memory was before it got its id.
pub(in crate::engine) struct Former {
    /// Name below `files/` or `archive/`.
    pub name: String,
    /// The newest commit with it.
    pub commit: Id,
}

/// Returns the store's history.
pub(in crate::engine) fn history(history: &History) -> Result<PastCommits, EngineError> {
    let none = |why: &str, hint| {
        let why = why.to_owned();
        Err(PastError::NoHistory { why, hint }.into())
    };
    let is_off = history.git.is_none() && !history.live.is_read_only();
    let Some(repository) = consent::repository(history)? else {
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
    Ok(PastCommits { repository, head })
}

impl PastCommits {
    /// Calls `take` with the commits that touched the store, newest first, until it returns false.
    pub fn each(
        &self,
        mut take: impl FnMut(CommitInfo) -> Result<bool, EngineError>,
    ) -> Result<(), EngineError> {
        // Uses of memories do not count as changes.
        let parts = STORE_PARTS.into_iter().filter(|part| *part != JOURNALS);
        let parts: Vec<&str> = parts.collect();
        for id in git::commit_ids(&self.repository, self.head)? {
            let id = id?;
            let parents = git::parents(&self.repository, id)?;
            let here = git::entries_at(&self.repository, id, &parts)?;
            let mut is_touched = parents.is_empty() && here.iter().any(Option::is_some);
            if !parents.is_empty() {
                is_touched = true;
                for parent in parents {
                    // A commit that equals one parent only took over changes made elsewhere.
                    is_touched &= git::entries_at(&self.repository, parent, &parts)? != here;
                }
            }
            if is_touched && !take(git::commit_info(&self.repository, id)?)? {
                break;
            }
        }
        Ok(())
    }

    /// As [`PastCommits::each`], of the commits that touched the memory with these files; each with the
    /// paths and texts of its files after the commit.
    pub fn each_of(
        &self,
        files: FilesOf<'_>,
        mut take: impl FnMut(CommitInfo, BTreeMap<String, Id>) -> Result<bool, EngineError>,
    ) -> Result<(), EngineError> {
        let mut places = self.places_of(files)?;
        let mut name = Followed::of(files);
        for id in git::commit_ids(&self.repository, self.head)? {
            let id = id?;
            let parents = git::parents(&self.repository, id)?;
            let all = places.at(id)?;
            let here = only(&all, name.files());
            let mut is_touched = !parents.is_empty() || !here.is_empty();
            let mut former = None;
            for parent in parents {
                let before = places.at(parent)?;
                is_touched &= only(&before, name.files()) != here;
                former = former.or(name.former(&before, &all));
            }
            if is_touched && !take(git::commit_info(&self.repository, id)?, here)? {
                break;
            }
            name.go_on(former);
        }
        Ok(())
    }

    /// Returns the file that the memory with these files was before `memdir adopt` gave it its id: the commit of that
    /// removed a file of the same folder with the same content, whose title or else name became the memory's title.
    pub fn former(&self, files: FilesOf<'_>) -> Result<Option<Former>, EngineError> {
        let mut places = self.places_of(files)?;
        for id in git::commit_ids(&self.repository, self.head)? {
            // To look into the folders of each commit would take a second for some thousands of them.
            let moment = git::commit_info(&self.repository, id?)?;
            let mut tools = moment
                .message
                .lines()
                .filter(|line| line.starts_with("Tool:"));
            let Some(parent) = moment
                .parents
                .first()
                .filter(|_| tools.any(|line| line.contains(ADOPT)))
            else {
                continue;
            };
            let here = only(&places.at(moment.id)?, files);
            let new = here.last_key_value();
            if let Some(new) = new.map(|(path, text)| (path.as_str(), *text))
                && only(&places.at(*parent)?, files).is_empty()
                && let Some(name) = self.adopted(new, *parent, moment.id)?
            {
                return Ok(Some(Former {
                    name,
                    commit: *parent,
                }));
            }
        }
        Ok(None)
    }

    /// Returns the name of the file that the commit `after` made the memory `new` of, a path and a text.
    fn adopted(
        &self,
        (new_path, new): (&str, Id),
        before: Id,
        after: Id,
    ) -> Result<Option<String>, EngineError> {
        let memory = |path: &str, text: Id| -> Result<Memory, EngineError> {
            let bytes = self.repository.text(text)?;
            Ok(format::parse(&stem_of(path), &bytes, DateTime::UNIX_EPOCH))
        };
        let folder = |path: &str| path.rsplit_once('/').map(|(folder, _)| folder.to_owned());
        let new = memory(new_path, new)?;
        let mut all = git::places(&self.repository, &FOLDERS, |_| true)?;
        let (before, after) = (all.at(before)?, all.at(after)?);
        for (path, text) in before {
            let stem = stem_of(&path);
            let is_gone = !stem.is_canonical() && !after.contains_key(&path);
            if !is_gone || folder(&path) != folder(new_path) {
                continue;
            }
            let old = memory(&path, text)?;
            let title = old.title.as_deref().unwrap_or(stem.as_str());
            if old.content.trim() == new.content.trim() && new.title.as_deref() == Some(title) {
                return Ok(Some(name_of(&path).to_owned()));
            }
        }
        Ok(None)
    }

    /// Returns the places at `commit` of the memory that has these files now.
    fn places_at(
        &self,
        files: FilesOf<'_>,
        commit: Id,
    ) -> Result<BTreeMap<String, Id>, EngineError> {
        let mut places = self.places_of(files)?;
        let mut name = Followed::of(files);
        if let Followed::Name(_) = name {
            for id in git::commit_ids(&self.repository, self.head)? {
                let id = id?;
                if id == commit {
                    break;
                }
                let all = places.at(id)?;
                let mut former = None;
                for parent in git::parents(&self.repository, id)? {
                    former = former.or(name.former(&places.at(parent)?, &all));
                }
                name.go_on(former);
            }
        }
        Ok(only(&places.at(commit)?, name.files()))
    }

    /// Returns the places of files that have the name of these, in whatever folder.
    fn places_of(&self, files: FilesOf<'_>) -> Result<Places<'_>, EngineError> {
        let name = files.file().into_owned().into_bytes();
        let is_it = move |other: &[u8]| other == name;
        Ok(git::places(&self.repository, &FOLDERS, is_it)?)
    }

    /// Returns the names of files of all commits that `id` could mean: those of ids without folders, others
    /// below their place.
    pub(in crate::engine) fn names_like(&self, id: &str) -> Result<BTreeSet<String>, EngineError> {
        let id = id.rsplit('/').next().unwrap_or(id).as_bytes();
        let begins = |text: &[u8]| {
            let begin = text.get(..id.len());
            !id.is_empty() && begin.is_some_and(|begin| begin.eq_ignore_ascii_case(id))
        };
        let is_like = |name: &[u8]| {
            let is_canonical = name.len() == 27 && name.ends_with(b".md");
            begins(name) || (is_canonical && begins(&name[16..]))
        };
        let mut places = git::places(&self.repository, &FOLDERS, is_like)?;
        let mut names = BTreeSet::new();
        for commit in git::commit_ids(&self.repository, self.head)? {
            for path in places.at(commit?)?.into_keys() {
                names.insert(key_of(name_of(&path)).to_owned());
            }
        }
        Ok(names)
    }

    /// Returns the commit that `revision` means.
    pub fn find(&self, revision: &Revision) -> Result<Id, EngineError> {
        let text = &revision.text;
        match git::resolve_revision(&self.repository, text, self.head)? {
            NamedCommit::One(id) => return Ok(id),
            NamedCommit::Several if revision.at.is_none() => {
                return Err(PastError::AmbiguousRevision(text.clone()).into());
            }
            NamedCommit::Several | NamedCommit::Nothing => {}
        }
        let Some(at) = revision.at else {
            return Err(PastError::UnknownRevision(text.clone()).into());
        };
        let mut begin = at;
        for id in git::commit_ids(&self.repository, self.head)? {
            let moment = git::commit_info(&self.repository, id?)?;
            begin = time_of(&moment);
            if begin <= at {
                return Ok(moment.id);
            }
        }
        let asked = text.clone();
        Err(PastError::BeforeTheBeginning { asked, begin }.into())
    }

    /// Returns the text of the memory with these files at `commit`; of several, that at `path`. `id` names
    /// the memory in an error.
    pub fn text_at(
        &self,
        (files, id): (FilesOf<'_>, &str),
        commit: Id,
        path: Option<&str>,
    ) -> Result<PastText, EngineError> {
        let places = self.places_at(files, commit)?;
        match self.text_in(&places, path, commit)? {
            Some(text) => Ok(text),
            None => Err(PastError::NotThere {
                id: id.to_owned(),
                revision: commit.short(),
            }
            .into()),
        }
    }

    /// Returns the newest text of the memory with these files that differs from `now`.
    pub(in crate::engine) fn last_other(
        &self,
        files: FilesOf<'_>,
        now: &PastText,
    ) -> Result<Option<PastText>, EngineError> {
        let now_id = now.file.as_ref().map(|_| Id::of_text(&now.bytes));
        let mut found = None;
        self.each_of(files, |moment, places| {
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
        // The last path: a live file before a forgotten one.
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

/// Returns the paths of `files` with their texts.
fn only(places: &BTreeMap<String, Id>, files: FilesOf<'_>) -> BTreeMap<String, Id> {
    let places = places.iter();
    let own = places.filter(|(path, _)| files.has(name_of(path)));
    own.map(|(path, text)| (path.clone(), *text)).collect()
}

/// Files of a memory, from newer commits to older ones: one whose name is no id had another folder before it was
/// moved.
enum Followed<'a> {
    Id(FilesOf<'a>),
    Name(String),
}

impl<'a> Followed<'a> {
    fn of(files: FilesOf<'a>) -> Followed<'a> {
        match files {
            FilesOf::Name(name) => Followed::Name(name.to_owned()),
            FilesOf::Stem(_) => Followed::Id(files),
        }
    }

    fn files(&self) -> FilesOf<'_> {
        match self {
            Followed::Id(files) => *files,
            Followed::Name(name) => FilesOf::Name(name),
        }
    }

    /// Returns the name that the memory had before a commit, with all files of its name `before` and `after` that, if it
    /// was moved: the only one that went where this one came.
    fn former(
        &self,
        before: &BTreeMap<String, Id>,
        after: &BTreeMap<String, Id>,
    ) -> Option<String> {
        let Followed::Name(own) = self else {
            return None;
        };
        fn names(places: &BTreeMap<String, Id>) -> BTreeSet<&str> {
            places.keys().map(|path| name_of(path)).collect()
        }
        let (before, after) = (names(before), names(after));
        if before.contains(own.as_str()) || !after.contains(own.as_str()) {
            return None;
        }
        let mut gone = before.difference(&after);
        match (gone.next(), gone.next(), after.difference(&before).count()) {
            (Some(name), None, 1) => Some((*name).to_owned()),
            _ => None,
        }
    }

    fn go_on(&mut self, former: Option<String>) {
        if let Some(former) = former {
            *self = Followed::Name(former);
        }
    }
}

/// Returns the store's repository; `None` if commits are off or it is another owner's.
pub(in crate::engine) fn own_repository(
    history: &History,
) -> Result<Option<Repository>, EngineError> {
    if history.git.is_none() {
        return Ok(None);
    }
    let repository = consent::repository(history)?;
    Ok(repository.filter(|repository| repository.owner() != Owner::Other))
}

/// Text of a memory at some time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastText {
    /// Path below the store; `None` if it did not exist.
    pub file: Option<String>,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// Full id of the commit that holds it; `None`: the present file.
    pub commit: Option<String>,
}

/// A revision of the history, as written by the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// Name of a commit.
    pub text: String,
    /// Time that the text means if no commit has that name.
    pub at: Option<DateTime<Utc>>,
}

/// Returns the time of a commit.
pub(in crate::engine) fn time_of(moment: &CommitInfo) -> DateTime<Utc> {
    DateTime::from_timestamp(moment.at, 0).unwrap_or_default()
}
