//! The files of a repository that are not the store's: two histories are merged by whole files, whose
//! content is never read.

use std::collections::{BTreeMap, BTreeSet};

use git2::{DiffOptions, FileMode, ObjectType, Oid, Tree};

use crate::git::reading::history::regular_file;
use crate::git::reading::tree_entry;
use crate::git::{GitError, Id, Repository, Staged, To, Trees};

/// The difference of one file that is not the store's between two commits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignChange {
    /// Path below the work folder.
    pub path: String,
    /// Former text; `None` where there was none, or no regular file.
    pub before: Option<Id>,
    /// New text, likewise.
    pub after: Option<Id>,
    /// Whether the new file is executable.
    pub is_executable: bool,
}

/// Id and mode of an entry of a tree.
type Pointed = (Oid, i32);

/// Returns whether files that are not the store's differ between two commits.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn foreign_files_differ(
    repository: &Repository,
    before: Option<Id>,
    after: Id,
) -> Result<bool, GitError> {
    let mut is_found = false;
    each_foreign_change(repository, before, after, |_, _| is_found = true)?;
    Ok(is_found)
}

/// Returns the regular files that are not the store's and differ between two commits, without names
/// that are no UTF-8.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn foreign_changes(
    repository: &Repository,
    before: Option<Id>,
    after: Id,
) -> Result<Vec<ForeignChange>, GitError> {
    let mut changes = Vec::new();
    each_foreign_change(repository, before, after, |path, delta| {
        if let Ok(path) = std::str::from_utf8(path) {
            changes.push(ForeignChange {
                path: path.to_owned(),
                before: regular_file(&delta.old_file()),
                after: regular_file(&delta.new_file()),
                is_executable: delta.new_file().mode() == FileMode::BlobExecutable,
            });
        }
    })?;
    Ok(changes)
}

fn each_foreign_change(
    repository: &Repository,
    before: Option<Id>,
    after: Id,
    mut found: impl FnMut(&[u8], &git2::DiffDelta<'_>),
) -> Result<(), GitError> {
    let action = "compare two commits";
    let tree = |id: Id| repository.inner.find_commit(id.0)?.tree();
    let before = before.map(tree).transpose().to(action)?;
    let after = tree(after).to(action)?;
    let mut options = DiffOptions::new();
    options.skip_binary_check(true).include_typechange(true);
    let diff = repository
        .inner
        .diff_tree_to_tree(before.as_ref(), Some(&after), Some(&mut options))
        .to(action)?;
    for delta in diff.deltas() {
        let path = delta.new_file().path_bytes().unwrap_or_default();
        let text = std::str::from_utf8(path);
        if text.map_or(true, |path| repository.below_store(path).is_none()) {
            found(path, &delta);
        }
    }
    Ok(())
}

/// Returns the changes of git's index for these files, links and submodules when the branch moves from
/// `before` to `after`, by path.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn stage_foreign_changes(
    repository: &Repository,
    before: Option<Id>,
    after: Id,
) -> Result<BTreeMap<String, Staged>, GitError> {
    let mut staged = BTreeMap::new();
    let there = |file: git2::DiffFile<'_>| (!file.id().is_zero()).then(|| Id(file.id()));
    each_foreign_change(repository, before, after, |path, delta| {
        if let Ok(path) = std::str::from_utf8(path)
            && !repository.stands_for_part(path)
        {
            let one = Staged {
                before: there(delta.old_file()),
                after: there(delta.new_file()),
                stamped: None,
            };
            staged.insert(path.to_owned(), one);
        }
    })?;
    Ok(staged)
}

/// Merges files that are not the store's: returns the trees of `head` with the changes of `tip` since
/// `base`, and the paths that both changed, which stay as `head` has them.
///
/// # Errors
///
/// Fails if something cannot be read or written.
pub fn merge_foreign_files(
    repository: &Repository,
    base: Option<Id>,
    head: Id,
    tip: Id,
) -> Result<(Trees<'_>, Vec<String>), GitError> {
    let action = "put two histories together";
    let tree = |id: Id| repository.inner.find_commit(id.0)?.tree();
    let base = base.map(tree).transpose().to(action)?;
    let (head, tip) = (tree(head).to(action)?, tree(tip).to(action)?);
    let mut kept = Vec::new();
    let root = merge_folder(
        repository,
        base.as_ref(),
        [Some(&head), Some(&tip)],
        "",
        &mut kept,
    )
    .to(action)?;
    Ok((Trees::of(repository, root)?, kept))
}

