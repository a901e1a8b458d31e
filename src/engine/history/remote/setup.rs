//! Sets up the remote of a store: on request, or if the environment names one.

use std::path::Path;

use crate::engine::error::EngineError;
use crate::engine::history::commits::outgoing_secrets;
use crate::engine::history::commits::take_over::{
    Content, MAX_LOOKED_AT, checked_out, has, look_into,
};
use crate::engine::history::consent::is_same_remote;
use crate::engine::history::remote::exchanged::{Accept, Exchanged};
use crate::engine::history::remote::{exchange, state};
use crate::engine::history::{History, consent};
use crate::git::{Address, Owner, RemoteBranches, Repository, without_credentials};

/// A remote as named by the user.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// Address; optional if the repository has a remote called `origin`.
    pub address: Option<&'a str>,
    /// Folder that a relative path starts from.
    pub folder: &'a Path,
    /// Whether a folder of this machine may be the remote.
    pub allow_local: bool,
    /// Whether the remote may hold other files than memories.
    pub accept_history: bool,
}

/// As [`exchange`](exchange::exchange); if a store has a repository of its own, or none yet, and no
/// remote, the remote that the options name is set up first. In a user's repository the options
/// do not apply.
///
/// # Errors
///
/// As for [`exchange`](exchange::exchange) and [`set_up_remote`].
pub fn come_into_step(
    history: &History,
    accept: Accept,
    stop: &dyn Fn() -> bool,
) -> Result<Exchanged, EngineError> {
    let exchanged = exchange::exchange(history, accept, stop)?;
    let named = history.git.as_ref().and_then(|git| git.remote.as_deref());
    let (Exchanged::NoRemote | Exchanged::Off, Some(named)) = (&exchanged, named) else {
        return Ok(exchanged);
    };
    let origin = match consent::repository(history)? {
        None => None,
        Some(repository) if repository.owner() == Owner::Store => repository.remote("origin"),
        Some(_) => return Ok(exchanged),
    };
    let address = match origin {
        None if named.is_empty() => return Ok(exchanged),
        None => Some(named),
        Some(origin) if named.is_empty() || is_same_remote(history, named, &origin) => None,
        Some(_) => return Ok(exchanged), // `status` says that they differ.
    };
    let setup = Setup {
        address,
        folder: history.live.root(),
        allow_local: false,
        accept_history: false,
    };
    let set_up = set_up_remote(history, &setup, stop);
    if set_up.is_err() {
        state::note_sync(history, &set_up);
    }
    set_up
}

/// Returns the remote's address as configured; `None` if the store has none.
pub fn remote_address(history: &History) -> Option<String> {
    let repository = consent::repository(history).ok()??;
    repository.remote(&repository.get("remote")?)
}

/// Returns the address that the store's repository names as `origin`, where the store has no remote: it was cloned, and
/// nobody agreed to it here.
pub fn unagreed_remote(history: &History) -> Option<String> {
    let repository = consent::repository(history).ok()??;
    let is_set_up = repository.get("remote").is_some();
    repository.remote("origin").filter(|_| !is_set_up)
}

/// Configures the remote of this store and synchronizes with it. The configuration is written last: a
/// failure before leaves it as it was.
///
/// # Errors
///
/// [`EngineError::Invalid`] if the address cannot be used, or if the remote holds no
/// memories but other files; as for [`exchange`](exchange::exchange).
pub fn set_up_remote(
    history: &History,
    setup: &Setup<'_>,
    stop: &dyn Fn() -> bool,
) -> Result<Exchanged, EngineError> {
    history.writer.check_writable()?;
    if history.git.is_none() {
        return Ok(Exchanged::Off);
    }
    let found = consent::repository(history)?;
    let known = found
        .as_ref()
        .and_then(|repository| repository.remote("origin"));
    if let (None, None, Some(theirs)) = (setup.address, &known, &found)
        && theirs.owner() != Owner::Store
    {
        // Without a remote, only commits are set up.
        choose_branch(theirs, &checked_out(theirs, true)?, true)?;
        return exchange::exchange(history, Accept::default(), stop);
    }
    let address = address(setup, known.as_deref())?;
    let before = known.filter(|known| *known != address.for_git());
    let is_theirs = found
        .as_ref()
        .is_some_and(|repository| repository.owner() != Owner::Store);
    if is_theirs && before.is_some() {
        return Err(EngineError::Invalid(
            "the repository has a remote called `origin` already: leave the address away to use it"
                .to_owned(),
        ));
    }
    if let (Some(_), Some(repository)) = (setup.address, &found) {
        check_pushes(history, repository, &address)?;
    }
    let network = consent::network(history, setup.allow_local);
    let branches = network.look(&address, None, stop)?;
    let repository = match found {
        Some(repository) => repository,
        None => Repository::create(history.live.root(), "main")?,
    };
    let is_new = before.is_some() || repository.get("remote").is_none();
    let branch = match is_new && !is_theirs {
        true => branch_for(&repository, &branches),
        false => checked_out(&repository, is_theirs)?,
    };
    // Sent commits cannot be called back.
    if is_new {
        let found = outgoing_secrets::leaks_in_history(history, &repository)?;
        if !found.is_empty() {
            return Err(EngineError::SecretsInHistory(found));
        }
    }
    if is_new && !is_theirs {
        let look = |branch: &str| look_into(&repository, &network, &address, branch, stop);
        check_branches(&branches, &branch, setup.accept_history, &look)?;
    }
    choose_branch(&repository, &branch, is_theirs)?;
    if let Some(before) = before {
        // The commits seen at the old remote are not those of the new one.
        repository.keep_newest("refs/memdir/seen/", 0)?;
        repository.keep_newest("refs/memdir/remote/", 0)?;
        tracing::warn!("the remote was {}", without_credentials(&before));
    }
    write_down(history, &repository, setup, &address)?;
    // Setting up a remote implies consent to merge both histories.
    let accept = Accept {
        other_history: true,
        ..Accept::default()
    };
    exchange::exchange(history, accept, stop)
}

