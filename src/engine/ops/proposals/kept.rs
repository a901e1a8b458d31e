//! Proposals as files: `proposals/STEM.md`, and the decisions about them in `proposals/decided.txt`.
//!
//! A proposal is written like a memory, so that people read it, and an editor changes it, in the same way; its
//! folder keeps it from being one. A decision is a digest without a text: what was dropped is gone.

use std::collections::HashSet;

use crate::engine::error::EngineError;
use crate::engine::parts::Engine;
use crate::engine::texts::{parse, stem_of};
use crate::files::{FilesError, PROPOSALS, Replaced, Version};
use crate::format;
use crate::learning::CandidateKind;
use crate::model::{Handle, Kind, Memory, MetaValue, NewMemory, Stem};

/// Metadata key of the passage from which a memory was learned, as `recall` reads it: `STEM:LINE` or
/// `STEM:FIRST-LAST`.
pub(super) const LEARNED_FROM: &str = "learned_from";
/// Metadata keys of a proposal: its sort, its rule, the digest of its text.
pub(super) const SORT: &str = "proposal";
pub(super) const RULE: &str = "rule";
pub(super) const DIGEST: &str = "digest";
/// Metadata key of its place among the candidates of its talk.
pub(super) const NUMBER: &str = "number";

/// Name of the file with decisions.
const DECIDED: &str = "decided.txt";
/// Word of a line that names a session as it was when a model was asked about it.
const ASKED: &str = "asked";
/// Maximum number of tries to write a file that another process writes.
const MAX_TRIES: usize = 16;

/// A candidate that waits for a decision.
#[derive(Debug, Clone, PartialEq)]
pub struct Proposal {
    /// The memory that it would be.
    pub memory: Memory,
    /// Its sort.
    pub kind: CandidateKind,
    /// Estimated probability that it is worth keeping, 0–1.
    pub confidence: f64,
    /// Passage that it is from, as `recall` reads it: `STEM:LINE` or `STEM:FIRST-LAST`.
    pub passage: String,
    /// Name of the rule that found it.
    pub rule: String,
    /// Its place among the candidates of its talk.
    pub(super) number: i64,
    /// Digest of the text that was found, whatever its file says now.
    pub(super) digest: u128,
}

impl Proposal {
    /// Returns its id, as people say it.
    pub fn id(&self) -> &str {
        self.memory.stem.short()
    }

    /// Returns the stem of its talk.
    pub fn talk(&self) -> &str {
        self.passage
            .rsplit_once(':')
            .map_or(&self.passage, |(talk, _)| talk)
    }

    /// Reads a proposal; `None` if the file is none.
    pub(super) fn of(memory: Memory) -> Option<Proposal> {
        let text = |key: &str| memory.metadata_text(key);
        let number = memory.metadata.iter().find_map(|(key, value)| match value {
            MetaValue::Int(number) if key == NUMBER => Some(*number),
            _ => None,
        });
        Some(Proposal {
            kind: CandidateKind::named(text(SORT)?)?,
            confidence: memory.confidence.unwrap_or_default(),
            passage: text(LEARNED_FROM)?.to_owned(),
            rule: text(RULE).unwrap_or_default().to_owned(),
            number: number.unwrap_or_default(),
            digest: u128::from_str_radix(text(DIGEST)?, 16).ok()?,
            memory,
        })
    }
}

