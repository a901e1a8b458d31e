//! Locks between processes: a file that is locked as long as its [`Lock`] lives, and can hold a text.
//!
//! Windows lets nobody read or write a file that another handle has locked: there the text lies beside
//! the lock's file, with `.said` at the end of its name.

use std::borrow::Cow;
use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::{At, FilesError, disk};
use crate::beneath::{Access, Folder};

/// A lock, held until dropped, or until its process ends.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Unlocks the file. Closing it would not do at once: a child process that another thread is just
    /// making holds the open file, and so the lock, until it runs its program.
    fn drop(&mut self) {
        // Closing does it, if only later.
        let _ = self.file.unlock();
    }
}

/// Maximum wait for a lock: longer than an edit takes.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(2);
/// Maximum length of the text in a lock file, in bytes.
const MOST_SAID: u64 = 64 << 10;

impl Lock {
    /// Takes the lock at `path` if it is free; `None` if somebody holds it.
    ///
    /// # Errors
    ///
    /// Fails if the lock file cannot be made.
    pub fn try_take(path: &Path) -> Result<Option<Lock>, FilesError> {
        disk::step();
        loop {
            let lock = Lock { file: open(path)? };
            match lock.file.try_lock() {
                Ok(()) if !lock.is_at(path) => {}
                Ok(()) => {
                    // Only for the message of whoever waits; the lock itself is the system's.
                    let _ = Lock::say(path, &std::process::id().to_string());
                    return Ok(Some(lock));
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(source)) => return Err(source).at("lock", path),
            }
        }
    }

    /// Takes the lock at `path`, without a limit of time.
    ///
    /// # Errors
    ///
    /// Fails if the lock file cannot be made, or the file system knows no locks.
    pub fn wait(path: &Path) -> Result<Lock, FilesError> {
        loop {
            let lock = Lock { file: open(path)? };
            disk::uninterrupted(|| lock.file.lock()).at("lock", path)?;
            if lock.is_at(path) {
                return Ok(lock);
            }
        }
    }

    /// Returns whether the locked file still is the one at `path`: a lock on a deleted file has no effect.
    pub fn is_at(&self, path: &Path) -> bool {
        let theirs = std::fs::symlink_metadata(path).and_then(|data| disk::file_id_at(path, &data));
        match (disk::file_id(&self.file), theirs) {
            (Ok(ours), Ok(theirs)) => ours == theirs,
            // Somebody may hold it so that nobody can look at it, on Windows.
            (Ok(_), Err(error)) => cfg!(windows) && error.kind() != std::io::ErrorKind::NotFound,
            (Err(_), _) => false,
        }
    }

    /// Removes the lock file at `path`, and so the lock.
    ///
    /// # Errors
    ///
    /// Fails as the system says.
    pub fn remove(self, path: &Path) -> std::io::Result<()> {
        let text = text_path(path);
        if text != path {
            disk::remove_derived(&text)?;
        }
        let (folder, name) = Folder::parent_of(path)?;
        folder.remove(name)
    }

    /// Writes `text` into the lock file at `path`, or beside it, in one write.
    ///
    /// # Errors
    ///
    /// Fails as the system says; the lock is held all the same.
    pub fn say(path: &Path, text: &str) -> std::io::Result<()> {
        let path = text_path(path);
        let (folder, name) = Folder::parent_of(&path)?;
        let access = if cfg!(windows) {
            Access::Create
        } else {
            Access::Write
        };
        let mut file = folder.open_derived(name, access)?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }

    /// Takes the lock at `path`, waiting at most two seconds.
    ///
    /// # Errors
    ///
    /// Fails with the holder of `what` if it is still held then.
    pub fn take(path: &Path, what: &str) -> Result<Lock, FilesError> {
        let started = Instant::now();
        loop {
            if let Some(lock) = Lock::try_take(path)? {
                return Ok(lock);
            }
            if started.elapsed() > PATIENCE {
                return Err(FilesError::Busy {
                    what: what.to_owned(),
                    holder: holder(path),
                });
            }
            // The system offers no wait with a limit of time; the pause is that limit's price.
            std::thread::sleep(PAUSE);
        }
    }
}

/// Returns whether the lock at `path` is held.
pub fn is_held(path: &Path) -> bool {
    // A shared lock of a moment keeps no other such look away.
    open_to_read(path)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Returns the path of the text of the lock at `path`.
fn text_path(path: &Path) -> Cow<'_, Path> {
    if !cfg!(windows) {
        return Cow::Borrowed(path);
    }
    let mut text = path.as_os_str().to_owned();
    text.push(".said");
    Cow::Owned(text.into())
}

/// Returns the text in the lock file at `path` and its age; `None` if it cannot be read.
pub fn said(path: &Path) -> Option<(String, Duration)> {
    let file = open_to_read(&text_path(path)).ok()?;
    let mut text = String::new();
    // Before the text is read: what is read may then be younger than told, never older.
    let said_at = file.metadata().ok()?.modified().ok()?;
    file.take(MOST_SAID).read_to_string(&mut text).ok()?;
    Some((text, said_at.elapsed().ok()?))
}

/// Returns the process that last took the lock at `path`, by its file; `unknown` otherwise.
fn holder(path: &Path) -> String {
    let mut text = String::new();
    let read = open_to_read(&text_path(path)).and_then(|mut file| file.read_to_string(&mut text));
    match read {
        Ok(_) if !text.is_empty() => text,
        _ => "unknown".to_owned(),
    }
}

/// Opens the lock file, for reading only: a file that is open for writing would keep its file
/// system from being made read-only as long as the lock is held.
fn open(path: &Path) -> Result<File, FilesError> {
    match disk::uninterrupted(|| open_to_read(path)) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        other => return other.at("open", path),
    }
    let create = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        disk::create_private_folder(folder)?;
        let (folder, name) = Folder::parent_of(path)?;
        folder.open_derived(name, Access::Create)?;
        folder.open_derived(name, Access::Read)
    };
    disk::uninterrupted(create).at("open", path)
}

/// Opens a lock file; anything else with its name is set aside, without waiting for a pipe.
fn open_to_read(path: &Path) -> std::io::Result<File> {
    let (folder, name) = Folder::parent_of(path)?;
    folder.open_derived(name, Access::Read)
}

// Of descriptors that a child has between `fork` and `exec`.
#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_dropped_lock_is_free_while_children_are_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..300 {
                    Command::new("true").status().unwrap();
                }
                is_over.store(true, Ordering::Relaxed);
            });
            while !is_over.load(Ordering::Relaxed) {
                assert!(Lock::try_take(&path).unwrap().is_some());
            }
        });
    }
}
