//! The trees of one commit, read and written as bytes.
//!
//! A tree of ten thousand files is half a megabyte; parsing and serializing it for one new file takes
//! longer than the rest of a commit.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use git2::{ObjectType, Oid};

use crate::git::reading::tree_entry;
use crate::git::reading::tree_entry::{EntryKind, ID_BYTES, TreeEntry};
use crate::git::{GitError, Id, Repository, To};

/// A change to a tree: the parts of a path, and the text to put there; `None` removes it.
pub(in crate::git) type Step<'a> = (Vec<&'a str>, Option<Oid>);

/// Writes the bytes of a tree as an object.
pub(in crate::git) type PutTree<'a> = dyn FnMut(&[u8]) -> Result<Oid, GitError> + 'a;

/// Lookup of files of one commit; each folder is read once.
pub struct Trees<'a> {
    repository: &'a Repository,
    /// Folders by their paths below the work folder, without a slash at the end.
    folders: HashMap<String, Option<Folder>>,
}

/// A tree: entries of `MODE NAME\0ID`, in git's order.
struct Folder {
    bytes: Vec<u8>,
    /// Offset of each entry.
    starts: Vec<u32>,
}

impl Folder {
    fn parse(bytes: Vec<u8>) -> Option<Folder> {
        let mut starts = Vec::with_capacity(bytes.len() / 56 + 1);
        let mut at = 0;
        while at < bytes.len() {
            starts.push(u32::try_from(at).ok()?);
            at += memchr::memchr(0, &bytes[at..])? + 1 + ID_BYTES;
        }
        (at == bytes.len()).then_some(Folder { bytes, starts })
    }

    fn entry(&self, at: usize) -> Option<TreeEntry<'_>> {
        TreeEntry::first(&self.bytes[self.starts[at] as usize..])
    }

    fn entries(&self) -> impl Iterator<Item = TreeEntry<'_>> {
        (0..self.starts.len()).filter_map(|at| self.entry(at))
    }

    fn find(&self, name: &str, kind: EntryKind) -> Option<Oid> {
        Some(self.get(name, kind)?.id)
    }

    /// Returns the mode of the file `name`, so that an executable one stays so.
    fn mode(&self, name: &str) -> Option<String> {
        let bytes = self.get(name, EntryKind::File)?.bytes;
        let mode = bytes.split(|byte| *byte == b' ').next()?;
        String::from_utf8(mode.to_vec()).ok()
    }

    fn get(&self, name: &str, kind: EntryKind) -> Option<TreeEntry<'_>> {
        let wanted = tree_entry::key(name.as_bytes(), kind == EntryKind::Folder);
        let entry = self.entry(self.place(&wanted).ok()?)?;
        (entry.kind == kind).then_some(entry)
    }

    /// Returns the number of the entry with a sort key; where there is none, of the first behind it.
    fn place(&self, wanted: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.starts.len());
        while low < high {
            let middle = (low + high) / 2;
            let key = self.entry(middle).map(|entry| entry.key());
            match key.as_deref().cmp(&Some(wanted)) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(middle),
            }
        }
        Err(low)
    }
}

/// Returns the lookup of the files of a commit; no files if there is none.
///
/// # Errors
///
/// Fails if the commit or its tree is missing.
pub fn trees(repository: &Repository, commit: Option<Id>) -> Result<Trees<'_>, GitError> {
    let action = "read the files of a commit";
    let root = match commit {
        None => None,
        Some(commit) => {
            let commit = repository.inner.find_commit(commit.0).to(action)?;
            Some(commit.tree_id())
        }
    };
    Trees::of(repository, root)
}

