//! Writes a journal while other processes append lines to it.

use crate::engine::error::EngineError;
use crate::engine::write::writer::Writer;
use crate::files::{FilesError, Replaced};

/// Maximum number of attempts to write a journal while lines are appended.
const MAX_TRIES: usize = 16;

/// Replaces the journal at `path` by the result of `union` on its present text, where `None` is no file;
/// lines that are appended meanwhile stay. `Ok(false)` if something else than a file is there, or
/// if it changes all the time.
///
/// # Errors
///
/// Fails if the journal cannot be read or written.
pub(in crate::engine) fn put_journal(
    writer: &Writer,
    path: &str,
    union: impl Fn(Option<&[u8]>) -> Option<Vec<u8>>,
) -> Result<bool, EngineError> {
    let directory = writer.live.need_directory("merging of journals")?;
    for _ in 0..MAX_TRIES {
        let seen = match writer.live.store.beside().read(path, u64::MAX) {
            Ok(version) => Some(version),
            Err(FilesError::Missing { .. }) => None,
            Err(FilesError::NotRegular { .. }) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        let now = seen.as_ref().map(|version| version.bytes.as_slice());
        let wanted = union(now);
        if wanted.as_deref() == now {
            return Ok(true);
        }
        if directory.put_growing(path, seen.as_ref(), wanted.as_deref())? != Replaced::Stale {
            return Ok(true);
        }
    }
    Ok(false)
}
