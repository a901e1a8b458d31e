//! Replaces a text by another without losing a version.
//!
//! Read (bytes, hash), change, then under the memory's lock: check again, write a temporary file,
//! exchange the names, compare the exchanged file with what was read. If the check finds another text,
//! `update` starts again with it and `edit` keeps its draft as a conflict copy; if the exchange
//! does, the exchanged file becomes the copy. `files/swap` documents the recovery after a crash.

use crate::engine::texts::stem_of;
use crate::engine::write::tombstones;
use crate::engine::write::writer::Writer;
use crate::files::{FilesError, Place, Replaced, ReplacedText, Store, Version};

/// Replaces the text of a memory that was read as `seen`; the old text goes into the history,
/// or without one, into the archive if it was written by hand.
pub(in crate::engine) fn replace_text(
    writer: &Writer,
    place: Place,
    name: &str,
    seen: &Version,
    bytes: &[u8],
) -> Result<Replaced, FilesError> {
    let replaced = writer.replace_and_keep((place, name), seen, bytes)?;
    if !writer.has_history || writer.live.is_local(name) {
        archive_replaced(writer);
    }
    Ok(replaced)
}

/// Archives the texts that are kept aside in a directory and that this program did not write, as
/// there is no history for them. A text that cannot be archived stays aside.
pub(in crate::engine) fn archive_replaced(writer: &Writer) {
    let Some(directory) = writer.live.directory() else {
        return;
    };
    let texts = directory.replaced().unwrap_or_default();
    if texts.is_empty() {
        return;
    }
    let written = directory.written();
    for text in texts {
        // A commit takes the others.
        if writer.has_history && !writer.live.is_local(&text.name) {
            continue;
        }
        let Ok(Some(bytes)) = directory.replaced_bytes(&text) else {
            continue;
        };
        let stem = stem_of(&text.name);
        let is_purged = tombstones::is_purged(writer, &stem, &bytes).unwrap_or(true);
        let is_done = is_purged
            || written.contains(&text.hash())
            || add_replaced_to_archive(directory, &text, &bytes);
        if is_done {
            writer.release_replaced(&text);
        }
    }
}

fn add_replaced_to_archive(directory: &Store, text: &ReplacedText, bytes: &[u8]) -> bool {
    match directory.archive_replaced(text, bytes) {
        Ok(()) => true,
        Err(FilesError::Taken { .. }) => true, // The name tells the text.
        Err(error) => {
            tracing::warn!("a replaced text of {} is not archived: {error}", text.name);
            false
        }
    }
}
