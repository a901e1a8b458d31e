//! Checks the user's consent for this store's repository: for its remote, and for its settings.
//!
//! The store's folder and its repository may have been written by anybody. All access to a
//! repository and to the network goes through this file.
//!
//! Neither the store nor its repository grants memdir any right. `config` uses a store that
//! it found above the working folder only if the user's record (`trust`) holds this folder.
//! `Repository::find` first reads the repository's configuration without applying it
//! (`git/settings`) and refuses one that includes files elsewhere; a remote is contacted only
//! if the record or the environment names its address. The git program never gets the store's
//! repository: it works in an empty one with the same objects (`git/network/quarantine`),
//! and gets the settings that the record holds separately.

use std::path::Path;

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::git::{
    Address, GitError, GitSetting, Honoured, Id, Network, NetworkSettings, Owner, Repository,
    foreign_settings, has_remote, without_credentials,
};
use crate::trust::{Consent, Record, RemoteConsent};

/// Returns the repository that this store belongs to; `None` if it is in none.
///
/// # Errors
///
/// As for [`Repository::find`].
pub fn repository(history: &History) -> Result<Option<Repository>, GitError> {
    if history.live.directory().is_none() {
        return Ok(None);
    }
    if history.git.is_some() && history.consent.may_take_over() {
        record_setup_of_0_1(history)?;
    }
    Repository::find(history.live.root(), &history.consent.honoured())
}

/// Returns the repository that the folder `root` belongs to, to be read by whom `consent` is from; `None` if it is in
/// none.
///
/// # Errors
///
/// As for [`Repository::find`].
pub(in crate::engine) fn repository_at(
    root: &Path,
    consent: &Consent,
) -> Result<Option<Repository>, GitError> {
    Repository::find(root, &consent.honoured())
}

/// Returns whether others may have written memories of this store: it has a remote, or was found above the
/// working folder.
pub(in crate::engine) fn is_shared(history: &History) -> bool {
    let consent = &history.consent;
    // A backend has no other copies.
    history.live.directory().is_some()
        && (!consent.is_named() || consent.remote().is_some() || has_remote(history.live.root()))
}

/// Records the data that version 0.1 kept in the repository of a store that the user's settings name:
/// its remote, and its settings for reaching it.
fn record_setup_of_0_1(history: &History) -> Result<(), GitError> {
    let settings = foreign_settings(history.live.root())?;
    let honoured = Honoured(settings.clone());
    let Some(repository) = Repository::find(history.live.root(), &honoured)? else {
        return Ok(());
    };
    if repository.owner() == Owner::Other {
        return Ok(());
    }
    let remote = Remote::of(&repository).ok().flatten();
    let recorded = history.consent.change(|record: &mut Record| {
        record.remote = remote.map(|remote| remote.consent(remote.is_noted_as_local));
        record.honour(&settings);
    });
    if let Err(error) = recorded {
        tracing::info!("{error}");
    }
    Ok(())
}

/// Returns the network for `remote`, or the reason why the user's consent is missing.
pub(in crate::engine) fn network_for(
    history: &History,
    remote: &Remote,
) -> Result<Network, String> {
    let Some(allow_local) = agreed_to(history, remote) else {
        let address = without_credentials(remote.address.for_git());
        if let (Some(push), Some(agreed)) = (&remote.push_address, history.consent.remote())
            && agreed.address == remote.address.for_git()
        {
            let push = without_credentials(push.for_git());
            return Err(format!(
                "the repository sends commits to {push}, and not to {address} as your own record of this store says; `git config --unset-all remote.origin.pushurl` takes that out of it, `memdir sync --setup` agrees to it"
            ));
        }
        return Err(format!(
            "the repository names the remote {address}, which is not in your own record of this store; `memdir sync --setup` agrees to it"
        ));
    };
    Ok(network(history, allow_local))
}

/// Returns the network for a remote that the user named in this call.
pub(in crate::engine) fn network(history: &History, allow_local: bool) -> Network {
    Network::new(NetworkSettings {
        honoured: history.consent.honoured(),
        ..NetworkSettings::from_process(allow_local)
    })
}

/// Returns whether `remote` may be on this machine, if the user agreed to it by the record or the
/// environment; else `None`.
fn agreed_to(history: &History, remote: &Remote) -> Option<bool> {
    if let Some(agreed) = history.consent.remote()
        && agreed == remote.consent(agreed.allow_local)
    {
        return Some(agreed.allow_local);
    }
    let named = history.git.as_ref().and_then(|git| git.remote.as_deref());
    let is_named = remote.push_address.is_none()
        && match named {
            None => false,
            // The variable that only switches the remote on refers to the store that was named.
            Some("") => history.consent.is_named(),
            Some(named) => is_same_remote(history, named, remote.address.for_git()),
        };
    if is_named {
        return Some(false);
    }
    // Where no record can be written, the store's own note counts, as before.
    (history.consent.may_take_over()).then_some(remote.is_noted_as_local)
}

