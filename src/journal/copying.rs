//! Copies what one journal says into another: the sum of uses, and all records.

use super::error::JournalError;
use super::journals::JournalFolder;
use super::line::Line;
use super::line_journal::{LineJournal, LineStore};
use super::storage::Journal;

/// Returns lines that say what `from` says.
fn lines_of(from: &dyn Journal) -> Result<Vec<Line>, JournalError> {
    let (uses, unread) = from.uses();
    if let Some(error) = unread {
        return Err(error);
    }
    let mut uses: Vec<_> = uses.iter().collect();
    uses.sort_unstable_by_key(|(stem, _)| *stem);
    let sums = uses.into_iter().filter_map(|(stem, usage)| {
        // The times of changes are in the records.
        let last = usage.last()?;
        Some(Line::Sums(last, [(stem.clone(), usage.clone())].into()))
    });
    let records = from.records(&|_| true)?.into_iter().map(Line::Record);
    Ok(sums.chain(records).collect())
}

/// Adds what `from` says to the journals of a folder; to be done once, since uses would count twice.
///
/// # Errors
///
/// Fails if a journal cannot be read or written.
pub fn copy_to_folder(from: &dyn Journal, to: &JournalFolder) -> Result<(), JournalError> {
    match lines_of(from)? {
        lines if lines.is_empty() => Ok(()),
        lines => to.append(&lines),
    }
}

/// Adds what `from` says to the lines of a storage; to be done once, since uses would count twice.
///
/// # Errors
///
/// As for [`copy_to_folder`].
pub fn copy_to_lines<S: LineStore>(
    from: &dyn Journal,
    to: &LineJournal<S>,
) -> Result<(), JournalError> {
    match lines_of(from)? {
        lines if lines.is_empty() => Ok(()),
        lines => to.append(&lines),
    }
}
