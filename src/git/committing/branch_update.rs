//! Moves the branch and git's index together.
//!
//! Promises: whoever uses git in the next moment finds both as they belong together; what somebody
//! staged stays; a process that is killed in between has prepared what the next one ends.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use crate::git::committing::index_file::Edit;
use crate::git::committing::local_commits::note_local_commit;
use crate::git::committing::staging;
use crate::git::committing::staging::TELL;
use crate::git::repository::processes::is_git_committing;
use crate::git::{GitError, Id, Repository, Staged, To};

/// Begins the name of a file beside the index that holds its next version, and ends with the commit
/// that it is told of.
const PREPARED: &str = "memdir-index-";
/// Held for that, by one process at a time, whatever store of the repository it is about.
const TURN: &str = "memdir-moving";
/// It is held for milliseconds: tried so often, with a pause, before somebody else's is waited for
/// in another way. No event tells when it is free.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Moves the checked out branch from `from` to `to`, and tells the index of what differs, as one
/// step: somebody who commits with git in the next moment commits what is there and not what
/// was there before. `Ok(false)` if the branch is elsewhere by now, or git is at work.
///
/// # Errors
///
/// Fails if the index is of a kind that is not understood, or if something cannot be written.
pub fn move_branch(
    repository: &Repository,
    from: Option<Id>,
    to: Id,
    why: &str,
    told: &BTreeMap<String, Staged>,
) -> Result<bool, GitError> {
    let Some(_turn) = take_turn(repository).to(TELL)? else {
        return Ok(false);
    };
    let prepared = repository.inner.path().join(format!("{PREPARED}{to}"));
    let moved = move_prepared(repository, &prepared, (from, to), why, told);
    let _ = std::fs::remove_file(&prepared); // It is found and removed later.
    moved
}

/// Has the reference `name` point to `to`; `Ok(false)` if it does not point to `from` any
/// more, or exists where `from` is `None`, or if somebody is about to change it.
///
/// # Errors
///
/// Fails if it cannot be written.
pub fn advance_reference(
    repository: &Repository,
    name: &str,
    from: Option<Id>,
    to: Id,
    why: &str,
) -> Result<bool, GitError> {
    note_local_commit(repository, to)?;
    let moved = match from {
        Some(from) => repository
            .inner
            .reference_matching(name, to.0, true, from.0, why),
        None => repository.inner.reference(name, to.0, false, why),
    };
    match moved {
        Ok(_) => Ok(true),
        Err(error)
            if matches!(
                error.code(),
                git2::ErrorCode::Modified | git2::ErrorCode::Exists | git2::ErrorCode::Locked
            ) =>
        {
            Ok(false)
        }
        Err(error) => Err(error).to("move the branch"),
    }
}

/// Moves the branch by way of the file `prepared`, which may stay.
fn move_prepared(
    repository: &Repository,
    prepared: &Path,
    (from, to): (Option<Id>, Id),
    why: &str,
    told: &BTreeMap<String, Staged>,
) -> Result<bool, GitError> {
    let branch = format!("refs/heads/{}", repository.branch());
    let index = repository.inner.path().join("index");
    let seen = stamp_of(&index);
    let mut file = File::create(prepared).to(TELL)?;
    let began = file.metadata().and_then(|data| data.modified());
    let began = began.to(TELL)?;
    let now = seconds(staging::modified(prepared).to(TELL)?);
    let edits: BTreeMap<Vec<u8>, Edit> = told
        .iter()
        .map(|(path, told)| {
            let path = format!("{}{path}", repository.prefix);
            let edit = staging::index_edit(repository, &path, told, to);
            (path.into_bytes(), edit)
        })
        .collect();
    let written = seen.map_or(0, |(_, modified, _)| seconds(modified));
    let new = staging::edited_index(repository, from, written..now, &edits)?;
    // Files were looked at from then on: one that was modified since counts as uncertain.
    let done = file
        .write_all(&new)
        .and_then(|()| file.set_modified(began))
        .and_then(|()| file.sync_all());
    done.to(TELL)?;
    drop(file);
    // As whoever made it wants it to be seen.
    if let Ok(data) = std::fs::metadata(&index) {
        let _ = std::fs::set_permissions(prepared, data.permissions());
    }
    let lock = repository.inner.path().join("index.lock");
    if !take_lock(prepared, &lock).to(TELL)? {
        return Ok(false);
    }
    // Somebody's git may have written it since it was read. One that merges takes what was not
    // committed off the disk for a moment, and fails to put it back if the index is locked.
    let is_in_the_way = stamp_of(&index) != seen || is_git_committing(repository);
    let moved = match is_in_the_way {
        true => Ok(false),
        false => advance_reference(repository, &branch, from, to, why),
    };
    match moved {
        Ok(true) => std::fs::rename(&lock, &index).to(TELL)?,
        _ => std::fs::remove_file(&lock).to(TELL)?,
    }
    moved
}

