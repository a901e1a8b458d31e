//! Brings foreign memories in, and own ones out.

use std::collections::HashMap;
use std::collections::HashSet;

use super::Engine;
use super::EngineError;
use super::Hit;
use super::Search;
use super::Wanted;
use super::freshness::stem_of;
use crate::import::Foreign;
use crate::model::Filter;
use crate::model::MetaValue;
use crate::model::Stem;
use crate::model::Visibility;

/// How to import.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Import {
    /// Only say what would happen.
    pub dry_run: bool,
}

/// What became of one foreign memory.
#[derive(Debug)]
pub enum Imported {
    Added {
        source_id: Option<String>,
        stem: Option<Stem>,
    },
    /// It was imported before.
    Known {
        source_id: Option<String>,
        stem: Option<Stem>,
    },
    Failed {
        source: String,
        reason: String,
    },
}

/// The metadata key that keeps what a memory was called where it came from.
pub const SOURCE_ID: &str = "source_id";

impl Engine {
    /// Imports `memories` one by one; calls `each` with what became of each. Importing the same
    /// again changes nothing. One that fails does not stop the others.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read or written at all.
    pub fn import(
        &self,
        memories: impl Iterator<Item = Result<Foreign, crate::import::ImportError>>,
        options: Import,
        each: &mut dyn FnMut(Imported),
    ) -> Result<(), EngineError> {
        if !options.dry_run {
            self.check_writable()?;
        }
        let snapshot = self.snapshot()?;
        let holders = snapshot.holders(&format!("metadata.{SOURCE_ID}"))?;
        let mut known: HashMap<String, Stem> = holders
            .into_iter()
            .map(|(id, name)| (id, stem_of(&name)))
            .collect();
        let mut names = HashSet::new();
        snapshot.for_each(&mut |name, _| {
            names.insert(name.to_owned());
        });
        for memory in memories {
            each(match memory {
                Ok(foreign) => self.import_one(foreign, options, &mut known, &names),
                Err(error) => Imported::Failed {
                    source: error.source_name(),
                    reason: error.to_string(),
                },
            });
        }
        Ok(())
    }

    fn import_one(
        &self,
        foreign: Foreign,
        options: Import,
        known: &mut HashMap<String, Stem>,
        names: &HashSet<String>,
    ) -> Imported {
        let Foreign {
            mut memory,
            source_id,
            source,
        } = foreign;
        let own_stem = memory
            .handle
            .zip(memory.timestamp.as_ref())
            .map(|(handle, at)| Stem::new(at.utc(), handle));
        if let Some(stem) = own_stem.filter(|stem| names.contains(&format!("{stem}.md"))) {
            return Imported::Known {
                source_id,
                stem: Some(stem),
            };
        }
        let key = source_id.as_ref().map(|id| id.to_lowercase());
        if let Some(stem) = key.as_ref().and_then(|key| known.get(key)) {
            return Imported::Known {
                source_id,
                stem: Some(stem.clone()),
            };
        }
        if let Some(id) = &source_id {
            memory.metadata.retain(|(key, _)| key != SOURCE_ID);
            memory
                .metadata
                .insert(0, (SOURCE_ID.to_owned(), MetaValue::Text(id.clone())));
        }
        if options.dry_run {
            return Imported::Added {
                source_id,
                stem: None,
            };
        }
        // What a foreign memory supersedes may come later, or not at all: it is kept as written.
        match self.write_new(&memory) {
            Ok(stem) => Imported::Added {
                source_id,
                stem: Some(stem),
            },
            Err(error) => Imported::Failed {
                source,
                reason: error.to_string(),
            },
        }
    }

    /// Calls `each` with every memory that passes `filter`, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read.
    pub fn export(&self, filter: &Filter, each: &mut dyn FnMut(Hit)) -> Result<usize, EngineError> {
        let search = Search {
            wanted: Wanted::Everything,
            filter: Filter {
                visibility: Visibility::Everything,
                ..filter.clone()
            },
            limit: usize::MAX / 2,
            offset: 0,
        };
        let thought = self.search(&search)?;
        let count = thought.hits.len();
        thought.hits.into_iter().rev().for_each(each);
        Ok(count)
    }
}
