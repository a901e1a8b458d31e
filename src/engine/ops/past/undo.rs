//! Undoes a commit or the last change of a memory, and restores an earlier text of a memory.
//!
//! Promises: nothing is deleted and no commit is rewritten; an undo is a new change of the files,
//! checked as a whole before the first file is touched, and a commit of its own that names what it
//! undoes. A text that somebody writes meanwhile is not overwritten.
//!
//! A commit may hold several operations: a call of a client, a command, a file that somebody changed.
//! Each process records which of its changes are one operation (`write/change_notes`), and the commit
//! message has a paragraph for each. Without a target the last operation that is not undone is undone:
//! changes by hand are ordered by the times of their files, and files found when the store was made do
//! not count. A commit id as target undoes all of the commit. `plan` pairs what a commit did to each
//! file and decides the reverse on the files as they are now; if one file blocks it, nothing is done.
//! The new commit has a trailer `Undoes:`, by which a second `undo` goes further back.

use crate::engine::error::{EngineError, PastError, Quarantined};
use crate::engine::history::commits::commit_message::{CommitMessage, UNDOES, Undoes};
use crate::engine::history::commits::compare::{COMMITTED, OWN_CHANGE};
use crate::engine::history::commits::message::Reason;
use crate::engine::history::commits::{commit, commit_message, dates, quarantine};
use crate::engine::history::past_commits::{PastCommits, PastText, Revision};
use crate::engine::history::turn::MAX_TRIES;
use crate::engine::history::{past_commits, turn};
use crate::engine::live::names;
pub use crate::engine::ops::past::plan::UndoneFile;
use crate::engine::ops::past::plan::{Operation, Plan};
use crate::engine::ops::past::undone_before::UndoneBefore;
use crate::engine::ops::past::{log, plan};
use crate::engine::parts::Engine;
use crate::engine::texts::{files_of, key_of, name_of, stem_of};
use crate::engine::write::change_notes::{BY_HAND, FOUND};
use crate::engine::write::{replace, tombstones};
use crate::files::{FilesError, FilesOf, Place, Replaced};
use crate::git;
use crate::git::{CommitInfo, Id, NamedCommit};
use crate::journal::RESTORE;
use crate::model::Stem;
use std::collections::BTreeSet;

/// A commit that was undone, or would be; in a workspace, a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undone {
    /// Full commit id, or number of the change.
    pub undone: String,
    /// First line of its message, or a description of the undone part.
    pub what: String,
    /// Changes of its files.
    pub files: Vec<UndoneFile>,
    /// Number of other memories that the commit changed.
    pub others: usize,
    /// Start of the new commit's id, or number of the new change; `None` if it is still to be made, or nothing had to
    /// be changed.
    pub commit: Option<String>,
}

/// A memory whose earlier text was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoredText {
    /// Stem of the memory.
    pub stem: Stem,
    /// Path below `files/`.
    pub name: String,
    /// Full id of the commit that holds the text.
    pub as_of: String,
    /// Whether the file was changed.
    pub changed: bool,
}

/// Target of an undo.
#[derive(Debug, Clone, PartialEq, Eq)]
enum UndoTarget {
    Last,
    /// With the name of its file.
    Memory(Stem, String),
    Commit(Id),
}

/// A commit, and the files whose changes are to be undone, as [`key_of`] tells them apart; `None`: all files.
struct Choice {
    moment: CommitInfo,
    files: Option<BTreeSet<String>>,
    /// Description of the changes.
    what: String,
}

impl Choice {
    fn of_all(moment: CommitInfo) -> Choice {
        let what = commit_message::read(&moment.message).subject;
        Choice {
            moment,
            files: None,
            what,
        }
    }
}