/// Checks that the repository sends commits to the address that the user names: somebody who handed it over may have written
/// another one into it.
fn check_pushes(
    history: &History,
    repository: &Repository,
    address: &Address,
) -> Result<(), EngineError> {
    let Some(push) = repository.push_address("origin") else {
        return Ok(());
    };
    let agreed = history.consent.remote().and_then(|it| it.push_address);
    if agreed.as_deref() == Some(&push)
        || consent::is_same_remote(history, &push, address.for_git())
    {
        return Ok(());
    }
    Err(EngineError::Invalid(format!(
        "the repository would send commits to {} (remote.origin.pushurl), and not to the address that you name: `git -C {} config --unset-all remote.origin.pushurl` takes that out of it, and `memdir sync --setup` without an address agrees to it",
        without_credentials(&push),
        repository.work_folder().display(),
    )))
}

/// Records the remote in the user's record and in the repository.
fn write_down(
    history: &History,
    repository: &Repository,
    setup: &Setup<'_>,
    address: &Address,
) -> Result<(), EngineError> {
    let push_address = match repository.push_address("origin") {
        None => None,
        Some(text) => {
            let parsed = Address::parse_in(setup.folder, &text, setup.allow_local)
                .map_err(|error| EngineError::Invalid(format!("pushurl: {error}")))?;
            tracing::warn!("commits go to {}", without_credentials(&text));
            Some(parsed.for_git().to_owned())
        }
    };
    consent::agree_to(history, address, push_address, setup.allow_local)?;
    repository.set_remote("origin", address.for_git())?;
    repository.set("remote", "origin")?;
    let local = if setup.allow_local {
        "allowed"
    } else {
        "refused"
    };
    Ok(repository.set("local", local)?)
}

/// Parses the address of `setup`, or else the `known` one.
pub(in crate::engine) fn address(
    setup: &Setup<'_>,
    known: Option<&str>,
) -> Result<Address, EngineError> {
    let Some(address) = setup.address.or(known) else {
        return Err(EngineError::Invalid(
            "there is no remote yet: name its address".to_owned(),
        ));
    };
    Address::parse_in(setup.folder, address, setup.allow_local)
        .map_err(|error| EngineError::Invalid(format!("{error}. {}", error.hint())))
}

/// Returns the branch for all machines: the local one if the remote has it, else the remote's default
/// branch, and the local one if the remote has none.
fn branch_for(repository: &Repository, branches: &RemoteBranches) -> String {
    let ours = repository
        .checked_out()
        .unwrap_or_else(|| repository.branch());
    match &branches.head {
        Some(head) if !has(branches, &ours) && has(branches, head) => head.clone(),
        _ => ours,
    }
}

/// Sets the branch of the store's commits to `branch`.
fn choose_branch(
    repository: &Repository,
    branch: &str,
    is_theirs: bool,
) -> Result<(), EngineError> {
    let before = repository.get("branch");
    if !is_theirs && repository.checked_out().is_some_and(|out| out != branch) {
        repository.rename_branch(branch)?;
    }
    repository.set("branch", branch)?;
    if is_theirs {
        repository.set("owner", "asked")?;
    }
    let has_gone_there = repository.head()?.is_some();
    if let Some(before) = before.filter(|before| has_gone_there && before != branch) {
        tracing::warn!("memories go to the branch `{branch}` now, and went to `{before}`");
    }
    Ok(())
}

/// Refuses a remote with other files than memories, and warns of memories in other branches.
fn check_branches(
    branches: &RemoteBranches,
    branch: &str,
    accepts: bool,
    look: &dyn Fn(&str) -> Result<Content, EngineError>,
) -> Result<(), EngineError> {
    if has(branches, branch) {
        let content = look(branch)?;
        if content.has_memories {
            return Ok(());
        }
        if let (Some(other), false) = (content.other, accepts) {
            return Err(EngineError::Invalid(format!(
                "the branch `{branch}` of the remote holds no memories, but other files, such as `{other}`; if it is the right one, `--accept-history` puts the memories beside them"
            )));
        }
    }
    let others = branches.branches.iter().map(|(name, _)| name.as_str());
    for other in others.filter(|other| *other != branch).take(MAX_LOOKED_AT) {
        if look(other)?.has_memories {
            tracing::warn!(
                "the branch `{other}` of the remote holds memories, too; here they go to `{branch}`"
            );
        }
    }
    Ok(())
}
