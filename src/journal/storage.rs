//! The contract with a place that keeps journals: lines are added, and summed up when they are read.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::error::JournalError;
use super::record::Record;
use super::uses::Uses;
use crate::model::Stem;

/// The journals of a store, as everybody wrote them; lines are added to those of this copy.
/// [`JournalFolder`](super::JournalFolder), a folder of files, is the only implementation.
pub trait Journal: Send + Sync {
    /// Counts one use of each of the memories.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written.
    fn used(&self, at: DateTime<Utc>, stems: &[Stem]) -> Result<(), JournalError>;

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

    /// The uses of all memories, as all journals say now; with it why some of them may be missing,
    /// if a journal cannot be read.
    fn uses(&self) -> (Arc<Uses>, Option<JournalError>);

    /// The records of all journals that are `wanted`, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read.
    fn records(&self, wanted: &dyn Fn(&Record) -> bool) -> Result<Vec<Record>, JournalError>;

    /// Replaces the uses in journals that this copy has left by their sum, where that is worth it;
    /// returns how many journals were summed up.
    ///
    /// # Errors
    ///
    /// Fails if something cannot be read or written.
    fn sum_up(&self) -> Result<usize, JournalError>;
}
