//! Locks that git and its libraries leave when they are killed.
//!
//! Those of memdir are told from others by a note that it was at work (`git-at-work`), which only
//! the holder of `sync.lock` writes; others count as left after a minute, and never while a process
//! has them open. They are set aside into `.git/memdir-stale/`.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use crate::git::Repository;

/// What became of the lock files of others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Taken {
    /// Set aside: whoever made them is gone.
    pub set_aside: Vec<PathBuf>,
    /// Somebody seems to be at work.
    pub in_use: Vec<PathBuf>,
}

/// Nobody holds such a lock for longer without using it.
const STALE_AFTER: Duration = Duration::from_secs(60);

impl Repository {
    /// Looks at the lock files on the index, HEAD, the branch `branch`, the program's own and packed
    /// references, and sets those aside whose makers are gone. `is_ours` says that a process of this
    /// program was killed while it may have held some of them, and that no other is at work.
    pub fn clear_locks(&self, branch: &str, is_ours: bool) -> Taken {
        let common = self.inner.commondir();
        // These are locked for as long as somebody writes a message in an editor, and by git only:
        // what this program leaves of them it finds by itself.
        let theirs = [
            self.inner.path().join("index.lock"),
            self.inner.path().join("HEAD.lock"),
        ];
        let mut names = vec![
            common.join("packed-refs.lock"),
            common.join("config.lock"),
            common.join(format!("refs/heads/{branch}.lock")),
            common.join(format!("logs/refs/heads/{branch}.lock")),
        ];
        names.extend_from_slice(&theirs);
        let mut folders = vec![common.join("refs/memdir")];
        while let Some(folder) = folders.pop() {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            for path in entries.map(|entry| entry.path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "lock") {
                    names.push(path);
                }
            }
        }
        let mut taken = Taken::default();
        for path in names {
            let Ok(data) = std::fs::symlink_metadata(&path) else {
                continue;
            };
            let age = data.modified().ok().and_then(|at| at.elapsed().ok());
            let is_old = age.is_some_and(|age| age > STALE_AFTER);
            let is_in_use = match theirs.contains(&path) {
                true => !is_old || self.is_git_running(),
                false => !(is_ours || is_old),
            };
            if is_in_use || is_open_somewhere(&path) {
                taken.in_use.push(path);
                continue;
            }
            if self.set_aside(&path).is_ok() {
                taken.set_aside.push(path);
            } else {
                taken.in_use.push(path);
            }
        }
        taken
    }

    /// Keeps the file for whoever wants to know what it was; where it lay, git would take it for a
    /// reference.
    pub(in crate::git) fn set_aside(&self, path: &Path) -> std::io::Result<()> {
        let folder = self.inner.path().join("memdir-stale");
        std::fs::create_dir_all(&folder)?;
        let below = path.strip_prefix(self.inner.path()).unwrap_or(path);
        let name = below.to_string_lossy().replace(['/', '\\'], "-");
        std::fs::rename(path, folder.join(name))
    }
}

#[cfg(target_os = "linux")]
impl Repository {
    /// Whether a git program works in this repository, or may, for all that can be seen: it has its
    /// locks closed while it waits for an editor or a hook.
    fn is_git_running(&self) -> bool {
        self.is_git_at(|_| true)
    }

    /// Whether a git program is about to commit in this repository, or to move its branch: one that
    /// waits for an editor or a hook has nothing locked, and fails if the branch moves. One that
    /// refuses to merge has reset all files, and puts what was not committed back.
    pub fn is_git_committing(&self) -> bool {
        const COMMITTING: [&[u8]; 7] = [
            b"commit",
            b"merge",
            b"pull",
            b"rebase",
            b"cherry-pick",
            b"revert",
            b"am",
        ];
        self.is_git_at(|process| {
            let line = std::fs::read(process.join("cmdline")).unwrap_or_default();
            let mut words = line.split(|byte| *byte == 0);
            words.any(|word| COMMITTING.contains(&word))
        })
    }

    fn is_git_at(&self, what: impl Fn(&Path) -> bool) -> bool {
        let folders = [self.work_folder(), self.inner.commondir().to_owned()];
        let folders = folders.map(|folder| folder.canonicalize().unwrap_or(folder));
        let Ok(processes) = std::fs::read_dir("/proc") else {
            return true;
        };
        processes.flatten().any(|process| {
            let name = std::fs::read(process.path().join("comm")).unwrap_or_default();
            if !name.starts_with(b"git") || !what(&process.path()) {
                return false;
            }
            match std::fs::read_link(process.path().join("cwd")) {
                Ok(folder) => folders.iter().any(|own| folder.starts_with(own)),
                // Another user's, or just ended.
                Err(error) => error.kind() != std::io::ErrorKind::NotFound,
            }
        })
    }
}

/// There is no way to tell.
#[cfg(not(target_os = "linux"))]
impl Repository {
    fn is_git_running(&self) -> bool {
        true
    }

    /// Whether a git program is known to be about to commit in this repository.
    pub fn is_git_committing(&self) -> bool {
        false
    }
}

/// Whether a process that this one may look at has the file open.
#[cfg(target_os = "linux")]
fn is_open_somewhere(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    processes.flatten().any(|process| {
        let Ok(files) = std::fs::read_dir(process.path().join("fd")) else {
            return false;
        };
        files
            .flatten()
            .any(|file| std::fs::read_link(file.path()).is_ok_and(|target| target == path))
    })
}

/// There is no way to tell.
#[cfg(not(target_os = "linux"))]
fn is_open_somewhere(_: &Path) -> bool {
    false
}
