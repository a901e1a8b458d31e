//! Lock files that git and its libraries leave when they are killed.
//!
//! Those of memdir are distinguished by a file `git-at-work`, which only the holder of `sync.lock`
//! writes; others count as stale after a minute, and never while a process has them open. They are set
//! aside into `.git/memdir-stale/`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::git::repository::processes;
use crate::git::{GitError, Repository, To};

/// Lock files that were found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClearedLocks {
    /// Stale ones, which were set aside.
    pub set_aside: Vec<PathBuf>,
    /// Those whose process seems to be at work.
    pub in_use: Vec<PathBuf>,
}

/// Age from which a lock counts as stale.
const STALE_AFTER: Duration = Duration::from_secs(60);

/// Checks the lock files of the index, HEAD, the configuration, the branch `branch`, the program's own
/// and packed references, and sets the stale ones aside. `is_ours` means that a process of this program
/// was killed while it may have held some of them, and that no other is at work.
pub fn clear_locks(repository: &Repository, branch: &str, is_ours: bool) -> ClearedLocks {
    let common = repository.inner.commondir();
    // git holds these for as long as somebody writes a message in an editor. Those of this program
    // are handled by `finish_branch_move`.
    let theirs = [
        repository.inner.path().join("index.lock"),
        repository.inner.path().join("HEAD.lock"),
    ];
    let mut names = vec![
        common.join("packed-refs.lock"),
        common.join("config.lock"),
        common.join(format!("refs/heads/{branch}.lock")),
        common.join(format!("logs/refs/heads/{branch}.lock")),
    ];
    names.extend_from_slice(&theirs);
    let is_lock = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "lock");
    names.extend(own_reference_files(repository).into_iter().filter(is_lock));
    let mut taken = ClearedLocks::default();
    for path in names {
        let Ok(data) = std::fs::symlink_metadata(&path) else {
            continue;
        };
        let age = data.modified().ok().and_then(|at| at.elapsed().ok());
        let is_old = age.is_some_and(|age| age > STALE_AFTER);
        let is_in_use = match theirs.contains(&path) {
            true => !is_old || processes::is_git_running(repository),
            false => !(is_ours || is_old),
        };
        if is_in_use || processes::is_open_somewhere(&path) {
            taken.in_use.push(path);
            continue;
        }
        if set_aside(repository, &path).is_ok() {
            taken.set_aside.push(path);
        } else {
            taken.in_use.push(path);
        }
    }
    taken
}

/// Returns the files of the program's own references, and their lock files.
pub(in crate::git) fn own_reference_files(repository: &Repository) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![repository.inner.commondir().join("refs/memdir")];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files
}

/// Moves a file to `.git/memdir-stale/`.
pub(in crate::git) fn set_aside(repository: &Repository, path: &Path) -> std::io::Result<()> {
    let folder = repository.inner.path().join("memdir-stale");
    std::fs::create_dir_all(&folder)?;
    let below = path.strip_prefix(repository.inner.path()).unwrap_or(path);
    let name = below.to_string_lossy().replace(['/', '\\'], "-");
    std::fs::rename(path, folder.join(name))
}

/// Sets a damaged file aside, as [`set_aside`]; a missing one is no error.
pub(in crate::git) fn keep_aside(repository: &Repository, path: &Path) -> Result<(), GitError> {
    let done = match set_aside(repository, path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    };
    done.to("set a damaged file aside")
}