/// Undoes a commit: the one called `target`, the last change of the memory called so, or without a
/// target the last operation that is not undone. With `is_rehearsal` it only returns what would be
/// done.
///
/// # Errors
///
/// Fails, with nothing touched, if there is no such target, or if a later change conflicts.
pub fn undo(
    engine: &Engine,
    target: Option<&str>,
    is_rehearsal: bool,
) -> Result<Undone, EngineError> {
    engine.writer.check_writable()?;
    let aim = self::aim(engine, &past_commits::history(&engine.history)?, target)?;
    let (_lock, user) = turn::take_turn(&engine.history)?;
    if let UndoTarget::Memory(stem, name) = &aim
        && let Some(held) = quarantine::held_of(&engine.history, files_of(stem, name))
    {
        return Err(uncommitted(&held));
    }
    let history = past_commits::history(&engine.history)?;
    let is_last = aim == UndoTarget::Last;
    let choice = choose(engine, &history, aim)?;
    if is_last {
        let done = done_at_of(engine, &history, &choice)?;
        // What cannot be committed at all is no change to undo.
        let mut held = quarantine::last_held_back(&engine.history);
        held.retain(|held| !held.is_untaken());
        let at = |held: &Quarantined| commit::done_at(&engine.history, &held.file);
        let newest = held.into_iter().max_by_key(at);
        if let Some(held) = newest.filter(|held| at(held) > done.at) {
            return Err(uncommitted(&held));
        }
    }
    let moment = &choice.moment;
    let mut plan = sound_plan(engine, &history, &choice)?;
    let mut undone = Undone {
        undone: moment.id.to_string(),
        what: choice.what.clone(),
        files: plan.files.clone(),
        others: match &choice.files {
            Some(files) => {
                let all = commit_message::read(&moment.message).memories.len();
                all.saturating_sub(files.len())
            }
            None => 0,
        },
        commit: None,
    };
    if is_rehearsal || plan.operations.is_empty() {
        return Ok(undone);
    }
    let names = perform_all(engine, &mut plan, "undo", || {
        sound_plan(engine, &history, &choice)
    })?;
    let written = |file: Option<String>| {
        let commit = moment.id;
        (UNDOES, Undoes { commit, file }.written())
    };
    let trailers = match &choice.files {
        None => vec![written(None)],
        Some(files) => files
            .iter()
            .cloned()
            .map(|file| written(Some(file)))
            .collect(),
    };
    let reason = Reason {
        subject: format!("Undo {}", choice.what),
        trailers,
    };
    undone.commit = turn::commit_as(&engine.history, names.clone(), user, &reason)?;
    date_again(engine, &names);
    Ok(undone)
}

/// Returns the error of an undo of a change that no commit has.
fn uncommitted(held: &Quarantined) -> EngineError {
    let stem = stem_of(&held.file);
    let id = match stem.is_canonical() {
        true => stem.short(),
        false => name_of(&held.file),
    };
    let remedy = held.remedy();
    EngineError::Invalid(format!(
        "the last change of `{id}` is not committed: {held}. `memdir restore {id}@HEAD` gives it the committed text back, if it has one; to have it committed, {remedy}"
    ))
}

/// Gives the memory called `id` the text that it had at `revision`, as a new change; moves it
/// back to `files/` if it is not there.
///
/// # Errors
///
/// As for [`versions`](log::versions).
pub fn restore_as_of(
    engine: &Engine,
    id: &str,
    revision: &Revision,
) -> Result<RestoredText, EngineError> {
    engine.writer.check_writable()?;
    let history = past_commits::history(&engine.history)?;
    let (stem, name) = log::resolve_ever(engine, &history, id)?;
    let files = files_of(&stem, &name);
    // Before anything else is committed, so that `HEAD` is what the caller looked at.
    let commit = history.find(revision)?;
    let (_lock, user) = turn::take_turn(&engine.history)?;
    let text = history.text_at((files, stem.short()), commit, None)?;
    let (name, names) = put_back(engine, (&stem, files), &text, id)?;
    let changed = !names.is_empty();
    if changed {
        let file = key_of(&name);
        let reason = Reason {
            subject: format!(
                "Restore memory {} ({file}) as of {}",
                stem.short(),
                commit.short()
            ),
            trailers: Vec::new(),
        };
        turn::commit_as(&engine.history, names.clone(), user, &reason)?;
        date_again(engine, &names);
    }
    Ok(RestoredText {
        stem,
        name,
        as_of: commit.to_string(),
        changed,
    })
}

