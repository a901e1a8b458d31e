//! Files of the repository that are no part of the store, such as a README: the remote's changes of
//! them are applied if the file was not changed here.
//!
//! Promises: none of them blocks the memories; no uncommitted text is
//! overwritten.

use std::path::Path;

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::files::{FilesError, Version};
use crate::git;
use crate::git::{ForeignChange, Id, Owner, Repository};

/// Maximum size of such a file in bytes; a larger one is left to git.
const LARGEST: u64 = 10 << 20;

/// Brings the other files from the commit `before` to `after`; those that differ from their committed
/// state stay, and `git status` shows them.
///
/// # Errors
///
/// Fails if the repository cannot be read, or a file cannot be written.
pub(in crate::engine) fn take_over_others(
    history: &History,
    repository: &Repository,
    before: Option<Id>,
    after: Id,
) -> Result<(), EngineError> {
    if repository.owner() != Owner::Store {
        return Ok(()); // There they came with git.
    }
    for change in git::foreign_changes(repository, before, after)? {
        take_over(history, repository, &change)?;
    }
    Ok(())
}

fn take_over(
    history: &History,
    repository: &Repository,
    change: &ForeignChange,
) -> Result<(), EngineError> {
    let path = change.path.as_str();
    let is_new = change.before.is_none();
    // No new executable file is written.
    let is_wanted = repository.may_lie_beside(path) && !(is_new && change.is_executable);
    if !is_wanted || lies_behind_link(history.live.root(), path) {
        return Ok(());
    }
    let seen = match history.live.store.beside().read(path, LARGEST) {
        Ok(version) => Some(version),
        Err(FilesError::Missing { .. }) => None,
        Err(_) => return Ok(()), // Something that is no file.
    };
    let is_whole = |version: &Version| version.entry.stamp.size <= LARGEST;
    if !seen.as_ref().is_none_or(is_whole) {
        return Ok(());
    }
    let found = seen.as_ref().map(|version| Id::of_text(&version.bytes));
    if found != change.before || found == change.after {
        return Ok(());
    }
    let text = match change.after {
        Some(id) if repository.size_of(id)? > LARGEST => return Ok(()),
        Some(id) => Some(repository.text(id)?),
        None => None,
    };
    // A file that was changed at this moment stays; such a file stops nothing.
    let put = history
        .writer
        .put_beside(path, seen.as_ref(), text.as_deref());
    if let Err(error) = put {
        tracing::warn!("{path} is no memory and stays as it is here: {error}");
    }
    Ok(())
}

/// Whether a folder of the store at `root`, on the way to `path`, is no real folder, so that the path
/// would lead elsewhere.
pub(in crate::engine) fn lies_behind_link(root: &Path, path: &str) -> bool {
    let folders = Path::new(path).ancestors().skip(1);
    let is_other = |folder: &Path| {
        let data = std::fs::symlink_metadata(root.join(folder));
        data.is_ok_and(|data| !data.is_dir())
    };
    folders
        .filter(|folder| !folder.as_os_str().is_empty())
        .any(is_other)
}
