//! Where memories came from, as far as that decides whether they may be shown unasked.
//!
//! *Unreviewed* is a text that others wrote and no user of this machine has accepted: an imported one, and in
//! a store that others write, too, whatever was not written here. What was written here is known from this
//! copy's own journal; what sync brought, and what was accepted, from the user's records (`trust`). Nothing
//! that a file says of itself makes it reviewed.

use std::collections::HashSet;

use rayon::prelude::*;

use crate::engine::error::EngineError;
use crate::engine::history::consent;
use crate::engine::live::names::SOURCE_ID;
use crate::engine::live::{current_snapshot, rows};
use crate::engine::ops::import_export::SOURCE_HASH;
use crate::engine::parts::Engine;
use crate::engine::texts::stem_of;
use crate::journal::{DATE, Record, SESSION};
use crate::model::{Filter, Memory};
use crate::trust::{ReviewedTexts, Reviews, TrustError, text_digest};

/// Source of an unreviewed text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ForeignSource {
    /// It was imported.
    Import,
    /// It came with the store, or by sync: others may have written it.
    Sync,
    /// It is a talk: what was said in it, tools and web pages may have said. No rule accepts it.
    Talk,
}

impl ForeignSource {
    /// Names of the sources that a rule can accept.
    pub const NAMES: [(&'static str, ForeignSource); 2] = [
        ("import", ForeignSource::Import),
        ("sync", ForeignSource::Sync),
    ];

    /// Returns the source called `name`.
    pub fn named(name: &str) -> Option<ForeignSource> {
        let mut names = ForeignSource::NAMES.into_iter();
        names.find_map(|(known, source)| (known == name).then_some(source))
    }

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            ForeignSource::Import => "import",
            ForeignSource::Sync => "sync",
            ForeignSource::Talk => "talk",
        }
    }
}

/// Operation that imports memories, in records.
const IMPORT: &str = "import";

/// What is known of where the memories of a store came from.
pub(super) struct Provenance {
    texts: ReviewedTexts,
    /// Sources whose texts the user accepts without reading them.
    rules: Vec<String>,
    /// Stems of memories that were imported here.
    imported: HashSet<String>,
    /// Stems of memories that were written here.
    written: HashSet<String>,
    /// Whether others may write into the store.
    is_shared: bool,
}

impl Provenance {
    /// Reads what is known.
    pub fn read(engine: &Engine) -> Provenance {
        let consent = &engine.history.consent;
        let reviews = consent.reviews();
        let (mut imported, mut written) = (HashSet::new(), HashSet::new());
        let is_change = |record: &Record| record.did != SESSION && record.did != DATE;
        let records = engine.live.journal.own_records(&is_change);
        // Without the journal everything was written by others.
        for record in records.unwrap_or_default() {
            match record.did == IMPORT {
                true => imported.extend(record.of),
                false => written.extend(record.of),
            }
        }
        Provenance {
            texts: reviews.as_ref().map(Reviews::read).unwrap_or_default(),
            rules: consent.accepted_sources(),
            imported,
            written,
            is_shared: consent::is_shared(&engine.history),
        }
    }

    /// Returns the source of a text that is unreviewed; `None` if it may be shown.
    pub fn unreviewed(&self, memory: &Memory) -> Option<ForeignSource> {
        let stem = memory.stem.as_str();
        let digest = digest_of(memory);
        if self.texts.accepted.contains(&digest) {
            return None;
        }
        let states_source = [SOURCE_ID, SOURCE_HASH]
            .into_iter()
            .any(|key| memory.metadata.iter().any(|(known, _)| known == key));
        let is_foreign = self.texts.foreign.contains(&digest)
            || (self.is_shared && !self.written.contains(stem));
        let source = match () {
            () if memory.is_talk() => ForeignSource::Talk,
            () if states_source || self.imported.contains(stem) => ForeignSource::Import,
            () if is_foreign => ForeignSource::Sync,
            () => return None,
        };
        let is_accepted = self.rules.iter().any(|rule| rule == source.as_str());
        (!is_accepted).then_some(source)
    }
}

/// Returns the digest by which a text is accepted.
pub fn digest_of(memory: &Memory) -> u128 {
    text_digest(
        memory.stem.as_str(),
        memory.title.as_deref(),
        &memory.content,
    )
}

/// Returns the current memories whose texts are unreviewed, newest first, with their sources. Talks are none of
/// them: nobody reads them through to accept them.
///
/// # Errors
///
/// Fails if the store cannot be read.
pub fn unreviewed(engine: &Engine) -> Result<Vec<(Memory, ForeignSource)>, EngineError> {
    let (names, provenance) = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let mut names = rows::names_of(&engine.live, snapshot, &Filter::default())?;
        // After the names: whoever wrote one of them has noted it by then.
        let provenance = Provenance::read(engine);
        if provenance.is_shared || !provenance.texts.foreign.is_empty() {
            return Ok((names, provenance));
        }
        // All else was written here: only what was imported has to be read.
        let mut stated = HashSet::new();
        for key in [SOURCE_ID, SOURCE_HASH] {
            let holders = snapshot.holders(&format!("metadata.{key}"))?;
            stated.extend(holders.into_iter().map(|(_, name)| name));
        }
        names.retain(|name| {
            stated.contains(name) || provenance.imported.contains(stem_of(name).as_str())
        });
        Ok((names, provenance))
    })?;
    let unreviewed = names.par_iter().filter_map(|name| {
        let memory = rows::read_memory(&engine.live, name)?;
        let source = provenance.unreviewed(&memory)?;
        Some((memory, source))
    });
    Ok(unreviewed.collect())
}

/// Accepts the texts of memories as they are.
///
/// # Errors
///
/// Fails if the user's records cannot be written.
pub fn accept(engine: &Engine, memories: &[Memory]) -> Result<(), EngineError> {
    let reviews = engine.history.consent.reviews();
    let reviews = reviews.ok_or_else(|| failed(&TrustError::NoPlace))?;
    let digests: Vec<u128> = memories.iter().map(digest_of).collect();
    reviews
        .accept(&digests)
        .map_err(|error| EngineError::Invalid(format!("cannot write your reviews: {error}")))
}

/// Accepts, or no longer accepts, all texts of a source without reading them.
///
/// # Errors
///
/// Fails if the user's records cannot be written.
pub fn accept_source(
    engine: &Engine,
    source: ForeignSource,
    is_accepted: bool,
) -> Result<(), EngineError> {
    let changed = engine.history.consent.change(|record| {
        record
            .accepted_sources
            .retain(|known| known != source.as_str());
        if is_accepted {
            record.accepted_sources.push(source.as_str().to_owned());
        }
    });
    changed.map_err(|error| failed(&error))
}

fn failed(error: &TrustError) -> EngineError {
    EngineError::Invalid(error.to_string())
}
