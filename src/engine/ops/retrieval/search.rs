//! Finds memories and proves each against the disk.

use std::collections::HashSet;
use std::time::Duration;
use std::time::Instant;

use crate::engine::error::EngineError;
use crate::engine::live::current_snapshot;
use crate::engine::live::index_recovery;
use crate::engine::live::read_cache::Shared;
use crate::engine::live::reading;
use crate::engine::live::rows::memory_of;
use crate::engine::live::usage;
use crate::engine::meaning::embedding;
use crate::engine::parts::Engine;
use crate::engine::texts::parse;
use crate::files::Place;
use crate::files::Version;
use crate::format::MAX_INDEXED_BYTES;
use crate::index;
use crate::index::AsOf;
use crate::index::Document;
use crate::index::Indexed;
use crate::index::RankedQuery;
use crate::index::RankedQueryKind;
use crate::index::Request;
use crate::index::Scan;
use crate::model::Filter;
use crate::model::Memory;
use crate::ranking::MOST_TERMS;
use crate::ranking::Parts;
use crate::ranking::Ranking;
use crate::ranking::keyword::Keyword;
use crate::words::Analyzer;

/// What is looked for.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryKind {
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
    pub wanted: QueryKind,
    pub filter: Filter,
    /// How a text is ranked.
    pub ranking: Ranking,
    pub limit: usize,
    pub offset: usize,
}

/// A memory found, as it is on disk at this moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// Its content as far as it is searched: the first MiB.
    pub memory: Shared,
    /// The file's path below the memory directory.
    pub name: String,
    /// Higher is better. Keyword counts are whole numbers; other scores compare within one
    /// answer only.
    pub score: f64,
    /// The keywords that matched, in lower case, in the order asked, without doubles.
    pub matched: Vec<String>,
    /// What the score of a ranked text is made of.
    pub parts: Option<Parts>,
}

impl Hit {
    /// `date`, `context` or `meaning`, if that alone found it: it holds no word of what was asked.
    pub fn found_only_by(&self) -> Option<&'static str> {
        self.parts.and_then(|parts| parts.found_by.mark())
    }
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchResults {
    /// Best first.
    pub hits: Vec<Hit>,
    /// How many memories matched in all.
    pub total: usize,
    /// How many distinct terms of the text were not ranked, because it has more than [`MOST_TERMS`].
    pub unranked: usize,
}