/// Returns the digest of a text, whatever its case, blanks and marks.
pub(super) fn text_digest(text: &str) -> u128 {
    let lower = text.to_lowercase();
    let words = lower.split(|letter: char| !letter.is_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    crate::files::digest(words.join(" ").as_bytes())
}

/// Returns the digest of a text in one talk.
pub(super) fn passage_digest(talk: &str, text: u128) -> u128 {
    crate::files::digest(format!("{talk}\0{text:032x}").as_bytes())
}

/// Returns the stem of a proposal: the time of its talk, and a handle that follows from its passage.
pub(super) fn stem_for(talk: &Memory, text: u128) -> Stem {
    let digest = passage_digest(talk.stem.as_str(), text);
    let hex = format!("{digest:032x}");
    let handles = (0..hex.len() - 8).filter_map(|at| Handle::parse(&hex[at..at + 8]));
    let is_plain = |handle: &Handle| handle.as_str().contains(['a', 'c', 'd', 'f']);
    let handle = handles
        .into_iter()
        .find(is_plain)
        .unwrap_or_else(Handle::draw);
    Stem::new(talk.timestamp.utc(), handle)
}

/// Returns a new memory that says what the memory of a proposal says.
pub(super) fn as_new(memory: &Memory) -> NewMemory {
    NewMemory {
        timestamp: Some(memory.timestamp.clone()),
        agent: memory.agent.clone(),
        user: memory.user.clone(),
        topics: memory.topics.clone(),
        title: memory.title.clone(),
        kind: memory.kind.or(Some(Kind::Semantic)),
        namespace: memory.namespace.clone(),
        source: memory.source.clone(),
        status: memory.status.clone(),
        content: memory.content.clone(),
        ..NewMemory::default()
    }
}

/// Returns a text of the metadata.
pub(super) fn stated(key: &str, text: String) -> (String, MetaValue) {
    (key.to_owned(), MetaValue::Text(text))
}

/// Reads all proposals, decided or not, in the order of their names.
pub(super) fn read_all(engine: &Engine) -> Result<Vec<Proposal>, EngineError> {
    let mut names = engine.live.store.names_beside(PROPOSALS)?;
    names.retain(|name| name.ends_with(".md"));
    names.sort_unstable();
    let mut proposals = Vec::with_capacity(names.len());
    for name in names {
        let read = engine.live.store.version_at(&path_of(&name));
        let version = match read {
            Ok(Some(version)) => version,
            // Decided by another process meanwhile.
            Ok(None) => continue,
            Err(error) => {
                tracing::warn!("{}: {error}; it is passed over", path_of(&name));
                continue;
            }
        };
        match Proposal::of(parse(&version.entry, &version.bytes)) {
            Some(proposal) => proposals.push(proposal),
            None => tracing::warn!("{} is no proposal; it is passed over", path_of(&name)),
        }
    }
    Ok(proposals)
}

/// Writes a new proposal; returns whether there was none of this name.
pub(super) fn add(engine: &Engine, stem: &Stem, memory: &NewMemory) -> Result<bool, EngineError> {
    let timestamp = memory
        .timestamp
        .clone()
        .expect("a proposal has the time of its talk");
    let bytes = format::render(memory, stem, &timestamp)?;
    let path = path_of(&format!("{stem}.md"));
    let written = engine
        .writer
        .put_beside(&path, None, Some(bytes.as_bytes()))?;
    Ok(written == Replaced::Done)
}

/// Removes the file of a proposal.
pub(super) fn remove(engine: &Engine, stem: &Stem) -> Result<(), EngineError> {
    let path = path_of(&format!("{stem}.md"));
    changed(engine, &path, |_| None)
}

/// Makes git pass over the folder. Nothing of memdir's depends on it.
pub(super) fn keep_out_of_git(engine: &Engine) {
    let path = path_of(".gitignore");
    let text = b"# Proposals stay on this machine.\n*\n";
    let known = engine.live.store.version_at(&path);
    if matches!(known, Ok(None))
        && let Err(error) = engine.writer.put_beside(&path, None, Some(text))
    {
        tracing::warn!("cannot write a .gitignore for proposals: {error}");
    }
}

/// A decision about a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decided {
    /// It became a memory; its text is not proposed again.
    Accepted,
    /// It is not proposed again from its talk.
    Dropped,
    /// Its text is never proposed again.
    Never,
}

impl Decided {
    const NAMES: [(&'static str, Decided); 3] = [
        ("accepted", Decided::Accepted),
        ("dropped", Decided::Dropped),
        ("never", Decided::Never),
    ];

    fn as_str(self) -> &'static str {
        let mut names = Decided::NAMES.into_iter();
        let named = names.find_map(|(name, decided)| (decided == self).then_some(name));
        named.expect("every decision has a name")
    }
}

