//! A turn at the repository: one operation commits earlier changes and its own while others wait.

use std::collections::BTreeSet;

use crate::engine::error::{EngineError, PastError};
use crate::engine::history::commits::commit;
use crate::engine::history::commits::commit::Committed;
use crate::engine::history::commits::compare::Why;
use crate::engine::history::commits::message::Reason;
use crate::engine::history::remote::exchange;
use crate::engine::history::{History, git_work};
use crate::engine::live::pending::Pending;
use crate::files::Lock;

/// Maximum number of attempts while another process is faster.
pub(in crate::engine) const MAX_TRIES: usize = 8;

/// Takes the lock for commits and commits all pending changes, so that the next commit holds only those
/// of the caller; returns the lock and the committer's name.
pub(in crate::engine) fn take_turn(history: &History) -> Result<(Lock, &str), EngineError> {
    let Some(git) = &history.git else {
        return Err(PastError::NoHistory {
            why: "its setting `git` is off, so nothing new can be noted in it".to_owned(),
            hint: "Set `git = true` in its memdir.toml.",
        }
        .into());
    };
    let lock = git_work::lock_repository(history)?;
    for _ in 0..MAX_TRIES {
        match commit::commit_locked(history, &Pending::Everything, &git.user, Why::Asked)? {
            Committed::Nothing | Committed::Done { .. } | Committed::Off => {
                if !exchange::finish_merge_first(history)? {
                    return Ok((lock, &git.user));
                }
            }
            Committed::Paused(reason) => return Err(PastError::Paused(reason).into()),
            Committed::Busy => {}
        }
    }
    Err(PastError::Paused("git is at work in the repository".to_owned()).into())
}

/// Commits the files `names`; `None` if git was at work, and they wait for the next commit.
pub(in crate::engine) fn commit_as(
    history: &History,
    names: BTreeSet<String>,
    user: &str,
    reason: &Reason,
) -> Result<Option<String>, EngineError> {
    let pending = Pending::Names(names);
    for _ in 0..MAX_TRIES {
        match commit::commit_locked(history, &pending, user, Why::For(reason))? {
            Committed::Done { id, .. } => return Ok(Some(id)),
            Committed::Busy => {}
            // As committed before, or held back, which is reported elsewhere.
            Committed::Nothing => return Ok(None),
            Committed::Off | Committed::Paused(_) => break,
        }
    }
    tracing::warn!("it is done, but not committed yet; the next command commits it");
    Ok(None)
}
