//! Writer of a store's memories, and records of changes: in the journal, and for the next commit.
//!
//! Uses and records go to the journal. Losing one costs a count, never the operation itself,
//! so a journal that cannot be written only causes a warning.

use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};

use crate::engine::call_scope;
use crate::engine::error::EngineError;
use crate::engine::live::names::Recalled;
use crate::engine::live::store::{LiveStore, Work};
use crate::engine::live::usage;
use crate::engine::live::usage::UNRECORDED;
use crate::engine::locked::locked;
use crate::engine::texts::stem_of;
use crate::engine::write::change_notes;
use crate::engine::write::change_notes::OneDeed;
use crate::engine::write::recent::Recent;
use crate::files::WritableStorage;
use crate::journal::Record;
use crate::lifecycle::WritePolicy;
use crate::model::{Stem, is_possible_time};
use crate::secrets::Policy;

/// Writer of one store's memories.
pub struct Writer {
    /// The store.
    pub(in crate::engine) live: Arc<LiveStore>,
    /// Storage of the memories, for changing it.
    pub(in crate::engine::write) storage: Arc<dyn WritableStorage>,
    /// Whether changes are committed: replaced texts stay in the history.
    pub(in crate::engine::write) has_history: bool,
    /// Policy for credentials.
    pub(in crate::engine) secrets: Policy,
    writes: WritePolicy,
    client: Mutex<String>,
    /// Records that wait to be written to the journal.
    records: Mutex<Waiting>,
    /// Memories that this process wrote last, for hints.
    pub(in crate::engine) recent: Mutex<Recent>,
}

/// Reason in the record of a change that was made in the source of an import.
pub(in crate::engine) const BY_IMPORT: &str = "as it was imported";

/// Maximum number of records that wait to be written.
pub(in crate::engine) const MAX_WAITING: usize = 256;

/// Whether two records are of one operation: less than a second apart, with the same tool, client and reason.
pub(in crate::engine) fn is_same_deed(one: &Record, other: &Record) -> bool {
    let apart = (other.at - one.at).abs();
    (&one.did, &one.client, &one.why) == (&other.did, &other.client, &other.why)
        && apart < TimeDelta::seconds(1)
}

/// Records that wait to be written together.
#[derive(Default)]
pub(in crate::engine) struct Waiting {
    records: Vec<Record>,
    held: usize,
}

/// Collects records, and writes them when it is dropped.
pub(in crate::engine) struct Collecting<'a>(&'a Writer, OneDeed);

impl Drop for Collecting<'_> {
    fn drop(&mut self) {
        let mut waiting = locked(&self.0.records);
        waiting.held -= 1;
        if waiting.held == 0 {
            let records = std::mem::take(&mut waiting.records);
            drop(waiting);
            self.0.write_records(records);
        }
    }
}

impl Writer {
    /// Creates the writer of the memories of `live`, which a backend keeps in `storage`, or else a directory.
    ///
    /// # Errors
    ///
    /// Fails if there is neither.
    pub fn new(
        live: Arc<LiveStore>,
        storage: Option<Arc<dyn WritableStorage>>,
        writes: WritePolicy,
        secrets: Policy,
        has_history: bool,
    ) -> Result<Writer, EngineError> {
        let storage = match storage {
            Some(storage) => storage,
            None => Arc::new(live.need_directory("a store without a backend")?.clone()),
        };
        Ok(Writer {
            storage,
            live,
            has_history,
            secrets,
            writes,
            client: Mutex::default(),
            records: Mutex::default(),
            recent: Mutex::default(),
        })
    }

    /// Records the tool that changed a file, for the next commit and in the journal.
    pub(in crate::engine) fn note_change(&self, tool: &str, name: &str) {
        self.note_change_because(tool, name, None);
    }

    /// As [`Writer::note_change`], with a reason.
    pub(in crate::engine) fn note_change_because(&self, tool: &str, name: &str, why: Option<&str>) {
        self.leave_note(tool, name);
        self.record(tool, name, why);
    }

    /// Leaves the note and the record of a text that went to the archive as it was written: it was no memory before, and
    /// an undo of the change that kept it brings none back.
    pub(in crate::engine) fn note_kept(&self, name: &str, why: &str) {
        self.leave_note("keep", name);
        self.record("forget", name, Some(why));
    }

    /// Returns the policy for new memories that resemble others.
    pub fn write_policy(&self) -> &WritePolicy {
        &self.writes
    }