/// Gives the memory `stem`, with these files, the text that it had; `id` names it in an error. Returns its file, and the names of changed
/// files: none if it has that text.
pub(super) fn put_back(
    engine: &Engine,
    (stem, files): (&Stem, FilesOf<'_>),
    text: &PastText,
    id: &str,
) -> Result<(String, BTreeSet<String>), EngineError> {
    let file = text.file.clone().unwrap_or_default();
    let Some((_, then)) = Place::of(&file) else {
        return Err(EngineError::NotFound(id.to_owned()));
    };
    let mut name = then.to_owned();
    let mut plan_now = || {
        let mut plan = Plan::default();
        match log::present(engine, files)? {
            None if tombstones::is_purged(&engine.writer, stem, &text.bytes)? => {
                return Err(PastError::Purged(stem.short().to_owned()).into());
            }
            None => plan.operations.push(Operation::Add {
                place: Place::Files,
                name: then.to_owned(),
                bytes: text.bytes.clone(),
            }),
            Some((place, seen)) => {
                name.clone_from(&seen.entry.name);
                if seen.bytes != text.bytes {
                    plan.operations.push(Operation::Replace {
                        place,
                        seen,
                        bytes: text.bytes.clone(),
                    });
                }
                if place == Place::Archive {
                    plan.operations.push(Operation::Move {
                        from: (Place::Archive, name.clone()),
                        to: (Place::Files, name.clone()),
                    });
                }
            }
        }
        Ok(plan)
    };
    let mut plan = plan_now()?;
    let names = match plan.operations.is_empty() {
        true => BTreeSet::new(),
        false => perform_all(engine, &mut plan, "restore", &mut plan_now)?,
    };
    Ok((name, names))
}

/// Sets the modification times of notes that were written back to those that they had.
fn date_again(engine: &Engine, names: &BTreeSet<String>) {
    if let Err(error) = dates::date_brought_back(&engine.history, names) {
        tracing::info!("cannot date what was brought back: {error}");
    }
}

fn aim(
    engine: &Engine,
    history: &PastCommits,
    target: Option<&str>,
) -> Result<UndoTarget, EngineError> {
    let Some(text) = target else {
        return Ok(UndoTarget::Last);
    };
    let is_memory_only = text.ends_with(".md") || text.contains("://") || text.contains("[[");
    let commit = match Id::parse(text) {
        Some(id) => return Ok(UndoTarget::Commit(id)),
        None if is_memory_only => NamedCommit::Nothing,
        None => git::resolve_revision(&history.repository, text, history.head)?,
    };
    let mut memory = names::resolve(&engine.live, text);
    if matches!(memory, Err(EngineError::NotFound(_))) {
        memory = names::resolve_archived(&engine.live, text);
    }
    match (commit, memory) {
        (NamedCommit::Nothing, Err(EngineError::NotFound(_))) => {
            match log::resolve_ever(engine, history, text) {
                Err(EngineError::NotFound(_)) => {
                    Err(PastError::UnknownTarget(text.to_owned()).into())
                }
                other => other.map(|(stem, name)| UndoTarget::Memory(stem, name)),
            }
        }
        (NamedCommit::Nothing, memory) => memory.map(|(stem, name)| UndoTarget::Memory(stem, name)),
        (NamedCommit::One(id), Err(EngineError::NotFound(_))) => Ok(UndoTarget::Commit(id)),
        (NamedCommit::Several, Err(EngineError::NotFound(_))) => {
            Err(PastError::AmbiguousRevision(text.to_owned()).into())
        }
        (_, Err(error)) => Err(error),
        (NamedCommit::Several, Ok((stem, name))) => Ok(UndoTarget::Memory(stem, name)),
        (NamedCommit::One(id), Ok((stem, _))) => Err(PastError::MemoryOrCommit {
            text: text.to_owned(),
            memory: stem.as_str().to_owned(),
            commit: id.to_string(),
        }
        .into()),
    }
}

/// Returns the commit that `aim` means.
fn choose(engine: &Engine, history: &PastCommits, aim: UndoTarget) -> Result<Choice, EngineError> {
    let mut undone = UndoneBefore::default();
    let mut chosen = None;
    match aim {
        UndoTarget::Last => {
            // Commits from other machines were made there.
            let made_here = git::reflog_commits(&history.repository, COMMITTED)?;
            // Changes by hand are committed later than they were made.
            let mut by_hand: Option<(Choice, DoneAt)> = None;
            history.each(|moment| {
                let is_candidate = undone.pass(&moment, None);
                let tools = commit_message::read(&moment.message).tools;
                let is_ours = match &made_here {
                    Some(ids) => ids.contains(&moment.id),
                    None => !tools.is_empty(),
                };
                // Notes that were there when the store was made are no operation.
                if !is_candidate || !is_ours || tools == [FOUND] {
                    return Ok(true);
                }
                let Some(choice) = last_deed(engine, history, moment, &undone)? else {
                    return Ok(true);
                };
                let done = done_at_of(engine, history, &choice)?;
                match by_hand.take() {
                    None if tools == [BY_HAND] => by_hand = Some((choice, done)),
                    None => chosen = Some(choice),
                    Some(later) if tools == [BY_HAND] => by_hand = Some(later),
                    Some((hand, at)) if at.is_after(&done) => chosen = Some(hand),
                    Some(_) => chosen = Some(choice),
                }
                Ok(chosen.is_none())
            })?;
            chosen = chosen.or(by_hand.map(|(choice, _)| choice));
        }
        UndoTarget::Memory(stem, name) => {
            let file = key_of(&name).to_owned();
            history.each_of(files_of(&stem, &name), |moment, _| {
                let is_candidate = undone.pass(&moment, Some(&file));
                let only = BTreeSet::from([file.clone()]);
                if is_candidate && has_effect(engine, history, &moment, Some(&only))? {
                    let is_alone = planned(engine, history, &moment, None)?.is_of_one_file();
                    let mut choice = Choice::of_all(moment);
                    if !is_alone {
                        choice
                            .what
                            .push_str(&format!(" for memory {}", stem.short()));
                        choice.files = Some(only);
                    }
                    chosen = Some(choice);
                }
                Ok(chosen.is_none())
            })?;
        }
        UndoTarget::Commit(id) => {
            history.each(|moment| {
                undone.pass(&moment, None);
                if moment.id == id {
                    chosen = Some(Choice::of_all(moment));
                }
                Ok(chosen.is_none())
            })?;
            let Some(choice) = &chosen else {
                return Err(PastError::NotUndone {
                    commit: id.short(),
                    reasons: vec!["it is no commit of this store's history".to_owned()],
                }
                .into());
            };
            if let Some(by) = undone.by.get(&id) {
                let (commit, by) = (id.short(), by.short());
                return Err(PastError::UndoneAlready { commit, by }.into());
            }
            if choice.moment.parents.len() > 1 {
                return Err(PastError::NotUndone {
                    commit: id.short(),
                    reasons: vec![
                        "it joins two histories; their commits can be undone one by one".to_owned(),
                    ],
                }
                .into());
            }
        }
    }
    chosen.ok_or_else(|| PastError::NothingToUndo.into())
}

/// Returns the last operation in `moment` that is not undone; a commit may hold several unrelated
/// ones.
fn last_deed(
    engine: &Engine,
    history: &PastCommits,
    moment: CommitInfo,
    undone: &UndoneBefore,
) -> Result<Option<Choice>, EngineError> {
    let said = commit_message::read(&moment.message);
    for deed in said.deeds.iter().rev() {
        let files = deed
            .iter()
            .map(|line| CommitMessage::file_in(line).to_owned());
        let files: BTreeSet<String> = files.collect();
        let is_undone = |file: &String| undone.files.contains(&(moment.id, file.clone()));
        if files.iter().any(is_undone) || !has_effect(engine, history, &moment, Some(&files))? {
            continue;
        }
        let what = match deed.as_slice() {
            [one] => one.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()),
            [] => continue,
        };
        return Ok(Some(Choice {
            moment,
            files: Some(files),
            what,
        }));
    }
    let is_one = said.deeds.is_empty();
    let is_chosen = is_one && has_effect(engine, history, &moment, None)?;
    Ok(is_chosen.then(|| Choice::of_all(moment)))
}

