//! One file of a source, read whole: never more than a memory may hold, never a device or a pipe.

use std::io::Read;
use std::path::Path;
use std::time::UNIX_EPOCH;
use std::{fs, io};

use chrono::{DateTime, Utc};

use super::ImportError;
use crate::format::MAX_CONTENT_BYTES;
use crate::model::is_possible_time;

/// Content and frontmatter of the largest memory fit twice; what is longer is not even read.
const MAX_FILE_BYTES: u64 = 2 * MAX_CONTENT_BYTES as u64;

pub(super) struct SourceFile {
    pub bytes: Vec<u8>,
    /// When it was last changed; 1970 where the system states no such time, or one beyond the
    /// years that can be written.
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

pub(super) fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| {
        extension.eq_ignore_ascii_case("md") || extension.eq_ignore_ascii_case("markdown")
    })
}

/// Refuses a file that somebody may have named as a note by a slip.
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

/// The bytes of the file at `path`, for what can only be understood whole.
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

pub(super) fn io_error(path: &Path, source: io::Error) -> ImportError {
    ImportError::Io {
        path: path.to_owned(),
        source,
    }
}

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
