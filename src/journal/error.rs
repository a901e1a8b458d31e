//! Error of writing or reading a journal.

use std::io;
use std::path::{Path, PathBuf};

use crate::files;

/// Error of writing or reading a journal.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot {what} the journal {}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(transparent)]
    Locked(#[from] files::FilesError),
}

/// Returns the error of an action on the journal at `path`.
pub(super) fn failed(what: &'static str, path: &Path, source: io::Error) -> JournalError {
    JournalError::Io {
        what,
        path: path.to_owned(),
        source,
    }
}
