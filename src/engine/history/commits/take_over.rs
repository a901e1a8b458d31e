//! Takes over a repository of a store that another program or the user made.

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::commits::dates;
use crate::engine::history::commits::deletions::is_memory;
use crate::git;
use crate::git::{Address, Id, Network, Owner, RemoteBranches, Repository};

/// Returns the checked-out branch; without one, fails if the repository `is_theirs`.
pub(in crate::engine) fn checked_out(
    repository: &Repository,
    is_theirs: bool,
) -> Result<String, EngineError> {
    match repository.checked_out() {
        Some(branch) => Ok(branch),
        None if is_theirs => Err(EngineError::Invalid("no branch is checked out".to_owned())),
        None => Ok(repository.branch()),
    }
}

/// Whether the remote has this branch.
pub(in crate::engine) fn has(branches: &RemoteBranches, branch: &str) -> bool {
    branches.branches.iter().any(|(name, _)| name == branch)
}

/// Whether a file is usual in a new repository without memories.
pub(in crate::engine) fn is_usual(path: &str) -> bool {
    let starts = ["README", "LICENSE"];
    starts.iter().any(|start| path.starts_with(start))
        || [".gitignore", ".gitattributes"].contains(&path)
}

/// Contents of a branch of a remote.
#[derive(Default)]
pub(in crate::engine) struct Content {
    /// Whether it holds memories.
    pub(in crate::engine) has_memories: bool,
    /// Path of a file that does not belong beside memories.
    pub(in crate::engine) other: Option<String>,
}

/// Fetches the remote's `branch`, returns its contents, and keeps nothing of it.
pub(in crate::engine) fn look_into(
    repository: &Repository,
    network: &Network,
    address: &Address,
    branch: &str,
    stop: &dyn Fn() -> bool,
) -> Result<Content, EngineError> {
    let to = "refs/memdir/looked-at";
    let tip = network.fetch(repository.path(), address, branch, to, stop)?;
    repository.keep_newest(to, 0)?;
    let Some(tip) = tip.as_deref().and_then(Id::parse) else {
        return Ok(Content::default());
    };
    let mut content = Content::default();
    let ours = git::diff(repository, None, tip)?;
    content.has_memories = ours.iter().any(|change| is_memory(&change.path));
    let others = git::foreign_changes(repository, None, tip)?;
    let mut others = others.into_iter().map(|change| change.path);
    content.other = others.find(|path| !is_usual(path));
    Ok(content)
}

/// Maximum number of branches of a remote that are examined: one with more is a project.
pub(in crate::engine) const MAX_LOOKED_AT: usize = 8;

/// Makes a repository that another program or the user made the store's own, if it is
/// nothing else: the user named the store, the repository is of the same folder, and it
/// holds only memories and usual files. Its network access still needs consent.
pub(in crate::engine) fn take_over_own(
    history: &History,
    repository: &Repository,
) -> Result<bool, EngineError> {
    let is_of_store = repository.owner() == Owner::Other
        && history.consent.is_named()
        && !history.live.is_read_only()
        && repository.obstacle().is_none()
        && repository.work_folder().canonicalize().ok() == history.live.root().canonicalize().ok();
    let Some(branch) = repository.checked_out().filter(|_| is_of_store) else {
        return Ok(false);
    };
    if let Some(head) = repository.head()? {
        let others = git::foreign_changes(repository, None, head)?;
        if !others.iter().all(|change| is_usual(&change.path)) {
            return Ok(false);
        }
    }
    repository.take_over(&branch)?;
    if let Some(head) = repository.head()?
        && let Err(error) = dates::date_found(history, repository, head)
    {
        tracing::info!("cannot date the notes of the repository: {error}");
    }
    tracing::info!(
        "the repository of {} is the store's own from now on",
        history.live.root().display()
    );
    Ok(true)
}
