//! The rows of a transaction, decided from the files as they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::edit::{Edit, Expected, NewMemory, Origin, Outcome, Text};
use crate::rows::error::RowsError;
use crate::rows::workspace::BESIDE;

/// Decided changes of a transaction, in columns.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) replaced: (Vec<String>, Vec<String>, Vec<i64>),
    pub(super) removed: (Vec<String>, Vec<String>),
    pub(super) put: (Vec<String>, Vec<String>, Vec<i64>),
    pub(super) bytes: Vec<Vec<u8>>,
    pub(super) hashes: Vec<Vec<u8>>,
    pub(super) modified: Vec<i64>,
    pub(super) ops: Vec<String>,
    pub(super) places: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) changed: Vec<Option<Vec<u8>>>,
    /// Origins of the changes; none at all if all are made now.
    pub(super) origins: Vec<Option<Arc<Origin>>>,
    pub(super) earlier: EarlierTexts,
    /// Number of memories, and of bytes, that come to those of the workspace.
    pub(super) memories: i64,
    pub(super) size: i64,
}

/// Texts that were replaced elsewhere before, in columns.
#[derive(Default)]
pub(super) struct EarlierTexts {
    pub(super) places: Vec<String>,
    pub(super) names: Vec<String>,
    pub(super) numbers: Vec<i64>,
    pub(super) bytes: Vec<Vec<u8>>,
    pub(super) hashes: Vec<Vec<u8>>,
    pub(super) modified: Vec<i64>,
    pub(super) until: Vec<i64>,
}

/// Contents of a workspace before a write, and their limits.
pub(super) struct Held {
    memories: i64,
    bytes: i64,
    max_memories: Option<i64>,
    max_bytes: Option<i64>,
}

impl Held {
    /// Reads the columns that follow the number of the last change.
    pub(super) fn of(row: &tokio_postgres::Row) -> Held {
        Held {
            memories: row.get(1),
            bytes: row.get(2),
            max_memories: row.get(3),
            max_bytes: row.get(4),
        }
    }

    /// Refuses changes that exceed a limit. What makes a workspace smaller is permitted above it, too.
    pub(super) fn check(&self, columns: &Columns) -> Result<(), RowsError> {
        let is_over = |what, more: i64, would: i64, limit: Option<i64>| match limit {
            Some(limit) if more > 0 && would > limit => {
                Err(RowsError::OverQuota { what, would, limit })
            }
            _ => Ok(()),
        };
        let (memories, bytes) = (self.memories + columns.memories, self.bytes + columns.size);
        is_over("memories", columns.memories, memories, self.max_memories)?;
        is_over("bytes", columns.size, bytes, self.max_bytes)
    }
}

/// Returns 1 if a file at a place is a memory, else 0.
fn memories_at(place: &str) -> i64 {
    i64::from(place != BESIDE)
}

impl Columns {
    /// Decides on `edits`; their numbers follow `before`.
    pub(super) fn of_edits(
        edits: &[Edit],
        before: i64,
        state_of: impl Fn(&str, &str) -> Option<(u128, i64)>,
    ) -> Columns {
        let mut columns = Columns::default();
        for edit in edits {
            let state = state_of(edit.place, &edit.name);
            let there = state.map(|(hash, _)| hash);
            let outcome = match (edit.expected, there) {
                (Expected::Absent, Some(_)) => Outcome::Taken,
                (Expected::Hash(_), None) => Outcome::Missing,
                (Expected::Hash(seen), Some(there)) if seen != there => Outcome::Stale,
                _ => Outcome::Done,
            };
            columns.outcomes.push(outcome);
            if outcome != Outcome::Done || (there.is_none() && edit.text.is_none()) {
                continue;
            }
            let number = before + columns.ops.len() as i64 + 1;
            let (place, name) = (edit.place.to_owned(), edit.name.clone());
            if edit.keeps && there.is_some() {
                columns.replaced.0.push(place.clone());
                columns.replaced.1.push(name.clone());
                columns.replaced.2.push(number);
            }
            columns.places.push(place.clone());
            columns.names.push(name.clone());
            let length = edit.text.as_ref().map(|text| text.bytes.len() as i64);
            let former = state.map(|(_, length)| length);
            columns.size += length.unwrap_or(0) - former.unwrap_or(0);
            let more = i64::from(length.is_some()) - i64::from(former.is_some());
            columns.memories += more * memories_at(edit.place);
            match &edit.text {
                None => {
                    columns.ops.push("remove".to_owned());
                    columns.changed.push(None);
                    columns.removed.0.push(place);
                    columns.removed.1.push(name);
                }
                Some(text) => {
                    let hash = text.hash.to_le_bytes().to_vec();
                    columns.ops.push("put".to_owned());
                    columns.changed.push(Some(hash.clone()));
                    columns.put.0.push(place);
                    columns.put.1.push(name);
                    columns.put.2.push(number);
                    columns.bytes.push(text.bytes.clone());
                    columns.hashes.push(hash);
                    columns.modified.push(text.modified.unwrap_or(0));
                }
            }
        }
        columns
    }