/// Returns when the changes of `choice` were made, as far as the files' times show.
fn done_at_of(
    engine: &Engine,
    history: &PastCommits,
    choice: &Choice,
) -> Result<DoneAt, EngineError> {
    let moment = &choice.moment;
    let changes = git::diff(
        &history.repository,
        moment.parents.first().copied(),
        moment.id,
    )?;
    let is_meant = plan::meant(choice.files.as_ref(), &changes);
    let meant = changes.iter().filter(|change| is_meant(&change.path));
    let (mut there, mut gone) = (None, None);
    for change in meant {
        let now = engine.live.store.version_at(&change.path)?;
        // The time of a file that was changed again is that of the later change.
        if now.map(|version| Id::of_text(&version.bytes)) == change.after {
            let last = if change.after.is_some() {
                &mut there
            } else {
                &mut gone
            };
            *last = (*last).max(Some(commit::done_at(&engine.history, &change.path)));
        }
    }
    let is_gone = there.is_none() && gone.is_some();
    let committed = moment.at.saturating_mul(1_000_000_000);
    // Nothing was committed before it was done.
    let latest = committed.saturating_add(1_000_000_000);
    let at = there.or(gone).unwrap_or(committed).min(latest);
    Ok(DoneAt { at, is_gone })
}

/// Plans the undo of `moment`; with `files`, of those files only.
fn planned(
    engine: &Engine,
    history: &PastCommits,
    moment: &CommitInfo,
    files: Option<&BTreeSet<String>>,
) -> Result<Plan, EngineError> {
    let parent = moment.parents.first().copied();
    let changes = git::diff(&history.repository, parent, moment.id)?;
    let text_of = |id: Id| -> Result<Vec<u8>, EngineError> { Ok(history.repository.text(id)?) };
    plan::plan(engine, changes, &text_of, files)
}

