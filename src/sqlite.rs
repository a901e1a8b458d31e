//! Opens databases of other programs to read them.
//!
//! Promises: nothing is written, not even the small files that SQLite makes beside a database it reads, and no
//! lock is taken. The write-ahead log is read, too. Since others may write meanwhile, [`FileStamps`] tell
//! whether a file is as it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

/// Name of the interface by which SQLite reads files without locking them.
const NO_LOCKS: &str = if cfg!(windows) {
    "win32-none"
} else {
    "unix-none"
};

/// Returns whether whoever wrote the database was interrupted, and left a journal that is to be rolled back.
pub fn is_interrupted(path: &Path) -> bool {
    has(path, "-journal")
}

/// Opens a database to read it.
///
/// # Errors
///
/// Fails if it is no database, or cannot be read.
pub fn open(path: &Path) -> rusqlite::Result<Connection> {
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    if !has(path, "-wal") {
        // Without a log there is nothing besides, and SQLite is not to make it.
        let flags = read_only | OpenFlags::SQLITE_OPEN_URI;
        return Connection::open_with_flags(uri(path), flags);
    }
    // In this mode the log's index is kept in memory, and not in a file beside it.
    let connection = Connection::open_with_flags_and_vfs(path, read_only, NO_LOCKS)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.pragma_update(None, "locking_mode", "exclusive")?;
    Ok(connection)
}

fn has(path: &Path, end: &str) -> bool {
    fs::metadata(beside(path, end)).is_ok_and(|file| file.len() > 0)
}

/// Returns the path of a file beside the database, with `end` after its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Returns the address of a file as immutable.
fn uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b':' => uri.push(byte.into()),
            byte if byte.is_ascii_alphanumeric() => uri.push(byte.into()),
            byte => uri += &format!("%{byte:02x}"),
        }
    }
    uri + "?immutable=1"
}

/// Sizes and modification times of a database and its log, by which writes are seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamps([Option<(u64, SystemTime)>; 2]);

impl FileStamps {
    /// Returns those of now.
    pub fn of(path: &Path) -> FileStamps {
        FileStamps(["", "-wal"].map(|end| {
            let file = fs::metadata(beside(path, end)).ok()?;
            Some((file.len(), file.modified().ok()?))
        }))
    }
}
