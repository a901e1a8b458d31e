//! Embeds passages, group by group, and stores their vectors.
//!
//! Promises: of the passages that are read ahead, equal texts are embedded once; vectors are stored
//! every few seconds, so that a process that ends loses no more than these; a passage whose file
//! was changed since is left out. A model is called without holding any lock; only storing vectors
//! takes the index's writer lock.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use crate::embed::{EmbedError, Embedder, Embedding, Priority};
use crate::engine::error::EngineError;
use crate::engine::live::turns::{memories_of, parse_row};
use crate::engine::meaning::models::Meaning;
use crate::engine::meaning::{outage, sharing};
use crate::engine::texts::parse;
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::index::{Unembedded, passage};
use crate::model::Memory;
use crate::secrets;
use crate::vectors::{VectorEntry, VectorKey, token_code};

/// Maximum number of passages that are read ahead.
pub(in crate::engine::meaning) const LOOK_AHEAD: usize = 1_024;

/// Size of their texts from which on no more are read ahead.
const LOOK_AHEAD_BYTES: usize = 8 << 20;

/// Number of passages that a host gets in one call.
const HOSTED: usize = 64;

/// Number of pieces of texts in the first calls of a local model, and in all calls of a slow one.
/// One passage is always sent whole.
const LEAST_PIECES: usize = 16;

/// Time that a call of a local model should take: long against what it costs to begin, short enough
/// to store its vectors every few seconds.
const CALL: Duration = Duration::from_secs(1);

/// Interval at which vectors are stored.
const KEPT_EVERY: Duration = Duration::from_secs(2);

/// Makes the vectors of `missing` and stores them; returns the number of those whose files still
/// hold the text. After each call of the model `go_on` gets the number of those that are done, and
/// ends it by returning false. Computes at `priority`, but for the first call: it loads the model,
/// and questions wait for that.
///
/// # Errors
///
/// Fails if the model cannot be used, or if the vectors cannot be stored.
pub(in crate::engine::meaning) fn embed_passages(
    meaning: &Meaning,
    embedder: &dyn Embedder,
    priority: Priority,
    missing: &[Unembedded],
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<usize, EngineError> {
    let mut made = Made::new(meaning, embedder);
    let mut size = LEAST_PIECES;
    let mut priority_now = Priority::Usual;
    let mut read = 0;
    while read < missing.len() {
        let (passages, ahead) = read_ahead(meaning, embedder, &missing[read..]);
        let pieces: Vec<Vec<&str>> = passages
            .iter()
            .map(|one| passage::pieces(&one.text))
            .collect();
        let mut repeated = Repeated::of(&pieces);
        let mut next = 0;
        while next < passages.len() {
            let end = match embedder.host() {
                Some(_) => passages.len().min(next + HOSTED),
                None => end_of_group(&pieces, next, size),
            };
            let begun = Instant::now();
            let vectors = priority_now.run(|| repeated.embed(embedder, &pieces[next..end]));
            outage::heard_of(meaning, embedder, vectors.as_ref().err());
            match vectors {
                Ok(vectors) => made.add(&passages[next..end], vectors)?,
                Err(error) => {
                    made.keep()?;
                    return Err(EngineError::Embed(error));
                }
            }
            size = match begun.elapsed() {
                took if took < CALL / 2 => size.saturating_mul(2),
                took if took > CALL => LEAST_PIECES.max(size / 2),
                _ => size,
            };
            priority_now = priority;
            next = end;
            if !go_on(read + next) {
                return made.keep();
            }
        }
        read += ahead;
    }
    made.keep()
}

/// Maximum number of tokens that are kept of a memory, for late interaction: 8 KB.
const MOST_TOKENS: usize = 128;

/// A passage to be embedded.
struct Passage {
    key: VectorKey,
    text: String,
    /// Whether it is a memory's own, and not a window.
    is_own: bool,
}

impl Passage {
    /// Returns what is kept of the passage with these pieces. Tokens are those of the first one: a long
    /// memory has many, and words far apart in it say little together.
    fn entry(&self, pieces: Vec<Embedding>) -> VectorEntry {
        let is_short = self.is_own && passage::is_short(&self.text);
        let tokens = pieces.first().filter(|_| is_short);
        let tokens = tokens.map_or(&[][..], |piece| &piece.tokens);
        let codes = tokens.iter().take(MOST_TOKENS);
        VectorEntry {
            key: self.key,
            tokens: codes.flat_map(|token| token_code(&token.state)).collect(),
            pieces: pieces.into_iter().map(|piece| piece.vector).collect(),
        }
    }
}

/// Vectors that were made, some of which are not stored yet.
struct Made<'a> {
    meaning: &'a Meaning,
    embedder: &'a dyn Embedder,
    vectors: Vec<VectorEntry>,
    kept_at: Instant,
    count: usize,
}

