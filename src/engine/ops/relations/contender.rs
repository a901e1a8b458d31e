//! Pairs of contradicting memories.

use crate::engine::error::EngineError;
use crate::engine::parts::Engine;
use crate::engine::texts::parse;
use crate::files::{FilesError, Place};
use crate::model::Memory;

/// A pair of memories that contradict each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Conflict {
    /// The two memories.
    pub pair: [Contender; 2],
}

impl Conflict {
    /// Whether `other` is a pair of the same memories.
    pub(in crate::engine) fn is_of(&self, other: &Conflict) -> bool {
        let is_there = |one: &Contender| self.pair.iter().any(|known| known.name == one.name);
        other.pair.iter().all(is_there)
    }

    /// Returns the memory that is not in the file `name`; `None` if neither is.
    pub(in crate::engine) fn other_than(&self, name: &str) -> Option<&Contender> {
        let [one, other] = &self.pair;
        match (one.name == name, other.name == name) {
            (true, _) => Some(other),
            (_, true) => Some(one),
            _ => None,
        }
    }
}

/// One of two memories that contradict each other.
#[derive(Debug, Clone, PartialEq)]
pub struct Contender {
    /// The memory, as read from its file.
    pub memory: Memory,
    /// Path below `files/`.
    pub name: String,
}

/// Reads the memory in the file `name`; `None` if it is gone.
pub(in crate::engine) fn contender(
    engine: &Engine,
    name: &str,
) -> Result<Option<Contender>, EngineError> {
    match engine.live.store.reader(Place::Files).read(name, u64::MAX) {
        Ok(version) => Ok(Some(Contender {
            memory: parse(&version.entry, &version.bytes),
            name: name.to_owned(),
        })),
        Err(FilesError::Missing { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
