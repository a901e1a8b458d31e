//! Number of sessions of clients with a store.
//!
//! Each start of a session is a record in the journal of this copy, so that several servers lose none
//! of them, and the counts of several machines add up.

use std::collections::BTreeSet;

use crate::engine::error::EngineError;
use crate::engine::parts::Engine;
use crate::journal::{Record, SESSION};
use crate::model::Stem;

/// Maximum number of memories of a source that are recorded to recognize it.
const MOST_NAMED: usize = 256;

/// Records the start of a session, except on a read-only store; returns the number of sessions, this
/// one included.
///
/// # Errors
///
/// Fails if a journal cannot be written or read.
pub fn begin_session(engine: &Engine) -> Result<usize, EngineError> {
    if !engine.live.is_read_only() {
        engine.live.check_there()?;
        let client = engine.writer.client();
        let record = Record {
            at: engine.live.clock.now(),
            did: SESSION.to_owned(),
            of: Vec::new(),
            client,
            why: None,
        };
        engine.live.journal.record(vec![record])?;
    }
    sessions(engine)
}

/// Counts the sessions that were started, on all machines whose journals are here.
///
/// # Errors
///
/// Fails if a journal cannot be read.
pub fn sessions(engine: &Engine) -> Result<usize, EngineError> {
    let begun = engine
        .live
        .journal
        .records(&|record| record.did == SESSION)?;
    let (carried, begun): (Vec<_>, Vec<_>) =
        begun.into_iter().partition(|record| !record.of.is_empty());
    let carried = by_source(carried).into_iter().map(|source| source.count);
    Ok(carried.fold(begun.len(), usize::saturating_add))
}

/// Records that the source of an import, whose memories are `stems`, had `count` sessions. Of the
/// counts of one source at several imports, the highest is used.
pub(in crate::engine) fn carry_sessions(
    engine: &Engine,
    count: usize,
    stems: &BTreeSet<Stem>,
) -> Result<(), EngineError> {
    let of = stems.iter().take(MOST_NAMED);
    let of: Vec<String> = of.map(|stem| stem.as_str().to_owned()).collect();
    let is_carried = |record: &Record| record.did == SESSION && !record.of.is_empty();
    let known = by_source(engine.live.journal.records(&is_carried)?);
    let known = known.iter().filter(|source| source.shares(&of));
    let known = known.map(|source| source.count).max().unwrap_or(0);
    if of.is_empty() || count <= known {
        return Ok(());
    }
    let record = Record {
        at: engine.live.clock.now(),
        did: SESSION.to_owned(),
        of,
        client: String::new(),
        why: Some(format!("{count} {COUNTED_THERE}")),
    };
    Ok(engine.live.journal.record(vec![record])?)
}

/// Text after the number in the record of an import.
const COUNTED_THERE: &str = "sessions where these memories were imported from";

/// Sessions of one source, from all imports of it.
struct ImportedSessions {
    memories: BTreeSet<String>,
    count: usize,
}

impl ImportedSessions {
    fn shares(&self, memories: &[String]) -> bool {
        memories.iter().any(|stem| self.memories.contains(stem))
    }
}

/// Merges the records of imports that name the same memories.
fn by_source(records: Vec<Record>) -> Vec<ImportedSessions> {
    let mut sources: Vec<ImportedSessions> = Vec::new();
    for record in records {
        let number = record.why.as_deref().and_then(|why| why.split(' ').next());
        let mut source = ImportedSessions {
            count: number.and_then(|number| number.parse().ok()).unwrap_or(0),
            memories: BTreeSet::new(),
        };
        for same in sources.extract_if(.., |known| known.shares(&record.of)) {
            source.count = source.count.max(same.count);
            source.memories.extend(same.memories);
        }
        source.memories.extend(record.of);
        sources.push(source);
    }
    sources
}
