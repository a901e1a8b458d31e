//! What a merge is planned with, out of two histories.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use super::tombstones::texts_since_added;
use super::unite::Sources;
use crate::engine::EngineError;
use crate::files::tombstone_of;
use crate::format::Tombstone;
use crate::git::Id;
use crate::git::PathChange;
use crate::git::Repository;

/// A merge's texts and times.
pub(super) struct Commits<'a> {
    pub repository: &'a Repository,
    pub base: Option<Id>,
    pub head: Option<Id>,
    pub tip: Id,
    /// The words of both sides that memories were purged, by path.
    purged: BTreeMap<String, BTreeSet<Id>>,
}

impl<'a> Commits<'a> {
    /// Of the histories that end at `head` and `tip`, and part at `base`.
    ///
    /// # Errors
    ///
    /// Fails if the repository is damaged.
    pub fn new(
        repository: &'a Repository,
        [base, head]: [Option<Id>; 2],
        tip: Id,
    ) -> Result<Commits<'a>, EngineError> {
        let mut purged: BTreeMap<String, BTreeSet<Id>> = BTreeMap::new();
        for side in [head, Some(tip)] {
            for (path, id) in repository.trees(side)?.files_below("tombstones")? {
                purged.entry(path).or_default().insert(id);
            }
        }
        Ok(Commits {
            repository,
            base,
            head,
            tip,
            purged,
        })
    }
}

impl Sources for Commits<'_> {
    fn text(&self, id: Id) -> Result<Vec<u8>, EngineError> {
        Ok(self.repository.text(id)?)
    }

    fn tombstone(&self, stem: &str) -> Result<Option<Tombstone>, EngineError> {
        let mut all: Option<Tombstone> = None;
        for id in self.purged.get(&tombstone_of(stem)).into_iter().flatten() {
            let one = Tombstone::read(&self.text(*id)?);
            all = Some(match all {
                Some(other) => other.and(one),
                None => one,
            });
        }
        Ok(all)
    }

    fn texts(&self, path: &str, is_local: bool) -> Result<BTreeSet<Id>, EngineError> {
        match self.head.filter(|_| is_local) {
            Some(head) => texts_since_added(self.repository, head, path),
            None => texts_since_added(self.repository, self.tip, path),
        }
    }

    fn is_here(&self, stem: &str) -> Result<bool, EngineError> {
        let mut trees = self.repository.trees(self.head)?;
        for folder in ["files", "archive"] {
            let all = trees.files_below(folder)?;
            let is_it = |path: &str| {
                let file = path.rsplit('/').next().unwrap_or_default();
                file.strip_suffix(".md") == Some(stem)
            };
            if all.iter().any(|(path, _)| is_it(path)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn changed_at(&self, stem: &str, is_local: bool) -> Result<i64, EngineError> {
        let side = match is_local {
            true => self.head.unwrap_or(self.tip),
            false => self.tip,
        };
        let mut newest = self.repository.moment(side)?.at;
        for moment in self.repository.moments(side, self.base)? {
            let moment = moment?;
            if moment.parents.len() > 1 {
                continue; // A merge says what others wrote.
            }
            let before = moment.parents.first().copied();
            let changes = self.repository.changes(before, moment.id)?;
            let is_it = |change: &PathChange| {
                let file = change.path.rsplit('/').next().unwrap_or_default();
                file.strip_suffix(".md").unwrap_or(file) == stem
            };
            if changes.iter().any(is_it) {
                newest = moment.at;
                break;
            }
        }
        Ok(newest)
    }
}
