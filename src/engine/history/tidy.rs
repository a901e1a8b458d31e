//! Packs the repository, when there is time.

use crate::engine::error::EngineError;
use crate::engine::history::{History, consent, git_work};
use crate::git;
use crate::git::Owner;

/// Commands leave packing to servers until there is so many times as much to pack.
const PATIENCE: u32 = 2;

/// As the background does when there is time.
///
/// # Errors
///
/// Fails if the repository cannot be read or written.
pub fn tidy_repository(history: &History) -> Result<(), EngineError> {
    tidy(history, 1)
}

/// For a process that somebody waits for: only what has been left undone for long.
pub(in crate::engine) fn tidy_if_neglected(history: &History) -> Result<(), EngineError> {
    tidy(history, PATIENCE)
}

fn tidy(history: &History, patience: u32) -> Result<(), EngineError> {
    if history.git.is_none() {
        return Ok(());
    }
    let Some(_lock) = git_work::try_lock_repository(history)? else {
        return Ok(());
    };
    let Some(repository) = consent::repository(history)? else {
        return Ok(());
    };
    // What is somebody else's is theirs to pack.
    if repository.owner() != Owner::Store || repository.obstacle().is_some() {
        return Ok(());
    }
    let Some(_at_work) = git_work::begin_git_work(history, &repository)? else {
        return Ok(());
    };
    git::pack_loose_objects(&repository, patience)?;
    git::join_packs(&repository)?;
    Ok(())
}
