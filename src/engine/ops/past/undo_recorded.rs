//! Undoes a change of a store whose storage keeps the history, without git.
//!
//! Promises: as `undo`, and the new change is made in one transaction with a note of the change that it undoes, so
//! that it is there whole or not at all. A change is named by its number. There is no undo of the last change,
//! whichever it is: several servers write to such a store, and it may be somebody else's.

use std::collections::{BTreeSet, HashMap};

use crate::engine::error::{EngineError, PastError};
use crate::engine::history::turn::MAX_TRIES;
use crate::engine::ops::past::plan::{Operation, Plan};
use crate::engine::ops::past::undo::Undone;
use crate::engine::ops::past::{plan, recorded, undo};
use crate::engine::parts::Engine;
use crate::engine::texts::{files_of, key_of, name_of};
use crate::files::{ChangeLog, FileEdit, Place, RecordedChange, RecordedFile, RecordedText};
use crate::git::{Id, PathChange};
use crate::journal::RESTORE;
use crate::model::Stem;

/// Tool of an undo, in the journal.
const TOOL: &str = "undo";

/// Number of digits of a memory's handle.
const HANDLE_DIGITS: usize = 8;

/// Undoes a change as [`undo::undo`] does: of the history that the storage keeps, the one with the number `target`, or
/// the last one of the memory called so; or of git's.
///
/// # Errors
///
/// As for [`undo::undo`]; without a target, if the storage keeps the history.
pub fn undo(
    engine: &Engine,
    target: Option<&str>,
    is_rehearsal: bool,
) -> Result<Undone, EngineError> {
    let Some(history) = engine.live.store.change_log() else {
        return undo::undo(engine, target, is_rehearsal);
    };
    engine.writer.check_writable()?;
    let Some(target) = target else {
        return Err(EngineError::Invalid(
            "name a memory, or the number of a change: others write to this workspace, and its last change may be theirs".to_owned(),
        ));
    };
    let choice = choose(engine, history, target)?;
    let number = choice.change.number;
    let mut undone = Undone {
        undone: number.to_string(),
        what: choice.what,
        files: Vec::new(),
        others: 0,
        commit: None,
    };
    for _ in 0..MAX_TRIES {
        let plan = planned(engine, &choice.files, choice.only.as_ref())?;
        if !plan.refused.is_empty() {
            return Err(PastError::NotUndone {
                commit: number.to_string(),
                reasons: plan.refused,
            }
            .into());
        }
        undone.files.clone_from(&plan.files);
        if is_rehearsal || plan.operations.is_empty() {
            return Ok(undone);
        }
        let Some(edits) = edits_of(engine, &plan)? else {
            continue;
        };
        if let Some(made) = engine.writer.undo_change(history, number, &edits)? {
            record(engine, &plan, number);
            undone.commit = Some(made.to_string());
            return Ok(undone);
        }
    }
    Err(EngineError::Invalid(
        "the memories change faster than they can be written".to_owned(),
    ))
}

/// A change, and the files for which it is to be undone; `None`: all of its files.
struct Choice {
    change: RecordedChange,
    files: Vec<RecordedFile>,
    only: Option<BTreeSet<String>>,
    /// Description of the changes.
    what: String,
}

/// Returns the change that `target` means.
fn choose(engine: &Engine, history: &dyn ChangeLog, target: &str) -> Result<Choice, EngineError> {
    let number = target.parse::<u64>().ok();
    let named = number.map(|number| history.change(number)).transpose()?;
    let named = named.flatten();
    if number.is_some() && target.len() != HANDLE_DIGITS {
        let (change, files) = named.ok_or_else(|| unknown(target))?;
        return of_change(engine, history, change, files);
    }
    match (named, recorded::resolve(engine, history, target)) {
        (Some((change, _)), Ok((stem, _))) => Err(PastError::MemoryOrCommit {
            text: target.to_owned(),
            memory: stem.as_str().to_owned(),
            commit: change.number.to_string(),
        }
        .into()),
        (Some((change, files)), Err(EngineError::NotFound(_))) => {
            of_change(engine, history, change, files)
        }
        (None, Err(EngineError::NotFound(_))) => Err(unknown(target)),
        (_, Err(error)) => Err(error),
        (None, Ok((stem, name))) => of_memory(engine, history, &stem, &name),
    }
}

