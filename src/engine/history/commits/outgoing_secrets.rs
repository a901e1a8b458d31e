//! Finds credentials in commits before they are sent: commits made before there was a remote,
//! and commits made with git.
//!
//! Promises: sent commits cannot be called back, so nothing is sent that was not checked;
//! credentials that a memory's file allows today are allowed in its earlier texts.

use std::collections::HashSet;

use crate::engine::error::{EngineError, Leak, Quarantined};
use crate::engine::history::History;
use crate::engine::history::commits::compare::{COMMITTED, is_ours};
use crate::engine::history::commits::journals::credentials_since;
use crate::engine::live::reading;
use crate::engine::texts::name_of;
use crate::engine::write::screen::{not_allowed, not_allowed_by};
use crate::files::{Place, is_journal};
use crate::git::{CommitInfo, Id, Repository};
use crate::secrets::Policy;
use crate::{format, git};

/// Returns the credentials in all commits.
pub(in crate::engine) fn leaks_in_history(
    history: &History,
    repository: &Repository,
) -> Result<Vec<Leak>, EngineError> {
    let (Some(head), true) = (repository.head()?, history.writer.secrets != Policy::Off) else {
        return Ok(Vec::new());
    };
    // Each text is checked once; commits are walked only if one has a credential.
    let mut suspects = HashSet::new();
    repository.each_text(|id, bytes| {
        if !not_allowed(bytes).is_empty() {
            suspects.insert(id);
        }
    })?;
    let mut leaks = Vec::new();
    if !suspects.is_empty() {
        for moment in git::commits(repository, head, None)? {
            add_leaks(
                history,
                repository,
                &moment?,
                &|id| suspects.contains(&id),
                &mut leaks,
            )?;
        }
    }
    leaks.sort_unstable();
    leaks.dedup_by(|one, other| one.held == other.held);
    Ok(leaks)
}

/// Returns the first credential in commits that the remote does not have and that this program
/// did not make.
pub(in crate::engine) fn leak_to_send(
    history: &History,
    repository: &Repository,
    tip: Option<Id>,
    head: Id,
) -> Result<Option<Leak>, EngineError> {
    if history.writer.secrets == Policy::Off {
        return Ok(None);
    }
    let screened = git::reflog_commits(repository, COMMITTED)?.unwrap_or_default();
    let mut leaks = Vec::new();
    for moment in git::commits(repository, head, tip)? {
        let moment = moment?;
        // Changes of a merge are checked in the merged commits.
        if moment.parents.len() < 2 && !screened.contains(&moment.id) {
            add_leaks(history, repository, &moment, &|_| true, &mut leaks)?;
        }
    }
    Ok(leaks.into_iter().min())
}

fn add_leaks(
    history: &History,
    repository: &Repository,
    moment: &CommitInfo,
    is_suspect: &dyn Fn(Id) -> bool,
    leaks: &mut Vec<Leak>,
) -> Result<(), EngineError> {
    let before = moment.parents.first().copied();
    for change in git::diff(repository, before, moment.id)? {
        let Some(id) = change.after.filter(|id| is_suspect(*id)) else {
            continue;
        };
        let text = match is_ours(&change.path) || is_journal(&change.path) {
            true => repository.text(id)?,
            false => continue,
        };
        let found = match (is_journal(&change.path), change.before) {
            // Its earlier lines were checked with the commit that added them.
            (true, Some(before)) => credentials_since(&repository.text(before)?, &text),
            (true, None) => credentials_since(b"", &text),
            _ => not_allowed_by(&text, &allowed_today(history, &change.path)?),
        };
        leaks.extend(found.into_iter().map(|one| Leak {
            held: Quarantined {
                file: change.path.clone(),
                line: one.line,
                kind: one.kind,
            },
            commit: moment.id.short(),
        }));
    }
    Ok(())
}

/// Returns the credentials that the memory at `path` may hold, by its present file.
fn allowed_today(history: &History, path: &str) -> Result<Vec<String>, EngineError> {
    let mut allowed = Vec::new();
    for place in [Place::Files, Place::Archive] {
        if let Some(bytes) = reading::bytes_at(&history.live, &place.path_of(name_of(path)))? {
            allowed.extend(format::allowed_secrets(&bytes));
        }
    }
    Ok(allowed)
}