    /// Checks that the store can be written, and that the clock is plausible.
    pub(in crate::engine) fn check_writable(&self) -> Result<(), EngineError> {
        if self.live.is_read_only() {
            return Err(EngineError::ReadOnly(self.live.root().to_owned()));
        }
        let now = self.live.clock.now();
        if !is_possible_time(now) {
            return Err(EngineError::ClockIsWrong(now));
        }
        self.live.check_there()
    }

    /// Sets the name of the client that uses the store from now on.
    pub fn serve(&self, client: &str) {
        let mut known = locked(&self.client);
        if *known != client {
            client.clone_into(&mut known);
        }
    }

    /// Returns the name of the client that calls, else of the one that used the store last.
    pub(in crate::engine) fn client(&self) -> String {
        call_scope::client().unwrap_or_else(|| locked(&self.client).clone())
    }

    /// Counts one use of each memory that was recalled: in a process with a background loop for its own answers at
    /// once, and in the journal within a second. Does nothing on a read-only store.
    pub fn count_uses(&self, recalled: &[Recalled]) {
        let stems: Vec<Stem> = recalled
            .iter()
            .filter_map(|one| match one {
                Recalled::Found { memory, .. } => Some(memory.stem.clone()),
                Recalled::Failed { .. } => None,
            })
            .collect();
        if self.live.is_read_only() {
            return;
        }
        let now = self.live.clock.now();
        if self.live.has_background() {
            if self.live.journal.note_used(now, &stems) {
                self.live.wake_to(Work::Uses);
            }
            return;
        }
        // A store that was moved away is not recreated.
        if self.live.check_there().is_err() {
            return;
        }
        if let Err(error) = self.live.journal.used(now, &stems) {
            usage::warn_of_journal(&self.live, UNRECORDED, &error);
        }
    }

    /// Counts uses that were made before in the source of an import.
    pub(in crate::engine) fn count_past_uses(&self, uses: &[(DateTime<Utc>, Stem)]) {
        if uses.is_empty() || self.live.check_there().is_err() {
            return;
        }
        if let Err(error) = self.live.journal.used_each(uses) {
            usage::warn_of_journal(&self.live, UNRECORDED, &error);
        }
    }

    /// Records in the journal that `did` was done to the file `name`.
    pub(in crate::engine) fn record(&self, did: &str, name: &str, why: Option<&str>) {
        self.record_at(self.live.clock.now(), did, name, why);
    }

    /// As [`Writer::record`], of a change at another time.
    pub(in crate::engine) fn record_at(
        &self,
        at: DateTime<Utc>,
        did: &str,
        name: &str,
        why: Option<&str>,
    ) {
        let client = locked(&self.client);
        let record = Record {
            at,
            did: did.to_owned(),
            of: vec![stem_of(name).as_str().to_owned()],
            client: client.clone(),
            why: why.map(str::to_owned),
        };
        drop(client);
        let mut waiting = locked(&self.records);
        waiting.records.push(record);
        if waiting.held == 0 || waiting.records.len() >= MAX_WAITING {
            let records = std::mem::take(&mut waiting.records);
            drop(waiting);
            self.write_records(records);
        }
    }

    /// Collects records until the result is dropped, and then writes them together.
    pub(in crate::engine) fn collect_records(&self) -> Collecting<'_> {
        let mut waiting = locked(&self.records);
        waiting.held += 1;
        Collecting(self, OneDeed::begin())
    }

    fn write_records(&self, records: Vec<Record>) {
        if records.is_empty() || self.live.check_there().is_err() {
            return;
        }
        // Records of one operation on many memories become one line.
        let mut lines: Vec<Record> = Vec::new();
        for record in records {
            match lines.last_mut() {
                Some(last) if is_same_deed(last, &record) => last.of.extend(record.of),
                _ => lines.push(record),
            }
        }
        if let Err(error) = self.live.journal.record(lines) {
            usage::warn_of_journal(&self.live, UNRECORDED, &error);
        }
    }

    /// Leaves a note for the next commit that `tool` changed the file `name`.
    pub(in crate::engine) fn leave_note(&self, tool: &str, name: &str) {
        if self.has_history && !self.live.is_local(name) {
            let (state, is_command) = (self.live.state(), !self.live.has_background());
            change_notes::leave_note(state, &self.client(), is_command, tool, name);
        }
    }
}