impl<'a> Made<'a> {
    fn new(meaning: &'a Meaning, embedder: &'a dyn Embedder) -> Made<'a> {
        Made {
            meaning,
            embedder,
            vectors: Vec::new(),
            kept_at: Instant::now(),
            count: 0,
        }
    }

    /// Adds the vectors of some passages, and stores all of them from time to time.
    fn add(
        &mut self,
        passages: &[Passage],
        embedded: Vec<Vec<Embedding>>,
    ) -> Result<(), EngineError> {
        let entries = passages.iter().zip(embedded);
        self.vectors
            .extend(entries.map(|(passage, pieces)| passage.entry(pieces)));
        self.count += passages.len();
        if self.kept_at.elapsed() > KEPT_EVERY {
            self.keep()?;
        }
        Ok(())
    }

    /// Stores those that are not stored yet; returns the number of passages.
    fn keep(&mut self) -> Result<usize, EngineError> {
        if !self.vectors.is_empty() {
            let live = &self.meaning.live;
            let vectors = std::mem::take(&mut self.vectors);
            sharing::keep(self.meaning, self.embedder.id(), &vectors);
            let _lock = live.lock_index()?;
            live.index.keep_vectors(self.embedder.id(), vectors)?;
        }
        self.kept_at = Instant::now();
        Ok(self.count)
    }
}

/// Texts that stand in several places of what was read ahead, each with its vectors once it has
/// been embedded.
struct Repeated<'a>(HashMap<&'a str, Option<Vec<Embedding>>>);

