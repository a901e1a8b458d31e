//! Files of a source, read whole, with a limit of size, and never a device or a pipe.

use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{fs, io};

use chrono::{DateTime, Utc};

use super::ImportError;
use crate::format::MAX_CONTENT_BYTES;
use crate::model::is_possible_time;

/// Maximum size of a file, in bytes: twice the largest memory.
const MAX_FILE_BYTES: u64 = 2 * MAX_CONTENT_BYTES as u64;

/// A file of a source.
pub(super) struct SourceFile {
    /// Bytes of the file.
    pub bytes: Vec<u8>,
    /// Modification time; 1970 where the system has none, or one outside of the supported years.
    pub modified: DateTime<Utc>,
}

impl SourceFile {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read, is no regular file, or is far longer than a memory may be.
    pub fn read(path: &Path) -> Result<SourceFile, ImportError> {
        let metadata = fs::metadata(path).map_err(|source| io_error(path, source))?;
        // Opening a pipe would wait for its other end.
        if !metadata.is_file() {
            return Err(unreadable(path, "it is no regular file".to_owned()));
        }
        if metadata.len() > MAX_FILE_BYTES {
            return Err(too_long(path, metadata.len()));
        }
        let mut bytes = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
            .map_err(|source| io_error(path, source))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(too_long(path, bytes.len() as u64));
        }
        Ok(SourceFile {
            bytes,
            modified: modified(&metadata),
        })
    }
}

/// Returns whether a file is markdown, by its extension.
pub(super) fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("markdown")
    })
}

/// Checks that a file is a note.
///
/// # Errors
///
/// Fails if its name or its bytes are not those of a note, or it cannot be read.
pub(super) fn check_is_note(path: &Path) -> Result<(), ImportError> {
    let what = if is_markdown(path) {
        let bytes = SourceFile::read(path)?.bytes;
        match std::str::from_utf8(&bytes) {
            Ok("") => "it is empty",
            Ok(text) if !text.contains('\0') => return Ok(()),
            _ => "it is no text in UTF-8",
        }
    } else {
        "its name does not end in `.md` or `.markdown`, so it is no note"
    };
    Err(unreadable(path, what.to_owned()))
}

/// Reads the whole file at `path`.
///
/// # Errors
///
/// Fails if it cannot be read, is no regular file, or has more than `limit` bytes.
pub(super) fn read_whole(path: &Path, limit: u64) -> Result<Vec<u8>, ImportError> {
    let metadata = fs::metadata(path).map_err(|source| io_error(path, source))?;
    if !metadata.is_file() {
        return Err(unreadable(path, "it is no regular file".to_owned()));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)
        .and_then(|file| file.take(limit + 1).read_to_end(&mut bytes))
        .map_err(|source| io_error(path, source))?;
    if bytes.len() as u64 > limit {
        let what = format!("it has more than {limit} bytes. Split it first.");
        return Err(unreadable(path, what));
    }
    Ok(bytes)
}

/// Returns the error of reading `path`.
pub(super) fn io_error(path: &Path, source: io::Error) -> ImportError {
    ImportError::Io {
        path: path.to_owned(),
        source,
    }
}

/// Returns the error of an invalid file.
pub(super) fn unreadable(path: &Path, what: String) -> ImportError {
    ImportError::Unreadable {
        source_name: path.display().to_string(),
        what,
    }
}

fn too_long(path: &Path, bytes: u64) -> ImportError {
    let what = format!(
        "the file has {bytes} bytes, and a memory holds {MAX_CONTENT_BYTES}. Split it first."
    );
    unreadable(path, what)
}

fn modified(metadata: &fs::Metadata) -> DateTime<Utc> {
    metadata
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .and_then(|since| {
            let seconds = i64::try_from(since.as_secs()).ok()?;
            DateTime::from_timestamp(seconds, since.subsec_nanos())
        })
        .filter(|at| is_possible_time(*at))
        .unwrap_or_default()
}