/// Records that the user gave the store the remote at `address`.
///
/// # Errors
///
/// Fails if it cannot be recorded.
pub(in crate::engine) fn agree_to(
    history: &History,
    address: &Address,
    push_address: Option<String>,
    allow_local: bool,
) -> Result<(), EngineError> {
    let agreed = history.consent.set_remote(RemoteConsent {
        address: address.for_git().to_owned(),
        push_address,
        allow_local,
    });
    agreed.map_err(|error| EngineError::Invalid(error.to_string()))
}

/// Returns the settings of the repository that could have git start programs, ask other hosts
/// or read files elsewhere, and that the user did not agree to.
///
/// # Errors
///
/// Fails if the configuration cannot be read.
pub fn unfollowed_settings(history: &History) -> Result<Vec<GitSetting>, GitError> {
    let honoured = history.consent.honoured();
    let mut settings = foreign_settings(history.live.root())?;
    settings.retain(|setting| !honoured.contains(setting));
    Ok(settings)
}

/// Returns a note about the remote that the user agreed to, if the repository names none any more:
/// somebody removed it, or the repository itself.
pub fn forgotten_remote(history: &History) -> Option<String> {
    let agreed = history.consent.remote()?;
    let address = without_credentials(&agreed.address);
    let local = if agreed.allow_local {
        " --allow-local"
    } else {
        ""
    };
    Some(format!(
        "its repository does not name the remote {address} any more, to which you agreed; `memdir sync --setup {address}{local}` sets it up again"
    ))
}

/// Whether two addresses mean the same remote.
pub(in crate::engine) fn is_same_remote(history: &History, one: &str, other: &str) -> bool {
    let parsed = |text: &str| Address::parse_in(history.live.root(), text, true).ok();
    match (parsed(one), parsed(other)) {
        (Some(one), Some(other)) => one.for_git() == other.for_git(),
        _ => one == other,
    }
}

/// Returns a note about the remote that the options name, if `repository` does not follow them.
pub(in crate::engine) fn unfollowed_remote(
    history: &History,
    repository: &Repository,
) -> Option<String> {
    let named = history.git.as_ref()?.remote.as_deref()?;
    match repository.owner() {
        Owner::Other => Some("the setting `remote` is not followed there".to_owned()),
        _ if named.is_empty() => None,
        Owner::Store | Owner::Asked => {
            let origin = repository.remote("origin")?;
            (!is_same_remote(history, named, &origin)).then(|| {
                let named = without_credentials(named);
                format!("the store's own counts; the setting `remote` names another: {named}")
            })
        }
    }
}

/// The remote of a store, as configured.
pub(in crate::engine) struct Remote {
    /// Address to fetch from.
    pub address: Address,
    /// Address to push to, if it differs.
    pub push_address: Option<Address>,
    /// Whether the repository states that it may be on this machine. This is no consent: version 0.1
    /// stored it there.
    pub is_noted_as_local: bool,
    /// Branch of the memories.
    pub(in crate::engine) branch: String,
}

impl Remote {
    /// Reads the remote of a repository; `None` if it has none.
    pub fn of(repository: &Repository) -> Result<Option<Remote>, EngineError> {
        let Some(name) = repository.get("remote") else {
            return Ok(None);
        };
        let Some(address) = repository.remote(&name) else {
            return Ok(None);
        };
        let parsed = |what: &str, address: &str| {
            // Whether it may be on this machine is checked with the consent.
            Address::parse_in(&repository.work_folder(), address, true)
                .map_err(|error| EngineError::Invalid(format!("{what}: {error}")))
        };
        let push_address = repository.push_address(&name);
        let push_address = push_address
            .map(|address| parsed("the remote's address to push to (pushurl)", &address));
        Ok(Some(Remote {
            address: parsed("the remote's address", &address)?,
            push_address: push_address.transpose()?,
            is_noted_as_local: repository.get("local").as_deref() == Some("allowed"),
            branch: repository.branch(),
        }))
    }

    /// Returns the consent to this remote, as the user's record stores it.
    pub fn consent(&self, allow_local: bool) -> RemoteConsent {
        let push_address = self.push_address.as_ref();
        RemoteConsent {
            address: self.address.for_git().to_owned(),
            push_address: push_address.map(|address| address.for_git().to_owned()),
            allow_local,
        }
    }

    /// Fetches the remote's branch; returns its newest commit, `None` if there is no such branch.
    pub fn fetch(
        &self,
        network: &Network,
        repository: &Repository,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Id>, EngineError> {
        let to = self.tip_ref();
        let tip = network.fetch(repository.path(), &self.address, &self.branch, &to, stop)?;
        Ok(tip.as_deref().and_then(Id::parse))
    }

    /// Returns the reference to the newest commit of the remote's branch.
    pub(in crate::engine) fn tip_ref(&self) -> String {
        format!("refs/memdir/remote/{}", self.branch)
    }

    /// Returns the reference to the last of its commits that is part of the history here.
    pub fn seen_ref(&self) -> String {
        format!("refs/memdir/seen/{}", self.branch)
    }
}
