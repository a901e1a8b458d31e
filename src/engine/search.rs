//! Finds memories and proves each against the disk.

use std::time::Duration;
use std::time::Instant;

use super::Engine;
use super::EngineError;
use super::reading::parse;
use crate::files::Place;
use crate::format::MAX_INDEXED_BYTES;
use crate::index;
use crate::index::Ask;
use crate::index::Request;
use crate::model::Filter;
use crate::model::Memory;
use crate::ranking::keyword::Keyword;

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Wanted {
    /// Substring counts of keywords.
    Keywords(Vec<String>),
    /// A sentence or words, ranked.
    Text(String),
    /// Whatever passes the filter, newest first.
    Everything,
}

/// One search.
#[derive(Debug, Clone, PartialEq)]
pub struct Search {
    pub wanted: Wanted,
    pub filter: Filter,
    pub limit: usize,
    pub offset: usize,
}

/// A memory found, as it is on disk at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its content as far as it is searched: the first MiB.
    pub memory: Memory,
    /// The file's path below the memory directory.
    pub name: String,
    /// Higher is better. Keyword counts are whole numbers; other scores compare within one
    /// answer only.
    pub score: f64,
    /// The keywords that matched, in lower case, in the order asked, without doubles.
    pub matched: Vec<String>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Thought {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How many memories matched in all.
    pub total: usize,
}

/// How many files there are, and how many of them are searched in which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Files with a memory's name: the sum of the others.
    pub files: usize,
    pub indexed: usize,
    /// Searched all the same, from memory.
    pub waiting: usize,
    /// No memories that could be read; `status` says why.
    pub unreadable: usize,
}

/// How often a search begins anew because a hit changed while it ran.
const MAX_TRIES: usize = 3;
/// How long a search waits for hits that are being written anew.
const PATIENCE: Duration = Duration::from_millis(150);
/// How often it looks at them meanwhile.
const PAUSE: Duration = Duration::from_millis(5);

/// A search's answer, and which hits were not on disk as they were found.
struct Answer {
    thought: Thought,
    stale: Vec<String>,
}

impl Engine {
    /// Searches; every hit exists and has the text it is returned with.
    ///
    /// # Errors
    ///
    /// Fails if nothing is asked for, or if the directory cannot be read.
    pub fn search(&self, search: &Search) -> Result<Thought, EngineError> {
        let started = Instant::now();
        let mut tries = 0;
        let mut stale = Vec::new();
        loop {
            tries += 1;
            let answer = self.mending(|| {
                let snapshot = self.snapshot_after(&stale)?;
                self.search_in(snapshot.as_ref(), search)
            })?;
            if answer.stale.is_empty() {
                return Ok(answer.thought);
            }
            stale = answer.stale;
            // The last good text of a file found it, and the new one is on its way.
            let is_in_flux = self.freshness().holds_one_of(&stale);
            if is_in_flux && started.elapsed() < PATIENCE {
                match self.watch() {
                    Some(watch) => watch.wait(PAUSE),
                    None => std::thread::sleep(PAUSE),
                }
            } else if is_in_flux || tries >= MAX_TRIES {
                // A file that changes faster than it can be read is left out in the end.
                return Ok(answer.thought);
            }
        }
    }

    /// How many files there are, as of the last search.
    pub fn counts(&self) -> Counts {
        let freshness = self.freshness();
        let unreadable = freshness.unreadable();
        let waiting = freshness.waiting();
        let there = self.latest().map_or(0, |latest| latest.len());
        Counts {
            files: there + unreadable,
            indexed: there.saturating_sub(waiting),
            waiting,
            unreadable,
        }
    }

    fn search_in(
        &self,
        snapshot: &dyn index::Snapshot,
        search: &Search,
    ) -> Result<Answer, EngineError> {
        let keywords = match &search.wanted {
            Wanted::Keywords(words) => distinct_keywords(words)?,
            _ => Vec::new(),
        };
        let lower: Vec<String> = keywords
            .iter()
            .map(|(_, word)| word.as_str().to_owned())
            .collect();
        let ask = match &search.wanted {
            Wanted::Keywords(_) => Ask::Keywords(&lower),
            Wanted::Text(text) if text.trim().is_empty() => {
                return Err(EngineError::Invalid("the query is empty".to_owned()));
            }
            Wanted::Text(text) => Ask::Text(text),
            Wanted::Everything => Ask::Everything,
        };
        let request = Request {
            ask,
            filter: &search.filter,
            now: self.clock.now(),
            limit: search.limit,
            offset: search.offset,
        };
        let reader = self.store.reader(Place::Files);
        let texts = |name: &str| {
            let version = reader.read(name, MAX_INDEXED_BYTES as u64).ok()?;
            Some(parse(&version.entry, &version.bytes))
        };
        let found = snapshot.search(&request, &texts)?;
        let mut thought = Thought {
            hits: Vec::with_capacity(found.hits.len()),
            total: found.total,
        };
        let mut stale = Vec::new();
        for hit in found.hits {
            // Previews need no more; the hash is that of the whole file all the same.
            let read = reader.read(&hit.name, MAX_INDEXED_BYTES as u64);
            if !matches!(&read, Ok(version) if version.hash == hit.indexed.hash) {
                stale.push(hit.name.clone());
            }
            let Ok(version) = read else { continue };
            let is_as_found = version.hash == hit.indexed.hash;
            if is_as_found
                || self
                    .freshness()
                    .holds_one_of(std::slice::from_ref(&hit.name))
            {
                let matched = hit.matched.iter().map(|&at| keywords[at].0.clone());
                thought.hits.push(Hit {
                    memory: parse(&version.entry, &version.bytes),
                    score: hit.score,
                    matched: matched.collect(),
                    name: hit.name,
                });
            }
        }
        Ok(Answer { thought, stale })
    }
}

/// The keywords as asked and as counted, without doubles, in the order asked.
fn distinct_keywords(words: &[String]) -> Result<Vec<(String, Keyword)>, EngineError> {
    let mut keywords: Vec<(String, Keyword)> = Vec::new();
    for word in words {
        let Some(keyword) = Keyword::new(word) else {
            continue;
        };
        if keywords
            .iter()
            .all(|(_, known)| known.as_str() != keyword.as_str())
        {
            keywords.push((keyword.as_str().to_owned(), keyword));
        }
    }
    if keywords.is_empty() {
        return Err(EngineError::Invalid("there is no keyword".to_owned()));
    }
    Ok(keywords)
}
