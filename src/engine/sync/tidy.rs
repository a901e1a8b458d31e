//! What has time: telling git's index of commits, and packing.

use std::collections::BTreeMap;

use super::commit::stamped;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::files::Lock;
use crate::git::Id;
use crate::git::Owner;
use crate::git::Repository;
use crate::git::Told;

/// Telling git's index costs as much as it is large; a command does it at once up to this size.
const QUICK_INDEX_FILES: usize = 20_000;
/// Somebody who was killed has told it of one of so many last commits.
const MOST_BETWEEN: usize = 8;
/// Commands leave packing to servers until there is so many times as much to pack.
const PATIENCE: u32 = 2;
/// Stands for the commit that git's index was told of last.
const TOLD: &str = "refs/memdir/index";

impl Engine {
    /// As the background does when there is time.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be read or written.
    pub fn tidy_repository(&self) -> Result<(), EngineError> {
        self.tidy(|repository| {
            self.tell_index_now(repository)?;
            pack(repository, 1)
        })
    }

    /// For a process that somebody waits for: only what has been left undone for long.
    pub(super) fn tidy_if_neglected(&self) -> Result<(), EngineError> {
        self.tidy(|repository| pack(repository, PATIENCE))
    }

    fn tidy(
        &self,
        work: impl FnOnce(&Repository) -> Result<(), EngineError>,
    ) -> Result<(), EngineError> {
        if self.git.is_none() {
            return Ok(());
        }
        let Some(_lock) = Lock::try_take(&self.state().join("sync.lock"))? else {
            return Ok(());
        };
        let Some(repository) = Repository::find(self.root())? else {
            return Ok(());
        };
        if repository.owner() == Owner::Other || repository.obstacle().is_some() {
            return Ok(());
        }
        let Some(_at_work) = self.begin_git_work(&repository)? else {
            return Ok(());
        };
        work(&repository)
    }

    /// Tells git's index what was committed since it was told last, if that is quickly done.
    pub(super) fn tell_index(&self, repository: &Repository) -> Result<(), EngineError> {
        if repository.index_len() > QUICK_INDEX_FILES {
            return Ok(());
        }
        self.tell_index_now(repository)
    }

    fn tell_index_now(&self, repository: &Repository) -> Result<(), EngineError> {
        let known = repository.reference(TOLD)?;
        let Some(head) = repository.head()?.filter(|head| known != Some(*head)) else {
            return Ok(());
        };
        // It may know one of these, if whoever told it was killed before that was noted.
        let mut between = Vec::new();
        if known.is_some() {
            for moment in repository.moments(head, known)?.skip(1).take(MOST_BETWEEN) {
                between.push(repository.trees(Some(moment?.id))?);
            }
        }
        let mut changes = BTreeMap::new();
        for change in repository.changes(known, head)? {
            // Only of a file that holds just this the index may say that it needs no look.
            let version = match change.after {
                Some(_) => self.version_at(&change.path)?,
                None => None,
            };
            let version =
                version.filter(|version| Some(Id::of_text(&version.bytes)) == change.after);
            let mut before = vec![change.before];
            for trees in &mut between {
                before.push(trees.file(&change.path)?);
            }
            let told = Told {
                before,
                after: change.after,
                stamped: version.map(|version| stamped(&change.path, &version.entry)),
            };
            changes.insert(change.path, told);
        }
        if repository.refresh_index(&changes)? {
            repository.set_reference(TOLD, head)?;
        }
        Ok(())
    }
}

/// What is somebody else's is theirs to pack.
fn pack(repository: &Repository, patience: u32) -> Result<(), EngineError> {
    if repository.owner() == Owner::Store {
        repository.pack(patience)?;
        repository.join_packs()?;
    }
    Ok(())
}
