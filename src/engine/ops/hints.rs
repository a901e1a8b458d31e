//! Finds the memories that a new one may contradict, and one with the same text.
//!
//! Promises: it never prevents a write, and costs little: a few memories that share
//! the rarest words are read and compared, in a view of the store that may be a moment old, with
//! the latest writes of this process. A contradiction within a long text is not found.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::live::{current_snapshot, rows, usage};
use crate::engine::locked::locked;
use crate::engine::parts::Engine;
use crate::engine::texts::is_called;
use crate::engine::write::recent::{MANY_UNSEEN, RECENT, Written};
use crate::files::Place;
use crate::index::{Overlay, Snapshot};
use crate::lifecycle::{Claims, Evidence, WritePolicy};
use crate::model::{Filter, Memory, Stem, Talks};
use crate::secrets;

/// A memory that a new one may contradict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradicted {
    /// Stem of the older memory.
    pub stem: Stem,
    /// Headline of the older memory.
    pub headline: String,
    /// Statements that contradict each other.
    pub evidence: Evidence,
}

/// Hints about a memory that was just written.
#[derive(Default)]
pub(in crate::engine) struct Noticed {
    /// Memory of the same namespace with the same text, apart from white space.
    pub same_text: Option<Stem>,
    /// Memories that it may contradict.
    pub contradicted: Vec<Contradicted>,
}

/// Number of words used to find memories that may be contradicted.
const LOOKED_FOR: usize = 8;

/// Number of memories that are read and compared.
const COMPARED: usize = 6;

/// Number of memories that are read to find one of the same text.
const SAME: usize = 2;

/// Number of words taken from a text without claims.
const MOST_WORDS: usize = 200;

/// Maximum number of hints for one memory.
const MOST_HINTS: usize = 2;

/// Maximum age of a view. A new view costs more than all other steps; until then it lacks the
/// latest writes of other processes.
const VIEW_LASTS: Duration = Duration::from_secs(2);

/// Number of files from which no file is read for a hint where there is no index.
const MANY_FILES: usize = 256;

/// Returns the evidence that the later of two memories contradicts the earlier one.
pub fn contradiction_between(one: &Memory, other: &Memory) -> Option<Evidence> {
    let (older, newer) = match one.timestamp.utc() <= other.timestamp.utc() {
        true => (one, other),
        false => (other, one),
    };
    crate::lifecycle::contradiction(older, newer).map(redacted)
}

/// Returns the hints that `policy` wants about the memory in the file `name`, which was just written.
pub(in crate::engine) fn notice(
    engine: &Engine,
    name: &str,
    memory: &Memory,
    policy: &WritePolicy,
) -> Noticed {
    if !policy.contradictions && !policy.names_same_text {
        return Noticed::default();
    }
    let claims = Claims::of(memory);
    let text = text_key(&memory.content);
    let mut noticed = compared(engine, Some(name), memory, &claims, text);
    let mut recent = locked(&engine.writer.recent);
    if recent.written.len() == RECENT {
        recent.written.pop_front();
    }
    recent.written.push_back(Written {
        name: name.to_owned(),
        claims,
        text,
    });
    if !policy.contradictions {
        noticed.contradicted.clear();
    }
    noticed.same_text = noticed.same_text.filter(|_| policy.names_same_text);
    noticed
}

/// Returns the memories that `memory`, which is not written, may contradict.
pub(in crate::engine) fn contradicted_by_unwritten(
    engine: &Engine,
    memory: &Memory,
) -> Vec<Contradicted> {
    let (claims, text) = (Claims::of(memory), text_key(&memory.content));
    compared(engine, None, memory, &claims, text).contradicted
}

/// Compares a memory with those of its namespace that share the rarest words; `name` is that of its own file.
fn compared(
    engine: &Engine,
    name: Option<&str>,
    memory: &Memory,
    claims: &Claims,
    text: u128,
) -> Noticed {
    let mut noticed = Noticed::default();
    let mut words = claims.subject_words(LOOKED_FOR);
    if words.is_empty() {
        words = longest_words(&memory.content);
    }
    let mut names = recent_like(engine, claims, text);
    // One with the same text has all of its words, so it is among the first.
    let count = if claims.says_nothing() {
        SAME
    } else {
        COMPARED
    };
    names.extend(sharing_rare_words(engine, &words, memory, count));
    names.retain(|other| Some(other.as_str()) != name);
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let reader = engine.live.store.reader(Place::Files);
    rows::read_ahead(&engine.live, reader.as_ref(), &all);
    for other in names {
        let Some(other) = rows::read_memory(&engine.live, &other) else {
            continue;
        };
        // A memory that it links to or supersedes needs no hint.
        let known = memory.links.iter().map(|link| &link.to);
        let mut known = known.chain(&memory.supersedes);
        if other.superseded_by.is_some() || known.any(|id| is_called(&other.stem, id)) {
            continue;
        }
        let is_near = other.namespace_or_global() == memory.namespace_or_global();
        if is_near && is_same_text(&other.content, &memory.content) {
            noticed.same_text.get_or_insert(other.stem);
        } else if !claims.says_nothing()
            && !noticed.has_hinted_at(&other.stem)
            && let Some(evidence) = Claims::of(&other).contradicted_by(claims)
        {
            noticed.contradicted.push(Contradicted {
                headline: other.headline().to_owned(),
                stem: other.stem,
                evidence: redacted(evidence),
            });
        }
    }
    noticed
}

