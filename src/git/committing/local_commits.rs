//! Record of the commits that the program made in somebody's repository, until they are pushed.
//!
//! Messages do not identify commits: an amended commit keeps its own, and anybody may write the same.
//! So the record of a commit is an empty file with its id as name, which is made atomically by any
//! number of processes, for any number of stores in one repository.

use std::path::PathBuf;

use crate::git::reading::history::descends_from;
use crate::git::{GitError, Id, Owner, Repository, To};

/// Returns whether the program made `commit` and has not recorded a push of it.
pub fn is_local_commit(repository: &Repository, commit: Id) -> bool {
    notes_folder(repository).join(commit.to_string()).exists()
}

/// Records that the program made `commit`, before a branch points to it. Does nothing in a store's own
/// repository.
///
/// # Errors
///
/// Fails if it cannot be written.
pub(in crate::git) fn note_local_commit(
    repository: &Repository,
    commit: Id,
) -> Result<(), GitError> {
    if repository.owner() != Owner::Asked {
        return Ok(());
    }
    let folder = notes_folder(repository);
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(folder.join(commit.to_string()), ""))
        .to("note a commit")
}

/// Removes the records of the ancestors of `sent`, itself included.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn forget_local_commits(repository: &Repository, sent: Id) -> Result<(), GitError> {
    let Ok(notes) = std::fs::read_dir(notes_folder(repository)) else {
        return Ok(()); // Nothing was noted.
    };
    for note in notes.flatten() {
        let Some(commit) = note.file_name().to_str().and_then(Id::parse) else {
            continue;
        };
        if descends_from(repository, sent, commit)? {
            let _ = std::fs::remove_file(note.path()); // The next one does it.
        }
    }
    Ok(())
}

fn notes_folder(repository: &Repository) -> PathBuf {
    repository.inner.commondir().join("memdir-made")
}
