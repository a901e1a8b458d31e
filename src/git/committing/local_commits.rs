//! Notes which commits the program made itself in somebody's repository, until they are sent.
//!
//! A commit's message can be kept while its content is changed, and anybody may write the same. So
//! each is noted by its id, as the name of an empty file: that is one step for any number of
//! processes, and of stores in one repository.

use std::path::PathBuf;

use crate::git::reading::history::descends_from;
use crate::git::{GitError, Id, Owner, Repository, To};

/// Whether the program made `commit`, and it was not sent when that was looked at last.
pub fn is_local_commit(repository: &Repository, commit: Id) -> bool {
    notes_folder(repository).join(commit.to_string()).exists()
}

/// Notes that the program made `commit`, before a branch stands for it. In a store's own
/// repository nobody asks.
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

/// Takes back the notes of commits that `sent` rests on.
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
