//! Carries out a planned task on this store: files are written as any edit writes them.

use std::collections::{BTreeSet, HashMap};

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::commits::{commit, dates, journals};
use crate::engine::history::merge_plan::MergeStep;
use crate::engine::history::remote::apply;
use crate::engine::history::remote::foreign_files::lies_behind_link;
use crate::engine::history::with::plan::StoreTask;
use crate::engine::history::with::report::WithReport;
use crate::engine::history::with::side::StoreContents;
use crate::engine::history::with::sources::find_text;
use crate::engine::history::with::{journal_copies, keep};
use crate::engine::live::leader;
use crate::files::Place;
use crate::git::Id;

/// Carries out a task on this store, with texts from it, the other one and `new`; returns the path that
/// blocks it, if there is one.
pub(in crate::engine) fn carry_out(
    history: &History,
    task: &StoreTask,
    sides: [&StoreContents; 2],
    new: &HashMap<Id, Vec<u8>>,
) -> Result<Option<String>, EngineError> {
    let (added, others): (Vec<&MergeStep>, Vec<&MergeStep>) = task
        .plan
        .steps
        .iter()
        .partition(|step| step.before.is_none() && step.after.is_some());
    // New files come first, so that a memory that moves is there at every moment.
    for step in added.into_iter().chain(others) {
        if lies_behind_link(history.live.root(), &step.path) {
            return Ok(Some(step.path.clone()));
        }
        let text = match (&step.text, step.after) {
            (Some(text), _) => Some(text.clone()),
            (None, None) => None,
            (None, Some(id)) => match find_text(id, sides, new)? {
                Some(text) => Some(text),
                None => return Ok(Some(step.path.clone())),
            },
        };
        if !apply::apply_to(history, &step.path, step.before, text.as_deref())? {
            return Ok(Some(step.path.clone()));
        }
        let name = step.path.split_once('/').map_or("", |(_, name)| name);
        history.writer.leave_note("sync --with", name);
        let at = Place::of(&step.path);
        if let (Some((Place::Files, name)), None, Some(id)) = (at, &step.text, step.after) {
            let found = sides.iter().filter_map(|side| side.files.get(&step.path));
            let times = found.filter(|found| found.id == id).map(|found| found.at);
            if let Some(at) = times.min() {
                dates::date_file(history, name, id, || Ok(at.saturating_mul(1_000_000_000)))?;
            }
        }
    }
    for unite in &task.journals {
        if !journal_copies::unite_journal(history, unite)? {
            return Ok(Some(unite.path.clone()));
        }
        journals::note_journals_pending(history);
    }
    Ok(None)
}

/// Records in the journal of this store why the memories that `tasks` forget are forgotten; `false` if there are
/// none.
pub(in crate::engine) fn record_deleted(history: &History, tasks: [Option<&StoreTask>; 2]) -> bool {
    let stems = tasks.into_iter().flatten().flat_map(|task| &task.deleted);
    let stems: BTreeSet<&String> = stems.collect();
    let together = history.writer.collect_records();
    for stem in &stems {
        history
            .writer
            .record("forget", &format!("{stem}.md"), Some(keep::WHY));
    }
    drop(together);
    if !stems.is_empty() {
        journals::note_journals_pending(history);
    }
    !stems.is_empty()
}

/// Commits the changes; what cannot be committed now waits for the next commit.
pub(in crate::engine) fn commit_brought(history: &History, report: &WithReport) {
    if report.is_in_step() || leader::is_led(&history.live) {
        return;
    }
    if let Err(error) = commit::commit_everything(history) {
        let root = history.live.root().display();
        tracing::warn!("nothing was committed in {root}: {error}");
    }
}

/// Returns the error of a sync that a path blocked in every round.
pub(in crate::engine) fn blocked_by(path: &str) -> EngineError {
    EngineError::Invalid(format!(
        "`{path}` changes all the time, or something else stands there; what was done is done, and a run again goes on"
    ))
}
