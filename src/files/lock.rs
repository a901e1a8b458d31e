//! Locks between processes: a file that is locked as long as its [`Lock`] lives.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use super::{At, FilesError, disk};
use crate::beneath::{Access, Folder};

/// Held until dropped, or until its process ends in whatever way.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

/// Longer than any one edit takes, shorter than anyone wants to wait without a word.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(2);
/// No holder says more.
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

    /// Takes the lock at `path`, however long that takes: for a thread that does nothing else.
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

    /// Whether the locked file still is the one at `path`: a lock on a deleted file keeps nobody
    /// out.
    pub fn is_at(&self, path: &Path) -> bool {
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let here = |data: std::fs::Metadata| (data.dev(), data.ino());
            match (self.file.metadata(), std::fs::symlink_metadata(path)) {
                (Ok(ours), Ok(theirs)) => here(ours) == here(theirs),
                _ => false,
            }
        }
        #[cfg(not(unix))]
        {
            path.exists() // An open file cannot be replaced there.
        }
    }

    /// Removes the file of the lock at `path`, and so the lock.
    ///
    /// # Errors
    ///
    /// Fails as the system says.
    pub fn remove(self, path: &Path) -> std::io::Result<()> {
        let (folder, name) = Folder::parent_of(path)?;
        folder.remove(name)
    }

    /// Makes `text` what others read in the lock file at `path`, in one write.
    ///
    /// # Errors
    ///
    /// Fails as the system says; the lock is held all the same.
    pub fn say(path: &Path, text: &str) -> std::io::Result<()> {
        let (folder, name) = Folder::parent_of(path)?;
        let mut file = folder.open_derived(name, Access::Write)?;
        file.write_all(text.as_bytes())?;
        file.set_len(text.len() as u64)
    }

    /// Takes the lock at `path`, waiting at most two seconds.
    ///
    /// # Errors
    ///
    /// Fails if it is still held then, naming the holder as `what` is.
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

/// Whether somebody holds the lock at `path` at this moment.
pub fn is_held(path: &Path) -> bool {
    // A shared lock of a moment keeps no other such look away.
    open_to_read(path)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// What the lock file at `path` says, and how long ago its holder said so; `None` if nobody did.
pub fn said(path: &Path) -> Option<(String, Duration)> {
    let file = open_to_read(path).ok()?;
    let mut text = String::new();
    // Before the text is read: what is read may then be younger than told, never older.
    let said_at = file.metadata().ok()?.modified().ok()?;
    file.take(MOST_SAID).read_to_string(&mut text).ok()?;
    Some((text, said_at.elapsed().ok()?))
}

/// The process that last took the lock at `path`, as far as its file tells.
fn holder(path: &Path) -> String {
    let mut text = String::new();
    let read = open_to_read(path).and_then(|mut file| file.read_to_string(&mut text));
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

/// Opens what should be a lock file; what else has its name is set aside, and a pipe in its place
/// not waited for.
fn open_to_read(path: &Path) -> std::io::Result<File> {
    let (folder, name) = Folder::parent_of(path)?;
    folder.open_derived(name, Access::Read)
}
