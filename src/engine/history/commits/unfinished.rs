//! A merge that was decided and is being carried out.
//!
//! Promises: the resulting merge commit is written, and held by a reference, before the first
//! file is changed. So if a process is killed in between, the next one continues its merge, plans nothing
//! anew and does nothing twice. Changes that the merge made to files are no edits: no commit includes
//! them before the branch has moved, so that no `undo` reverts them, and no later merge finds
//! two changes where there was one.
//!
//! Written files are listed below `.memdir/`; that list may be lost. Then an edit of such a
//! file, made before the merge ended, may be taken for one of the version before it.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::commits::compare::Difference;
use crate::files::{begin_lines, is_below_journals, leave_line, lines_at, remove_lines};
use crate::git;
use crate::git::{Id, Repository};

/// Prefix of references to such commits; their names end with the branch.
const REFERENCES: &str = "refs/memdir/merging/";

/// A merge that has not moved the branch yet.
#[derive(Debug)]
pub(in crate::engine) struct Unfinished {
    /// Merge commit that the branch is to point to.
    pub commit: Id,
    /// Common base of that commit and the branch.
    pub base: Id,
    /// Changes of the merge, by path.
    wanted: HashMap<String, Option<Id>>,
    /// Paths of the files that the merge has written, even if they were edited since.
    written: HashSet<String>,
    /// Texts that an earlier, interrupted attempt may have written.
    former: HashMap<String, Option<Id>>,
}

impl Unfinished {
    /// Whether the merge wrote the file at `path`.
    pub fn has_written(&self, path: &str) -> bool {
        self.written.contains(path)
    }

    /// Returns another text that the file at `path` may hold besides the branch's: both are in some commit.
    pub fn former(&self, path: &str) -> Option<Id> {
        self.former.get(path).copied().flatten()
    }

    /// Whether the merge made a difference from the newest commit, or the file was edited after it.
    fn accounts_for(&self, difference: &Difference) -> bool {
        !is_below_journals(&difference.path)
            && (self.has_written(&difference.path)
                || self.wanted.get(&difference.path) == Some(&difference.after))
    }
}

/// Returns the unfinished merge, if there is one that still has to be finished: not
/// if the branch, which points to `head`, contains all that it merged.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub(in crate::engine) fn unfinished_merge(
    history: &History,
    repository: &Repository,
    head: Id,
) -> Result<Option<Unfinished>, EngineError> {
    let Some(commit) = repository.reference(&reference(repository))? else {
        return Ok(None);
    };
    let mut is_held = git::descends_from(repository, head, commit)?;
    let parents = git::parents(repository, commit)?;
    if !is_held && parents.len() > 1 {
        // Somebody merged the same with git.
        is_held = true;
        for parent in parents {
            is_held &= git::descends_from(repository, head, parent)?;
        }
    }
    let base = match is_held {
        true => None,
        false => git::merge_base(repository, head, commit)?,
    };
    let Some(base) = base else {
        end_merge(history, repository)?;
        return Ok(None);
    };
    let wanted = git::diff(repository, Some(base), commit)?.into_iter();
    let mut lines = lines_at(&merge_note(history)).into_iter();
    // If somebody else moved the branch, the state of the files is unknown.
    let is_valid = lines.next() == Some(first_line(commit, head));
    Ok(Some(Unfinished {
        commit,
        base,
        wanted: wanted.map(|change| (change.path, change.after)).collect(),
        written: lines.filter(|_| is_valid).collect(),
        former: HashMap::new(),
    }))
}

/// Records that the branch, which points to `head`, is to point to `commit` once the files are
/// written. An unfinished `earlier` merge becomes part of it.
///
/// # Errors
///
/// Fails if it cannot be written.
pub(in crate::engine) fn begin_merge(
    history: &History,
    repository: &Repository,
    head: Id,
    commit: Id,
    earlier: Option<Unfinished>,
) -> Result<Unfinished, EngineError> {
    if let Some(earlier) = earlier {
        if earlier.commit == commit {
            if earlier.written.is_empty() {
                note_merge(history, commit, head, &earlier.written);
            }
            return Ok(earlier);
        }
        let mut merge = started_merge(repository, head, commit)?;
        let is_same = |path: &String| earlier.wanted.get(path) == merge.wanted.get(path);
        merge.written = earlier.written.into_iter().filter(is_same).collect();
        merge.former = earlier.wanted;
        note_merge(history, commit, head, &merge.written);
        return Ok(merge);
    }
    let merge = started_merge(repository, head, commit)?;
    note_merge(history, commit, head, &merge.written);
    Ok(merge)
}

fn started_merge(repository: &Repository, head: Id, commit: Id) -> Result<Unfinished, EngineError> {
    repository.set_reference(&reference(repository), commit)?;
    let wanted = git::diff(repository, Some(head), commit)?.into_iter();
    Ok(Unfinished {
        commit,
        base: head,
        wanted: wanted.map(|change| (change.path, change.after)).collect(),
        written: HashSet::new(),
        former: HashMap::new(),
    })
}

/// Records that the merge has written the file at `path`.
pub(in crate::engine) fn note_written(history: &History, path: &str) {
    if !path.contains('\n') && !is_below_journals(path) {
        // Without the record a later edit is merged, too, only less precisely.
        let _ = leave_line(&merge_note(history), path);
    }
}

/// Removes the differences that an unfinished merge made from those to commit.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub(in crate::engine) fn leave_to_merge(
    history: &History,
    repository: &Repository,
    head: Option<Id>,
    differences: &mut Vec<Difference>,
) -> Result<Option<Unfinished>, EngineError> {
    let Some(head) = head else { return Ok(None) };
    let unfinished = unfinished_merge(history, repository, head)?;
    if let Some(unfinished) = &unfinished {
        differences.retain(|difference| !unfinished.accounts_for(difference));
    }
    Ok(unfinished)
}

/// Keeps the record of the merge valid after this program moved the branch to `head`.
pub(in crate::engine) fn merge_goes_on(history: &History, unfinished: &Unfinished, head: Id) {
    if !unfinished.written.is_empty() {
        note_merge(history, unfinished.commit, head, &unfinished.written);
    }
}

/// Removes the record of the merge: the branch contains it.
///
/// # Errors
///
/// Fails if the reference cannot be removed.
pub(in crate::engine) fn end_merge(
    history: &History,
    repository: &Repository,
) -> Result<(), EngineError> {
    repository.remove_reference(&reference(repository))?;
    let _ = remove_lines(&merge_note(history)); // Without its reference it says nothing.
    Ok(())
}

fn note_merge(history: &History, commit: Id, head: Id, written: &HashSet<String>) {
    let mut lines = first_line(commit, head);
    for path in written {
        lines.push('\n');
        lines.push_str(path);
    }
    let _ = begin_lines(&merge_note(history), &lines);
}

fn merge_note(history: &History) -> PathBuf {
    history.live.state().join("merging")
}

fn first_line(commit: Id, head: Id) -> String {
    format!("memdir merging 1 {commit} {head}")
}

/// Returns the name of the reference; stores of one repository have one each.
fn reference(repository: &Repository) -> String {
    let store = match repository.prefix() {
        "" => String::new(),
        prefix => format!("{}-", Id::of_text(prefix.as_bytes()).short()),
    };
    format!("{REFERENCES}{store}{}", repository.branch())
}
