//! The index of turns: what each speaker of a talk said in turn is a row of its own.
//!
//! A talk is a memory of up to 40 KB, and a few lines of it answer a question. This index is derived from a
//! view of the memories: it has the rows of exactly the talks in that view, made by the same code and ranked
//! by the same ranking as memories. Promises: a talk that was written, changed or taken away since it was
//! committed lies in an overlay, as memories do; damage costs speed only. It leaves to
//! `ops::retrieval::passages` which turns answer, and to `live::indexing` when it is written.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use chrono::TimeDelta;

use crate::engine::locked::locked;
use crate::index::embedded::EmbeddedIndex;
use crate::index::{
    AsOf, Document, Index as _, IndexError, Overlay, Query, SearchModels, Snapshot,
};
use crate::model::{Filter, Memory, TALK, Talks, Timestamp, Visibility};
use crate::talks::{Turn, turns};
use crate::words::Language;

/// Reads the talks in these files; those that are gone are left out.
pub(in crate::engine) type ReadTalks<'a> = dyn Fn(&[&str]) -> Vec<Document> + 'a;

/// Size in bytes of the talks that are written in one batch: Tantivy holds in memory what waits for its threads, some
/// times as large.
pub(in crate::engine::live) const TALKS_IN_BATCH: usize = 8 << 20;

/// Maximum number of talks that are searched through an overlay.
const MOST_WAITING: usize = 256;

/// Number of talks that are read together: their texts are held in memory.
const CHUNK: usize = 64;

/// Number of changes for which a batch is begun: few, for one thread with little memory.
const ROWS_IN_BATCH: usize = 100;

/// Maximum number of views that another process's commit overtakes before the turns are given up for once.
const MAX_LOOKS: usize = 3;

/// Time between two turns whose times are not written: less than what makes another episode.
const STEP: TimeDelta = TimeDelta::seconds(30);

/// Separates the file of a talk from the number of a turn in the name of a row.
const NUMBER: char = '#';

/// Index of the turns of all talks of a store.
pub(in crate::engine) struct TurnIndex {
    index: EmbeddedIndex,
    known: Mutex<Known>,
}

/// Views that were made last.
#[derive(Default)]
struct Known {
    /// View of the memories, and the view of the turns of their talks.
    view: Option<(Weak<dyn Snapshot>, Arc<dyn Snapshot>)>,
    /// Versions of the talks of that view.
    versions: BTreeMap<String, u128>,
    /// Committed state whose talks are `held`.
    state: String,
    held: Held,
    /// Rows of talks that differ from `held`, with the version that was asked for.
    waiting: BTreeMap<String, (u128, Vec<Arc<Document>>)>,
}

/// Committed talks: version and number of rows of each, by file.
type Held = BTreeMap<String, (u128, usize)>;

impl TurnIndex {
    /// Returns the index beside `memories`, unopened.
    pub fn beside(memories: &EmbeddedIndex, languages: &[Language]) -> TurnIndex {
        TurnIndex {
            index: memories.of_turns(languages),
            known: Mutex::default(),
        }
    }

