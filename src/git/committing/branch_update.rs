//! Moves the branch and git's index together.
//!
//! Guarantees: git sees the branch and the index of one state; entries that somebody staged stay; files
//! that git reset meanwhile are not taken for the branch's; if the process is killed in between, the next
//! one completes the move from a prepared file.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use crate::git::committing::index_file::{Edit, has_own_sum};
use crate::git::committing::local_commits::note_local_commit;
use crate::git::committing::staging;
use crate::git::committing::staging::TELL;
use crate::git::repository::processes::is_git_committing;
use crate::git::{GitError, Id, Repository, Staged, To};

/// Prefix of the name of a file beside the index that holds its next version; the id of the new commit
/// follows.
const PREPARED: &str = "memdir-index-";
/// Name of the lock file for moving a branch, shared by all stores of the repository.
const TURN: &str = "memdir-moving";
/// Number of tries to take the lock, with a pause between them. It is held for milliseconds, and there
/// is no event for its release.
const TRIES: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// A version of git's index, by the size, time and inode of its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexVersion(Option<(u64, i64, u64)>);

/// Returns the present version of the index. Every git program that resets files writes another one.
pub fn index_version(repository: &Repository) -> IndexVersion {
    version_of(&repository.inner.path().join("index"))
}

/// Moves the checked out branch from `from` to `to`, and updates the index with the changes `told`, as
/// one step: a commit with git in the next moment does not revert them. Returns `Ok(false)` if the
/// branch is elsewhere by now, git is at work, or the index is not of the version `since`, from before
/// the files were read or written: git may have reset them.
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
    since: IndexVersion,
) -> Result<bool, GitError> {
    let Some(_turn) = take_turn(repository).to(TELL)? else {
        return Ok(false);
    };
    let prepared = repository.inner.path().join(format!("{PREPARED}{to}"));
    let moved = move_prepared(repository, &prepared, (from, to), why, told, since);
    if moved.is_ok() {
        let _ = std::fs::remove_file(&prepared); // It is found and removed later.
    }
    moved
}

/// Sets the reference `name` to `to`. Returns `Ok(false)` if it does not point to `from` any more, or
/// exists where `from` is `None`, or is locked.
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

/// Moves the branch by way of the file `prepared`, which the caller removes; after an error the next one may need it.
fn move_prepared(
    repository: &Repository,
    prepared: &Path,
    (from, to): (Option<Id>, Id),
    why: &str,
    told: &BTreeMap<String, Staged>,
    since: IndexVersion,
) -> Result<bool, GitError> {
    let branch = format!("refs/heads/{}", repository.branch());
    let index = repository.inner.path().join("index");
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
    let written = since.0.map_or(0, |(_, modified, _)| seconds(modified));
    let new = staging::edited_index(repository, from, written..now, &edits)?;
    // Files were read from then on: git reads one that was modified since.
    let done = file
        .write_all(&new)
        .and_then(|()| file.set_modified(began))
        .and_then(|()| file.sync_all());
    done.to(TELL)?;
    drop(file);
    // With the permissions of the former index.
    if let Ok(data) = std::fs::metadata(&index) {
        let _ = std::fs::set_permissions(prepared, data.permissions());
    }
    // A `git merge` that is refused removes uncommitted changes from the disk for a moment, and fails to
    // restore them if the index is locked, however shortly.
    if version_of(&index) != since || is_git_committing(repository) {
        return Ok(false);
    }
    let lock = repository.inner.path().join("index.lock");
    if !take_lock(prepared, &lock).to(TELL)? {
        return Ok(false);
    }
    // One may have begun since, or checked out another branch.
    let is_in_the_way = version_of(&index) != since
        || is_git_committing(repository)
        || repository.obstacle().is_some();
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

/// Completes the move of the branch of a process that was killed during it.
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
    // The process that holds the lock is alive, and completes it.
    let Some(_turn) = take_turn(repository).to(TELL)? else {
        return Ok(());
    };
    for (path, to) in prepared {
        let Ok(text) = std::fs::read(&path) else {
            continue; // It was ended meanwhile.
        };
        let (lock, index) = (folder.join("index.lock"), folder.join("index"));
        // A lock that holds what was prepared was made of it. One that was killed earlier had
        // taken none, and a git that has just begun holds an empty one.
        let is_ours = !text.is_empty() && std::fs::read(&lock).is_ok_and(|lock| lock == text);
        let branch = repository.reference(&format!("refs/heads/{}", repository.branch()));
        let is_moved = branch.is_ok_and(|tip| tip.is_some() && tip == to);
        match (is_ours, is_moved) {
            (true, true) => std::fs::rename(&lock, &index).to(TELL)?,
            (true, false) => std::fs::remove_file(&lock).to(TELL)?,
            // Somebody removed the lock. An index that was written since is that of a later state.
            (false, true) if has_own_sum(&text) && is_older(&index, &path) => {
                if !take_lock(&path, &lock).to(TELL)? {
                    continue;
                }
                std::fs::rename(&lock, &index).to(TELL)?;
            }
            (false, _) => {}
        }
        std::fs::remove_file(&path).to(TELL)?;
    }
    Ok(())
}

