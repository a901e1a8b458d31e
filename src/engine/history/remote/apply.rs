//! Brings files into the state of a plan, with the same checks as any edit: a file that differs from
//! the one that the plan was made for is left alone, and the plan is made anew.

use chrono::DateTime;

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::commits::unfinished::Unfinished;
use crate::engine::history::commits::{compare, quarantine, unfinished};
use crate::engine::history::merge_plan::MergeStep;
use crate::engine::history::remote::foreign_files::lies_behind_link;
use crate::engine::history::remote::journal_union::united;
use crate::engine::texts::stem_of;
use crate::engine::write::journals::put_journal;
use crate::engine::write::put;
use crate::files::{FilesError, Place, Replaced, is_below_journals};
use crate::format::{MergeSide, Merged, merge};
use crate::git::{Id, Repository};
use crate::secrets;
use crate::trust::text_digest;

/// Performs the steps. Returns the path of a file that differs from the planned one, if there is
/// one: the steps of other files are performed all the same.
///
/// New files come first, so that a memory that moves exists at every moment. Files that the
/// unfinished merge has written already stay as they became since.
pub(in crate::engine) fn apply(
    history: &History,
    repository: &Repository,
    steps: &[MergeStep],
    unfinished: Option<&Unfinished>,
) -> Result<Option<String>, EngineError> {
    let mut blocked: Option<&MergeStep> = None;
    // Files beside the memories first: if one blocks, nothing is begun.
    let is_beside =
        |step: &&MergeStep| Place::of(&step.path).is_none() && !is_below_journals(&step.path);
    let (beside, memories): (Vec<&MergeStep>, Vec<&MergeStep>) = steps.iter().partition(is_beside);
    let (added, others): (Vec<&MergeStep>, Vec<&MergeStep>) = memories
        .into_iter()
        .partition(|step| step.before.is_none() && step.after.is_some());
    for step in beside.into_iter().chain(added).chain(others) {
        let text = match (&step.text, step.after) {
            (Some(text), _) => Some(text.clone()),
            (None, Some(id)) => Some(repository.text(id)?),
            (None, None) => None,
        };
        let text = text.as_deref();
        let is_done = match Place::of(&step.path) {
            Some(at) if quarantine::is_held(history, &step.path) => {
                apply_to_held(history, repository, at, step, text)?
            }
            None if is_below_journals(&step.path) => {
                apply_to_journal(history, repository, step, text)?
            }
            _ => {
                let mut is_done = apply_to(history, &step.path, step.before, text)?;
                let former = unfinished.and_then(|merge| merge.former(&step.path));
                if !is_done && former.is_some() {
                    is_done = apply_to(history, &step.path, former, text)?;
                }
                is_done
            }
        };
        if !is_done && step.before.is_none() && compare::is_case_twin(history, &step.path) {
            // Another memory has its name here; the history has both.
            tracing::warn!(
                "{} is left out: its name differs from another one's only in its case, which this file system does not tell apart",
                step.path
            );
            continue;
        }
        let was_done = || unfinished.is_some_and(|merge| merge.has_written(&step.path));
        if !is_done && !was_done() {
            // A memory that moves must not be removed from its old path, either.
            if step.before.is_none() || is_beside(&step) {
                return Ok(Some(step.path.clone()));
            }
            blocked = blocked.or(Some(step));
            continue;
        }
        if unfinished.is_some() && !was_done() {
            unfinished::note_written(history, &step.path);
        }
    }
    Ok(blocked.map(|step| step.path.clone()))
}

