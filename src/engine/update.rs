//! Changes a memory's file: single keys, the content, or the whole text by hand.

use super::Engine;
use super::EngineError;
use super::remember::check_details;
use super::screen::Screened;
use crate::engine::live::reading::parse;
use crate::engine::live::reading::stem_of;
use crate::files::FilesError;
use crate::files::Place;
use crate::files::Replaced;
use crate::files::Version;
use crate::format;
use crate::format::FormatError;
use crate::journal::TIER;
use crate::model::Change;
use crate::model::Memory;
use crate::model::Patch;
use crate::model::Stem;
use crate::model::Tier;
use crate::model::Timestamp;

/// A memory that was asked to change.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited {
    pub memory: Memory,
    /// Whether a byte is different now.
    pub changed: bool,
    /// The credentials that the change brought.
    pub screened: Screened,
}

/// The change that marks a memory as superseded by `stem`.
pub(super) fn superseded_by(stem: &Stem) -> Change {
    Change {
        superseded_by: Patch::Set(stem.as_str().to_owned()),
        ..Change::default()
    }
}

/// Why a memory that is there is written by what makes memories.
const REPLACED: &str = "replaced what was there";
/// How often a change is made anew because somebody else was faster.
const MAX_TRIES: usize = 16;

impl Engine {
    /// Makes `change` in the memory called `id`; only the lines of changed keys are touched.
    ///
    /// # Errors
    ///
    /// Fails if there is no such memory, if a value breaks the format's limits, or if somebody
    /// else changes the file in this moment: then both texts are kept.
    pub fn update(&self, id: &str, change: &Change) -> Result<Edited, EngineError> {
        self.update_as("update", id, change)
    }

    /// Lets the memory called `id` live without end, whatever it stated.
    ///
    /// # Errors
    ///
    /// As for [`Engine::update`].
    pub fn promote(&self, id: &str) -> Result<Edited, EngineError> {
        let change = Change {
            tier: Patch::Set(Tier::Long),
            expires: Patch::Clear,
            ..Change::default()
        };
        self.update_as("promote", id, &change)
    }

    /// As [`Engine::update`], with what it is done for.
    pub(super) fn update_as(
        &self,
        tool: &str,
        id: &str,
        change: &Change,
    ) -> Result<Edited, EngineError> {
        let change = self.with_stems(change)?;
        self.update_with(tool, id, |_| Ok(change.clone()))
    }

    /// As [`Engine::update`], where the topics `added` come behind those that the memory has, and
    /// the topics `removed` go, however they are capitalised. One that is there, or is not, is no
    /// error.
    ///
    /// # Errors
    ///
    /// As for [`Engine::update`].
    pub fn update_topics(
        &self,
        id: &str,
        change: &Change,
        added: &[String],
        removed: &[String],
    ) -> Result<Edited, EngineError> {
        let change = self.with_stems(change)?;
        self.update_with("update", id, |memory| {
            let is_in = |topics: &[String], topic: &str| {
                let topic = topic.to_lowercase();
                topics.iter().any(|other| other.to_lowercase() == topic)
            };
            let mut topics = memory.topics.clone();
            topics.retain(|topic| !is_in(removed, topic));
            for topic in added {
                if !is_in(&topics, topic) {
                    topics.push(topic.clone());
                }
            }
            let is_new = topics != memory.topics;
            Ok(Change {
                topics: is_new.then_some(topics),
                ..change.clone()
            })
        })
    }

    /// The change with the stems of the memories that it names by id.
    fn with_stems(&self, change: &Change) -> Result<Change, EngineError> {
        let mut change = change.clone();
        if let Patch::Set(ids) = &mut change.supersedes {
            for id in ids {
                *id = self.link_text(&self.resolve(id)?.1);
            }
        }
        Ok(change)
    }

    /// As [`Engine::update_as`], with a change that follows from the memory as it is: asked for
    /// again if somebody else was faster.
    pub(super) fn update_with(
        &self,
        tool: &str,
        id: &str,
        change: impl Fn(&Memory) -> Result<Change, EngineError>,
    ) -> Result<Edited, EngineError> {
        self.update_read(tool, id, || self.read(id), change)
    }

    /// As [`Engine::update_with`], for who knows where the memory lies: `read` says its file's
    /// name, and reads it.
    pub(super) fn update_read(
        &self,
        tool: &str,
        id: &str,
        read: impl Fn() -> Result<(String, Version), EngineError>,
        change: impl Fn(&Memory) -> Result<Change, EngineError>,
    ) -> Result<Edited, EngineError> {
        self.check_writable()?;
        for _ in 0..MAX_TRIES {
            let (name, version) = read()?;
            let memory = parse(&version.entry, &version.bytes);
            let (change, tool) = self.with_end_of_tier(&memory, change(&memory)?, tool);
            check_change(&memory, &change)?;
            let bytes = edited(&memory, &version.bytes, &change)?;
            let (bytes, screened) = self.screen(&name, Some(&version.bytes), bytes)?;
            if let Some(edited) = self.put(&name, &version, &bytes, tool)? {
                return Ok(Edited { screened, ..edited });
            }
        }
        Err(EngineError::Invalid(format!(
            "`{id}` changes faster than it can be written"
        )))
    }

