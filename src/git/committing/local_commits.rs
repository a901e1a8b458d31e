//! Which commits the program made itself in somebody's repository, and nobody has sent yet.
//!
//! A commit's message can be kept while its content is changed, and anybody may write the same. So
//! each is noted by its id, as the name of an empty file: that is one step for any number of
//! processes, and of stores in one repository.

use std::path::PathBuf;

use crate::git::GitError;
use crate::git::Id;
use crate::git::Owner;
use crate::git::Repository;

impl Repository {
    /// Whether the program made `commit`, and it was not sent when that was looked at last.
    pub fn is_made_here(&self, commit: Id) -> bool {
        self.made().join(commit.to_string()).exists()
    }

    /// Notes that the program made `commit`, before a branch stands for it. In a store's own
    /// repository nobody asks.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub(in crate::git) fn note_made(&self, commit: Id) -> Result<(), GitError> {
        if self.owner() != Owner::Asked {
            return Ok(());
        }
        let folder = self.made();
        std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(commit.to_string()), ""))
            .map_err(|error| GitError::new("note a commit", error.to_string()))
    }

    /// Takes back the notes of commits that `sent` rests on.
    ///
    /// # Errors
    ///
    /// Fails if the repository is damaged.
    pub fn forget_made(&self, sent: Id) -> Result<(), GitError> {
        let Ok(notes) = std::fs::read_dir(self.made()) else {
            return Ok(()); // Nothing was noted.
        };
        for note in notes.flatten() {
            let Some(commit) = note.file_name().to_str().and_then(Id::parse) else {
                continue;
            };
            if self.rests_on(sent, commit)? {
                let _ = std::fs::remove_file(note.path()); // The next one does it.
            }
        }
        Ok(())
    }

    fn made(&self) -> PathBuf {
        self.inner.commondir().join("memdir-made")
    }
}
