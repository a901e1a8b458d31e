//! The memory directory on disk: list, read, put in place whole, exchange, archive, lock.
//!
//! Guarantees: a file appears under its name complete and synced, or not at all; nothing is overwritten
//! unseen; symbolic links, devices and the like are never followed or opened, neither as files nor as
//! folders of the store ([`LinkPolicy`]): everything is reached by handle below the store's own folder
//! (`beneath`). Only journals are appended to in place. All writing of memory files is in this module. It
//! handles names and bytes; `format` interprets the bytes.

mod append;
mod backup;
mod disk;
mod draft;
mod folders;
mod hash;
mod journals;
mod lanes;
mod list;
mod lock;
mod medium;
mod note;
mod reader;
mod replaced;
mod storage;
mod store;
mod swap;
mod unfinished_init;
mod user_folder;
mod watch;

pub use append::{append_lines, open_lines};
pub use backup::Backup;
pub use folders::{BACKUPS, PROPOSALS};

pub use disk::{
    FileId, STATE_FOLDER, ScratchFolder, birth, create_private_folder, file_id, file_id_at,
    folder_bytes, folder_number, move_folder, names_in, place_of, read_derived, remove_derived,
    remove_moved_folder, scratch_file, scratch_folder, take_derived, write_derived, write_synced,
};
pub use draft::Draft;
pub use folders::{JOURNALS, LinkPolicy, Place, TOMBSTONES, notes_around, tombstone_of};
pub use hash::digest;
pub use journals::{Journals, is_below_journals, is_journal, journal_lock};
pub use list::{Entry, Listing, Skipped};
pub use lock::{Lock, is_held, said};
pub use medium::{Medium, medium};
pub use note::{CrashMarker, begin_lines, leave_line, lines_at, remove_lines, take_lines};
pub use replaced::ReplacedText;
pub use storage::{
    BegunCall, ChangeFeed, ChangeLog, ChangeMark, ChangeWriter, Changed, EarlierChange,
    EarlierChanges, EndedCall, FileEdit, FilesOf, Leftover, LoggedFile, LoggedFiles, LoggedText,
    Reader, RecordedChange, RecordedFile, RecordedText, Replaced, Sequence, SequenceError, Storage,
    Version, WritableStorage, file_of,
};
pub use store::Store;
#[cfg(test)]
#[cfg(target_os = "linux")]
pub(crate) use store::listed::tests::wait_for_a_tick;
pub use store::listed::{KnownFiles, ListedFolders, boot_id, look_at_known};
#[cfg(test)]
pub(crate) use tests::crash::dying_at;
pub use unfinished_init::UnfinishedInit;
pub use user_folder::{FilePlaced, give};

pub use crate::beneath::{is_link, set_strangers_aside};

use std::io;
use std::path::PathBuf;

/// Error of an operation on a file.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("cannot {action} {}", path.display())]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "{} is a symbolic link; no folder of a store is followed if it is one",
        path.display()
    )]
    Link { path: PathBuf },
    #[error("{} is not a regular file", path.display())]
    NotRegular { path: PathBuf },
    #[error("{} exists already", path.display())]
    Taken { path: PathBuf },
    #[error("{} does not exist", path.display())]
    Missing { path: PathBuf },
    #[error("{what} is busy, held by process {holder}")]
    Busy { what: String, holder: String },
}

impl FilesError {
    /// Returns whether the cause is a store that this process may only read.
    pub fn is_read_only(&self) -> bool {
        matches!(self, FilesError::Io { source, .. } if matches!(
            source.kind(),
            io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied
        ))
    }

    /// Returns whether the place of the file cannot be reached, so that nothing is known of the file.
    pub fn is_away(&self) -> bool {
        matches!(self, FilesError::Io { source, .. } if source.kind() == io::ErrorKind::NotConnected)
    }

    /// Returns whether the disk or a quota is full.
    pub fn is_full(&self) -> bool {
        matches!(self, FilesError::Io { source, .. } if matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
        ))
    }
}

/// Returns the last part of a path that is a link.
fn link_on(path: &std::path::Path) -> &std::path::Path {
    let is_link = |path: &&std::path::Path| path.is_symlink();
    path.ancestors().find(is_link).unwrap_or(path)
}

/// Conversion of an I/O error to [`FilesError`], with the action and the path.
trait At<T> {
    fn at(self, action: &'static str, path: &std::path::Path) -> Result<T, FilesError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &std::path::Path) -> Result<T, FilesError> {
        self.map_err(|source| match crate::beneath::is_link(&source) {
            true => FilesError::Link {
                path: link_on(path).to_owned(),
            },
            false => FilesError::Io {
                action,
                path: path.to_owned(),
                source,
            },
        })
    }
}

#[cfg(test)]
mod tests;