    /// A change that states another tier than the memory is of, with the end that follows from that
    /// as of now, unless it states one; and the word for the record of it. By its age the memory might
    /// be over at once; raised, it keeps an end that is later.
    pub(super) fn with_end_of_tier<'a>(
        &self,
        memory: &Memory,
        mut change: Change,
        tool: &'a str,
    ) -> (Change, &'a str) {
        let Patch::Set(wanted) = change.tier else {
            return (change, tool);
        };
        let (state, _) = self.state_of(memory);
        if tool != "update" || (memory.tier == Some(wanted) && state.tier == Some(wanted)) {
            return (change, tool);
        }
        if change.expires.is_keep() {
            let end = self.end_of_tier(wanted);
            let is_raised = tier_rank(wanted) > state.tier.map_or(2, tier_rank);
            let is_kept =
                |end: &Timestamp| is_raised && state.expires.is_some_and(|known| known > end.utc());
            change.expires = match end {
                None if memory.expires.is_some() => Patch::Clear,
                None => Patch::Keep,
                Some(end) if is_kept(&end) => Patch::Keep,
                Some(end) => Patch::Set(end),
            };
        }
        (change, TIER)
    }

    /// The text of a memory for an editor: its file's name and bytes.
    ///
    /// # Errors
    ///
    /// Fails if there is no such memory.
    pub fn open_text(&self, id: &str) -> Result<(String, Version), EngineError> {
        self.check_writable()?;
        self.read(id)
    }

    /// Reads `bytes` as the memory at `name` would be read, for checking before saving.
    pub fn preview(&self, name: &str, bytes: &[u8]) -> Memory {
        format::parse(&stem_of(name), bytes, self.clock.now())
    }

    /// Saves an edited text over the version it was made from.
    ///
    /// # Errors
    ///
    /// As for [`Engine::update`].
    pub fn save_text(
        &self,
        name: &str,
        seen: &Version,
        bytes: &[u8],
    ) -> Result<Edited, EngineError> {
        self.check_writable()?;
        if bytes.contains(&0) && !seen.bytes.contains(&0) {
            let what = "the text holds a NUL (U+0000), which no memory can: take it out";
            return Err(EngineError::Invalid(what.to_owned()));
        }
        let (bytes, screened) = self.screen(name, Some(&seen.bytes), bytes.to_vec())?;
        if let Some(edited) = self.put(name, seen, &bytes, "edit")? {
            return Ok(Edited { screened, ..edited });
        }
        let copy = self.store.add_copy(name, &bytes)?;
        self.changed_with("edit", &copy);
        Err(EngineError::ChangedMeanwhile {
            id: stem_of(name).short().to_owned(),
            copy: self.store.path(Place::Files, &copy).display().to_string(),
        })
    }

    /// Writes `bytes` over the version `seen`; `None` if the file is another one by now.
    pub(super) fn put(
        &self,
        name: &str,
        seen: &Version,
        bytes: &[u8],
        tool: &str,
    ) -> Result<Option<Edited>, EngineError> {
        if bytes == seen.bytes {
            let memory = parse(&seen.entry, bytes);
            return Ok(Some(Edited {
                memory,
                changed: false,
                screened: Screened::default(),
            }));
        }
        let replaced = match self.replace_text(Place::Files, name, seen, bytes) {
            Err(FilesError::Missing { .. }) => {
                return Err(EngineError::NotFound(stem_of(name).as_str().to_owned()));
            }
            other => other?,
        };
        // What makes memories says when it wrote over one that was there.
        self.changed_because(tool, name, (tool == "remember").then_some(REPLACED));
        match replaced {
            Replaced::Done => Ok(Some(Edited {
                memory: self.preview(name, bytes),
                changed: true,
                screened: Screened::default(),
            })),
            Replaced::Stale => Ok(None),
            Replaced::KeptOther => Err(EngineError::KeptOther {
                id: stem_of(name).short().to_owned(),
            }),
        }
    }
}

/// Which of two tiers lives longer; a memory of no tier lives as long as the longest.
pub fn tier_rank(tier: Tier) -> u8 {
    match tier {
        Tier::Short => 0,
        Tier::Mid => 1,
        Tier::Long => 2,
    }
}

/// The bytes of `memory` with `change` made. What has no frontmatter gets one, if anything changes.
pub(super) fn edited(
    memory: &Memory,
    bytes: &[u8],
    change: &Change,
) -> Result<Vec<u8>, FormatError> {
    let framed = format::with_frontmatter(bytes, memory);
    let edited = format::edit(&framed, change)?;
    Ok(match edited == *framed {
        true => bytes.to_vec(),
        false => edited,
    })
}

/// Whether what a change sets goes together with its kind; what a file holds already is its own.
pub(super) fn check_change(memory: &Memory, change: &Change) -> Result<(), EngineError> {
    if change.kind.is_keep() && change.metadata.is_keep() {
        return Ok(());
    }
    let kind = match change.kind {
        Patch::Keep => memory.kind,
        Patch::Set(kind) => Some(kind),
        Patch::Clear => None,
    };
    match &change.metadata {
        Patch::Keep => check_details(kind, &memory.metadata),
        Patch::Set(metadata) => check_details(kind, metadata),
        Patch::Clear => Ok(()),
    }
}
