//! Packs the repository, when no other work is pending.

use crate::engine::error::EngineError;
use crate::engine::history::{History, consent, git_work};
use crate::git;
use crate::git::Owner;

/// Factor on the amount to pack before a command packs instead of leaving it to servers.
const PATIENCE: u32 = 2;

/// Packs the repository, as the background does when idle.
///
/// # Errors
///
/// Fails if the repository cannot be read or written.
pub fn tidy_repository(history: &History) -> Result<(), EngineError> {
    tidy(history, 1)
}

/// Packs only a large backlog, for a process that a user waits for.
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
    // A user's repository is packed by the user's git.
    if repository.owner() != Owner::Store || repository.obstacle().is_some() {
        return Ok(());
    }
    let Some(_at_work) = git_work::begin_git_work(history, &repository)? else {
        return Ok(());
    };
    git::pack_loose_objects(&repository, patience)?;
    git::join_packs(&repository)?;
    // Another process may be fetching.
    git::remove_unfinished_packs(&repository, false);
    Ok(())
}