/// Merges the folder at `path`; returns `None` if it is empty then. Of the store's own files, only those
/// that no machine takes are merged: the rest stays as in `ours`, and is merged elsewhere.
fn merge_folder(
    repository: &Repository,
    base: Option<&Tree<'_>>,
    [ours, theirs]: [Option<&Tree<'_>>; 2],
    path: &str,
    kept: &mut Vec<String>,
) -> Result<Option<Oid>, git2::Error> {
    let mut entries = BTreeMap::new();
    for name in names([ours, theirs]) {
        let at = |tree: Option<&Tree<'_>>| pointed(tree, &name);
        let (before, here, there) = (at(base), at(ours), at(theirs));
        let full = format!("{path}{}", String::from_utf8_lossy(&name));
        let is_ours = repository.is_store_part(&full) || repository.below_store(&full).is_some();
        let are_folders = is_folder_or_nothing(here) && is_folder_or_nothing(there);
        let new = if here == there || there == before {
            here
        } else if is_ours && !are_folders {
            let is_theirs =
                here == before && !is_followed(repository, &name, &full, there.or(before))?;
            if is_theirs { there } else { here }
        } else if here == before && !is_ours {
            there
        } else if are_folders {
            let folder = |pointed: Option<Pointed>| {
                let pointed = pointed.filter(|pointed| is_folder_or_nothing(Some(*pointed)));
                pointed
                    .map(|(id, _)| repository.inner.find_tree(id))
                    .transpose()
            };
            let (before, here, there) = (folder(before)?, folder(here)?, folder(there)?);
            let sides = [here.as_ref(), there.as_ref()];
            merge_folder(
                repository,
                before.as_ref(),
                sides,
                &format!("{full}/"),
                kept,
            )?
            .map(|id| (id, i32::from(FileMode::Tree)))
        } else {
            if here.is_some() && there.is_some() {
                kept.push(full);
            }
            here.or(there) // A change wins over a deletion.
        };
        if let Some((id, mode)) = new {
            let is_folder = mode == i32::from(FileMode::Tree);
            let entry = (format!("{mode:o}"), id);
            entries.insert(tree_entry::key(&name, is_folder), (name, entry));
        }
    }
    if entries.is_empty() {
        return Ok(None);
    }
    // libgit2's tree builder refuses some names that are only passed on here.
    let mut bytes = Vec::new();
    for (name, (mode, id)) in entries.into_values() {
        bytes.extend(tree_entry::entry_bytes(&mode, &name, id));
    }
    repository
        .inner
        .odb()?
        .write(ObjectType::Tree, &bytes)
        .map(Some)
}

/// Returns whether a store takes the entry at `path` below the work folder as a file of its own.
fn is_followed(
    repository: &Repository,
    name: &[u8],
    path: &str,
    pointed: Option<Pointed>,
) -> Result<bool, git2::Error> {
    let is_text = |mode: i32| {
        [
            FileMode::Blob,
            FileMode::BlobExecutable,
            FileMode::BlobGroupWritable,
        ]
        .iter()
        .any(|regular| mode == i32::from(*regular))
    };
    let (Some((id, mode)), Some(below), Ok(_)) = (
        pointed,
        repository.below_store(path),
        std::str::from_utf8(name),
    ) else {
        return Ok(false);
    };
    let left_out = || {
        let why = repository.left_out(below, Id(id));
        why.map_err(|error| git2::Error::from_str(&error.to_string()))
    };
    Ok(is_text(mode) && left_out()?.is_none())
}

fn names(trees: [Option<&Tree<'_>>; 2]) -> BTreeSet<Vec<u8>> {
    let entries = trees.into_iter().flatten().flat_map(|tree| tree.iter());
    entries.map(|entry| entry.name_bytes().to_vec()).collect()
}

fn pointed(tree: Option<&Tree<'_>>, name: &[u8]) -> Option<Pointed> {
    let entry = tree?.get_name_bytes(name)?;
    Some((entry.id(), entry.filemode()))
}

fn is_folder_or_nothing(pointed: Option<Pointed>) -> bool {
    pointed.is_none_or(|(_, mode)| mode == i32::from(FileMode::Tree))
}
