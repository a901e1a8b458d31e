//! Repairs a damaged repository, or sets it aside and creates a new one. No memory file is touched.

use crate::engine::error::EngineError;
use crate::engine::history::consent::Remote;
use crate::engine::history::{History, consent, git_work};
use crate::git;
use crate::git::{Id, Owner, RESUME, Repaired};

/// Repairs the repository if it is damaged and the store's own; returns whether anything was done. The
/// caller holds the store's lock.
pub(in crate::engine) fn repair_repository(history: &History) -> Result<bool, EngineError> {
    let Some(repository) = consent::repository(history)? else {
        return Ok(false);
    };
    if repository.owner() != Owner::Store {
        return Ok(false);
    }
    let Some(_at_work) = git_work::begin_git_work(history, &repository)? else {
        return Ok(false);
    };
    match git::repair(&repository)? {
        Repaired::NothingWrong => Ok(false),
        Repaired::GoesOnFrom(id) => {
            tracing::warn!(
                "the store's repository was damaged, and goes on from {}; what cannot be read lies in {}",
                id.short(),
                repository.path().join("memdir-stale").display()
            );
            Ok(true)
        }
        Repaired::Lost => {
            let at = history.live.clock.now().format("%Y%m%dT%H%M%S%3f");
            let to = history.live.state().join(format!("broken-git/{at}"));
            git::replace_repository(repository, history.live.root(), &to)?;
            tracing::warn!(
                "the store's repository was damaged beyond repair, and is begun anew; the old one lies in {}",
                to.display()
            );
            Ok(true)
        }
    }
}

/// As [`repair_repository`], unless another process holds the lock.
pub(in crate::engine) fn repair_now(history: &History) -> Result<(), EngineError> {
    if let Some(_lock) = git_work::try_lock_repository(history)? {
        repair_repository(history)?;
    }
    Ok(())
}

/// Returns the faults of the store's own repository, a sentence each.
pub(in crate::engine) fn git_faults(history: &History) -> Result<Vec<String>, EngineError> {
    match consent::repository(history) {
        Ok(Some(repository)) if repository.owner() == Owner::Store => {
            Ok(git::repository_faults(&repository)?)
        }
        Ok(Some(repository)) if repository.is_forgotten() => Ok(vec![format!(
            "{} was cut: it no longer says that memdir commits here, which `memdir sync --setup` says again",
            repository.path().join("config").display()
        )]),
        Ok(None) if history.git.is_some() && history.live.root().join(".git").is_dir() => {
            Ok(vec![".git is no repository any more".to_owned()])
        }
        Ok(_) => Ok(Vec::new()),
        Err(error) => Ok(vec![error.to_string()]),
    }
}

/// Resumes the remote's history after the repository was created anew, so that memories
/// forgotten here since then stay forgotten.
pub(in crate::engine) fn resume(
    history: &History,
    stop: &dyn Fn() -> bool,
) -> Result<(), EngineError> {
    let Some(repository) = consent::repository(history)? else {
        return Ok(());
    };
    let Some(noted) = repository.get(RESUME) else {
        return Ok(());
    };
    let Some(remote) = Remote::of(&repository)? else {
        return Ok(repository.unset(RESUME)?);
    };
    let Ok(network) = consent::network_for(history, &remote) else {
        return Ok(()); // The exchange says so.
    };
    let tip = remote.fetch(&network, &repository, stop)?;
    let Some(_lock) = git_work::try_lock_repository(history)? else {
        return Ok(());
    };
    let known = Id::parse(&noted).zip(tip).filter(|(known, tip)| {
        // If the remote's history is another one by now, both are merged.
        git::descends_from(&repository, *tip, *known).unwrap_or(false)
    });
    if let Some((known, _)) = known
        && repository.head()?.is_none()
    {
        let branch = format!("refs/heads/{}", repository.branch());
        git::advance_reference(&repository, &branch, None, known, "memdir: resume")?;
        repository.set_reference(&remote.seen_ref(), known)?;
    }
    history.live.note_all_pending();
    Ok(repository.unset(RESUME)?)
}