    /// Returns the view of the turns of the talks in `memories`; `None` if so many talks wait to be indexed
    /// that a question should not wait for them.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    pub fn view(
        &self,
        memories: &Arc<dyn Snapshot>,
        read: &ReadTalks<'_>,
    ) -> Result<Option<Arc<dyn Snapshot>>, IndexError> {
        let mut known = locked(&self.known);
        if let Some((of, view)) = &known.view
            && std::ptr::addr_eq(of.as_ptr(), Arc::as_ptr(memories))
        {
            return Ok(Some(Arc::clone(view)));
        }
        let wanted = versions(memories.as_ref())?;
        if known.versions == wanted
            && let Some((of, view)) = &mut known.view
        {
            *of = Arc::downgrade(memories);
            return Ok(Some(Arc::clone(view)));
        }
        for _ in 0..MAX_LOOKS {
            let committed = self.index.snapshot(&Overlay::default())?;
            known.learn(committed.as_ref());
            let differing = differing(&known.held, &wanted);
            if differing.len() > MOST_WAITING {
                return Ok(None);
            }
            known.wait_for(&differing, &wanted, read);
            let view = self.index.snapshot(&known.overlay(&differing))?;
            if view.state() == committed.state() {
                known.view = Some((Arc::downgrade(memories), Arc::clone(&view)));
                known.versions = wanted;
                return Ok(Some(view));
            }
        }
        Ok(None)
    }

    /// Commits the turns of the talks in `memories`. The caller holds the lock for writing the index.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be written; it is then as it was.
    pub fn write(&self, memories: &dyn Snapshot, read: &ReadTalks<'_>) -> Result<(), IndexError> {
        let wanted = versions(memories)?;
        let committed = self.index.snapshot(&Overlay::default())?;
        let held = {
            let mut known = locked(&self.known);
            known.learn(committed.as_ref());
            // Questions go on meanwhile.
            known.held.clone()
        };
        let differing = differing(&held, &wanted);
        if differing.is_empty() {
            return Ok(());
        }
        let mut batch = self.index.batch(ROWS_IN_BATCH)?;
        for name in &differing {
            let (_, rows) = held.get(name).copied().unwrap_or_default();
            (0..rows).for_each(|number| batch.delete(&row_name(name, number)));
        }
        let is_there = |name: &&String| wanted.contains_key(*name);
        let unread: Vec<&str> = differing
            .iter()
            .filter(is_there)
            .map(String::as_str)
            .collect();
        let mut waiting = 0;
        for chunk in unread.chunks(CHUNK) {
            if waiting > TALKS_IN_BATCH {
                batch.commit(0)?;
                batch = self.index.batch(ROWS_IN_BATCH)?;
                waiting = 0;
            }
            let talks = read(chunk);
            waiting += talks.iter().map(|talk| talk.bytes.len()).sum::<usize>();
            batch.upsert_all(talks.iter().flat_map(rows_of).collect())?;
        }
        batch.commit(0)?;
        // The next question takes the new state, and the files of the old one are closed.
        *locked(&self.known) = Known::default();
        Ok(())
    }

    /// Rewrites the files that still hold words of talks that are gone, as
    /// [`Batch::commit_without_remains`](crate::index::Batch::commit_without_remains) does.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be written.
    pub fn clear_remains(&self) -> Result<(), IndexError> {
        if !self.index.exists() {
            return Ok(());
        }
        self.index.batch(0)?.commit_without_remains(0)?;
        *locked(&self.known) = Known::default();
        Ok(())
    }

    /// Begins anew with an empty index, if there is one. The caller holds the lock for writing the index.
    ///
    /// # Errors
    ///
    /// Fails if the files cannot be removed.
    pub fn reset(&self) -> Result<(), IndexError> {
        *locked(&self.known) = Known::default();
        match self.index.exists() {
            true => self.index.reset(),
            false => Ok(()),
        }
    }

    /// Drops what this process has read of it.
    pub fn reopen(&self) {
        *locked(&self.known) = Known::default();
        self.index.reopen();
    }

    /// Returns the index itself, if it was ever made, to be checked.
    pub fn existing(&self) -> Option<&dyn crate::index::Index> {
        self.index.exists().then_some(&self.index)
    }
}

impl Known {
    /// Reads which talks are committed, if `committed` is another state than the last one.
    fn learn(&mut self, committed: &dyn Snapshot) {
        if self.state == committed.state() {
            return;
        }
        self.held = Held::new();
        for (row, indexed) in committed.files() {
            let Some((talk, _)) = parse_row(row) else {
                continue;
            };
            match self.held.get_mut(talk) {
                Some((_, rows)) => *rows += 1,
                None => drop(self.held.insert(talk.to_owned(), (indexed.hash, 1))),
            }
        }
        self.state = committed.state().to_owned();
    }

    /// Reads those of the `differing` talks that are not known in the version that is `wanted`.
    fn wait_for(
        &mut self,
        differing: &[String],
        wanted: &BTreeMap<String, u128>,
        read: &ReadTalks<'_>,
    ) {
        let is_wanted = |name: &String, version: u128| wanted.get(name) == Some(&version);
        self.waiting
            .retain(|name, (version, _)| is_wanted(name, *version) && differing.contains(name));
        let is_unread =
            |name: &&String| wanted.contains_key(*name) && !self.waiting.contains_key(*name);
        let unread: Vec<&str> = differing
            .iter()
            .filter(is_unread)
            .map(String::as_str)
            .collect();
        for document in read(&unread) {
            let rows = rows_of(&document).into_iter().map(Arc::new).collect();
            // Of what was written meanwhile the next view has another version.
            let version = wanted[&document.name];
            self.waiting.insert(document.name, (version, rows));
        }
    }

