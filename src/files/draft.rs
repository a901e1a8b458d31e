//! A copy of a memory for an editor to work on, away from the store.

use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

/// A draft; gone when dropped, unless kept.
pub struct Draft {
    folder: TempDir,
    path: PathBuf,
}

impl Draft {
    /// Writes `bytes` to a file that is called like the memory `name`, for the user alone.
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

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads what the editor left.
    ///
    /// # Errors
    ///
    /// Fails as the system says.
    pub fn read(&self) -> io::Result<Vec<u8>> {
        fs::read(&self.path)
    }

    /// Leaves the draft in place and returns where it is.
    pub fn keep(self) -> PathBuf {
        let _ = self.folder.keep();
        self.path
    }
}