impl<'a> Trees<'a> {
    /// Reads the tree `root`; no files if there is none.
    pub(in crate::git) fn of(
        repository: &'a Repository,
        root: Option<Oid>,
    ) -> Result<Trees<'a>, GitError> {
        let mut trees = Trees {
            repository,
            folders: HashMap::new(),
        };
        let folder = root.map(|root| trees.read(root)).transpose()?;
        trees.folders.insert(String::new(), folder);
        Ok(trees)
    }

    fn read(&self, id: Oid) -> Result<Folder, GitError> {
        let action = "read the files of a commit";
        let odb = self.repository.inner.odb().to(action)?;
        let object = odb.read(id).to(action)?;
        let folder = match object.kind() {
            ObjectType::Tree => Folder::parse(object.data().to_vec()),
            _ => None,
        };
        folder.ok_or_else(|| GitError::new(action, format!("{id} is no folder")))
    }

    /// Returns the id of the text at `path` below the store.
    ///
    /// # Errors
    ///
    /// Fails if a folder is missing from the repository.
    pub fn file(&mut self, path: &str) -> Result<Option<Id>, GitError> {
        let path = format!("{}{path}", self.repository.prefix);
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let folder = self.folder(folder)?;
        Ok(folder
            .and_then(|folder| folder.find(name, EntryKind::File))
            .map(Id))
    }

    fn folder(&mut self, path: &str) -> Result<Option<&Folder>, GitError> {
        if !self.folders.contains_key(path) {
            let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
            let above = self.folder(above)?;
            let id = above.and_then(|above| above.find(name, EntryKind::Folder));
            let folder = id.map(|id| self.read(id)).transpose()?;
            self.folders.insert(path.to_owned(), folder);
        }
        Ok(self.folders[path].as_ref())
    }

    /// Returns every file below `folder` of the store, with its path below the store, unsorted.
    ///
    /// # Errors
    ///
    /// Fails if a folder is missing from the repository.
    pub fn files_below(&mut self, folder: &str) -> Result<Vec<(String, Id)>, GitError> {
        let prefix = self.repository.prefix.clone();
        let mut files = Vec::new();
        let mut pending = vec![folder.to_owned()];
        while let Some(folder) = pending.pop() {
            let Some(tree) = self.folder(&format!("{prefix}{folder}"))? else {
                continue;
            };
            for entry in tree.entries() {
                // The store has no names that are no UTF-8.
                let Ok(name) = std::str::from_utf8(entry.name) else {
                    continue;
                };
                let path = format!("{folder}/{name}");
                match entry.kind {
                    EntryKind::File => files.push((path, Id(entry.id))),
                    EntryKind::Folder => pending.push(path),
                    EntryKind::Other => {}
                }
            }
        }
        Ok(files)
    }

    /// Writes the folder at `path` with `changes`, whose paths begin at part `depth`, by calls of `put`; `None`
    /// if nothing is left of it.
    pub(in crate::git) fn write(
        &mut self,
        path: &str,
        changes: &[Step<'_>],
        depth: usize,
        put: &mut PutTree<'_>,
    ) -> Result<Option<Oid>, GitError> {
        let mut here: BTreeMap<Vec<u8>, Option<Vec<u8>>> = BTreeMap::new();
        let mut below: BTreeMap<&str, Vec<Step<'_>>> = BTreeMap::new();
        for (parts, id) in changes {
            let name = parts[depth];
            if parts.len() > depth + 1 {
                below.entry(name).or_default().push((parts.clone(), *id));
            } else {
                let known = self.folder(path)?.and_then(|folder| folder.mode(name));
                let mode = known.unwrap_or_else(|| "100644".to_owned());
                let new = id.map(|id| tree_entry::entry_bytes(&mode, name.as_bytes(), id));
                here.insert(tree_entry::key(name.as_bytes(), false), new);
            }
        }
        for (name, changes) in below {
            let folder = match path {
                "" => name.to_owned(),
                _ => format!("{path}/{name}"),
            };
            let new = self.write(&folder, &changes, depth + 1, put)?;
            let new = new.map(|id| tree_entry::entry_bytes("40000", name.as_bytes(), id));
            here.insert(tree_entry::key(name.as_bytes(), true), new);
        }
        let bytes = match self.folder(path)? {
            Some(folder) => folder.with(here),
            None => here.into_values().flatten().flatten().collect(),
        };
        if bytes.is_empty() {
            return Ok(None);
        }
        put(&bytes).map(Some)
    }
}

