//! Reads the history: commits, newest first, and the files that they changed.

use std::collections::{BTreeMap, HashSet};

use git2::{Delta, DiffOptions, FileMode, Sort};

use crate::git::repository::path_change::PathChange;
use crate::git::{GitError, Id, Repository, STORE_PARTS, To};

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitInfo {
    /// Id of the commit.
    pub id: Id,
    /// Name of the author.
    pub author: String,
    /// Time of the author, in seconds since 1970.
    pub at: i64,
    /// Whole message.
    pub message: String,
    /// Ids of the parents.
    pub parents: Vec<Id>,
}

/// Returns `from` and its ancestors, newest first, without `without` and its ancestors.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn commits(
    repository: &Repository,
    from: Id,
    without: Option<Id>,
) -> Result<impl Iterator<Item = Result<CommitInfo, GitError>> + '_, GitError> {
    let action = "read the history";
    let mut walk = repository.inner.revwalk().to(action)?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)
        .to(action)?;
    walk.push(from.0).to(action)?;
    if let Some(without) = without {
        walk.hide(without.0).to(action)?;
    }
    Ok(walk.map(move |id| commit_info(repository, Id(id.to(action)?))))
}

/// One commit.
///
/// # Errors
///
/// Fails if there is no such commit.
pub fn commit_info(repository: &Repository, id: Id) -> Result<CommitInfo, GitError> {
    let commit = repository.inner.find_commit(id.0).to("read a commit")?;
    let author = commit.author();
    Ok(CommitInfo {
        id,
        author: String::from_utf8_lossy(author.name_bytes()).into_owned(),
        at: author.when().seconds(),
        message: String::from_utf8_lossy(commit.message_bytes()).into_owned(),
        parents: commit.parent_ids().map(Id).collect(),
    })
}

/// Returns the merge base of two commits; `None` if they have no common ancestor.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn merge_base(repository: &Repository, one: Id, other: Id) -> Result<Option<Id>, GitError> {
    match repository.inner.merge_base(one.0, other.0) {
        Ok(id) => Ok(Some(Id(id))),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error).to("compare two histories"),
    }
}

/// Returns whether `earlier` is `later` or an ancestor of it.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn descends_from(repository: &Repository, later: Id, earlier: Id) -> Result<bool, GitError> {
    if later == earlier {
        return Ok(true);
    }
    // A missing commit is no ancestor.
    if repository.inner.find_commit(earlier.0).is_err() {
        return Ok(false);
    }
    repository
        .inner
        .graph_descendant_of(later.0, earlier.0)
        .to("compare two histories")
}

/// Returns the commits to which the branch was moved with the message `why`, by its reflog; `None` if
/// there is no reflog that can be read.
///
/// # Errors
///
/// Never fails at present.
pub fn reflog_commits(repository: &Repository, why: &str) -> Result<Option<HashSet<Id>>, GitError> {
    let name = format!("refs/heads/{}", repository.branch());
    let Ok(log) = repository.inner.reflog(&name) else {
        return Ok(None);
    };
    if log.is_empty() {
        return Ok(None);
    }
    let is_it = |entry: &git2::ReflogEntry<'_>| {
        let said = entry.message_bytes().unwrap_or_default();
        said == why.as_bytes()
    };
    let made = log.iter().filter(is_it).map(|entry| Id(entry.id_new()));
    Ok(Some(made.collect()))
}

/// Returns the time of the newest commit to which the branch was moved with the message `why`, in seconds
/// since 1970, by the branch's reflog; that of HEAD where the reflog has none. `None` if there is no
/// commit.
///
/// # Errors
///
/// Fails if the branch or a commit cannot be read.
pub fn last_commit_time(repository: &Repository, why: &str) -> Result<Option<i64>, GitError> {
    let name = format!("refs/heads/{}", repository.branch());
    let newest = repository.inner.reflog(&name).ok().and_then(|log| {
        let is_it = |entry: &git2::ReflogEntry<'_>| entry.message_bytes() == Some(why.as_bytes());
        log.iter().find(is_it).map(|entry| Id(entry.id_new()))
    });
    // A commit that was rewritten since may be gone.
    let moment = newest.and_then(|id| commit_info(repository, id).ok());
    match (moment, repository.head()?) {
        (Some(moment), _) => Ok(Some(moment.at)),
        (None, Some(head)) => Ok(Some(commit_info(repository, head)?.at)),
        (None, None) => Ok(None),
    }
}

/// Returns the differences of the store's files between two commits, by path.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub fn diff(
    repository: &Repository,
    before: Option<Id>,
    after: Id,
) -> Result<Vec<PathChange>, GitError> {
    let action = "compare two commits";
    let tree = |id: Id| repository.inner.find_commit(id.0)?.tree();
    let before = before.map(tree).transpose().to(action)?;
    let after = tree(after).to(action)?;
    let mut options = DiffOptions::new();
    options.skip_binary_check(true).include_typechange(true);
    options.disable_pathspec_match(true);
    for part in STORE_PARTS {
        options.pathspec(format!("{}{part}", repository.prefix));
    }
    let diff = repository
        .inner
        .diff_tree_to_tree(before.as_ref(), Some(&after), Some(&mut options))
        .to(action)?;
    let mut changes: BTreeMap<String, PathChange> = BTreeMap::new();
    for delta in diff.deltas() {
        for (file, is_after) in [(delta.old_file(), false), (delta.new_file(), true)] {
            let is_there = match delta.status() {
                Delta::Added => is_after,
                Delta::Deleted => !is_after,
                _ => true,
            };
            let path = file.path().and_then(|path| path.to_str());
            let (Some(path), true) = (path, is_there) else {
                continue;
            };
            let Some(path) = repository.below_store(path) else {
                continue;
            };
            let change = changes
                .entry(path.to_owned())
                .or_insert_with(|| PathChange {
                    path: path.to_owned(),
                    before: None,
                    after: None,
                });
            if is_after {
                change.after = regular_file(&file);
            } else {
                change.before = regular_file(&file);
            }
        }
    }
    let changes = changes.into_values();
    Ok(changes
        .filter(|change| change.before != change.after)
        .collect())
}

/// Returns the text on one side of a difference; `None` of a link or a submodule.
pub(in crate::git) fn regular_file(file: &git2::DiffFile<'_>) -> Option<Id> {
    let is_regular = matches!(
        file.mode(),
        FileMode::Blob | FileMode::BlobExecutable | FileMode::BlobGroupWritable
    );
    (is_regular && !file.id().is_zero()).then(|| Id(file.id()))
}
