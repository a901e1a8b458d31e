//! Locks between processes: a file that is locked as long as its [`Lock`] lives.

use std::fs::File;
use std::fs::OpenOptions;
use std::fs::TryLockError;
use std::io::Read;
use std::io::Seek;
use std::io::Write;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use super::At;
use super::FilesError;
use super::disk;

/// Held until dropped, or until its process ends in whatever way.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Longer than any one edit takes, shorter than anyone wants to wait without a word.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(2);

impl Lock {
    /// Takes the lock at `path` if it is free; `None` if somebody holds it.
    ///
    /// # Errors
    ///
    /// Fails if the lock file cannot be made.
    pub fn try_take(path: &Path) -> Result<Option<Lock>, FilesError> {
        let mut file = open(path)?;
        match file.try_lock() {
            Ok(()) => {
                // Only for the message of whoever waits; the lock itself is the system's.
                let _ = file
                    .set_len(0)
                    .and_then(|()| write!(file, "{}", std::process::id()));
                Ok(Some(Lock { _file: file }))
            }
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(source).at("lock", path),
        }
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

/// The process that last took the lock at `path`, as far as its file tells.
fn holder(path: &Path) -> String {
    let mut text = String::new();
    let read = File::open(path)
        .and_then(|mut file| file.rewind().and_then(|()| file.read_to_string(&mut text)));
    match read {
        Ok(_) if !text.is_empty() => text,
        _ => "unknown".to_owned(),
    }
}

fn open(path: &Path) -> Result<File, FilesError> {
    if let Some(parent) = path.parent() {
        disk::create_directory(parent).at("create", parent)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).at("open", path)
}
