//! Brings foreign memories in, and own ones out.

use std::collections::HashMap;
use std::collections::HashSet;

use super::Engine;
use super::EngineError;
use super::reading::parse;
use super::reading::stem_of;
use super::screen::Screened;
use crate::files::Lock;
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::import::Foreign;
use crate::index::Ask;
use crate::index::Request;
use crate::model::Filter;
use crate::model::Memory;
use crate::model::MetaValue;
use crate::model::NewMemory;
use crate::model::Stem;
use crate::model::Visibility;
use crate::secrets;

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
        /// The credentials in it.
        screened: Screened,
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
/// The same for what had no name: a hash of its text and time.
const SOURCE_HASH: &str = "source_hash";

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
        // Two imports of one thing at once must not each add it.
        let _lock = match options.dry_run {
            true => None,
            false => Some(Lock::take(
                &self.state().join("import.lock"),
                "another import",
            )?),
        };
        let mut known = self.mending(|| self.known())?;
        let _together = self.collect_records();
        for memory in memories {
            each(match memory {
                Ok(foreign) => self.import_one(foreign, options, &mut known),
                Err(error) => Imported::Failed {
                    source: error.source_name(),
                    reason: error.to_string(),
                },
            });
        }
        Ok(())
    }

    /// What was imported before, the forgotten ones included: importing again does not bring
    /// them back.
    fn known(&self) -> Result<Known, EngineError> {
        let mut known = Known::default();
        let reader = self.store.reader(Place::Files);
        let snapshot = self.snapshot()?;
        known
            .stems
            .extend(snapshot.files().map(|(name, _)| stem_of(name)));
        let mut holders = snapshot.holders(&format!("metadata.{SOURCE_ID}"))?;
        holders.extend(snapshot.holders(&format!("metadata.{SOURCE_HASH}"))?);
        for (_, name) in holders {
            if let Ok(version) = reader.read(&name, MAX_INDEXED_BYTES as u64) {
                known.add(&parse(&version.entry, &version.bytes));
            }
        }
        let purged = self.store.purged()?;
        known
            .stems
            .extend(purged.iter().map(|stem| Stem::from_file_name(stem)));
        let archive = self.store.reader(Place::Archive);
        for entry in self.store.list(Place::Archive)?.entries {
            known.stems.insert(stem_of(&entry.name));
            if let Ok(version) = archive.read(&entry.name, MAX_INDEXED_BYTES as u64) {
                known.add(&parse(&version.entry, &version.bytes));
            }
        }
        Ok(known)
    }

    fn import_one(&self, foreign: Foreign, options: Import, known: &mut Known) -> Imported {
        let Foreign {
            mut memory,
            source_id,
            source,
        } = foreign;
        let hash = (source_id.is_none() && memory.handle.is_none()).then(|| source_hash(&memory));
        let key = source_id.clone().or_else(|| hash.clone());
        if let Some(stem) = known.find(&memory, key.as_deref()) {
            return Imported::Known {
                source_id,
                stem: Some(stem),
            };
        }
        if let Some(id) = &source_id {
            memory.metadata.retain(|(key, _)| key != SOURCE_ID);
            memory
                .metadata
                .insert(0, (SOURCE_ID.to_owned(), MetaValue::Text(id.clone())));
        }
        if let Some(hash) = hash {
            memory
                .metadata
                .push((SOURCE_HASH.to_owned(), MetaValue::Text(hash)));
        }
        if options.dry_run {
            return Imported::Added {
                source_id,
                stem: None,
                screened: Screened::default(),
            };
        }
        // What a foreign memory supersedes may come later, or not at all: it is kept as written.
        match self.write_new(&memory, "import") {
            Ok((stem, screened)) => {
                known.stems.insert(stem.clone());
                if let Some(id) = &key {
                    let at = memory.timestamp.as_ref().map(|at| at.as_str().to_owned());
                    let seen = Seen {
                        stem: stem.clone(),
                        at,
                        content: memory.content,
                    };
                    known.by_source.entry(id.clone()).or_default().push(seen);
                }
                Imported::Added {
                    source_id,
                    stem: Some(stem),
                    screened,
                }
            }
            Err(error) => Imported::Failed {
                source,
                reason: error.to_string(),
            },
        }
    }

    /// Calls `each` with every memory that passes `filter`, oldest first, and its file's name;
    /// one whole memory is held at a time.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be read.
    pub fn export(
        &self,
        filter: &Filter,
        each: &mut dyn FnMut(Memory, String),
    ) -> Result<usize, EngineError> {
        let filter = Filter {
            visibility: Visibility::Everything,
            ..filter.clone()
        };
        let reader = self.store.reader(Place::Files);
        let texts = |name: &str| {
            let version = reader.read(name, MAX_INDEXED_BYTES as u64).ok()?;
            Some(parse(&version.entry, &version.bytes))
        };
        let found = self.mending(|| {
            let snapshot = self.snapshot()?;
            self.at_once(|moment| {
                let request = Request {
                    ask: Ask::Everything,
                    filter: &filter,
                    moment,
                    limit: usize::MAX,
                    offset: 0,
                };
                Ok(snapshot.search(&request, &texts)?)
            })
        })?;
        let mut count = 0;
        for hit in found.hits.into_iter().rev() {
            // Gone since it was listed: then it is not exported.
            if let Ok(version) = reader.read(&hit.name, u64::MAX) {
                each(parse(&version.entry, &version.bytes), hit.name);
                count += 1;
            }
        }
        Ok(count)
    }
}

fn source_hash(memory: &NewMemory) -> String {
    let at = memory.timestamp.as_ref().map_or("", |at| at.as_str());
    format!(
        "{:032x}",
        crate::files::digest(format!("{at}\n{}", memory.content).as_bytes())
    )
}

/// What is in the store already, as an importer asks for it.
#[derive(Default)]
struct Known {
    stems: HashSet<Stem>,
    by_source: HashMap<String, Vec<Seen>>,
}

/// A memory that has a source id.
struct Seen {
    stem: Stem,
    at: Option<String>,
    content: String,
}

impl Known {
    fn add(&mut self, memory: &Memory) {
        let id = memory.metadata.iter().find_map(|(key, value)| match value {
            MetaValue::Text(id) if key == SOURCE_ID || key == SOURCE_HASH => Some(id),
            _ => None,
        });
        if let Some(id) = id {
            self.by_source.entry(id.clone()).or_default().push(Seen {
                stem: memory.stem.clone(),
                at: Some(memory.timestamp.as_str().to_owned()),
                content: memory.content.clone(),
            });
        }
    }

    /// The memory that `memory` became before. Two sources may use one id for different things:
    /// it is the same one only if its time or its text is the same, too.
    fn find(&self, memory: &NewMemory, source_id: Option<&str>) -> Option<Stem> {
        let own = memory.handle.zip(memory.timestamp.as_ref());
        let own = own.map(|(handle, at)| Stem::new(at.utc(), handle));
        if let Some(stem) = own.filter(|stem| self.stems.contains(stem)) {
            return Some(stem);
        }
        let at = memory.timestamp.as_ref().map(|at| at.as_str());
        let seen = self.by_source.get(source_id?)?;
        // What was redacted when it came in, or later.
        let redacted = secrets::redact(&memory.content);
        seen.iter()
            .find(|seen| {
                (at.is_some() && seen.at.as_deref() == at)
                    || seen.content == memory.content
                    || seen.content == redacted
            })
            .map(|seen| seen.stem.clone())
    }
}
