//! Inspects a fetched commit before it is used: it is untrusted data.
//!
//! Guarantees: a commit is refused only if it would take unbounded resources. Files that this machine
//! cannot or must not have are left out and reported; they stay in the history.

use std::collections::HashMap;

use git2::{FileMode, ObjectType, Oid, Tree};

use crate::git::repository::paths::{MOST_DEPTH, PathRejection, is_gits_own};
use crate::git::{GitError, Id, Owner, Repository, To};

/// Maximum number of entries of a commit.
const MOST_ENTRIES: usize = 1_000_000;

/// Maximum depth of folders.
const DEEPEST: usize = 128;

/// Maximum number of omitted files that are named.
const MOST_NAMED: usize = 100;

/// A file of a remote that is left out here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Path below the work folder, with escapes for bytes that are no printable ASCII.
    pub path: String,
    /// Reason, as the rest of a sentence.
    pub reason: String,
}

/// Reasons why files of a commit, or all of it, are not taken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inspected {
    /// Reason why the whole commit is refused, if it is.
    pub refused: Option<String>,
    /// Files that are left out, at most a hundred.
    pub left_out: Vec<LeftOut>,
    /// Number of omitted files beyond those that are named.
    pub unnamed: usize,
}

/// Inspects the files of `commit`, except those that the commit `known` holds, too, which were inspected
/// before.
///
/// # Errors
///
/// Fails if something is missing from the repository.
pub fn inspect(
    repository: &Repository,
    commit: Id,
    known: Option<Id>,
) -> Result<Inspected, GitError> {
    let action = "look at what the remote sent";
    let tree = |id: Id| repository.inner.find_commit(id.0)?.tree();
    let known = known.map(tree).transpose().to(action)?;
    let mut look = Look {
        repository,
        entries: 0,
        sizes: HashMap::new(),
        found: Inspected::default(),
    };
    let tree = tree(commit).to(action)?;
    let refused = look.find_in(&tree, known.as_ref(), "", 0, false);
    look.found.refused = refused.to(action)?;
    Ok(look.found)
}

struct Look<'a> {
    repository: &'a Repository,
    entries: usize,
    /// Sizes of texts that were seen: a tree that expands exponentially repeats a few of them.
    sizes: HashMap<Oid, u64>,
    found: Inspected,
}

impl Look<'_> {
    /// Inspects a folder; returns the reason why the commit is refused, if it is. In a folder that is left
    /// out as a whole nothing is reported.
    fn find_in(
        &mut self,
        tree: &Tree<'_>,
        known: Option<&Tree<'_>>,
        path: &str,
        depth: usize,
        is_left_out: bool,
    ) -> Result<Option<String>, git2::Error> {
        if depth > DEEPEST {
            return Ok(Some(format!("folders lie more than {DEEPEST} deep")));
        }
        let is_asked = self.repository.owner() == Owner::Asked;
        for entry in tree {
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Ok(Some(format!("it holds more than {MOST_ENTRIES} files")));
            }
            let known_entry = known.and_then(|known| known.get_name_bytes(entry.name_bytes()));
            let is_known = |id: Oid, mode: i32| {
                known_entry
                    .as_ref()
                    .is_some_and(|known| known.id() == id && known.filemode() == mode)
            };
            if is_known(entry.id(), entry.filemode()) {
                continue;
            }
            let full = format!("{path}{}", String::from_utf8_lossy(entry.name_bytes()));
            if is_asked && !self.repository.leads_to_store(&full) {
                continue; // Nothing of it is taken from here: it comes with its owner's git.
            }
            let reason = match is_left_out {
                true => None,
                false => self.reason(&entry, &full, depth)?,
            };
            let is_left_out = is_left_out || reason.is_some();
            if let Some(reason) = reason {
                let name = entry.name_bytes().escape_ascii();
                self.name(format!("{}{name}", path.escape_default()), reason);
            }
            if entry.kind() == Some(ObjectType::Tree) {
                let repository = &self.repository.inner;
                let below = repository.find_tree(entry.id())?;
                let known = known_entry.filter(|known| known.kind() == Some(ObjectType::Tree));
                let known = known
                    .map(|known| repository.find_tree(known.id()))
                    .transpose()?;
                let path = format!("{full}/");
                let refused =
                    self.find_in(&below, known.as_ref(), &path, depth + 1, is_left_out)?;
                if refused.is_some() {
                    return Ok(refused);
                }
            }
        }
        Ok(None)
    }

    /// Returns the reason why the entry at `path` is left out, if it is.
    fn reason(
        &mut self,
        entry: &git2::TreeEntry<'_>,
        path: &str,
        depth: usize,
    ) -> Result<Option<String>, git2::Error> {
        if is_gits_own(entry.name_bytes()) {
            return Ok(Some(PathRejection::Name.reason().to_owned()));
        }
        let is_folder = entry.kind() == Some(ObjectType::Tree);
        if let Some(reason) = self.repository.out_of_place(path, is_folder) {
            return Ok(Some(reason.to_owned()));
        }
        let Some(below) = self.repository.below_store(path) else {
            return Ok(None);
        };
        Ok(match entry.kind() {
            _ if std::str::from_utf8(entry.name_bytes()).is_err() => {
                Some("its name is not UTF-8".to_owned())
            }
            Some(ObjectType::Commit) => Some("it is a repository of its own".to_owned()),
            Some(ObjectType::Tree) if depth >= MOST_DEPTH => {
                Some(PathRejection::Depth.reason().to_owned())
            }
            Some(ObjectType::Blob) if entry.filemode() == i32::from(FileMode::Link) => {
                Some("it is a symbolic link".to_owned())
            }
            Some(ObjectType::Blob) => {
                let size = match self.sizes.get(&entry.id()) {
                    Some(size) => *size,
                    None => {
                        let (size, _) = self.repository.inner.odb()?.read_header(entry.id())?;
                        self.sizes.insert(entry.id(), size as u64);
                        size as u64
                    }
                };
                let why = self.repository.left_out_of_size(below, size);
                why.map(|why| why.reason().to_owned())
            }
            _ => None,
        })
    }

    fn name(&mut self, path: String, reason: String) {
        if self.found.left_out.len() < MOST_NAMED {
            self.found.left_out.push(LeftOut { path, reason });
        } else {
            self.found.unnamed += 1;
        }
    }
}
