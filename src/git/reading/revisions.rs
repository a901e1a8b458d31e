//! Earlier states: revisions by name, paths of files in a commit, differences of two texts.
//!
//! Guarantee: a folder is read once however many commits hold it, and only its names; so following a file
//! through a long history takes about the time to read the folders that changed.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use git2::{ErrorCode, Oid, Patch, Sort};

use crate::git::reading::tree_entry::{EntryKind, TreeEntry};
use crate::git::{GitError, Id, Repository, To};

/// Result of resolving a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedCommit {
    One(Id),
    Nothing,
    /// The beginning of more than one commit's id.
    Several,
}

/// A line of a comparison, as `diff -u` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedLine {
    /// Kind of the line.
    pub kind: LineKind,
    /// Text without the marker before it, with its line end, if it has one.
    pub text: Vec<u8>,
}

/// The kind of a line in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Line numbers of the lines after it: `@@ -1,3 +1,4 @@`.
    Place,
    Same,
    Added,
    Removed,
    /// Marker that the line before it has no line end.
    NoEnd,
}

const ACTION: &str = "read the history";
/// Minimum number of digits of an abbreviated id, as in git.
const LEAST_DIGITS: usize = 4;

/// Returns `from` and its ancestors, newest first; none before one that was made of it, whatever the clocks of the
/// machines said.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn commit_ids(
    repository: &Repository,
    from: Id,
) -> Result<impl Iterator<Item = Result<Id, GitError>> + '_, GitError> {
    let mut walk = repository.inner.revwalk().to(ACTION)?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)
        .to(ACTION)?;
    walk.push(from.0).to(ACTION)?;
    Ok(walk.map(|id| Ok(Id(id.to(ACTION)?))))
}

/// Returns the parents of `commit`; the first is the one on its branch.
///
/// # Errors
///
/// Fails if there is no such commit.
pub fn parents(repository: &Repository, commit: Id) -> Result<Vec<Id>, GitError> {
    let commit = repository.inner.find_commit(commit.0).to(ACTION)?;
    Ok(commit.parent_ids().map(Id).collect())
}

/// Resolves `text` to a commit: an abbreviated id, a branch, `HEAD~3`. An ambiguous id is that of the one
/// commit among `head` and its ancestors, if there is exactly one.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn resolve_revision(
    repository: &Repository,
    text: &str,
    head: Id,
) -> Result<NamedCommit, GitError> {
    match repository.inner.revparse_single(text) {
        Ok(object) => Ok(object
            .peel_to_commit()
            .map_or(NamedCommit::Nothing, |commit| {
                NamedCommit::One(Id(commit.id()))
            })),
        Err(error) if error.code() == ErrorCode::Ambiguous => {
            commit_with_prefix(repository, text, head)
        }
        // libgit2 has no error code of its own for a text that is no revision.
        Err(_) => Ok(NamedCommit::Nothing),
    }
}

fn commit_with_prefix(
    repository: &Repository,
    digits: &str,
    head: Id,
) -> Result<NamedCommit, GitError> {
    let digits = digits.to_ascii_lowercase();
    if digits.len() < LEAST_DIGITS {
        return Ok(NamedCommit::Several);
    }
    let mut found = NamedCommit::Nothing;
    for id in commit_ids(repository, head)? {
        let id = id?;
        if id.to_string().starts_with(&digits) {
            match found {
                NamedCommit::Nothing => found = NamedCommit::One(id),
                _ => return Ok(NamedCommit::Several),
            }
        }
    }
    Ok(match found {
        NamedCommit::Nothing => NamedCommit::Several,
        found => found,
    })
}

/// Returns the id of each of `names` in the store's folder of a commit, blobs or trees: equal ids are
/// equal contents.
///
/// # Errors
///
/// Fails if a folder is missing from the repository.
pub fn entries_at(
    repository: &Repository,
    commit: Id,
    names: &[&str],
) -> Result<Vec<Option<Id>>, GitError> {
    let commit = repository.inner.find_commit(commit.0).to(ACTION)?;
    let mut tree = commit.tree().to(ACTION)?;
    for part in repository.prefix.split_terminator('/') {
        let below = tree.get_name(part).map(|entry| entry.id());
        tree = match below.map(|id| repository.inner.find_tree(id)) {
            Some(Ok(tree)) => tree,
            _ => return Ok(vec![None; names.len()]), // The store was not there yet.
        };
    }
    let id = |name: &&str| tree.get_name(name).map(|entry| Id(entry.id()));
    Ok(names.iter().map(id).collect())
}