/// Whether undoing `moment` would change anything, or is refused.
fn has_effect(
    engine: &Engine,
    history: &PastCommits,
    moment: &CommitInfo,
    files: Option<&BTreeSet<String>>,
) -> Result<bool, EngineError> {
    let plan = planned(engine, history, moment, files)?;
    Ok(!plan.operations.is_empty() || !plan.refused.is_empty())
}

/// Returns the plan for `choice`, or an error if a part of it is refused.
fn sound_plan(
    engine: &Engine,
    history: &PastCommits,
    choice: &Choice,
) -> Result<Plan, EngineError> {
    let plan = planned(engine, history, &choice.moment, choice.files.as_ref())?;
    if plan.refused.is_empty() {
        return Ok(plan);
    }
    Err(PastError::NotUndone {
        commit: choice.moment.id.short(),
        reasons: plan.refused,
    }
    .into())
}

/// Performs `plan`, with a new one from `again` whenever a file has changed meanwhile;
/// returns the names of the files below `files/` and `archive/`.
fn perform_all(
    engine: &Engine,
    plan: &mut Plan,
    tool: &str,
    mut again: impl FnMut() -> Result<Plan, EngineError>,
) -> Result<BTreeSet<String>, EngineError> {
    let mut names = BTreeSet::new();
    for _ in 0..MAX_TRIES {
        let mut is_stale = false;
        for operation in &plan.operations {
            if !perform(engine, operation, tool, &mut names)? {
                is_stale = true;
                break;
            }
            if let Operation::Add { place, name, bytes } = operation {
                take_mode_of_successor(engine, plan, (*place, name), bytes)?;
            }
        }
        if !is_stale {
            return Ok(names);
        }
        // What is done already needs nothing in the new plan.
        *plan = again()?;
    }
    Err(EngineError::Invalid(
        "the memories change faster than they can be written".to_owned(),
    ))
}