/// Decisions so far.
#[derive(Debug, Default)]
pub(super) struct Decisions {
    /// Digests of texts that are not proposed again.
    texts: HashSet<u128>,
    /// Digests of texts in their talks that are not proposed again.
    passages: HashSet<u128>,
    /// Digests of sessions that a model was asked about.
    asked: HashSet<u128>,
}

impl Decisions {
    /// Reads the decisions.
    pub(super) fn read(engine: &Engine) -> Result<Decisions, EngineError> {
        let mut decisions = Decisions::default();
        let Some(version) = engine.live.store.version_at(&path_of(DECIDED))? else {
            return Ok(decisions);
        };
        for line in String::from_utf8_lossy(&version.bytes).lines() {
            let mut words = line.split(' ');
            let (Some(word), Some(digest)) = (words.next(), words.next()) else {
                continue;
            };
            let Ok(digest) = u128::from_str_radix(digest, 16) else {
                continue;
            };
            if word == ASKED {
                decisions.asked.insert(digest);
            }
            let decided = Decided::NAMES.into_iter().find(|(name, _)| *name == word);
            match decided.map(|(_, decided)| decided) {
                Some(Decided::Dropped) => drop(decisions.passages.insert(digest)),
                Some(Decided::Accepted | Decided::Never) => drop(decisions.texts.insert(digest)),
                None => {}
            }
        }
        Ok(decisions)
    }

    /// Returns whether a text was decided about, in `talk` or everywhere.
    pub(super) fn hold(&self, talk: &str, text: u128) -> bool {
        self.texts.contains(&text) || self.passages.contains(&passage_digest(talk, text))
    }

    /// Returns whether a model was asked about a session as it is.
    pub(super) fn hold_asked(&self, session: u128) -> bool {
        self.asked.contains(&session)
    }
}

/// Notes a decision; when this returns, it is on the disk.
pub(super) fn note(
    engine: &Engine,
    proposal: &Proposal,
    decided: Decided,
) -> Result<(), EngineError> {
    let digest = match decided {
        Decided::Dropped => passage_digest(proposal.talk(), proposal.digest),
        Decided::Accepted | Decided::Never => proposal.digest,
    };
    note_line(engine, decided.as_str(), digest)
}

/// Notes that a model was asked about a session.
pub(super) fn note_asked(engine: &Engine, session: u128) -> Result<(), EngineError> {
    keep_out_of_git(engine);
    note_line(engine, ASKED, session)
}

fn note_line(engine: &Engine, word: &str, digest: u128) -> Result<(), EngineError> {
    let day = engine.live.clock.now().format("%Y-%m-%d");
    let line = format!("{word} {digest:032x} {day}\n");
    changed(engine, &path_of(DECIDED), |version| {
        let mut bytes = version.map_or_else(Vec::new, |version| version.bytes.clone());
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line.as_bytes());
        Some(bytes)
    })
}

/// Writes what `change` makes of a file of the folder; `None` removes it.
fn changed(
    engine: &Engine,
    path: &str,
    change: impl Fn(Option<&Version>) -> Option<Vec<u8>>,
) -> Result<(), EngineError> {
    for _ in 0..MAX_TRIES {
        let seen = engine.live.store.version_at(path)?;
        let bytes = change(seen.as_ref());
        match engine
            .writer
            .put_beside(path, seen.as_ref(), bytes.as_deref())
        {
            Ok(Replaced::Stale) | Err(FilesError::Missing { .. }) => {}
            other => return Ok(other.map(drop)?),
        }
    }
    Err(EngineError::Invalid(format!(
        "`{path}` changes faster than it can be written"
    )))
}

/// Returns the path of a file of the folder below the store's.
fn path_of(name: &str) -> String {
    format!("{PROPOSALS}/{name}")
}

/// Returns the stem that a proposal is called by: `id` is its handle or its stem.
pub(super) fn is_called(proposal: &Proposal, id: &str) -> bool {
    let id = stem_of(id);
    id.as_str() == proposal.id() || id == proposal.memory.stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_whatever_its_case_and_marks() {
        let digest = text_digest("No ground floor, please.");
        assert_eq!(digest, text_digest("no  ground floor please"));
        assert_ne!(digest, text_digest("no ground floors please"));
    }
}