fn unknown(target: &str) -> EngineError {
    PastError::UnknownTarget(target.to_owned()).into()
}

/// Returns the choice of a whole change, unless it is undone already.
fn of_change(
    engine: &Engine,
    history: &dyn ChangeLog,
    change: RecordedChange,
    files: Vec<RecordedFile>,
) -> Result<Choice, EngineError> {
    let undos = history.undos()?;
    let by = undone_by(&undos, |_| true);
    let is_of_it = |undo: &&RecordedChange| {
        undo.undoes == Some(change.number) && !by.contains_key(&undo.number)
    };
    let undone: BTreeSet<&str> = undos.iter().filter(is_of_it).flat_map(keys).collect();
    if let Some(by) = by.get(&change.number)
        && keys(&change).all(|key| undone.contains(key))
    {
        return Err(PastError::UndoneAlready {
            commit: change.number.to_string(),
            by: by.to_string(),
        }
        .into());
    }
    Ok(Choice {
        what: recorded::description(engine, &change)?,
        change,
        files,
        only: None,
    })
}

/// Returns the choice of the last change of a memory that is no undo, is not undone, and has an effect still.
fn of_memory(
    engine: &Engine,
    history: &dyn ChangeLog,
    stem: &Stem,
    name: &str,
) -> Result<Choice, EngineError> {
    let undos = history.undos()?;
    let own = key_of(name);
    let by = undone_by(&undos, |undo| keys(undo).any(|key| key == own));
    for change in history.recorded(Some(files_of(stem, name)), usize::MAX)? {
        if change.undoes.is_some() || by.contains_key(&change.number) {
            continue;
        }
        // The change of other files, too, if they were changed together.
        let Some((change, files)) = history.change(change.number)? else {
            continue;
        };
        let only = BTreeSet::from([own.to_owned()]);
        let plan = planned(engine, &files, Some(&only))?;
        if plan.operations.is_empty() && plan.refused.is_empty() {
            continue;
        }
        let mut what = recorded::description(engine, &change)?;
        let is_alone = keys(&change).all(|key| key == own);
        if !is_alone {
            what.push_str(&format!(" for memory {}", stem.short()));
        }
        return Ok(Choice {
            change,
            files,
            only: (!is_alone).then_some(only),
            what,
        });
    }
    Err(PastError::NothingToUndo.into())
}

/// Returns what tells the memories of a change from others.
fn keys(change: &RecordedChange) -> impl Iterator<Item = &str> {
    change.files.iter().map(|(path, _)| key_of(name_of(path)))
}

/// Returns the numbers of undone changes with the newest ones that undo them, by those of `undos`, newest first, that
/// `counts` accepts.
fn undone_by(
    undos: &[RecordedChange],
    counts: impl Fn(&RecordedChange) -> bool,
) -> HashMap<u64, u64> {
    let mut by = HashMap::new();
    for undo in undos.iter().filter(|undo| counts(undo)) {
        // An undo that is undone itself undoes nothing any more.
        if let (Some(undone), false) = (undo.undoes, by.contains_key(&undo.number)) {
            by.entry(undone).or_insert(undo.number);
        }
    }
    by
}

