//! How often clients began to work with a store.
//!
//! Each beginning is a record in the journal of this copy, so that several servers lose none of
//! them, and the counts of several machines add up.

use std::sync::PoisonError;

use super::Engine;
use super::EngineError;
use crate::journal::Record;

/// What such a record says was done.
const SESSION: &str = "session";

impl Engine {
    /// Notes that a session begins, but on a read-only store; how many there were, this one
    /// included.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be written or read.
    pub fn begin_session(&self) -> Result<usize, EngineError> {
        if !self.is_read_only() {
            self.check_there()?;
            let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
            let record = Record {
                at: self.clock.now(),
                did: SESSION.to_owned(),
                of: Vec::new(),
                client: client.clone(),
                why: None,
            };
            drop(client);
            self.journal.record(vec![record])?;
        }
        self.sessions()
    }

    /// How many sessions were begun, on all machines whose journals are here.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read.
    pub fn sessions(&self) -> Result<usize, EngineError> {
        let begun = self.journal.records(|record| record.did == SESSION)?;
        Ok(begun.len())
    }
}
