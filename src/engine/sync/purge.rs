//! Takes memories away for good, and remembers that they were: nothing brings them back.
//!
//! Promises: a word of it is in the store before the first file goes, so that a purge which was
//! interrupted can be done again; the word never holds any of the text. The history is not
//! rewritten: what was committed stays in it, and whoever asks is told so.

use std::collections::BTreeSet;

use super::message::Reason;
use super::tombstones::texts_since_added;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::reading::stem_of;
use crate::files::FilesError;
use crate::files::Lock;
use crate::files::Place;
use crate::files::Replaced;
use crate::git::Id;
use crate::model::Stem;

/// A memory that is gone for good.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Purged {
    pub stem: Stem,
    /// The files that held it, with their paths below the store's folder.
    pub files: Vec<String>,
    /// The beginning of the commit's id; `None` if it is still to be made.
    pub commit: Option<String>,
    /// Whether older commits of the store still hold its text.
    pub is_in_history: bool,
}

/// How often it is looked for files that somebody writes meanwhile.
const MAX_LOOKS: usize = 8;

impl Engine {
    /// The memory called `id`, live or forgotten, that [`Engine::purge`] would take away.
    ///
    /// # Errors
    ///
    /// Fails if there is none, or if more than one is called so.
    pub fn resolve_for_purging(&self, id: &str) -> Result<Stem, EngineError> {
        Ok(self.find_for_purging(id)?.0)
    }

    /// As [`Engine::resolve_for_purging`], with the file's name below its place.
    fn find_for_purging(&self, id: &str) -> Result<(Stem, String), EngineError> {
        let not_found = |error: &EngineError| matches!(error, EngineError::NotFound(_));
        match (self.resolve(id), self.resolve_archived(id)) {
            (Ok(live), Ok(archived)) if !is_of(&live.0, &live.1, &archived.1) => {
                let is_path = live.0 == archived.0;
                let shown = |(stem, name): (Stem, String)| match is_path {
                    true => name,
                    false => stem.as_str().to_owned(),
                };
                Err(EngineError::Ambiguous {
                    id: id.to_owned(),
                    candidates: [live, archived].map(shown).to_vec(),
                })
            }
            (Ok(found), Ok(_)) => Ok(found),
            (Ok(found), Err(error)) | (Err(error), Ok(found)) if not_found(&error) => Ok(found),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    /// Takes every file of the memory called `id` away, live and forgotten, leaves word that it was
    /// purged, and commits that. Nothing else is committed with it: a text that is in no commit yet
    /// comes into none.
    ///
    /// # Errors
    ///
    /// As for [`Engine::resolve_for_purging`]; fails if files cannot be removed. Then it can be
    /// done again.
    pub fn purge(&self, id: &str) -> Result<Purged, EngineError> {
        self.check_writable()?;
        let (stem, name) = self.find_for_purging(id)?;
        // Nobody commits a half of it, and no text of it.
        let turn = match &self.git {
            None => None,
            Some(git) => Some((
                Lock::take(&self.state().join("sync.lock"), "the repository")?,
                git.user.as_str(),
            )),
        };
        let committed = self.committed_texts(&stem, &name)?;
        self.leave_tombstone(&stem, &committed)?;
        let names = self.remove_files(&stem, &name)?;
        self.leave_word("purge", stem.as_str());
        let mut purged = Purged {
            stem,
            files: names
                .iter()
                .map(|(place, name)| place.path_of(name))
                .collect(),
            commit: None,
            is_in_history: false,
        };
        if let Some((_lock, user)) = &turn {
            let stem = &purged.stem;
            let reason = Reason {
                subject: format!("Purge memory {} ({stem}.md)", stem.short()),
                trailers: Vec::new(),
            };
            let names: BTreeSet<String> = names.into_iter().map(|(_, name)| name).collect();
            purged.commit = self.commit_as(names, user, &reason)?;
            purged.is_in_history = match stem.is_canonical() {
                true => self.log(Some(stem.as_str()), 1).is_ok(),
                false => !committed.is_empty(),
            };
        }
        // The words of its text leave the index now, and not when there is more to do.
        self.snapshot()?;
        self.settle(true)?;
        Ok(purged)
    }

    /// The texts of the file `name` in the history, where its tombstone has to name them.
    fn committed_texts(&self, stem: &Stem, name: &str) -> Result<BTreeSet<Id>, EngineError> {
        if stem.is_canonical() || self.git.is_none() {
            return Ok(BTreeSet::new());
        }
        match self.history() {
            Ok(history) => {
                let path = Place::Files.path_of(name);
                texts_since_added(&history.repository, history.head, &path)
            }
            Err(EngineError::Past(_)) => Ok(BTreeSet::new()),
            Err(error) => Err(error),
        }
    }

    /// Removes every file of the memory `stem`, found as `name`; returns where they lay.
    fn remove_files(&self, stem: &Stem, name: &str) -> Result<Vec<(Place, String)>, EngineError> {
        let mut removed = Vec::new();
        for _ in 0..MAX_LOOKS {
            let mut is_there = false;
            for place in [Place::Files, Place::Archive] {
                for entry in self.store.list(place)?.entries {
                    if !is_of(stem, name, &entry.name) {
                        continue;
                    }
                    is_there = true;
                    let name = entry.name;
                    let replaced = match self.store.reader(place).read(&name, u64::MAX) {
                        Ok(seen) => {
                            let text = Id::of_text(&seen.bytes);
                            self.leave_tombstone(stem, &BTreeSet::from([text]))?;
                            self.store.remove(place, &name, &seen)
                        }
                        Err(error) => Err(error),
                    };
                    match replaced {
                        Err(FilesError::Missing { .. }) | Ok(Replaced::Stale) => continue,
                        Err(error) => return Err(error.into()),
                        Ok(Replaced::KeptOther) => tracing::warn!(
                            "somebody else changed {name} in the same moment; their text is kept as a conflict copy, which `memdir status` names"
                        ),
                        Ok(Replaced::Done) => {}
                    }
                    self.changed_with("purge", &name);
                    removed.push((place, name));
                }
            }
            if !is_there {
                return Ok(removed);
            }
        }
        Err(EngineError::Invalid(format!(
            "`{}` is written again faster than it can be removed",
            stem.short()
        )))
    }
}

/// Whether the file `other` is one of the memory `stem` that was found as `name`: an id is one
/// memory wherever it lies, of other names each folder may have one.
fn is_of(stem: &Stem, name: &str, other: &str) -> bool {
    match stem.is_canonical() {
        true => stem_of(other) == *stem,
        false => other == name,
    }
}
