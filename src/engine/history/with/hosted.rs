//! The side of a workspace in an exchange: answers what a client asks, and makes its changes.
//!
//! Promises: a file is changed only if its text has the hash that the client read; a memory is removed only if
//! it lies in the other folder, too, or is purged, so that no client loses a text; names are checked before
//! anything is read or written. Each file of a listing is as it was at one moment, at the number of the listing or later.

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::merge_plan::stem_of_path;
use crate::engine::history::remote::apply;
use crate::engine::history::with::exchange::{
    ChangesAnswer, ChangesQuestion, FileChange, ListedFile, ListingPage, ListingQuestion,
    MAX_FILES, MAX_LISTED, MAX_TEXT, TextsAnswer, TextsQuestion, WorkspaceState, is_exchanged,
    read_mark, written_hash, written_mark,
};
use crate::engine::history::with::keep::archived;
use crate::engine::history::with::side::unmerged;
use crate::files::{ChangeLog, FilesOf, Place, tombstone_of};
use crate::git::Id;
use crate::model::Stem;

/// Tool of such changes, in the journal.
const TOOL: &str = "sync";

/// Maximum number of questions to the storage for one page, most of which hold nothing but talks.
const MAX_PARTS: usize = 200;

/// Maximum size of the texts of one answer in bytes, if it is more than one.
const MAX_ANSWER: usize = 8 << 20;

/// Returns the state of the workspace.
///
/// # Errors
///
/// Fails if the store is a folder, or cannot be read.
pub fn workspace_state(history: &History, may_write: bool) -> Result<WorkspaceState, EngineError> {
    let (workspace, number) = change_log(history)?.state()?;
    Ok(WorkspaceState {
        workspace,
        number,
        may_write,
    })
}

/// Returns a page of the listing of memories and tombstones, without talks. With the mark of an earlier page it holds what
/// changed since, unless there is no such mark.
///
/// # Errors
///
/// Fails if the store is a folder, cannot be read, or changes all the time.
pub fn workspace_listing(
    history: &History,
    question: &ListingQuestion,
) -> Result<ListingPage, EngineError> {
    let log = change_log(history)?;
    let begin = question.after.clone().unwrap_or_default();
    if begin.contains('\0') {
        return Err(EngineError::Invalid("`after` is no path".to_owned()));
    }
    let since = question.since.as_deref().and_then(read_mark);
    let (mut after, mut first) = (begin.clone(), None);
    for _ in 0..MAX_PARTS {
        let listed = match since {
            Some(mark) => log.listed_since(mark, &after, MAX_LISTED)?,
            None => Some(log.listed(&after, MAX_LISTED)?),
        };
        let Some(listed) = listed else {
            // Without its mark the question is one for all files.
            return workspace_listing(history, &ListingQuestion::default());
        };
        if *first.get_or_insert(listed.mark) != listed.mark {
            // What was passed over is of an earlier state, and would be missing from this one.
            (after, first) = (begin.clone(), None);
            continue;
        }
        let has_more = listed.files.len() >= MAX_LISTED;
        let last = listed.files.last().map(|file| file.path.clone());
        let mut page = ListingPage {
            workspace: listed.identity,
            number: listed.mark.number,
            mark: written_mark(listed.mark),
            since: question.since.clone().filter(|_| since.is_some()),
            files: Vec::new(),
            removed: Vec::new(),
            has_more,
        };
        for file in listed.files {
            if !is_exchanged(&file.path) {
                continue;
            }
            match file.text {
                Some(text) => page.files.push(ListedFile {
                    path: file.path,
                    hash: written_hash(text.hash),
                    bytes: text.bytes,
                    modified: text.modified.div_euclid(1_000_000_000),
                }),
                None => page.removed.push(file.path),
            }
        }
        match last.filter(|_| has_more && page.last().is_none()) {
            // Nothing but talks: the client could not tell where the next page begins.
            Some(last) => after = last,
            None => return Ok(page),
        }
    }
    let what = "the workspace changes all the time; try again";
    Err(EngineError::Invalid(what.to_owned()))
}

/// Returns the texts of files.
///
/// # Errors
///
/// Fails if a path is none of a memory or a tombstone, or if the store cannot be read.
pub fn workspace_texts(
    history: &History,
    question: &TextsQuestion,
) -> Result<TextsAnswer, EngineError> {
    check_count(question.paths.len())?;
    let (mut texts, mut bytes) = (Vec::new(), 0);
    for path in &question.paths {
        check_path(path)?;
        let version = history.live.store.version_at(path)?;
        let text = version.and_then(|version| String::from_utf8(version.bytes).ok());
        bytes += text.as_ref().map_or(0, String::len);
        if bytes > MAX_ANSWER && !texts.is_empty() {
            break;
        }
        texts.push(text);
    }
    Ok(TextsAnswer { texts })
}