/// Ends what a process began that was killed while it moved the branch.
///
/// # Errors
///
/// Fails if something cannot be read or written.
pub fn finish_branch_move(repository: &Repository) -> Result<(), GitError> {
    let folder = repository.inner.path();
    let mut prepared = Vec::new();
    for file in std::fs::read_dir(folder).to(TELL)?.flatten() {
        let name = file.file_name();
        if let Some(to) = name.to_str().and_then(|name| name.strip_prefix(PREPARED)) {
            prepared.push((file.path(), Id::parse(to)));
        }
    }
    if prepared.is_empty() {
        return Ok(());
    }
    // Whoever has it is alive, and ends it.
    let Some(_turn) = take_turn(repository).to(TELL)? else {
        return Ok(());
    };
    for (path, to) in prepared {
        let Ok(text) = std::fs::read(&path) else {
            continue; // It was ended meanwhile.
        };
        let lock = folder.join("index.lock");
        // A lock that holds what was prepared was made of it. One that was killed earlier had
        // taken none, and a git that has just begun holds an empty one.
        let is_ours = !text.is_empty() && std::fs::read(&lock).is_ok_and(|lock| lock == text);
        let branch = repository.reference(&format!("refs/heads/{}", repository.branch()));
        let is_moved = branch.is_ok_and(|tip| tip.is_some() && tip == to);
        match (is_ours, is_moved) {
            (true, true) => std::fs::rename(&lock, folder.join("index")).to(TELL)?,
            (true, false) => std::fs::remove_file(&lock).to(TELL)?,
            (false, _) => {}
        }
        std::fs::remove_file(&path).to(TELL)?;
    }
    Ok(())
}

/// The right to move the branch, while the file is open; `None` if somebody keeps it.
fn take_turn(repository: &Repository) -> std::io::Result<Option<File>> {
    let file = File::create(repository.inner.commondir().join(TURN))?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(Some(file)),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Ok(None)
}

fn seconds(nanos: i64) -> u32 {
    u32::try_from(nanos.div_euclid(1_000_000_000)).unwrap_or(0)
}

/// The stamp of a version of the index: size, time and inode.
fn stamp_of(path: &Path) -> Option<(u64, i64, u64)> {
    let data = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&data);
    #[cfg(not(unix))]
    let inode = 0;
    Some((data.len(), staging::modified(path).ok()?, inode))
}

/// Locks the index as git does, with a lock that holds what was prepared; false if somebody else
/// has it locked.
fn take_lock(prepared: &Path, lock: &Path) -> std::io::Result<bool> {
    match std::fs::hard_link(prepared, lock) {
        Ok(()) => return Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        Err(_) => {} // Not every file system has links.
    }
    let text = std::fs::read(prepared)?;
    let mut file = match File::create_new(lock) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(false),
        other => other?,
    };
    let written = file.write_all(&text).and_then(|()| file.sync_all());
    if written.is_err() {
        let _ = std::fs::remove_file(lock); // Else it would look like somebody else's.
    }
    written.map(|()| true)
}