    /// Returns what differs from the committed state.
    fn overlay(&self, differing: &[String]) -> Overlay {
        let mut overlay = Overlay::default();
        for name in differing {
            let (_, rows) = self.held.get(name).copied().unwrap_or_default();
            let gone = (0..rows).map(|number| (row_name(name, number), None));
            overlay.files.extend(gone);
            let (_, rows) = self.waiting.get(name).cloned().unwrap_or_default();
            let new = rows.into_iter().map(|row| (row.name.clone(), Some(row)));
            overlay.files.extend(new);
        }
        overlay
    }
}

/// Returns the file of the talk and the number of the turn in it, counted from 0, from the name of a row.
pub(in crate::engine) fn parse_row(name: &str) -> Option<(&str, usize)> {
    let (talk, number) = name.rsplit_once(NUMBER)?;
    Some((talk, number.parse().ok()?))
}

/// Returns the name of a row: names are in the order of talks and of turns.
fn row_name(talk: &str, number: usize) -> String {
    format!("{talk}{NUMBER}{number:05}")
}

/// Returns the versions of all talks, by file.
fn versions(memories: &dyn Snapshot) -> Result<BTreeMap<String, u128>, IndexError> {
    let talks = Filter {
        equals: vec![(format!("metadata.{TALK}"), "true".to_owned())],
        visibility: Visibility::Everything,
        talks: Talks::Everywhere,
        ..Filter::default()
    };
    let query = Query::everything(talks, usize::MAX / 2);
    let moment = AsOf::unused(chrono::DateTime::UNIX_EPOCH);
    let found = memories.search(&query, moment, SearchModels::default(), &|_| None)?;
    let hits = found.hits.into_iter();
    Ok(hits.map(|hit| (hit.name, hit.indexed.hash)).collect())
}

/// Returns the talks that are not held as they are wanted, and those that are held and not wanted.
fn differing(held: &Held, wanted: &BTreeMap<String, u128>) -> Vec<String> {
    let changed = wanted
        .iter()
        .filter(|(name, version)| held.get(*name).is_none_or(|(held, _)| held != *version))
        .map(|(name, _)| name);
    let gone = held.keys().filter(|name| !wanted.contains_key(*name));
    changed.chain(gone).cloned().collect()
}

/// Returns the rows of a talk.
fn rows_of(talk: &Document) -> Vec<Document> {
    let numbered = memories_of(&talk.memory).into_iter().enumerate();
    numbered
        .map(|(number, memory)| Document {
            name: row_name(&talk.name, number),
            indexed: talk.indexed,
            memory,
            bytes: Vec::new(),
        })
        .collect()
}

/// Returns the turns of a talk as memories of their own, by the numbers of their rows; of a talk without turns one
/// without words.
pub(in crate::engine) fn memories_of(talk: &Memory) -> Vec<Memory> {
    let head = Memory {
        topics: Vec::new(),
        title: None,
        links: Vec::new(),
        metadata: Vec::new(),
        content: String::new(),
        ..talk.clone()
    };
    let format = talk.source.as_deref().and_then(|name| name.parse().ok());
    let mut at = head.timestamp.utc();
    let mut memories: Vec<Memory> = Vec::new();
    for turn in turns(&talk.content, format) {
        at = turn.at.unwrap_or(at + STEP);
        memories.push(as_memory(&head, &turn, Timestamp::from_utc(at)));
    }
    if memories.is_empty() {
        memories.push(head);
    }
    memories
}

/// Returns a turn as a memory of its own.
fn as_memory(head: &Memory, turn: &Turn<'_>, timestamp: Timestamp) -> Memory {
    let user = match (turn.role, turn.who) {
        (Some(role), _) => role,
        (None, "") => &head.user,
        (None, who) => who,
    };
    Memory {
        timestamp,
        user: user.to_owned(),
        content: turn.text.to_owned(),
        ..head.clone()
    }
}