/// Gives a note that is written back the permissions of the memory that it had become, which
/// `plan` moves: adopting a note writes a frontmatter before its text.
fn take_mode_of_successor(
    engine: &Engine,
    plan: &Plan,
    note: (Place, &str),
    bytes: &[u8],
) -> Result<(), EngineError> {
    for operation in &plan.operations {
        let Operation::Move { from, to } = operation else {
            continue;
        };
        for (place, name) in [from, to] {
            let read = engine.live.store.reader(*place).read(name, u64::MAX);
            if read.is_ok_and(|seen| seen.bytes.ends_with(bytes)) {
                return Ok(engine.writer.copy_mode((*place, name), note)?);
            }
        }
    }
    Ok(())
}

/// Performs one operation; `Ok(false)` if the file has changed meanwhile and nothing was done.
fn perform(
    engine: &Engine,
    operation: &Operation,
    tool: &str,
    names: &mut BTreeSet<String>,
) -> Result<bool, EngineError> {
    let mut note = |name: &str| {
        engine.writer.note_change(tool, name);
        names.insert(name.to_owned());
    };
    let replaced = match operation {
        Operation::Add { place, name, bytes } => {
            engine.writer.add((*place, name), bytes)?;
            note(name);
            Replaced::Done
        }
        Operation::Replace { place, seen, bytes } => {
            let name = &seen.entry.name;
            match replace::replace_text(&engine.writer, *place, name, seen, bytes) {
                Err(FilesError::Missing { .. }) => return Ok(false),
                other => {
                    let replaced = other?;
                    if replaced.is_written() {
                        note(name);
                    }
                    replaced
                }
            }
        }
        Operation::Move { from, to } if from.1 == to.1 => {
            match engine.writer.relocate(&from.1, from.0, to.0) {
                Err(FilesError::Missing { .. }) => return Ok(false),
                other => other?,
            }
            note(&from.1);
            Replaced::Done
        }
        Operation::Move { from, to } => {
            // In one step: whatever text is there by now goes along.
            match engine.writer.rename((from.0, &from.1), (to.0, &to.1)) {
                Err(FilesError::Missing { .. }) => return Ok(false),
                other => other?,
            }
            note(&to.1);
            note(&from.1);
            for (place, name) in [to, from] {
                let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
                engine.writer.sync_folder(*place, folder)?;
            }
            Replaced::Done
        }
        Operation::Settings { seen, bytes } => {
            let name = &seen.entry.name;
            // No memory: it is not indexed.
            engine.writer.leave_note(tool, name);
            names.insert(name.clone());
            engine.writer.put_beside(name, Some(seen), Some(bytes))?
        }
    };
    // However it comes back: its life begins anew.
    if let Operation::Move { from, to } = operation
        && (from.0, to.0) == (Place::Archive, Place::Files)
        && tool != RESTORE
    {
        engine.writer.record(RESTORE, &to.1, Some(tool));
    }
    if replaced == Replaced::KeptOther {
        tracing::warn!(
            "somebody else changed a file in the same moment; their text is kept as a conflict copy, which `memdir status` names"
        );
    }
    Ok(replaced != Replaced::Stale)
}

/// Time of a change.
struct DoneAt {
    /// In nanoseconds since 1970.
    at: i64,
    /// Whether the file is gone and the time is its folder's, which the program changes as well.
    is_gone: bool,
}

impl DoneAt {
    fn is_after(&self, other: &DoneAt) -> bool {
        let room = if self.is_gone { OWN_CHANGE } else { 0 };
        self.at > other.at.saturating_add(room)
    }
}