/// Returns memories that this process wrote last and that are contradicted or have the same text.
fn recent_like(engine: &Engine, claims: &Claims, text: u128) -> Vec<String> {
    let recent = locked(&engine.writer.recent);
    let like = recent.written.iter().rev();
    let like = like.filter(|known| {
        let known_claims = &known.claims;
        known.text == text
            || known_claims.may_contradict(claims) && known_claims.contradicted_by(claims).is_some()
    });
    like.map(|known| known.name.clone())
        .take(COMPARED)
        .collect()
}

/// Returns the current memories of the namespace that share most of `words`; none on an error.
fn sharing_rare_words(
    engine: &Engine,
    words: &[String],
    memory: &Memory,
    count: usize,
) -> Vec<String> {
    let Some(snapshot) = recent_view(engine) else {
        return Vec::new();
    };
    let filter = Filter {
        namespaces: vec![memory.namespace_or_global().to_owned()],
        talks: Talks::Nowhere,
        ..Filter::default()
    };
    let text = words.join(" ");
    if text.is_empty() {
        return Vec::new();
    }
    let limit = count + 1; // Itself may be among them.
    let found = usage::at_once(&engine.live, |moment| {
        let texts = |name: &str| rows::read_memory(&engine.live, name);
        snapshot.sharing_rare(&text, &filter, moment, limit, &texts)
    });
    found.unwrap_or_default()
}

/// Returns a view of the store that lacks at most the latest writes of this process; `None` where
/// many files would have to be read first.
fn recent_view(engine: &Engine) -> Option<Arc<dyn Snapshot>> {
    if let Some(committed) = committed_beside_own(engine) {
        return Some(committed);
    }
    let unseen = locked(&engine.live.own_changes).len();
    if engine
        .live
        .try_freshness()
        .is_some_and(|now| now.behind > 0)
    {
        return None;
    }
    let viewed = locked(&engine.writer.recent).viewed;
    let is_young = viewed.is_some_and(|viewed| viewed.elapsed() < VIEW_LASTS);
    match engine.live.latest() {
        Some(latest) if is_young && unseen < MANY_UNSEEN => return Some(latest),
        None if !is_indexed(engine) => return None,
        _ => {}
    }
    let view = current_snapshot::snapshot(&engine.live).ok()?;
    let mut recent = locked(&engine.writer.recent);
    recent.viewed = Some(Instant::now());
    Some(view)
}

/// Returns the committed snapshot if only files that this process wrote last are pending: these are
/// in memory, so no segment has to be made of them.
fn committed_beside_own(engine: &Engine) -> Option<Arc<dyn Snapshot>> {
    let freshness = engine.live.try_freshness()?;
    let recent = locked(&engine.writer.recent);
    let is_own = |name: &String| recent.written.iter().any(|own| own.name == *name);
    let is_all_own = freshness.behind == 0 && freshness.overlay.files.keys().all(is_own);
    let committed = freshness.committed.as_ref();
    committed.filter(|_| is_all_own).map(Arc::clone)
}

/// Whether there is an index, or so few files that reading them is cheap.
fn is_indexed(engine: &Engine) -> bool {
    let committed = engine.live.index.snapshot(&Overlay::default());
    committed.is_ok_and(|committed| !committed.is_empty())
        || engine
            .live
            .store
            .list(Place::Files)
            .is_ok_and(|listing| listing.entries.len() < MANY_FILES)
}

impl Noticed {
    /// Whether this memory is listed already, or the maximum is reached.
    fn has_hinted_at(&self, stem: &Stem) -> bool {
        let mut told = self.contradicted.iter();
        self.contradicted.len() == MOST_HINTS || told.any(|known| known.stem == *stem)
    }
}

/// Returns a hash of a text that ignores white space.
fn text_key(text: &str) -> u128 {
    let words: Vec<&str> = text.split_whitespace().collect();
    crate::files::digest(words.join(" ").as_bytes())
}

/// Returns whether two texts differ in white space only.
fn is_same_text(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// Returns the longest words of a text without claims. Long words are usually rare.
fn longest_words(text: &str) -> Vec<String> {
    let mut words: Vec<&str> = text.split_whitespace().take(MOST_WORDS).collect();
    words.sort_by_key(|word| std::cmp::Reverse(word.chars().count()));
    words.dedup();
    let words = words.into_iter().take(LOOKED_FOR);
    words.map(str::to_owned).collect()
}

/// Redacts credentials in the evidence, which is shown to callers.
fn redacted(evidence: Evidence) -> Evidence {
    Evidence {
        older: secrets::redact(&evidence.older),
        newer: secrets::redact(&evidence.newer),
        ..evidence
    }
}
