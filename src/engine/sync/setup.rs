//! Gives a store its remote: on request, or because the environment names one.

use std::path::Path;

use super::exchange::Accept;
use super::exchange::Exchanged;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::git::Address;
use crate::git::Network;
use crate::git::NetworkSettings;
use crate::git::Owner;
use crate::git::Repository;
use crate::git::without_credentials;

impl Engine {
    /// As [`Engine::exchange`]; where a store has a repository of its own, or none yet, and names no
    /// remote, the one that the options name is written down first. In somebody's repository they
    /// count for nothing: its owner says where it goes.
    ///
    /// # Errors
    ///
    /// As for [`Engine::exchange`] and [`Engine::set_up_remote`].
    pub fn come_into_step(
        &self,
        accept: Accept,
        stop: &dyn Fn() -> bool,
    ) -> Result<Exchanged, EngineError> {
        let exchanged = self.exchange(accept, stop)?;
        let named = self.git.as_ref().and_then(|git| git.remote.as_deref());
        let (Exchanged::NoRemote | Exchanged::Off, Some(named)) = (&exchanged, named) else {
            return Ok(exchanged);
        };
        let origin = match Repository::find(self.root())? {
            None => None,
            Some(repository) if repository.owner() == Owner::Store => repository.remote("origin"),
            Some(_) => return Ok(exchanged),
        };
        let address = match origin {
            None if named.is_empty() => return Ok(exchanged),
            None => Some(named),
            Some(origin) if named.is_empty() || self.is_same_remote(named, &origin) => None,
            Some(_) => return Ok(exchanged), // `status` says that they differ.
        };
        let set_up = self.set_up_remote(address, self.root(), false, stop);
        if set_up.is_err() {
            self.note_sync(&set_up);
        }
        set_up
    }

    /// What is to be said of the remote that the options name, where `repository` does not follow
    /// them.
    pub(super) fn unfollowed_remote(&self, repository: &Repository) -> Option<String> {
        let named = self.git.as_ref()?.remote.as_deref()?;
        match repository.owner() {
            Owner::Other => Some("the setting `remote` is not followed there".to_owned()),
            _ if named.is_empty() => None,
            Owner::Store | Owner::Asked => {
                let origin = repository.remote("origin")?;
                (!self.is_same_remote(named, &origin)).then(|| {
                    let named = without_credentials(named);
                    format!("the store's own counts; the setting `remote` names another: {named}")
                })
            }
        }
    }

    fn is_same_remote(&self, one: &str, other: &str) -> bool {
        let parsed = |text: &str| Address::parse_in(self.root(), text, true).ok();
        match (parsed(one), parsed(other)) {
            (Some(one), Some(other)) => one.for_git() == other.for_git(),
            _ => one == other,
        }
    }

    /// Writes down the remote of this store and comes into step with it. `address` may be left
    /// away where the repository has a remote called `origin`.
    ///
    /// # Errors
    ///
    /// [`EngineError::Invalid`] if the address cannot be used; as for [`Engine::exchange`].
    pub fn set_up_remote(
        &self,
        address: Option<&str>,
        folder: &Path,
        allow_local: bool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Exchanged, EngineError> {
        self.check_writable()?;
        if self.git.is_none() {
            return Ok(Exchanged::Off);
        }
        let found = Repository::find(self.root())?;
        let known = found
            .as_ref()
            .and_then(|repository| repository.remote("origin"));
        let address = match (address, &known) {
            (Some(address), _) => address.to_owned(),
            (None, Some(known)) => known.clone(),
            (None, None) => {
                return Err(EngineError::Invalid(
                    "there is no remote yet: name its address".to_owned(),
                ));
            }
        };
        let parsed = Address::parse_in(folder, &address, allow_local)
            .map_err(|error| EngineError::Invalid(format!("{error}. {}", error.hint())))?;
        let network = Network::new(NetworkSettings::from_process(allow_local));
        let branches = network.look(&parsed, None, stop)?;
        let repository = match found {
            Some(repository) => repository,
            None => Repository::create(self.root(), "main")?,
        };
        let is_new = repository.head()?.is_none();
        let owner = repository.owner();
        match owner {
            Owner::Store | Owner::Asked => {}
            Owner::Other => {
                let branch = repository.checked_out();
                let branch = branch
                    .ok_or_else(|| EngineError::Invalid("no branch is checked out".to_owned()))?;
                repository.set("branch", &branch)?;
                repository.set("owner", "asked")?;
            }
        }
        if is_new
            && repository.owner() == Owner::Store
            && let Some(head) = &branches.head
        {
            repository.begin_on(head)?;
        }
        let known = known.filter(|known| *known != parsed.for_git());
        if repository.owner() == Owner::Asked && known.is_some() {
            return Err(EngineError::Invalid(
                "the repository has a remote called `origin` already: leave the address away to use it"
                    .to_owned(),
            ));
        }
        // Once it is sent, it cannot be called back.
        if repository.get("remote").is_none() || known.is_some() {
            let found = self.secrets_in_head(&repository)?;
            if !found.is_empty() {
                if owner == Owner::Other {
                    repository.unset("owner")?;
                    repository.unset("branch")?;
                }
                return Err(EngineError::SecretsInHistory(found));
            }
        }
        repository.set_remote("origin", parsed.for_git())?;
        repository.set("remote", "origin")?;
        repository.set("local", if allow_local { "allowed" } else { "refused" })?;
        // Who names a remote wants what is there and what is here together.
        let accept = Accept {
            other_history: true,
            ..Accept::default()
        };
        self.exchange(accept, stop)
    }
}
