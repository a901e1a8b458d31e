//! What becomes of a damaged repository: it is repaired, or set aside and begun anew. The files
//! are the memories; none of them is touched.

use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::sync::remote::exchange::Remote;
use crate::files::Lock;
use crate::git::Id;
use crate::git::Owner;
use crate::git::RESUME;
use crate::git::Repaired;

impl Engine {
    /// Repairs the repository if it is damaged and the store's own; whether anything was done. The
    /// caller holds the store's lock for it.
    pub(in crate::engine::sync) fn repair_repository(&self) -> Result<bool, EngineError> {
        let Some(repository) = self.repository()? else {
            return Ok(false);
        };
        if repository.owner() != Owner::Store {
            return Ok(false);
        }
        let Some(_at_work) = self.begin_git_work(&repository)? else {
            return Ok(false);
        };
        match repository.repair()? {
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
                let at = self.clock.now().format("%Y%m%dT%H%M%S%3f");
                let to = self.state().join(format!("broken-git/{at}"));
                repository.begin_anew(self.root(), &to)?;
                tracing::warn!(
                    "the store's repository was damaged beyond repair, and is begun anew; the old one lies in {}",
                    to.display()
                );
                Ok(true)
            }
        }
    }

    /// As [`Engine::repair_repository`], if nobody else is at it.
    pub(in crate::engine::sync) fn repair_now(&self) -> Result<(), EngineError> {
        if let Some(_lock) = Lock::try_take(&self.state().join("sync.lock"))? {
            self.repair_repository()?;
        }
        Ok(())
    }

    /// What of the store's own repository cannot be read, a sentence each.
    pub(in crate::engine) fn git_faults(&self) -> Result<Vec<String>, EngineError> {
        match self.repository() {
            Ok(Some(repository)) if repository.owner() == Owner::Store => Ok(repository.faults()?),
            Ok(Some(repository)) if repository.is_forgotten() => Ok(vec![format!(
                "{} was cut: it no longer says that memdir commits here, which `memdir sync --setup` says again",
                repository.path().join("config").display()
            )]),
            Ok(None) if self.git.is_some() && self.root().join(".git").is_dir() => {
                Ok(vec![".git is no repository any more".to_owned()])
            }
            Ok(_) => Ok(Vec::new()),
            Err(error) => Ok(vec![error.to_string()]),
        }
    }

    /// Goes on from the remote's history where the repository was begun anew, so that what was
    /// forgotten here since then stays forgotten.
    pub(in crate::engine::sync) fn resume(
        &self,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), EngineError> {
        let Some(repository) = self.repository()? else {
            return Ok(());
        };
        let Some(noted) = repository.get(RESUME) else {
            return Ok(());
        };
        let Some(remote) = Remote::of(&repository)? else {
            return Ok(repository.unset(RESUME)?);
        };
        let Ok(network) = self.network_for(&remote) else {
            return Ok(()); // The exchange says so.
        };
        let tip = remote.fetch(&network, &repository, stop)?;
        let Some(_lock) = Lock::try_take(&self.state().join("sync.lock"))? else {
            return Ok(());
        };
        let known = Id::parse(&noted).zip(tip).filter(|(known, tip)| {
            // Where the remote's history is another one by now, both are put together.
            repository.rests_on(*tip, *known).unwrap_or(false)
        });
        if let Some((known, _)) = known
            && repository.head()?.is_none()
        {
            let branch = format!("refs/heads/{}", repository.branch());
            repository.advance(&branch, None, known, "memdir: resume")?;
            repository.set_reference(&remote.seen_ref(), known)?;
        }
        self.all_is_to_commit();
        Ok(repository.unset(RESUME)?)
    }
}
