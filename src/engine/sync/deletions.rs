//! Notices that memories go in mass, before they are gone here, and before others are told.
//!
//! What counts is which memories are there, live or forgotten, wherever their files lie: moving and
//! forgetting take nothing away. They are counted from a *yardstick*, the last state that somebody
//! accepted or that was in step a day ago, so that many small losses count as the large one that
//! they are.

use std::collections::BTreeSet;

use super::unite::Plan;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::format::is_memory_name;
use crate::git::Id;
use crate::git::Repository;

/// So many go when somebody tidies up by hand; what takes more is worth a word.
const FEW: usize = 5;
/// Losing all of so few is an accident as well: nobody who means it deletes instead of forgetting.
const SMALLEST: usize = 3;
/// After so many seconds a state that nobody objected to is the yardstick.
const DAY: i64 = 24 * 60 * 60;
/// Where the yardstick's age is noted.
const SINCE: &str = "yardstick-at";
/// Where the commit is noted that the store was reset on, until others were told or all is back.
pub(super) const RESET: &str = "reset-on";

impl Engine {
    /// Why `plan`, carried out on `head`, takes too many memories away; a purge on another machine
    /// is a deletion like any other, as nobody here has said it.
    pub(super) fn deleted_there(
        &self,
        repository: &Repository,
        head: Option<Id>,
        plan: &Plan,
    ) -> Result<Option<String>, EngineError> {
        let Some(head) = head.filter(|_| plan.steps.iter().any(|step| step.after.is_none())) else {
            return Ok(None);
        };
        let mut paths = memories(repository, head)?;
        let before = stems(&paths);
        for step in &plan.steps {
            match step.after {
                Some(_) if is_memory(&step.path) => drop(paths.insert(step.path.clone())),
                _ => drop(paths.remove(&step.path)),
            }
        }
        let after = stems(&paths);
        if before.is_subset(&after) {
            return Ok(None);
        }
        let all = measured(repository, before)?;
        Ok(reason(all.len(), all.difference(&after).count()))
    }

    /// Why the commits from `tip` to `head` are about too many deletions. What was purged is meant.
    pub(super) fn deleted_here(
        &self,
        repository: &Repository,
        tip: Id,
        head: Id,
    ) -> Result<Option<String>, EngineError> {
        let changes = repository.changes(Some(tip), head)?;
        if !changes
            .iter()
            .any(|change| change.after.is_none() && is_memory(&change.path))
        {
            return Ok(None);
        }
        let all = measured(repository, stems(&memories(repository, tip)?))?;
        let after = stems(&memories(repository, head)?);
        let tombstones = repository.trees(Some(head))?.files_below("tombstones")?;
        let purged: BTreeSet<String> = tombstones.iter().map(|(path, _)| stem(path)).collect();
        let gone = all
            .difference(&after)
            .filter(|stem| !purged.contains(*stem))
            .count();
        // Also of a few: whoever resets a store here has not said that others are to lose theirs.
        if gone > 0 && repository.get(RESET).is_some() {
            return Ok(Some(format!(
                "the store was reset: {gone} memories went; if other machines are to lose them, too, `memdir sync --accept-deletions`; if not, `memdir reset --from BACKUP` brings them back"
            )));
        }
        Ok(reason(all.len(), gone))
    }

    /// Makes `head` the yardstick if somebody `accepts` it, or if the present one is a day old.
    pub(super) fn measure_from(
        &self,
        repository: &Repository,
        head: Id,
        accepts: bool,
    ) -> Result<(), EngineError> {
        // In step with the state before it, or on the way to it: nothing of a reset was sent yet.
        if repository
            .get(RESET)
            .is_some_and(|on| on != head.to_string())
        {
            repository.unset(RESET)?;
        }
        let name = yardstick(repository);
        let now = self.clock.now().timestamp();
        let since: Option<i64> = repository.get(SINCE).and_then(|at| at.parse().ok());
        let is_old = since.is_none_or(|at| now - at >= DAY || at > now);
        if accepts || is_old || repository.reference(&name)?.is_none() {
            repository.set_reference(&name, head)?;
            repository.set(SINCE, &now.to_string())?;
        }
        Ok(())
    }
}

fn yardstick(repository: &Repository) -> String {
    format!("refs/memdir/yardstick/{}", repository.branch())
}

/// The memories that the yardstick has, and `others`.
fn measured(
    repository: &Repository,
    others: BTreeSet<String>,
) -> Result<BTreeSet<String>, EngineError> {
    let mut all = others;
    if let Some(commit) = repository.reference(&yardstick(repository))? {
        all.extend(stems(&memories(repository, commit)?));
    }
    Ok(all)
}

/// Whether `deleted` of `all` memories are too many to go without a word.
pub(super) fn are_too_many(all: usize, deleted: usize) -> bool {
    let is_fifth = deleted > FEW && deleted * 5 > all;
    let is_everything = deleted == all && all >= SMALLEST;
    is_fifth || is_everything
}

/// Says that `deleted` of `all` memories are too many, if they are.
fn reason(all: usize, deleted: usize) -> Option<String> {
    are_too_many(all, deleted).then(|| {
        format!(
            "{deleted} of {all} memories were deleted; if that is meant, `memdir sync --accept-deletions`"
        )
    })
}

/// The paths of all memories of a commit, live and forgotten.
fn memories(repository: &Repository, commit: Id) -> Result<BTreeSet<String>, EngineError> {
    let mut trees = repository.trees(Some(commit))?;
    let mut files = trees.files_below("files")?;
    files.extend(trees.files_below("archive")?);
    let paths = files.into_iter().map(|(path, _)| path);
    Ok(paths.filter(|path| is_memory(path)).collect())
}

/// Whether a memory, live or forgotten, lies at `path`.
pub(super) fn is_memory(path: &str) -> bool {
    let is_there = path.starts_with("files/") || path.starts_with("archive/");
    is_there && is_memory_name(path.rsplit('/').next().unwrap_or_default())
}

fn stems(paths: &BTreeSet<String>) -> BTreeSet<String> {
    paths.iter().map(|path| stem(path)).collect()
}

/// The file's name without its folders and its ending.
fn stem(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    file.strip_suffix(".md").unwrap_or(file).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_a_few_and_all_are_too_many() {
        for (all, deleted) in [(30, 6), (30, 5), (10, 5), (2, 2), (3, 2), (5, 4), (0, 0)] {
            assert_eq!(reason(all, deleted), None, "{deleted} of {all}");
        }
        for (all, deleted) in [(30, 7), (29, 6), (10, 6), (10, 10), (3, 3), (5, 5)] {
            assert!(reason(all, deleted).is_some(), "{deleted} of {all}");
        }
    }
}