impl Folder {
    /// Returns the bytes of this tree with the entries of `changes`, by sort key. A new file replaces a
    /// folder of its name, and the other way round.
    fn with(&self, changes: BTreeMap<Vec<u8>, Option<Vec<u8>>>) -> Vec<u8> {
        // Entries that are taken out, and new ones by the numbers of the entries before which they stand.
        let mut removed = BTreeSet::new();
        let mut added: Vec<(usize, Vec<u8>)> = Vec::with_capacity(changes.len());
        for (key, new) in changes {
            let place = self.place(&key);
            removed.extend(place.ok());
            let Some(new) = new else { continue };
            let other = match key.strip_suffix(b"/") {
                Some(file) => file.to_vec(),
                None => [&key[..], b"/"].concat(),
            };
            removed.extend(self.place(&other).ok());
            added.push((place.unwrap_or_else(|before| before), new));
        }
        let start = |number: usize| {
            let start = self.starts.get(number);
            start.map_or(self.bytes.len(), |start| *start as usize)
        };
        let more: usize = added.iter().map(|(_, new)| new.len()).sum();
        let mut bytes = Vec::with_capacity(self.bytes.len() + more);
        let mut copied = 0;
        let mut added = added.into_iter().peekable();
        let stops: BTreeSet<usize> = added
            .clone()
            .map(|(at, _)| at)
            .chain(removed.iter().copied())
            .collect();
        for stop in stops {
            bytes.extend_from_slice(&self.bytes[copied..start(stop)]);
            while let Some((_, new)) = added.next_if(|(at, _)| *at == stop) {
                bytes.extend(new);
            }
            copied = match removed.contains(&stop) {
                true => start(stop + 1),
                false => start(stop),
            };
        }
        bytes.extend_from_slice(&self.bytes[copied..]);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every step is compared with what git's own library makes of the same files.
    #[test]
    fn a_folder_is_written_as_git_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let repository = Repository::create(folder.path(), "main").unwrap();
        let inner = &repository.inner;
        let odb = inner.odb().unwrap();
        let text = |n: usize| inner.blob(format!("text {n}").as_bytes()).unwrap();
        let mut index = git2::Index::new().unwrap();
        let mut root = None;
        // Names around the slash, which folders are ordered by.
        let names = [
            "a", "a-b", "a.md", "a/x", "a0/y", "b/c/d", "b/c.md", "b/c/e", "z",
        ];
        let mut number = 1_usize;
        for round in 0..60 {
            let mut changes = Vec::new();
            for (at, name) in names.iter().enumerate() {
                number = number
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(at);
                // `a` is a file in some rounds and a folder in others.
                let clashes =
                    (*name == "a") != (round % 2 == 0) && (*name == "a" || *name == "a/x");
                let id = (!clashes && !(number >> 33).is_multiple_of(3)).then(|| text(number % 7));
                changes.push((name.split('/').collect::<Vec<_>>(), id));
                let path = std::path::Path::new(name);
                match id {
                    None => drop(index.remove(path, 0)),
                    Some(id) => {
                        let mut entry = index_entry(name);
                        entry.id = id;
                        index.add(&entry).unwrap();
                    }
                }
            }
            let mut trees = Trees::of(&repository, root).unwrap();
            let mut put = |bytes: &[u8]| odb.write(ObjectType::Tree, bytes).to("write");
            root = trees.write("", &changes, 0, &mut put).unwrap();
            let expected = index.write_tree_to(inner).unwrap();
            assert_eq!(
                root.unwrap_or(inner.treebuilder(None).unwrap().write().unwrap()),
                expected,
                "{round}"
            );
            let mut trees = Trees::of(&repository, root).unwrap();
            for (parts, id) in &changes {
                assert_eq!(trees.file(&parts.join("/")).unwrap(), id.map(Id));
            }
        }
    }

    fn index_entry(path: &str) -> git2::IndexEntry {
        let zero = git2::IndexTime::new(0, 0);
        git2::IndexEntry {
            ctime: zero,
            mtime: zero,
            dev: 0,
            ino: 0,
            mode: 0o100_644,
            uid: 0,
            gid: 0,
            file_size: 0,
            id: Oid::hash_object(ObjectType::Blob, b"").unwrap(),
            flags: 0,
            flags_extended: 0,
            path: path.as_bytes().to_vec(),
        }
    }

    #[test]
    fn what_is_no_folder_is_an_error() {
        assert!(Folder::parse(b"100644 a\0short".to_vec()).is_none());
        assert!(Folder::parse(b"100644 a".to_vec()).is_none());
        assert_eq!(Folder::parse(Vec::new()).unwrap().starts.len(), 0);
    }
}
