//! Follows a remote whose history was rewritten: nothing of the old commits stays in the branch.

use std::collections::BTreeMap;

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::merge_plan::MergePlan;
use crate::git;
use crate::git::{Id, Repository};

/// Writes a commit whose only parent is `tip` and that holds the files of `head` after `plan`; returns
/// `tip` itself if its files are the same.
pub(in crate::engine) fn adopting_commit(
    history: &History,
    repository: &Repository,
    head: Id,
    tip: Id,
    plan: &MergePlan,
) -> Result<Option<Id>, EngineError> {
    let Some(git) = &history.git else {
        return Ok(None);
    };
    let mut here = git::diff(repository, Some(tip), head)?;
    // A file that no machine takes does not exist here, and was not deleted.
    let mut kept = Vec::new();
    for change in &here {
        kept.push(match (change.before, change.after) {
            (Some(before), None) => repository.left_out(&change.path, before)?.is_none(),
            _ => true,
        });
    }
    let mut kept = kept.into_iter();
    here.retain(|_| kept.next().unwrap_or(true));
    let mut wanted: BTreeMap<String, Option<Id>> = here
        .into_iter()
        .map(|change| (change.path, change.after))
        .collect();
    let steps = plan.steps.iter();
    wanted.extend(steps.map(|step| (step.path.clone(), step.after)));
    let mut trees = git::trees(repository, Some(tip))?;
    let mut changes = Vec::new();
    for (path, after) in wanted {
        if trees.file(&path)? != after {
            changes.push((path, after));
        }
    }
    if changes.is_empty() {
        return Ok(Some(tip));
    }
    let mut text_of = plan.text_of();
    let message = "Go on from the remote's history\n\nTool: sync\n";
    let author = repository.author(&git.user, history.live.clock.now().timestamp());
    Ok(git::write_commit(
        repository,
        &mut trees,
        &[tip],
        &changes,
        &mut text_of,
        message,
        &author,
    )?)
}