impl SearchResults {
    /// What whoever asked is told beside the answer: that not every word of a long text was ranked.
    pub fn note(&self) -> Option<String> {
        let terms = self.unranked + MOST_TERMS;
        (self.unranked > 0).then(|| {
            format!(
                "the query has {terms} distinct words; only the {MOST_TERMS} rarest were ranked: those \
                 that the fewest memories hold. RankedQueryKind shorter questions, or give `keywords`, which all count"
            )
        })
    }
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

/// How long a search begins anew because its hits change while it runs.
const PATIENCE: Duration = Duration::from_millis(150);

/// It does so for longer while a hit is not there, or says nothing, between two of its texts.
const LONGEST: Duration = Duration::from_secs(1);

/// It does so at least so often: on a busy machine one try may take long.
const MIN_TRIES: usize = 5;

/// A search's answer, as far as the files are as they were found.
struct Answer {
    thought: SearchResults,
    /// The hits whose files are not.
    stale: Vec<String>,
    /// Those of them that still are hits, by their present texts: where they belong.
    changed: Vec<(usize, Hit)>,
}

impl Answer {
    /// The answer with the hits that changed too fast to be found by what they hold now.
    fn with_changed(mut self) -> SearchResults {
        for (place, hit) in self.changed {
            let place = place.min(self.thought.hits.len());
            self.thought.hits.insert(place, hit);
        }
        self.thought
    }
}

/// Searches; every hit exists and has the text it is returned with.
///
/// # Errors
///
/// Fails if nothing is asked for, or if the directory cannot be read.
pub fn search(engine: &Engine, search: &Search) -> Result<SearchResults, EngineError> {
    let started = Instant::now();
    let mut tries = 0;
    let mut stale = Vec::new();
    loop {
        tries += 1;
        let answer = index_recovery::mending(&engine.live, || {
            let snapshot = current_snapshot::snapshot_after(&engine.live, &stale)?;
            search_in(engine, snapshot.as_ref(), search)
        })?;
        if answer.stale.is_empty() {
            return Ok(answer.thought);
        }
        let is_whole = answer.changed.len() == answer.stale.len();
        let patience = if is_whole { PATIENCE } else { LONGEST };
        if started.elapsed() > patience && tries >= MIN_TRIES {
            return Ok(answer.with_changed());
        }
        stale = answer.stale;
        // Where its last good text found a file, the new one is on its way.
        if tries > 1 || engine.live.freshness().holds_one_of(&stale) {
            current_snapshot::pause(&engine.live);
        }
    }
}

/// How many files there are, as of the last search.
pub fn counts(engine: &Engine) -> Counts {
    let freshness = engine.live.freshness();
    let unreadable = freshness.unreadable();
    let waiting = freshness.waiting();
    let there = engine.live.latest().map_or(0, |latest| latest.len());
    Counts {
        files: there + unreadable,
        indexed: there.saturating_sub(waiting),
        waiting,
        unreadable,
    }
}

fn search_in(
    engine: &Engine,
    snapshot: &dyn index::Snapshot,
    search: &Search,
) -> Result<Answer, EngineError> {
    usage::at_once(&engine.live, |moment| {
        search_at(engine, moment, snapshot, search)
    })
}

/// Whether a text has signs, and no word among them that texts are ranked by.
fn has_no_words(engine: &Engine, text: &str) -> bool {
    let mut analyzer = Analyzer::new(&engine.live.languages);
    !text.trim().is_empty() && analyzer.term_list(text).is_empty()
}

fn search_at(
    engine: &Engine,
    moment: AsOf<'_>,
    snapshot: &dyn index::Snapshot,
    search: &Search,
) -> Result<Answer, EngineError> {
    let keywords = match &search.wanted {
        QueryKind::Keywords(words) => distinct_keywords(words)?,
        QueryKind::Text(text) if has_no_words(engine, text) => {
            let signs: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            distinct_keywords(&signs)?
        }
        _ => Vec::new(),
    };
    let lower: Vec<String> = keywords
        .iter()
        .map(|(_, word)| word.as_str().to_owned())
        .collect();
    let embed = |text: &str| embedding::embed_query(&engine.meaning, snapshot, text);
    let ask = match &search.wanted {
        QueryKind::Keywords(_) => RankedQueryKind::Keywords(&lower),
        QueryKind::Text(text) if text.trim().is_empty() => {
            return Err(EngineError::Invalid("the query is empty".to_owned()));
        }
        // An emoji is no word, and is found as it stands.
        QueryKind::Text(_) if !keywords.is_empty() => RankedQueryKind::Keywords(&lower),
        QueryKind::Text(text) => RankedQueryKind::Text(RankedQuery {
            text,
            ranking: &search.ranking,
            embed: Some(&embed),
        }),
        QueryKind::Everything => RankedQueryKind::Everything,
    };
    let request = Request {
        ask,
        filter: &search.filter,
        moment,
        limit: search.limit,
        offset: search.offset,
    };
    let reader = engine.live.store.reader(Place::Files).held();
    let known = engine
        .live
        .known
        .as_ref()
        .filter(|_| engine.live.has_background());
    let texts = |name: &str| match known.and_then(|known| known.get(reader.as_ref(), name)) {
        Some((_, memory)) => Some(memory.into_memory()),
        None => memory_of(reader.as_ref(), name),
    };
    let found = snapshot.search(&request, &texts)?;
    let mut thought = SearchResults {
        hits: Vec::with_capacity(found.hits.len()),
        total: found.total,
        unranked: found.unranked,
    };
    let (mut stale, mut changed) = (Vec::new(), Vec::new());
    let before = reading::now_nanos(&engine.live);
    let made = |hit: index::Hit, memory: Shared| {
        let matched = hit.matched.iter().map(|&at| keywords[at].0.clone());
        Hit {
            score: hit.score,
            matched: matched.collect(),
            parts: hit.parts,
            name: hit.name,
            memory,
        }
    };
    for (place, hit) in found.hits.into_iter().enumerate() {
        if let Some((hash, memory)) = known.and_then(|known| known.get(reader.as_ref(), &hit.name))
            && hash == hit.indexed.hash
        {
            thought.hits.push(made(hit, memory));
            continue;
        }
        // Previews need no more; the hash is that of the whole file all the same.
        let read = reader.read(&hit.name, MAX_INDEXED_BYTES as u64);
        let is_as_found = matches!(&read, Ok(version) if version.hash == hit.indexed.hash);
        if !is_as_found {
            stale.push(hit.name.clone());
        }
        let Ok(version) = read else { continue };
        let memory = Shared::from(parse(&version.entry, &version.bytes));
        if let Some(known) = known {
            known.put(&version.entry, version.hash, &memory, before);
        }
        let is_in_flux = || {
            engine
                .live
                .freshness()
                .holds_one_of(std::slice::from_ref(&hit.name))
        };
        if !is_as_found && !is_in_flux() && !is_hit(engine, &request, version, &memory) {
            continue;
        }
        let hit = made(hit, memory);
        if is_as_found {
            thought.hits.push(hit);
        } else {
            changed.push((place, hit));
        }
    }
    Ok(Answer {
        thought,
        stale,
        changed,
    })
}

/// Whether one text by itself answers `request`.
fn is_hit(engine: &Engine, request: &Request<'_>, version: Version, memory: &Memory) -> bool {
    let document = Document {
        name: version.entry.name.clone(),
        indexed: Indexed {
            stamp: version.entry.stamp,
            hash: version.hash,
            racy: false,
        },
        memory: memory.clone(),
        bytes: version.bytes,
    };
    let files = vec![(version.entry.name, version.entry.stamp)];
    let read = Box::new(move |_: &str| Some(document.clone()));
    let scan = Scan::new(files, read, &engine.live.languages);
    let request = Request {
        limit: 1,
        offset: 0,
        ..*request
    };
    let found = index::Snapshot::search(&scan, &request, &|_| None);
    found.is_ok_and(|found| !found.hits.is_empty())
}

/// The keywords as asked and as counted, without doubles, in the order asked.
fn distinct_keywords(words: &[String]) -> Result<Vec<(String, Keyword)>, EngineError> {
    let mut keywords: Vec<(String, Keyword)> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    for word in words {
        let Some(keyword) = Keyword::new(word) else {
            continue;
        };
        if known.insert(keyword.as_str().to_owned()) {
            keywords.push((keyword.as_str().to_owned(), keyword));
        }
    }
    if keywords.is_empty() {
        return Err(EngineError::Invalid("there is no keyword".to_owned()));
    }
    Ok(keywords)
}