impl<'a> Repeated<'a> {
    fn of(pieces: &[Vec<&'a str>]) -> Repeated<'a> {
        let mut known = HashSet::new();
        let texts = pieces.iter().flatten().copied();
        let again = texts.filter(|text| !known.insert(*text));
        Repeated(again.map(|text| (text, None)).collect())
    }

    /// Returns the vectors of each of some passages, given in pieces.
    fn embed(
        &mut self,
        embedder: &dyn Embedder,
        pieces: &[Vec<&'a str>],
    ) -> Result<Vec<Vec<Embedding>>, EmbedError> {
        let mut asked = HashSet::new();
        let texts = pieces.iter().flatten().copied();
        let is_new = |text: &&'a str| match self.0.get(text) {
            None => true,
            Some(None) => asked.insert(*text),
            Some(Some(_)) => false,
        };
        let texts: Vec<&str> = texts.filter(is_new).collect();
        let mut single = Vec::new();
        for (text, vectors) in texts.iter().zip(embedder.passages_in_tokens(&texts)?) {
            match self.0.get_mut(text) {
                Some(repeated) => *repeated = Some(vectors),
                None => single.push(vectors),
            }
        }
        let mut single = single.into_iter();
        let mut of_piece = |text: &&'a str| match self.0.get(text) {
            Some(vectors) => vectors.clone().unwrap_or_default(),
            None => single.next().unwrap_or_default(),
        };
        let of_passage = |pieces: &Vec<&'a str>| pieces.iter().flat_map(&mut of_piece).collect();
        Ok(pieces.iter().map(of_passage).collect())
    }
}

/// Returns the text as it is embedded: credentials are redacted for a host.
pub(in crate::engine) fn sent(embedder: &dyn Embedder, text: String) -> String {
    match embedder.host() {
        Some(_) => secrets::redact(&text),
        None => text,
    }
}

/// Returns the texts to embed of the first of `missing`, with the keys of their vectors, and how
/// many these are. A text that was changed since is left out; it has another key.
fn read_ahead(
    meaning: &Meaning,
    embedder: &dyn Embedder,
    missing: &[Unembedded],
) -> (Vec<Passage>, usize) {
    let reader = meaning.live.store.reader(Place::Files);
    let read_file = |name: &str| {
        let version = reader.read(name, MAX_INDEXED_BYTES as u64).ok()?;
        Some(parse(&version.entry, &version.bytes))
    };
    let mut talks: HashMap<&str, Vec<Memory>> = HashMap::new();
    let mut memories: HashMap<&str, Option<(Memory, VectorKey)>> = HashMap::new();
    let mut known = HashSet::new();
    let mut passages = Vec::new();
    let (mut read, mut bytes) = (0, 0);
    for one in missing.iter().take(LOOK_AHEAD) {
        for name in one.previous.iter().chain([&one.name]) {
            memories.entry(name).or_insert_with(|| {
                let memory = match parse_row(name) {
                    None => read_file(name)?,
                    Some((talk, number)) => {
                        let turns =
                            || read_file(talk).map_or_else(Vec::new, |talk| memories_of(&talk));
                        talks.entry(talk).or_insert_with(turns).get(number)?.clone()
                    }
                };
                let key = passage::own_key(&passage::own(&memory));
                Some((memory, key))
            });
        }
        let text = passage_of(one, &memories).filter(|_| known.insert(one.key));
        if let Some(text) = text {
            bytes += text.len();
            passages.push(Passage {
                key: one.key,
                text: sent(embedder, text),
                is_own: one.previous.is_none(),
            });
        }
        read += 1;
        if bytes > LOOK_AHEAD_BYTES {
            break;
        }
    }
    (passages, read)
}

/// Returns the text of a passage, if it still has the same key.
fn passage_of(
    one: &Unembedded,
    memories: &HashMap<&str, Option<(Memory, VectorKey)>>,
) -> Option<String> {
    let (memory, own) = memories[one.name.as_str()].as_ref()?;
    let (key, text) = match &one.previous {
        None => (*own, passage::own(memory)),
        Some(previous) => {
            let (previous, before) = memories[previous.as_str()].as_ref()?;
            let key = passage::window_key(*before, *own);
            (key, passage::window(previous, memory))
        }
    };
    (key == one.key).then_some(text)
}

/// Returns the end of the group of passages that are embedded together with the one at `start`.
fn end_of_group(pieces: &[Vec<&str>], start: usize, size: usize) -> usize {
    let mut count = 0;
    let fits = |pieces: &&Vec<&str>| {
        count += pieces.len();
        count <= size
    };
    let fitting = pieces[start..].iter().take_while(fits).count();
    start + fitting.max(1)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::embed::Vector;

    /// Gives the length of a text as its vector, and notes what it was asked.
    #[derive(Default)]
    struct Lengths(Mutex<Vec<String>>);

    impl Embedder for Lengths {
        fn id(&self) -> &str {
            "lengths"
        }

        fn dimensions(&self) -> usize {
            1
        }

        fn query(&self, _: &str) -> Result<Vector, EmbedError> {
            Err(EmbedError::NoWords)
        }

        fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError> {
            let mut asked = self.0.lock().unwrap();
            asked.extend(texts.iter().map(|text| (*text).to_owned()));
            let vectors = texts.iter().map(|text| vec![vec![text.len() as f32]]);
            Ok(vectors.collect())
        }

        fn rest(&self, _: Duration) {}

        fn host(&self) -> Option<String> {
            None
        }

        fn describe(&self) -> String {
            "lengths".to_owned()
        }
    }

    #[test]
    fn equal_texts_are_embedded_once_and_each_passage_gets_its_vectors_in_order() {
        let pieces = [
            vec!["a", "bb", "a"],
            vec!["ccc"],
            vec![],
            vec!["bb", "dddd", "a"],
        ];
        let embedder = Lengths::default();
        let mut repeated = Repeated::of(&pieces);
        let mut found = repeated.embed(&embedder, &pieces[..2]).unwrap();
        found.extend(repeated.embed(&embedder, &pieces[2..]).unwrap());
        let lengths = |pieces: &Vec<Embedding>| -> Vec<f32> {
            pieces.iter().map(|piece| piece.vector[0]).collect()
        };
        let found: Vec<Vec<f32>> = found.iter().map(lengths).collect();
        assert_eq!(
            found,
            [vec![1.0, 2.0, 1.0], vec![3.0], vec![], vec![2.0, 4.0, 1.0]]
        );
        assert_eq!(*embedder.0.lock().unwrap(), ["a", "bb", "ccc", "dddd"]);
    }

    #[test]
    fn a_group_has_as_many_pieces_as_fit_and_at_least_one_passage() {
        let pieces = [vec!["a"; 3], vec!["b"; 9], vec!["c"; 2], vec!["d"; 2]];
        assert_eq!(end_of_group(&pieces, 0, 4), 1);
        assert_eq!(end_of_group(&pieces, 1, 4), 2);
        assert_eq!(end_of_group(&pieces, 2, 4), 4);
    }
}
