//! Processes that may be using a repository: git programs at work in it, and those that have a file open.
//!
//! Known on Linux only, from `/proc`.

use std::fs::{DirEntry, File};
use std::io::{ErrorKind, Read as _};
use std::path::Path;

use crate::git::Repository;

/// Commands of git that commit or move a branch.
const COMMITTING: [&[u8]; 7] = [
    b"commit",
    b"merge",
    b"pull",
    b"rebase",
    b"cherry-pick",
    b"revert",
    b"am",
];

/// Returns whether a git program works in this repository: while it waits for an editor or a hook, it
/// does not have its lock files open. `true` where it is unknown.
pub(in crate::git) fn is_git_running(repository: &Repository) -> bool {
    is_any_git(repository, |_| true)
}

/// Returns whether a git program is about to commit in this repository, or to move its branch: while it
/// waits for an editor or a hook it holds no lock, and fails if the branch moves. A refused merge has
/// reset all files, and restores uncommitted changes. `false` on other systems than Linux.
pub fn is_git_committing(repository: &Repository) -> bool {
    cfg!(target_os = "linux")
        && is_any_git(repository, |process| {
            let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
            let mut words = line.split(|byte| *byte == 0);
            words.any(|word| COMMITTING.contains(&word))
        })
}

fn is_any_git(repository: &Repository, is_meant: impl Fn(&Path) -> bool) -> bool {
    let folders = [
        repository.work_folder(),
        repository.inner.commondir().to_owned(),
    ];
    let folders = folders.map(|folder| folder.canonicalize().unwrap_or(folder));
    let Some(mut processes) = processes() else {
        return true;
    };
    processes.any(|process| {
        if !is_named_git(&process.path()) || !is_meant(&process.path()) {
            return false;
        }
        match std::fs::read_link(process.path().join("cwd")) {
            Ok(folder) => folders.iter().any(|own| folder.starts_with(own)),
            // Another user's, or just ended.
            Err(error) => error.kind() != ErrorKind::NotFound,
        }
    })
}

/// Returns whether a process that this one may inspect has the file open. `false` where it is unknown.
pub(in crate::git) fn is_open_somewhere(path: &Path) -> bool {
    let (Ok(path), Some(mut processes)) = (path.canonicalize(), processes()) else {
        return false;
    };
    processes.any(|process| {
        let files = std::fs::read_dir(process.path().join("fd"));
        files
            .into_iter()
            .flatten()
            .flatten()
            .any(|file| std::fs::read_link(file.path()).is_ok_and(|target| target == path))
    })
}

/// Returns whether the name of a process begins with `git`. A commit asks that of all processes of the system,
/// twice: the first bytes are read, and nothing is asked of the file.
fn is_named_git(process: &Path) -> bool {
    const GIT: &[u8] = b"git";
    let mut name = [0; GIT.len()];
    let file = File::open(process.join("comm"));
    let read = file.and_then(|mut file| file.read_exact(&mut name));
    read.is_ok() && name == GIT
}

/// Returns the folders of all processes.
fn processes() -> Option<impl Iterator<Item = DirEntry>> {
    let is_told = cfg!(target_os = "linux");
    let entries = is_told.then(|| std::fs::read_dir("/proc").ok())??;
    // The others tell of the system.
    let is_process = |entry: &DirEntry| {
        let name = entry.file_name();
        name.as_encoded_bytes().iter().all(u8::is_ascii_digit)
    };
    Some(entries.flatten().filter(is_process))
}