/// Takes the lock for moving the branch, held while the file is open; `None` if it is not released.
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

/// Returns whether the index was written before the file `prepared`, which gets the time at which it was begun.
fn is_older(index: &Path, prepared: &Path) -> bool {
    match (staging::modified(index), staging::modified(prepared)) {
        (Ok(index), Ok(prepared)) => index < prepared,
        _ => false,
    }
}

fn seconds(nanos: i64) -> u32 {
    u32::try_from(nanos.div_euclid(1_000_000_000)).unwrap_or(0)
}

fn version_of(path: &Path) -> IndexVersion {
    let found = std::fs::metadata(path).ok().and_then(|data| {
        #[cfg(unix)]
        let inode = std::os::unix::fs::MetadataExt::ino(&data);
        #[cfg(not(unix))]
        let inode = 0;
        Some((data.len(), staging::modified(path).ok()?, inode))
    });
    IndexVersion(found)
}

/// Locks the index as git does, with a lock file that holds the prepared index; false if it is locked
/// already.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with one file, whose branch is at the first of two commits.
    fn repository(folder: &Path) -> (Repository, Id, Id) {
        let repository = Repository::create(folder, "main").unwrap();
        let inner = &repository.inner;
        let signature = git2::Signature::now("Mira", "mira@example.org").unwrap();
        let commit = |text: &str, parents: &[&git2::Commit<'_>]| {
            std::fs::write(folder.join("one.md"), text).unwrap();
            let mut index = inner.index().unwrap();
            index.add_path(Path::new("one.md")).unwrap();
            let tree = inner.find_tree(index.write_tree().unwrap()).unwrap();
            index.write().unwrap();
            let made = inner.commit(None, &signature, &signature, text, &tree, parents);
            inner.find_commit(made.unwrap()).unwrap()
        };
        let first = commit("first", &[]);
        let branch = inner.reference("refs/heads/main", first.id(), true, "first");
        branch.unwrap();
        let second = commit("second", &[&first]);
        let ends = (Id(first.id()), Id(second.id()));
        drop((first, second));
        (repository, ends.0, ends.1)
    }

    fn moved(repository: &Repository, (from, to): (Id, Id), since: IndexVersion) -> bool {
        let none = BTreeMap::new();
        move_branch(repository, Some(from), to, "second", &none, since).unwrap()
    }

    #[test]
    fn a_branch_stays_where_it_is_if_files_were_reset_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let (repository, from, to) = repository(folder.path());
        let since = index_version(&repository);
        let first = repository.inner.find_object(from.0, None).unwrap();
        let reset = repository.inner.reset(&first, git2::ResetType::Hard, None);
        reset.unwrap();
        let text = std::fs::read_to_string(folder.path().join("one.md"));
        assert_eq!(text.unwrap(), "first");
        assert!(!moved(&repository, (from, to), since));
        assert_eq!(repository.head().unwrap(), Some(from));
        assert!(moved(&repository, (from, to), index_version(&repository)));
        assert_eq!(repository.head().unwrap(), Some(to));
    }

    #[test]
    fn a_branch_stays_where_it_is_if_another_one_was_checked_out_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let (repository, from, to) = repository(folder.path());
        repository.inner.set_head("refs/heads/other").unwrap();
        assert!(!moved(&repository, (from, to), index_version(&repository)));
        repository.inner.set_head("refs/heads/main").unwrap();
        assert!(moved(&repository, (from, to), index_version(&repository)));
    }

    #[test]
    fn an_index_whose_lock_somebody_removed_follows_the_branch() {
        let folder = tempfile::tempdir().unwrap();
        let (repository, from, to) = repository(folder.path());
        let index = repository.inner.path().join("index");
        // The second of these is that of the branch afterwards.
        let mut known = repository.inner.index().unwrap();
        let new = std::fs::read(&index).unwrap();
        known.remove_path(Path::new("one.md")).unwrap();
        known.write().unwrap();
        let before = std::fs::read(&index).unwrap();
        let past = std::time::SystemTime::now() - Duration::from_secs(60);
        std::fs::File::open(&index)
            .unwrap()
            .set_modified(past)
            .unwrap();
        // As a process leaves it that was killed after it had moved the branch.
        let prepared = repository.inner.path().join(format!("{PREPARED}{to}"));
        std::fs::write(&prepared, &new).unwrap();
        let branch = "refs/heads/main";
        assert!(advance_reference(&repository, branch, Some(from), to, "second").unwrap());
        finish_branch_move(&repository).unwrap();
        assert_eq!(std::fs::read(&index).unwrap(), new);
        assert!(!prepared.exists() && !index.with_file_name("index.lock").exists());
        // One that was written since is that of a later state.
        std::fs::write(&prepared, &new).unwrap();
        let old = std::fs::File::open(&prepared).unwrap();
        old.set_modified(past).unwrap();
        std::fs::write(&index, &before).unwrap();
        finish_branch_move(&repository).unwrap();
        assert_eq!(std::fs::read(&index).unwrap(), before);
    }
}