/// Writes `text` to the file at `path` if it holds `before`; `Ok(false)` if it does not.
pub(in crate::engine) fn apply_to(
    history: &History,
    path: &str,
    before: Option<Id>,
    text: Option<&[u8]>,
) -> Result<bool, EngineError> {
    let at = Place::of(path);
    let reader = at.map_or_else(
        || history.live.store.beside(),
        |(place, _)| history.live.store.reader(place),
    );
    let seen = match reader.read(at.map_or(path, |(_, name)| name), u64::MAX) {
        Ok(version) => Some(version),
        Err(FilesError::Missing { .. }) => None,
        Err(FilesError::NotRegular { .. }) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    let found = seen.as_ref().map(|version| Id::of_text(&version.bytes));
    if found == text.map(Id::of_text) {
        return Ok(true); // Done before, by a run that was killed.
    }
    if found != before {
        return Ok(false);
    }
    let replaced = match (at, seen, text) {
        (Some(at), None, Some(text)) => match history.writer.add(at, text) {
            Err(FilesError::Taken { .. }) => Replaced::Stale,
            other => other.map(|()| Replaced::Done)?,
        },
        (Some(at), Some(seen), Some(text)) => match history.live.store.change_log() {
            // No commit holds the former text. One with a credential is not kept.
            Some(_) if secrets::find(&String::from_utf8_lossy(&seen.bytes)).is_empty() => {
                history.writer.replace_and_keep(at, &seen, text)?
            }
            _ => history.writer.replace(at, &seen, text)?,
        },
        (Some(at), Some(seen), None) => history.writer.remove(at, &seen)?,
        (Some(_), None, None) => Replaced::Done,
        (None, seen, text) => history.writer.put_beside(path, seen.as_ref(), text)?,
    };
    if let (Some((Place::Files, name)), Some(text)) = (at, text) {
        note_foreign(history, name, text);
    }
    // A text that somebody wrote in the same moment is a conflict copy now, as after any edit.
    Ok(replaced != Replaced::Stale)
}

/// Notes with the user that a text came from another copy: no agent is shown it unasked before the user has
/// accepted it.
fn note_foreign(history: &History, name: &str, text: &[u8]) {
    let Some(reviews) = history.consent.reviews() else {
        return;
    };
    let stem = stem_of(name);
    let memory = crate::format::parse(&stem, text, DateTime::UNIX_EPOCH);
    let digest = text_digest(stem.as_str(), memory.title.as_deref(), &memory.content);
    if let Err(error) = reviews.note_foreign(&[digest]) {
        tracing::warn!("{name} counts as written here: {error}");
    }
}

/// Performs a step on a memory that is held back: the commit has the other side's text, the file
/// gets it merged with its own text, which still waits. `Ok(false)` if the file changed meanwhile.
fn apply_to_held(
    history: &History,
    repository: &Repository,
    (place, name): (Place, &str),
    step: &MergeStep,
    theirs: Option<&[u8]>,
) -> Result<bool, EngineError> {
    // A file that moved or is gone there stays as it is here: a change wins.
    let Some(theirs) = theirs else {
        return Ok(true);
    };
    let seen = match history.live.store.reader(place).read(name, u64::MAX) {
        Err(FilesError::Missing { .. }) => return Ok(true),
        other => other?,
    };
    let base = step.before.map(|before| repository.text(before));
    let base = base.transpose()?;
    let at = seen.entry.stamp.modified / 1_000_000_000;
    let ours = MergeSide {
        bytes: &seen.bytes,
        at,
    };
    // If they contradict, the other side's text is committed under this name.
    let later = MergeSide {
        bytes: theirs,
        at: at + 1,
    };
    let merged = match merge(&stem_of(name), base.as_deref(), ours, later) {
        Merged::One(text) => text,
        Merged::Two {
            kept,
            aside,
            aside_stem,
        } => {
            put::put_aside(&history.writer, place, &aside_stem, &aside)?;
            kept
        }
    };
    if merged == seen.bytes {
        return Ok(true);
    }
    let replaced = history.writer.replace((place, name), &seen, &merged)?;
    Ok(replaced != Replaced::Stale)
}

/// Performs a step on a journal; lines appended to it since wait for the next commit.
/// `Ok(false)` if it is no file, or changes all the time.
fn apply_to_journal(
    history: &History,
    repository: &Repository,
    step: &MergeStep,
    text: Option<&[u8]>,
) -> Result<bool, EngineError> {
    if lies_behind_link(history.live.root(), &step.path) {
        return Ok(false);
    }
    let base = step.before.map(|before| repository.text(before));
    let base = base.transpose()?.unwrap_or_default();
    put_journal(&history.writer, &step.path, |now| united(&base, now, text))
}
