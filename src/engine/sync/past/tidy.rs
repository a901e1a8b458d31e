//! What has time: packing.

use crate::engine::Engine;
use crate::engine::EngineError;
use crate::files::Lock;
use crate::git::Owner;

/// Commands leave packing to servers until there is so many times as much to pack.
const PATIENCE: u32 = 2;

impl Engine {
    /// As the background does when there is time.
    ///
    /// # Errors
    ///
    /// Fails if the repository cannot be read or written.
    pub fn tidy_repository(&self) -> Result<(), EngineError> {
        self.tidy(1)
    }

    /// For a process that somebody waits for: only what has been left undone for long.
    pub(in crate::engine::sync) fn tidy_if_neglected(&self) -> Result<(), EngineError> {
        self.tidy(PATIENCE)
    }

    fn tidy(&self, patience: u32) -> Result<(), EngineError> {
        if self.git.is_none() {
            return Ok(());
        }
        let Some(_lock) = Lock::try_take(&self.state().join("sync.lock"))? else {
            return Ok(());
        };
        let Some(repository) = self.repository()? else {
            return Ok(());
        };
        // What is somebody else's is theirs to pack.
        if repository.owner() != Owner::Store || repository.obstacle().is_some() {
            return Ok(());
        }
        let Some(_at_work) = self.begin_git_work(&repository)? else {
            return Ok(());
        };
        repository.pack(patience)?;
        repository.join_packs()?;
        Ok(())
    }
}
