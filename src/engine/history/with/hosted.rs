//! The side of a workspace in an exchange: answers what a client asks, and makes its changes.
//!
//! Promises: a file is changed only if its text has the hash that the client read; a memory is removed only if
//! it lies in the other folder, too, or is purged, so that no client loses a text; names are checked before
//! anything is read or written. A listing holds no state between two changes: where it would, it is made anew.

use std::collections::BTreeMap;

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::merge_plan::stem_of_path;
use crate::engine::history::remote::apply;
use crate::engine::history::with::exchange::{
    ChangesAnswer, ChangesQuestion, FileChange, ListedFile, ListingPage, ListingQuestion,
    MAX_FILES, MAX_LISTED, MAX_TEXT, TextsAnswer, TextsQuestion, WorkspaceState, is_exchanged,
    written_hash,
};
use crate::engine::history::with::keep::archived;
use crate::engine::history::with::side::unmerged;
use crate::files::{
    ChangeLog, Entry, FilesError, FilesOf, Place, Reader, TOMBSTONES, tombstone_of,
};
use crate::git::Id;
use crate::model::Stem;

/// Tool of such changes, in the journal.
const TOOL: &str = "sync";

/// Maximum number of attempts at a listing while memories are moved.
const ROUNDS: usize = 8;

/// Maximum size of the texts of one answer in bytes, if it is more than one.
const MAX_ANSWER: usize = 8 << 20;

/// Number of files whose hashes are asked for together.
const HASHES: usize = 1_000;

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

/// Returns a page of the listing of memories and tombstones, without talks.
///
/// # Errors
///
/// Fails if the store is a folder, cannot be read, or changes all the time.
pub fn workspace_listing(
    history: &History,
    question: &ListingQuestion,
) -> Result<ListingPage, EngineError> {
    let log = change_log(history)?;
    for _ in 0..ROUNDS {
        let (workspace, number) = log.state()?;
        let Some((files, has_more)) = listed(history, question)? else {
            continue;
        };
        // One that moved meanwhile may be in no folder of the listing, and would pass for deleted.
        if log.state()? == (workspace.clone(), number) {
            return Ok(ListingPage {
                workspace,
                number,
                files,
                has_more,
            });
        }
    }
    Err(changing())
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

fn changing() -> EngineError {
    EngineError::Invalid("the workspace changes all the time; try again".to_owned())
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

/// Returns the files of a page, and whether there are further ones; `None` if a file was moved meanwhile.
fn listed(
    history: &History,
    question: &ListingQuestion,
) -> Result<Option<(Vec<ListedFile>, bool)>, EngineError> {
    let store = &history.live.store;
    let mut paths = BTreeMap::new();
    for place in [Place::Files, Place::Archive] {
        for entry in store.list(place)?.entries {
            paths.insert(place.path_of(&entry.name), Some(entry));
        }
    }
    for stem in store.names_beside(TOMBSTONES)? {
        paths.insert(tombstone_of(&stem), None);
    }
    paths.retain(|path, _| is_exchanged(path));
    if let Some(after) = &question.after {
        paths = paths.split_off(after);
        paths.remove(after);
    }
    let has_more = paths.len() > MAX_LISTED;
    let page: Vec<(String, Option<Entry>)> = paths.into_iter().take(MAX_LISTED).collect();
    let mut files = Vec::with_capacity(page.len());
    for part in page.chunk_by(|(one, _), (other, _)| top(one) == top(other)) {
        let place = part.first().and_then(|(path, _)| Place::of(path));
        let reader = place.map_or_else(|| store.beside(), |(place, _)| store.reader(place));
        for part in part.chunks(HASHES) {
            let Some(found) = hashed(&*reader, part)? else {
                return Ok(None);
            };
            files.extend(found);
        }
    }
    Ok(Some((files, has_more)))
}

fn top(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

/// Returns files of one folder with their hashes; `None` if one is gone.
fn hashed(
    reader: &dyn Reader,
    part: &[(String, Option<Entry>)],
) -> Result<Option<Vec<ListedFile>>, EngineError> {
    let name = |(path, _): &'_ (String, Option<Entry>)| match Place::of(path) {
        Some((_, name)) => name.to_owned(),
        None => path.clone(),
    };
    let names: Vec<String> = part.iter().map(name).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let versions = reader
        .read_many(&names, 0)
        .unwrap_or_else(|| names.iter().map(|name| reader.read(name, 0)).collect());
    let mut files = Vec::with_capacity(part.len());
    for ((path, _), version) in part.iter().zip(versions) {
        let version = match version {
            Err(FilesError::Missing { .. }) => return Ok(None),
            other => other?,
        };
        files.push(ListedFile {
            path: path.clone(),
            hash: written_hash(version.hash),
            bytes: version.entry.stamp.size,
            modified: version.entry.stamp.modified.div_euclid(1_000_000_000),
        });
    }
    Ok(Some(files))
}