/// Plans the undo of a change of `files`; with `only`, as [`key_of`] tells them apart, of those alone.
fn planned(
    engine: &Engine,
    files: &[RecordedFile],
    only: Option<&BTreeSet<String>>,
) -> Result<Plan, EngineError> {
    let mut texts = HashMap::new();
    let (mut changes, mut refused) = (Vec::new(), Vec::new());
    for file in files {
        let name = key_of(name_of(&file.path));
        let is_added = file.before == RecordedText::None;
        if file.before == RecordedText::NotKept
            || (file.after == RecordedText::NotKept && !is_added)
        {
            if only.is_some_and(|only| !only.contains(name)) {
                continue;
            }
            refused.push(format!("{name} had a text that is not kept"));
            continue;
        }
        changes.push(PathChange {
            path: file.path.clone(),
            before: id_of(&file.before, &mut texts),
            after: id_of(&file.after, &mut texts),
        });
    }
    let text_of = |id: Id| {
        let bytes = texts.get(&id).map(|bytes| bytes.to_vec());
        bytes.ok_or_else(|| EngineError::Invalid(format!("the text {id} is not kept")))
    };
    let mut plan = plan::plan(engine, changes, &text_of, only)?;
    plan.refused.extend(refused);
    Ok(plan)
}

/// Returns the id of a text, and puts the text into `texts`.
fn id_of<'a>(text: &'a RecordedText, texts: &mut HashMap<Id, &'a [u8]>) -> Option<Id> {
    match text {
        RecordedText::None => None,
        // Nobody reads the text with which a memory began to undo that it was added.
        RecordedText::NotKept => Some(Id::of_text(&[])),
        RecordedText::Kept(bytes) => {
            let id = Id::of_text(bytes);
            texts.insert(id, bytes);
            Some(id)
        }
    }
}

/// Returns the new texts of the files of a plan, each file once; `None` if one was moved meanwhile.
fn edits_of(engine: &Engine, plan: &Plan) -> Result<Option<Vec<FileEdit>>, EngineError> {
    let mut edits: Vec<FileEdit> = Vec::new();
    for operation in &plan.operations {
        match operation {
            Operation::Add { place, name, bytes } => edits.push(FileEdit {
                path: place.path_of(name),
                seen: None,
                bytes: Some(bytes.clone()),
                modified: None,
            }),
            Operation::Replace { place, seen, bytes } => edits.push(FileEdit {
                path: place.path_of(&seen.entry.name),
                seen: Some(seen.hash),
                bytes: Some(bytes.clone()),
                modified: None,
            }),
            Operation::Settings { seen, bytes } => edits.push(FileEdit {
                path: seen.entry.name.clone(),
                seen: Some(seen.hash),
                bytes: Some(bytes.clone()),
                modified: None,
            }),
            Operation::Move { from, to } => {
                let (path, to) = (from.0.path_of(&from.1), to.0.path_of(&to.1));
                let known = edits.iter_mut().find(|edit| edit.path == path);
                // A text that is changed, too, moves with its change.
                let (bytes, modified) = match known {
                    Some(edit) => (edit.bytes.take(), edit.modified),
                    None => {
                        let Some(seen) = engine.live.store.version_at(&path)? else {
                            return Ok(None);
                        };
                        edits.push(FileEdit {
                            path,
                            seen: Some(seen.hash),
                            bytes: None,
                            modified: None,
                        });
                        (Some(seen.bytes), Some(seen.entry.stamp.modified))
                    }
                };
                edits.push(FileEdit {
                    path: to,
                    seen: None,
                    bytes,
                    modified,
                });
            }
        }
    }
    Ok(Some(edits))
}

/// Records the undo in the journal.
fn record(engine: &Engine, plan: &Plan, number: u64) {
    let _together = engine.writer.collect_records();
    let why = format!("change {number}");
    for operation in &plan.operations {
        let name = match operation {
            Operation::Add { name, .. } => name,
            Operation::Replace { seen, .. } | Operation::Settings { seen, .. } => &seen.entry.name,
            Operation::Move { to, .. } => &to.1,
        };
        engine.writer.note_change_because(TOOL, name, Some(&why));
        // However it comes back: its life begins anew.
        if let Operation::Move { from, to } = operation
            && (from.0, to.0) == (Place::Archive, Place::Files)
        {
            engine.writer.record(RESTORE, &to.1, Some(TOOL));
        }
    }
}