    /// Decides on memories that are new, each whole; their numbers follow `before`. One is taken if `is_known` says so of a
    /// file that it has, or had.
    pub(super) fn of_new(
        memories: &[NewMemory],
        before: i64,
        is_known: impl Fn(&str, &str) -> bool,
    ) -> Columns {
        let mut columns = Columns::default();
        for memory in memories {
            let mut steps = memory.steps.iter();
            if steps.any(|step| is_known(step.place, &step.name)) {
                columns.outcomes.push(Outcome::Taken);
                continue;
            }
            columns.outcomes.push(Outcome::Done);
            let mut present: BTreeMap<(&str, &str), (i64, &Text)> = BTreeMap::new();
            for step in &memory.steps {
                let number = before + columns.ops.len() as i64 + 1;
                let file = (step.place, step.name.as_str());
                let former = present.remove(&file);
                if let Some((since, text)) = former {
                    columns.earlier.push(file, (since, number), text);
                }
                let hash = step.text.as_ref().map(|text| text.hash.to_le_bytes());
                columns.ops.push(match hash {
                    Some(_) => "put".to_owned(),
                    None => "remove".to_owned(),
                });
                columns.places.push(step.place.to_owned());
                columns.names.push(step.name.clone());
                columns.changed.push(hash.map(|hash| hash.to_vec()));
                columns.origins.push(step.origin.clone());
                if let Some(text) = &step.text {
                    present.insert(file, (number, text));
                }
            }
            for ((place, name), (number, text)) in present {
                columns.put.0.push(place.to_owned());
                columns.put.1.push(name.to_owned());
                columns.put.2.push(number);
                columns.hashes.push(text.hash.to_le_bytes().to_vec());
                columns.modified.push(text.modified.unwrap_or(0));
                columns.memories += memories_at(place);
                columns.size += text.bytes.len() as i64;
                columns.bytes.push(text.bytes.clone());
            }
        }
        columns
    }

    /// Decides on a move: a removal and a text in its new place.
    pub(super) fn of_rename(
        from: &(&'static str, String),
        to: &(&'static str, String),
        before: i64,
        state_of: impl Fn(&str, &str) -> Option<(u128, i64)>,
    ) -> Columns {
        let mut columns = Columns::default();
        let there = state_of(from.0, &from.1);
        let outcome = match (there, state_of(to.0, &to.1)) {
            (None, _) => Outcome::Missing,
            (Some(_), Some(_)) => Outcome::Taken,
            (Some(_), None) => Outcome::Done,
        };
        columns.outcomes.push(outcome);
        if let (Outcome::Done, Some((hash, _))) = (outcome, there) {
            columns.memories = memories_at(to.0) - memories_at(from.0);
            // The text stays, and where it was is history.
            columns.replaced = (
                vec![from.0.to_owned()],
                vec![from.1.clone()],
                // Both changes of a move are one.
                vec![before + 2],
            );
            columns.ops = vec!["remove".to_owned(), "put".to_owned()];
            columns.places = vec![from.0.to_owned(), to.0.to_owned()];
            columns.names = vec![from.1.clone(), to.1.clone()];
            columns.changed = vec![None, Some(hash.to_le_bytes().to_vec())];
        }
        columns
    }
}

impl EarlierTexts {
    /// Adds the text that a file had from one change to another.
    fn push(&mut self, (place, name): (&str, &str), (since, until): (i64, i64), text: &Text) {
        self.places.push(place.to_owned());
        self.names.push(name.to_owned());
        self.numbers.push(since);
        self.bytes.push(text.bytes.clone());
        self.hashes.push(text.hash.to_le_bytes().to_vec());
        self.modified.push(text.modified.unwrap_or(0));
        self.until.push(until);
    }
}

/// Returns the hash in a column.
pub(in crate::rows) fn hash_in(bytes: &[u8]) -> Option<u128> {
    Some(u128::from_le_bytes(bytes.try_into().ok()?))
}