/// Returns the lookup of files whose names `is_wanted` accepts, in all folders below `folders` of the
/// store, except folders whose names begin with a dot.
///
/// # Errors
///
/// Fails if the repository cannot be read.
pub fn places<'a>(
    repository: &'a Repository,
    folders: &'a [&'a str],
    is_wanted: impl Fn(&[u8]) -> bool + 'a,
) -> Result<Places<'a>, GitError> {
    Ok(Places {
        repository,
        odb: repository.inner.odb().to(ACTION)?,
        folders,
        is_wanted: Box::new(is_wanted),
        known: HashMap::new(),
    })
}

/// Returns whether a file with this name is wanted.
type IsWanted<'a> = Box<dyn Fn(&[u8]) -> bool + 'a>;

/// Paths below some folder, with the ids of their texts.
type Found = Rc<Vec<(String, Id)>>;

/// Lookup of files by name in many commits.
pub struct Places<'a> {
    repository: &'a Repository,
    odb: git2::Odb<'a>,
    folders: &'a [&'a str],
    is_wanted: IsWanted<'a>,
    /// Found files by the id of their folder. Commits share most folders.
    known: HashMap<Oid, Found>,
}

impl Places<'_> {
    /// Returns the wanted files of `commit`: paths below the store, with the ids of their texts.
    ///
    /// # Errors
    ///
    /// Fails if a folder is missing from the repository.
    pub fn at(&mut self, commit: Id) -> Result<BTreeMap<String, Id>, GitError> {
        let mut found = BTreeMap::new();
        let ids = entries_at(self.repository, commit, self.folders)?;
        for (folder, id) in self.folders.iter().zip(ids) {
            let Some(id) = id else { continue };
            for (path, text) in self.below(id.0)?.iter() {
                found.insert(format!("{folder}/{path}"), *text);
            }
        }
        Ok(found)
    }

    fn below(&mut self, folder: Oid) -> Result<Found, GitError> {
        if let Some(found) = self.known.get(&folder) {
            return Ok(Rc::clone(found));
        }
        let mut found = Vec::new();
        let mut folders = Vec::new();
        // libgit2 allocates an object for each entry, which would take most of the time with ten
        // thousand entries in each of a thousand commits.
        let object = self.odb.read(folder).to(ACTION)?;
        if object.kind() == git2::ObjectType::Tree {
            for entry in TreeEntry::all(object.data()) {
                let Some(name) = entry.name() else { continue };
                match entry.kind {
                    EntryKind::Folder if !name.starts_with('.') => {
                        folders.push((name.to_owned(), entry.id));
                    }
                    EntryKind::File if (self.is_wanted)(entry.name) => {
                        found.push((name.to_owned(), Id(entry.id)));
                    }
                    _ => {}
                }
            }
        }
        drop(object);
        for (name, id) in folders {
            for (path, text) in self.below(id)?.iter() {
                found.push((format!("{name}/{path}"), *text));
            }
        }
        let found = Rc::new(found);
        self.known.insert(folder, Rc::clone(&found));
        Ok(found)
    }
}

/// Compares two texts line by line, with up to `context` lines around each difference; empty if
/// they are equal.
///
/// # Errors
///
/// Fails if libgit2 does.
pub fn compare_texts(
    before: &[u8],
    after: &[u8],
    context: u32,
) -> Result<Vec<ComparedLine>, GitError> {
    let action = "compare two texts";
    let mut options = git2::DiffOptions::new();
    options.force_text(true).context_lines(context);
    let patch = Patch::from_buffers(before, None, after, None, Some(&mut options));
    let mut lines = Vec::new();
    patch
        .to(action)?
        .print(&mut |_, _, line| {
            let kind = match line.origin() {
                'H' => LineKind::Place,
                ' ' => LineKind::Same,
                '+' => LineKind::Added,
                '-' => LineKind::Removed,
                '=' | '>' | '<' => LineKind::NoEnd,
                _ => return true, // Names of files, which texts have not.
            };
            lines.push(ComparedLine {
                kind,
                text: line.content().to_owned(),
            });
            true
        })
        .to(action)?;
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_line_by_line() {
        let compared = |before: &str, after: &str| -> String {
            let lines = compare_texts(before.as_bytes(), after.as_bytes(), 3).unwrap();
            let shown = lines.iter().map(|line| {
                let sign = match line.kind {
                    LineKind::Added => "+",
                    LineKind::Removed => "-",
                    LineKind::Same => " ",
                    LineKind::Place | LineKind::NoEnd => "",
                };
                format!("{sign}{}", String::from_utf8_lossy(&line.text))
            });
            shown.collect()
        };
        assert_eq!(
            compared("a\nb\n", "a\nc\n"),
            "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
        );
        assert_eq!(compared("a\n", "a\n"), "");
        assert_eq!(compared("", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(compared("a\0\n", ""), "@@ -1 +0,0 @@\n-a\0\n");
        assert_eq!(
            compared("a", "b"),
            "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"
        );
    }
}
