//! A copy of a memory for an editor, outside of the store.

use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

/// A draft; removed when dropped, unless kept.
pub struct Draft {
    folder: TempDir,
    path: PathBuf,
}

impl Draft {
    /// Writes `bytes` to a file with the name of the memory `name`, for the user alone.
    ///
    /// # Errors
    ///
    /// Fails as the system says.
    pub fn new(name: &str, bytes: &[u8]) -> io::Result<Draft> {
        let folder = tempfile::Builder::new().prefix("memdir-edit-").tempdir()?;
        let path = folder.path().join(name.rsplit('/').next().unwrap_or(name));
        fs::write(&path, bytes)?;
        Ok(Draft { folder, path })
    }

    /// Returns the path of the draft.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the edited text.
    ///
    /// # Errors
    ///
    /// Fails as the system says.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        fs::read(&self.path)
    }

    /// Keeps the draft and returns its path.
    pub fn keep(self) -> PathBuf {
        let _ = self.folder.keep();
        self.path
    }
}
