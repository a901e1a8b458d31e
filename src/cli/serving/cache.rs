//! Folders of a team's server in which the indexes of workspaces lie.
//!
//! Promises: beyond a size, the indexes of closed workspaces go, those first that were opened longest ago; an index goes
//! whole, and none that is open or being opened.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use crate::files::{
    create_private_folder, folder_bytes, move_folder, remove_moved_folder, write_derived,
};

/// Folder of the folders of workspaces.
const FOLDER: &str = "workspaces";

/// Folder that is being removed.
const REMOVED: &str = "removed";

/// File in the folder of a workspace that is written when it is opened.
const OPENED: &str = "opened";

/// Pause between two looks at the size: each reads the sizes of all files.
const PAUSE: Duration = Duration::from_secs(60);

/// Indexes of workspaces in a folder.
pub(super) struct WorkspaceCache {
    folder: PathBuf,
    /// Maximum number of bytes of all indexes.
    limit: u64,
    /// Read by whoever opens an index, written by whoever removes one.
    removing: RwLock<()>,
    trimmed: Mutex<Option<Instant>>,
}

impl WorkspaceCache {
    /// Returns the indexes in `folder`, which hold at most `limit` bytes.
    pub(super) fn new(folder: &Path, limit: u64) -> WorkspaceCache {
        WorkspaceCache {
            folder: folder.to_owned(),
            limit,
            removing: RwLock::default(),
            trimmed: Mutex::default(),
        }
    }

    /// Returns what `open` makes of the folder of the workspace `name`.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be made, and as `open` does.
    pub(super) fn open<T>(
        &self,
        name: &str,
        open: impl FnOnce(&Path) -> Result<T, String>,
    ) -> Result<T, String> {
        let _reading = self.removing.read().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder.join(FOLDER).join(name);
        let made =
            create_private_folder(&folder).and_then(|()| write_derived(&folder.join(OPENED), b""));
        made.map_err(|error| format!("cannot write to {}: {error}", folder.display()))?;
        open(&folder)
    }

    /// Removes indexes of workspaces for which `is_open` does not hold until all are within the limit. Does nothing if
    /// that was done within a minute.
    pub(super) fn trim(&self, is_open: &dyn Fn(&str) -> bool) {
        {
            let mut trimmed = self.trimmed.lock().unwrap_or_else(PoisonError::into_inner);
            if trimmed.is_some_and(|at| at.elapsed() < PAUSE) {
                return;
            }
            *trimmed = Some(Instant::now());
        }
        if let Err(error) = self.trim_now(is_open) {
            tracing::warn!("old indexes stay in {}: {error}", self.folder.display());
        }
    }

    fn trim_now(&self, is_open: &dyn Fn(&str) -> bool) -> io::Result<()> {
        // Of a process that was killed.
        self.remove_moved()?;
        let mut found: Vec<(SystemTime, String, u64)> = Vec::new();
        for entry in fs::read_dir(self.folder.join(FOLDER))?.flatten() {
            let (Ok(name), folder) = (entry.file_name().into_string(), entry.path()) else {
                continue;
            };
            let opened = fs::metadata(folder.join(OPENED)).and_then(|data| data.modified());
            let opened = opened.unwrap_or(SystemTime::UNIX_EPOCH);
            found.push((opened, name, folder_bytes(&folder)));
        }
        found.sort_unstable();
        let mut all: u64 = found.iter().map(|(_, _, bytes)| bytes).sum();
        for (_, name, bytes) in found {
            if all <= self.limit {
                return Ok(());
            }
            if self.move_away(&name, is_open)? {
                tracing::info!("the index of the workspace {name} leaves the cache: {bytes} bytes");
                all -= bytes;
                self.remove_moved()?;
            }
        }
        if all > self.limit {
            tracing::warn!(
                "the indexes of open workspaces hold {all} bytes, more than the cache should (--cache-size)"
            );
        }
        Ok(())
    }

    /// Moves the folder of a workspace away at once, unless it is open.
    fn move_away(&self, name: &str, is_open: &dyn Fn(&str) -> bool) -> io::Result<bool> {
        let _writing = self
            .removing
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        if is_open(name) {
            return Ok(false);
        }
        let from = self.folder.join(FOLDER).join(name);
        move_folder(&from, &self.folder.join(REMOVED))?;
        Ok(true)
    }

    fn remove_moved(&self) -> io::Result<()> {
        remove_moved_folder(&self.folder.join(REMOVED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_opened_longest_ago_goes_first_and_nothing_that_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let cache = WorkspaceCache::new(folder.path(), 250);
        let begun = SystemTime::now() - Duration::from_secs(100);
        for (at, name) in ["atlas", "beta", "gamma", "delta"].into_iter().enumerate() {
            let fill = |folder: &Path| {
                fs::write(folder.join("index"), [0; 100]).unwrap();
                Ok(folder.to_owned())
            };
            let folder = cache.open(name, fill).unwrap();
            let opened = fs::File::open(folder.join(OPENED)).unwrap();
            let at = begun + Duration::from_secs(at as u64);
            opened.set_modified(at).unwrap();
        }
        let left = || {
            let names = fs::read_dir(folder.path().join(FOLDER)).unwrap();
            let mut names: Vec<String> = names
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        cache.trim(&|name| name == "atlas");
        assert_eq!(left(), ["atlas", "delta"]);
        assert!(!folder.path().join(REMOVED).exists());
        cache.trim(&|_| false);
        assert_eq!(left().len(), 2, "it was trimmed just before");
    }
}
