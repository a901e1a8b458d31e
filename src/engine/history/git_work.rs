//! Locks and marks of a process that works in the repository, and the commit that it saw last.

use std::path::PathBuf;

use crate::engine::error::EngineError;
use crate::engine::history::{History, consent};
use crate::engine::locked::locked;
use crate::files::{CrashMarker, Lock};
use crate::git;
use crate::git::{Id, Owner, Repository};

/// Takes the lock of the repository, which excludes all other processes on the store; waits two seconds
/// for it.
pub(in crate::engine) fn lock_repository(history: &History) -> Result<Lock, EngineError> {
    Ok(Lock::take(&lock_path(history), "the repository")?)
}

/// As [`lock_repository`]; `None` while another process holds it.
pub(in crate::engine) fn try_lock_repository(
    history: &History,
) -> Result<Option<Lock>, EngineError> {
    Ok(Lock::try_take(&lock_path(history))?)
}

fn lock_path(history: &History) -> PathBuf {
    history.live.state().join("sync.lock")
}

/// Begins to write to the repository, after removing locks that killed processes left; `None` while
/// another process seems to be at work. The caller holds the store's lock.
pub(in crate::engine) fn begin_git_work(
    history: &History,
    repository: &Repository,
) -> Result<Option<CrashMarker>, EngineError> {
    let at_work = CrashMarker::begin(&history.live.state().join("git-at-work"))?;
    git::finish_branch_move(repository)?;
    let taken = git::clear_locks(repository, &repository.branch(), at_work.was_interrupted);
    for path in &taken.set_aside {
        tracing::info!("set aside {}, whose maker is gone", path.display());
    }
    if taken.in_use.is_empty() {
        return Ok(Some(at_work));
    }
    if at_work.was_interrupted {
        at_work.leave_unfinished();
    }
    Ok(None)
}

/// Fails while git has the files of another branch or commit in the folder, or is about to change them: they are not
/// what somebody wants others to have.
pub(in crate::engine) fn check_undisturbed(history: &History) -> Result<(), EngineError> {
    let repository = consent::repository(history)?;
    let Some(repository) = repository.filter(|repository| repository.owner() != Owner::Other)
    else {
        return Ok(());
    };
    let why = match repository.obstacle() {
        Some(obstacle) => obstacle.to_string(),
        None if git::is_git_committing(&repository) => {
            "git is at work in its repository; try again once that has ended".to_owned()
        }
        None => return Ok(()),
    };
    let root = history.live.root().display();
    Err(EngineError::Paused(format!(
        "nothing was exchanged with {root}: {why}"
    )))
}

/// Returns the commit that a server made or saw last.
pub(in crate::engine) fn committed_to(history: &History) -> std::sync::MutexGuard<'_, Option<Id>> {
    locked(&history.committed_to)
}
