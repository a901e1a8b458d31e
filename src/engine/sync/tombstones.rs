//! Which files the word that a memory was purged is about.
//!
//! An id is nobody else's, so its tombstone is about every file of that name. Other names are used
//! again: there it is about the texts that were purged, and what became of them.

use std::collections::BTreeSet;

use super::held::name_of;
use super::past::FOLDERS;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::files::tombstone_of;
use crate::format::Tombstone;
use crate::git::Id;
use crate::git::Repository;
use crate::model::Stem;

impl Engine {
    /// The word that the memory `stem` was purged, here or on another machine.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    pub(super) fn tombstone(&self, stem: &Stem) -> Result<Option<Tombstone>, EngineError> {
        let bytes = self.bytes_at(&tombstone_of(stem.as_str()))?;
        Ok(bytes.map(|bytes| Tombstone::read(&bytes)))
    }

    /// Whether a file of `stem` that holds the text `bytes` was purged.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub(in crate::engine) fn is_purged(
        &self,
        stem: &Stem,
        bytes: &[u8],
    ) -> Result<bool, EngineError> {
        let is_named =
            |stone: Tombstone| stem.is_canonical() || stone.names(&Id::of_text(bytes).to_string());
        Ok(self.tombstone(stem)?.is_some_and(is_named))
    }

    /// Leaves word that `stem` was purged, with `texts` where the stem alone does not say enough.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub(super) fn leave_tombstone(
        &self,
        stem: &Stem,
        texts: &BTreeSet<Id>,
    ) -> Result<(), EngineError> {
        let path = tombstone_of(stem.as_str());
        let seen = self.version_at(&path)?;
        let mut stone = match &seen {
            Some(seen) => Tombstone::read(&seen.bytes),
            None => {
                let now = self.clock.now().format("%Y-%m-%dT%H:%M:%SZ");
                Tombstone::new(&now.to_string())
            }
        };
        let texts = texts.iter().filter(|_| !stem.is_canonical());
        if stone.add(texts.map(Id::to_string)) || seen.is_none() {
            let written = stone.written();
            self.store
                .put_beside(&path, seen.as_ref(), Some(written.as_bytes()))?;
        }
        Ok(())
    }
}

/// Every text that the file at `path`, live or forgotten, has had in the commits that `from` rests
/// on since it was added.
///
/// # Errors
///
/// Fails if the repository is damaged.
pub(super) fn texts_since_added(
    repository: &Repository,
    from: Id,
    path: &str,
) -> Result<BTreeSet<Id>, EngineError> {
    let name = name_of(path);
    let file = name.rsplit('/').next().unwrap_or(name).as_bytes();
    let mut places = repository.places(&FOLDERS, |found| found == file)?;
    let mut texts = BTreeSet::new();
    let (mut pending, mut seen) = (vec![from], BTreeSet::from([from]));
    while let Some(commit) = pending.pop() {
        let there = places.at(commit)?;
        let is_it = |(path, _): &(&String, &Id)| name_of(path) == name;
        let found: Vec<Id> = there.iter().filter(is_it).map(|(_, id)| *id).collect();
        if found.is_empty() {
            continue; // It was added later.
        }
        texts.extend(found);
        let parents = repository.parents(commit)?;
        pending.extend(parents.into_iter().filter(|parent| seen.insert(*parent)));
    }
    Ok(texts)
}
