//! Copies of a whole store, kept in a folder of the store itself.
//!
//! Promises: a backup that has its name is complete and synced; one that was begun and not ended has
//! another name, and holds nothing but copies. Nothing of it is read by listings, index or git.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use super::At;
use super::FilesError;
use super::disk;
use super::store::Store;

/// The folder of backups, below the store's own.
pub const BACKUPS: &str = "backup";
/// What the name of one ends with that is being made.
const UNFINISHED: &str = ".unfinished";

/// A backup that is being made; nothing of it counts before [`Backup::complete`].
pub struct Backup {
    target: PathBuf,
    /// Where it lies until it is complete.
    folder: PathBuf,
    /// Folders with new names in them.
    folders: BTreeSet<PathBuf>,
}

impl Store {
    /// Begins a backup called by `stamp`, or by another name after it if that is taken. What one
    /// left that was killed is removed. The caller holds a lock that lets only one be made.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be made, or if something else has its name.
    pub fn begin_backup(&self, stamp: &str) -> Result<Backup, FilesError> {
        let all = self.root().join(BACKUPS);
        if is_link_or_file(&all) {
            return Err(FilesError::NotRegular { path: all });
        }
        disk::create_directory_below(self.root(), &all).at("create", &all)?;
        for name in self.backup_names(&all)? {
            if name.ends_with(UNFINISHED) {
                let folder = all.join(name);
                fs::remove_dir_all(&folder).at("remove", &folder)?;
            }
        }
        let mut target = all.join(stamp);
        let mut number = 1;
        while fs::symlink_metadata(&target).is_ok() {
            number += 1;
            target = all.join(format!("{stamp}-{number}"));
        }
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let folder = all.join(format!("{name}{UNFINISHED}"));
        disk::create_directory(&folder).at("create", &folder)?;
        let mut backup = Backup {
            target,
            folder,
            folders: BTreeSet::new(),
        };
        // Whoever has the store in a repository does not want the memories in it twice.
        backup.keep(".gitignore", b"*\n")?;
        Ok(backup)
    }

    /// The names of the complete backups, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if there are some that cannot be listed.
    pub fn backups(&self) -> Result<Vec<String>, FilesError> {
        let all = self.root().join(BACKUPS);
        if is_link_or_file(&all) {
            return Ok(Vec::new());
        }
        let mut names = self.backup_names(&all)?;
        names.retain(|name| !name.ends_with(UNFINISHED) && !name.starts_with('.'));
        names.sort_unstable();
        Ok(names)
    }

    fn backup_names(&self, all: &Path) -> Result<Vec<String>, FilesError> {
        let entries = match fs::read_dir(all) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.at("list", all)?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.at("list", all)?;
            if entry.file_type().at("list", all)?.is_dir()
                && let Ok(name) = entry.file_name().into_string()
            {
                names.push(name);
            }
        }
        Ok(names)
    }
}

impl Backup {
    /// Keeps a file that lies at `path` below the store's folder.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written and synced.
    pub fn keep(&mut self, path: &str, bytes: &[u8]) -> Result<(), FilesError> {
        let target = self.folder.join(path);
        let folder = target.parent().expect("it lies in the backup");
        disk::create_directory_below(&self.folder, folder).at("create", folder)?;
        let temp = disk::uninterrupted(|| disk::write_temp(folder, bytes)).at("write", &target)?;
        temp.persist_noclobber(&target)
            .map_err(|error| error.error)
            .at("write", &target)?;
        self.folders.insert(folder.to_owned());
        Ok(())
    }

    /// Makes it durable and gives it its name; the folder that it lies in.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot promise that it is on the disk.
    pub fn complete(self) -> Result<PathBuf, FilesError> {
        for folder in self.folders.iter().chain([&self.folder]) {
            disk::uninterrupted(|| disk::sync_directory(folder)).at("sync", folder)?;
        }
        disk::uninterrupted(|| disk::rename_no_replace(&self.folder, &self.target))
            .at("write", &self.target)?;
        let all = self.target.parent().expect("it lies among the backups");
        disk::uninterrupted(|| disk::sync_directory(all)).at("sync", all)?;
        Ok(self.target)
    }
}

/// Whether something has this name that is no folder: then nothing is written below it.
fn is_link_or_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| !data.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn store(root: &Path) -> Store {
        Store::new(root, &root.join(".memdir"))
    }

    #[test]
    fn a_backup_counts_when_it_is_complete_and_leaves_of_others_are_cleared() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        let mut killed = store.begin_backup("20260101T000000Z").unwrap();
        killed.keep("files/2026-01/a.md", b"a").unwrap();
        assert!(store.backups().unwrap().is_empty());
        let mut backup = store.begin_backup("20260101T000000Z").unwrap();
        backup.keep("files/2026-01/a.md", b"a").unwrap();
        let folder = backup.complete().unwrap();
        assert_eq!(fs::read(folder.join("files/2026-01/a.md")).unwrap(), b"a");
        assert_eq!(fs::read(folder.join(".gitignore")).unwrap(), b"*\n");
        let again = store.begin_backup("20260101T000000Z").unwrap();
        again.complete().unwrap();
        let names = store.backups().unwrap();
        assert_eq!(names, ["20260101T000000Z", "20260101T000000Z-2"]);
        assert_eq!(fs::read_dir(root.path().join(BACKUPS)).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join(BACKUPS)).unwrap();
        let begun = store(root.path()).begin_backup("20260101T000000Z");
        assert!(matches!(begun, Err(FilesError::NotRegular { .. })));
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
