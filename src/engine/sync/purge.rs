//! Takes memories away for good, and remembers that they were: nothing brings them back.
//!
//! Promises: a word of it is in the store before the first file goes, so that a purge which was
//! interrupted can be done again; the word never holds any of the text. The history is not
//! rewritten: what was committed stays in it, and whoever asks is told so.

use std::collections::BTreeSet;

use super::message::Reason;
use crate::engine::Engine;
use crate::engine::EngineError;
use crate::engine::reading::stem_of;
use crate::files::FilesError;
use crate::files::Lock;
use crate::files::Place;
use crate::files::Replaced;
use crate::files::tombstone_of;
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
        let not_found = |error: &EngineError| matches!(error, EngineError::NotFound(_));
        match (self.resolve(id), self.resolve_archived(id)) {
            (Ok((live, _)), Ok((archived, _))) if live != archived => Err(EngineError::Ambiguous {
                id: id.to_owned(),
                candidates: [live, archived]
                    .iter()
                    .map(|stem| stem.as_str().to_owned())
                    .collect(),
            }),
            (Ok((stem, _)), Ok(_)) => Ok(stem),
            (Ok((stem, _)), Err(error)) | (Err(error), Ok((stem, _))) if not_found(&error) => {
                Ok(stem)
            }
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
        let stem = self.resolve_for_purging(id)?;
        // Nobody commits a half of it, and no text of it.
        let turn = match &self.git {
            None => None,
            Some(git) => Some((
                Lock::take(&self.state().join("sync.lock"), "the repository")?,
                git.user.as_str(),
            )),
        };
        self.leave_tombstone(&stem)?;
        let names = self.remove_files(&stem)?;
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
            purged.is_in_history = self.log(Some(stem.as_str()), 1).is_ok();
        }
        // The words of its text leave the index now, and not when there is more to do.
        self.snapshot()?;
        self.settle(true)?;
        Ok(purged)
    }

    /// Whether the memory `stem` was purged, here or on another machine.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub(in crate::engine) fn is_purged(&self, stem: &Stem) -> Result<bool, EngineError> {
        Ok(self.store.purged()?.contains(stem.as_str()))
    }

    fn leave_tombstone(&self, stem: &Stem) -> Result<(), EngineError> {
        if self.is_purged(stem)? {
            return Ok(());
        }
        let now = self.clock.now().format("%Y-%m-%dT%H:%M:%SZ");
        let word = format!("{now} purged\n");
        let path = tombstone_of(stem.as_str());
        // If somebody else has just written it, it says the same.
        self.store.put_beside(&path, None, Some(word.as_bytes()))?;
        Ok(())
    }

    /// Removes every file of `stem`; returns where they lay.
    fn remove_files(&self, stem: &Stem) -> Result<Vec<(Place, String)>, EngineError> {
        let mut removed = Vec::new();
        for _ in 0..MAX_LOOKS {
            let mut is_there = false;
            for place in [Place::Files, Place::Archive] {
                for entry in self.store.list(place)?.entries {
                    if stem_of(&entry.name) != *stem {
                        continue;
                    }
                    is_there = true;
                    let name = entry.name;
                    let replaced = match self.store.reader(place).read(&name, u64::MAX) {
                        Ok(seen) => self.store.remove(place, &name, &seen),
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
