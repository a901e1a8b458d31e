//! The contract of a storage of journals: lines are added, and summed up when they are read.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::error::JournalError;
use super::record::Record;
use super::uses::Uses;
use crate::model::Stem;

/// The journals of all copies of a store; lines are added to those of this copy.
/// [`JournalFolder`](super::JournalFolder) is that of a folder of files,
/// [`LineJournal`](super::LineJournal) that of a storage which numbers lines.
pub trait Journal: Send + Sync {
    /// Counts one use of each of the memories.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written.
    fn used(&self, at: DateTime<Utc>, stems: &[Stem]) -> Result<(), JournalError>;

    /// Counts one use of each of the memories, and keeps the line in memory until lines are added or read, or
    /// [`Journal::write_noted`] is called. Returns whether it is the first that waits.
    fn note_used(&self, at: DateTime<Utc>, stems: &[Stem]) -> bool;

    /// Adds the lines that [`Journal::note_used`] kept.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written; the lines wait on.
    fn write_noted(&self) -> Result<(), JournalError>;

    /// Counts one use of each of the memories, each at its own moment.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written.
    fn used_each(&self, uses: &[(DateTime<Utc>, Stem)]) -> Result<(), JournalError>;

    /// Adds `records`.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written.
    fn record(&self, records: Vec<Record>) -> Result<(), JournalError>;

    /// Returns the present uses of all memories, and an error if some may be missing because a journal cannot
    /// be read.
    fn uses(&self) -> (Arc<Uses>, Option<JournalError>);

    /// Returns the records of all journals for which `wanted` is true, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read.
    fn records(&self, wanted: &dyn Fn(&Record) -> bool) -> Result<Vec<Record>, JournalError>;

    /// Returns the records of this copy's own journals for which `wanted` is true, oldest first. Nobody else
    /// writes these.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read.
    fn own_records(&self, wanted: &dyn Fn(&Record) -> bool) -> Result<Vec<Record>, JournalError>;

    /// Replaces the uses in journals that this copy has left by their sum, if there are enough to pay;
    /// returns the number of lines that were removed.
    ///
    /// # Errors
    ///
    /// Fails if something cannot be read or written.
    fn sum_up(&self) -> Result<usize, JournalError>;
}
