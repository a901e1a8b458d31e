//! Copies of a whole store, kept in a folder of the store itself.
//!
//! Guarantees: a backup under its final name is complete and synced; an unfinished one has another name,
//! and holds nothing but copies. Listings, index and git ignore backups.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;

use super::folders::{BACKUPS, split};
use super::store::Store;
use super::{At, FilesError, disk};
use crate::beneath::{Folder, Kind, Target, is_link};

/// Suffix of the name of a backup that is being made.
const UNFINISHED: &str = ".unfinished";

/// A backup that is being made, not valid before [`Backup::complete`].
pub struct Backup {
    /// The folder of all backups.
    all: Folder,
    /// Its final name.
    name: String,
    /// Its unfinished folder.
    folder: Folder,
    /// Folders to sync, below its own.
    folders: BTreeSet<String>,
}

fn folders_in(all: &Folder) -> Result<Vec<String>, FilesError> {
    let names = all.names().at("list", all.path())?;
    let folders = names.into_iter().filter(|(_, kind)| *kind == Kind::Folder);
    Ok(folders.map(|(name, _)| name).collect())
}

impl Backup {
    /// Begins a backup called `stamp`, or another name after it if that is taken. Removes the remains of
    /// killed ones. The caller holds a lock that allows only one.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be made, or if something else has its name.
    pub fn begin(store: &Store, stamp: &str) -> Result<Backup, FilesError> {
        let path = store.root().join(BACKUPS);
        let all = match store.open_or_create(BACKUPS, "") {
            Err(FilesError::Io { source, .. }) if source.kind() == io::ErrorKind::NotADirectory => {
                return Err(FilesError::NotRegular { path });
            }
            other => other?,
        };
        for name in folders_in(&all)? {
            if name.ends_with(UNFINISHED) {
                all.remove_all(&name).at("remove", &path.join(&name))?;
            }
        }
        let mut name = stamp.to_owned();
        let mut number = 1;
        while all.facts(&name).is_ok() {
            number += 1;
            name = format!("{stamp}-{number}");
        }
        let folder = all.create_below(&format!("{name}{UNFINISHED}"));
        let folder = folder.at("create", &path.join(&name))?;
        let mut backup = Backup {
            all,
            name,
            folder,
            folders: BTreeSet::new(),
        };
        // Whoever has the store in a repository does not want the memories in it twice.
        backup.keep(".gitignore", b"*\n")?;
        Ok(backup)
    }

    /// Returns the names of the complete backups, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if there are some that cannot be listed.
    pub fn names(store: &Store) -> Result<Vec<String>, FilesError> {
        let all = match store.top(BACKUPS) {
            Err(error)
                if is_link(&error)
                    || matches!(
                        error.kind(),
                        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                    ) =>
            {
                return Ok(Vec::new());
            }
            other => other.at("list", &store.root().join(BACKUPS))?,
        };
        let mut names = folders_in(&all)?;
        names.retain(|name| !name.ends_with(UNFINISHED) && !name.starts_with('.'));
        names.sort_unstable();
        Ok(names)
    }

    /// Adds the file at `path` below the store's folder.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written and synced.
    pub fn keep(&mut self, path: &str, bytes: &[u8]) -> Result<(), FilesError> {
        let target = self.folder.path().join(path);
        let (below, file) = split(path);
        let folder = self.folder.create_below(below).at("create", &target)?;
        let temp = disk::uninterrupted(|| disk::write_temp(&folder, bytes));
        let mut temp = temp.at("write", &target)?;
        temp.rename(file, Target::Keep).at("write", &target)?;
        self.folders.insert(below.to_owned());
        Ok(())
    }

    /// Syncs the backup, gives it its final name, and returns its folder.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot promise that it is on the disk.
    pub fn complete(self) -> Result<PathBuf, FilesError> {
        let target = self.all.path().join(&self.name);
        for folder in self.folders.iter().map(String::as_str).chain([""]) {
            let synced = || self.folder.below(folder)?.sync();
            disk::uninterrupted(synced).at("sync", self.folder.path())?;
        }
        let unfinished = format!("{}{UNFINISHED}", self.name);
        let named = disk::uninterrupted(|| {
            disk::rename_no_replace(&self.all, &unfinished, &self.all, &self.name)
        });
        named.at("write", &target)?;
        disk::uninterrupted(|| self.all.sync()).at("sync", self.all.path())?;
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn store(root: &Path) -> Store {
        Store::new(root, &root.join(".memdir"))
    }

    #[test]
    fn a_backup_counts_when_it_is_complete_and_leaves_of_others_are_cleared() {
        let root = tempfile::tempdir().unwrap();
        let store = store(root.path());
        let mut killed = Backup::begin(&store, "20260101T000000Z").unwrap();
        killed.keep("files/2026-01/a.md", b"a").unwrap();
        assert!(Backup::names(&store).unwrap().is_empty());
        let mut backup = Backup::begin(&store, "20260101T000000Z").unwrap();
        backup.keep("files/2026-01/a.md", b"a").unwrap();
        let folder = backup.complete().unwrap();
        assert_eq!(fs::read(folder.join("files/2026-01/a.md")).unwrap(), b"a");
        assert_eq!(fs::read(folder.join(".gitignore")).unwrap(), b"*\n");
        let again = Backup::begin(&store, "20260101T000000Z").unwrap();
        again.complete().unwrap();
        let names = Backup::names(&store).unwrap();
        assert_eq!(names, ["20260101T000000Z", "20260101T000000Z-2"]);
        assert_eq!(fs::read_dir(root.path().join(BACKUPS)).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_written_through_a_link() {
        let root = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join(BACKUPS)).unwrap();
        let begun = Backup::begin(&store(root.path()), "20260101T000000Z");
        assert!(matches!(begun, Err(FilesError::Link { .. })));
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