/// Makes changes, one after another.
///
/// # Errors
///
/// Fails if a change is none that a client may make, or if the store cannot be written; the changes before it
/// are made.
pub fn change_workspace(
    history: &History,
    question: &ChangesQuestion,
) -> Result<ChangesAnswer, EngineError> {
    change_log(history)?;
    history.writer.check_writable()?;
    check_count(question.changes.len())?;
    for change in &question.changes {
        check_change(change)?;
    }
    let together = history.writer.collect_records();
    let done = question.changes.iter().map(|change| make(history, change));
    let done = done.collect::<Result<_, _>>();
    drop(together);
    Ok(ChangesAnswer { done: done? })
}

fn change_log(history: &History) -> Result<&dyn ChangeLog, EngineError> {
    history.live.store.change_log().ok_or_else(|| {
        EngineError::Invalid("only a workspace of a database is exchanged over HTTP".to_owned())
    })
}

fn check_count(count: usize) -> Result<(), EngineError> {
    match count <= MAX_FILES {
        true => Ok(()),
        false => Err(EngineError::Invalid(format!(
            "more than {MAX_FILES} files are exchanged at once"
        ))),
    }
}

fn check_path(path: &str) -> Result<(), EngineError> {
    match is_exchanged(path) {
        true => Ok(()),
        false => Err(EngineError::Invalid(
            "a path is that of no memory and no tombstone".to_owned(),
        )),
    }
}

fn check_change(change: &FileChange) -> Result<(), EngineError> {
    check_path(&change.path)?;
    let Some(text) = &change.text else {
        return match Place::of(&change.path) {
            Some(_) => Ok(()),
            None => Err(EngineError::Invalid(
                "a tombstone is never removed".to_owned(),
            )),
        };
    };
    if text.len() as u64 > MAX_TEXT {
        return Err(EngineError::Invalid(format!(
            "a text has more than {MAX_TEXT} bytes"
        )));
    }
    unmerged(text.as_bytes()).map_or(Ok(()), |why| Err(EngineError::Invalid(why)))
}

fn make(history: &History, change: &FileChange) -> Result<bool, EngineError> {
    let store = &history.live.store;
    let seen = store.version_at(&change.path)?;
    let text = change.text.as_ref().map(String::as_bytes);
    if seen.as_ref().map(|seen| seen.bytes.as_slice()) == text {
        // Made before, by a request whose answer was lost.
        erase_purged(history, change)?;
        return Ok(true);
    }
    let found = seen.as_ref().map(|seen| written_hash(seen.hash));
    if found != change.before {
        return Ok(false);
    }
    if text.is_none() && !is_kept(history, &change.path)? {
        return Err(EngineError::Invalid(
            "a memory is removed only if it is archived, restored or purged".to_owned(),
        ));
    }
    let before = seen.map(|seen| Id::of_text(&seen.bytes));
    let is_done = apply::apply_to(history, &change.path, before, text)?;
    if is_done && let Some((_, name)) = Place::of(&change.path) {
        history.writer.note_change(TOOL, name);
    }
    if is_done {
        erase_purged(history, change)?;
    }
    Ok(is_done)
}

/// Erases the former texts of a memory that was purged by `change`, or before it.
fn erase_purged(history: &History, change: &FileChange) -> Result<(), EngineError> {
    let stem = Stem::from_file_name(stem_of_path(&change.path));
    let place = Place::of(&change.path);
    let former = match place {
        _ if stem.is_canonical() => FilesOf::Stem(stem.as_str()),
        Some((_, name)) => FilesOf::Name(name),
        // Its file is removed by a change of its own.
        None => return Ok(()),
    };
    let tombstone = tombstone_of(stem.as_str());
    let is_purged = match place {
        Some(_) => change.text.is_none() && history.live.store.version_at(&tombstone)?.is_some(),
        None => true,
    };
    if is_purged {
        history.writer.erase_former(former)?;
    }
    Ok(())
}

/// Whether the memory at `path` lies in the other folder, too, or is purged.
fn is_kept(history: &History, path: &str) -> Result<bool, EngineError> {
    let store = &history.live.store;
    let live = path.strip_prefix("archive/");
    let other = archived(path).or_else(|| Some(format!("files/{}", live?)));
    let is_there = match other {
        Some(other) => store.version_at(&other)?.is_some(),
        None => false,
    };
    Ok(is_there
        || store
            .version_at(&tombstone_of(stem_of_path(path)))?
            .is_some())
}
