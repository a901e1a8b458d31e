//! The append-only journals beside the memories: listing, and replacing without losing lines that are
//! appended meanwhile. The lines are not interpreted here.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use super::append::append_lines;
use super::folders::JOURNALS;
use super::lock::Lock;
use super::storage::{Replaced, Version, WritableStorage};
use super::store::Store;
use super::{At, FilesError};
use crate::beneath::{Kind, is_link};

/// Entries in the folder of journals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Journals {
    /// Size of each journal in bytes, by path below the store's folder.
    pub sizes: BTreeMap<String, u64>,
    /// Paths of entries that are named as journals and are no regular files.
    pub others: BTreeSet<String>,
}

/// Returns whether the path, below the store's folder, is in the folder of the journals.
pub fn is_below_journals(path: &str) -> bool {
    path.strip_prefix(JOURNALS)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// Returns whether the path, below the store's folder, is that of a journal.
pub fn is_journal(path: &str) -> bool {
    let name = path
        .strip_prefix(JOURNALS)
        .and_then(|rest| rest.strip_prefix('/'));
    name.is_some_and(|name| {
        name.ends_with(".jsonl") && !name.starts_with('.') && !name.contains('/')
    })
}

/// Takes the lock for appending to this copy's journals or replacing them, in the folder `state`; waits at
/// most two seconds.
///
/// # Errors
///
/// Fails if the lock is still held then.
pub fn journal_lock(state: &Path) -> Result<Lock, FilesError> {
    Lock::take(&state.join("locks").join("journal.lock"), "the journal")
}

impl Store {
    /// Lists the journals; `None` if the path is no folder, so that the journals are unknown.
    ///
    /// # Errors
    ///
    /// Fails if the folder exists and cannot be read.
    pub fn journals(&self) -> Result<Option<Journals>, FilesError> {
        let mut journals = Journals::default();
        let folder = match self.top(JOURNALS) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Some(journals)),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory || is_link(&error) => {
                return Ok(None);
            }
            Err(error) => return Err(error).at("list", &self.root().join(JOURNALS)),
        };
        for (name, _) in folder.names().at("list", folder.path())? {
            let path = format!("{JOURNALS}/{name}");
            if !is_journal(&path) {
                continue;
            }
            match folder.facts(&name) {
                Ok(facts) if facts.kind == Kind::File => {
                    journals.sizes.insert(path, facts.size);
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {} // Gone meanwhile.
                Ok(_) | Err(_) => drop(journals.others.insert(path)),
            }
        }
        Ok(Some(journals))
    }

    /// Replaces as [`WritableStorage::put_beside`] a file that others append lines to: lines that they append
    /// in the same moment, also without [`journal_lock`], are at the end of the new text.
    ///
    /// # Errors
    ///
    /// As for [`WritableStorage::put_beside`].
    pub fn put_growing(
        &self,
        path: &str,
        seen: Option<&Version>,
        bytes: Option<&[u8]>,
    ) -> Result<Replaced, FilesError> {
        let _lock = journal_lock(self.state())?;
        // Elsewhere a file that is open cannot be replaced, nor one that somebody appends to.
        let before = match seen {
            Some(seen) if cfg!(unix) => match self.folder_beside().open_regular(path) {
                Err(FilesError::Missing { .. }) => return Ok(Replaced::Stale),
                other => Some((other?, seen.bytes.len() as u64)),
            },
            _ => None,
        };
        let replaced = self.put_beside(path, seen, bytes)?;
        if let (Replaced::Done, Some((mut file, known))) = (&replaced, before) {
            let target = self.root().join(path);
            let late = read_from(&mut file, known).at("read", &target)?;
            if !late.is_empty() {
                append_lines(&target, &late).at("write", &target)?;
            }
        }
        Ok(replaced)
    }
}

fn read_from(file: &mut File, at: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::files::storage::Storage;

    #[test]
    fn only_regular_files_of_that_name_are_journals() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::new(root.path(), &root.path().join(".memdir"));
        assert_eq!(store.journals().unwrap(), Some(Journals::default()));
        let folder = root.path().join(JOURNALS);
        fs::create_dir_all(folder.join("folder.jsonl")).unwrap();
        fs::create_dir(folder.join("below")).unwrap();
        for name in ["a.jsonl", ".b.jsonl", "c.json", "below/d.jsonl"] {
            fs::write(folder.join(name), "{}\n").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/hosts", folder.join("link.jsonl")).unwrap();
        let found = store.journals().unwrap().unwrap();
        assert_eq!(
            found.sizes.into_iter().collect::<Vec<_>>(),
            [("journal/a.jsonl".to_owned(), 3)]
        );
        assert!(found.others.contains("journal/folder.jsonl"));
        assert_eq!(found.others.len(), if cfg!(unix) { 2 } else { 1 });
        fs::remove_dir_all(&folder).unwrap();
        fs::write(&folder, "no folder").unwrap();
        assert_eq!(store.journals().unwrap(), None);
    }

    #[test]
    fn a_journal_that_grew_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let store = Store::new(root.path(), &root.path().join(".memdir"));
        let path = "journal/a.jsonl";
        assert_eq!(
            store.put_growing(path, None, Some(b"a\n")).unwrap(),
            Replaced::Done
        );
        let seen = store.beside().read(path, u64::MAX).unwrap();
        append_lines(&root.path().join(path), b"b\n").unwrap();
        let put = store.put_growing(path, Some(&seen), Some(b"z\n")).unwrap();
        assert_eq!(put, Replaced::Stale);
        let seen = store.beside().read(path, u64::MAX).unwrap();
        assert_eq!(seen.bytes, b"a\nb\n");
        let put = store.put_growing(path, Some(&seen), None).unwrap();
        assert_eq!(put, Replaced::Done);
        assert_eq!(store.journals().unwrap(), Some(Journals::default()));
    }
}
