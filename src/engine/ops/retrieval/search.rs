//! Searches memories and checks each hit against its file.

use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::time::{Duration, Instant};

use crate::embed::Unranked;
use crate::engine::error::EngineError;
use crate::engine::live::read_cache::Shared;
use crate::engine::live::rows::{listed, memory_of};
use crate::engine::live::{current_snapshot, index_recovery, reading, rows, usage};
use crate::engine::meaning::embedding;
use crate::engine::parts::Engine;
use crate::engine::texts::parse;
use crate::files::{Place, Version};
use crate::format::MAX_INDEXED_BYTES;
use crate::index;
use crate::index::{
    AsOf, Document, IndexHit, Indexed, Query, QueryKind, Scan, SearchModels, Snapshot,
};
use crate::model::{Filter, Memory, Talks};
use crate::ranking::Parts;
use crate::words::{Analyzer, is_unspaced};

/// A memory found, as it is on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory, with its content as far as it is searched: the first MiB.
    pub memory: Shared,
    /// Path of the file below the memory directory.
    pub name: String,
    /// Score; higher is better. Keyword counts are whole numbers; other scores compare within one
    /// result only.
    pub score: f64,
    /// Keywords that matched, in lower case, in the order of the query, without duplicates.
    pub matched: Vec<String>,
    /// Components of the score of a ranked text.
    pub parts: Option<Parts>,
    /// Lines of its content that were found, counted from 1; `None` if all of it was.
    pub lines: Option<Range<usize>>,
}

impl Hit {
    fn of(found: IndexHit, memory: Shared) -> Hit {
        Hit {
            memory,
            name: found.name,
            score: found.score,
            matched: found.matched,
            parts: found.parts,
            lines: None,
        }
    }

    /// Returns `date`, `context` or `meaning` if that alone found it: it holds no word of the query.
    pub fn found_only_by(&self) -> Option<&'static str> {
        self.parts.and_then(|parts| parts.found_by.mark())
    }

    /// Returns the estimated probability that it answers the question, 0–1; `None` of a list of words, of
    /// keyword counts and of rankings of other programs.
    pub fn relevance(&self) -> Option<f32> {
        let evidence = self.parts.and_then(|parts| parts.evidence)?;
        Some(evidence.relevance())
    }
}

/// Memories that a search found.
pub type SearchResults = index::SearchResults<Hit>;

/// Relevance below which an answer is unlikely: on the development conversations 3 of 100 questions that can
/// be answered stay below it, and 92 of 100 of other conversations.
const UNLIKELY: f32 = 0.08;

impl SearchResults {
    /// Returns a note for the caller if no hit is likely to answer a text.
    pub fn doubt(&self) -> Option<String> {
        let is_unlikely = |hit: &Hit| hit.relevance().is_some_and(|chance| chance < UNLIKELY);
        let all = !self.hits.is_empty() && self.hits.iter().all(is_unlikely);
        all.then(|| {
            format!(
                "no hit is likely to answer this (relevance below {UNLIKELY}): it may not be known here"
            )
        })
    }
}

/// Numbers of files by the way in which they are searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Number of files with a memory's name: the sum of the others.
    pub files: usize,
    /// Number of files that are in the index.
    pub indexed: usize,
    /// Number of files that are searched from memory until they are indexed.
    pub waiting: usize,
    /// Number of files that cannot be read as memories; `status` lists the reasons.
    pub unreadable: usize,
}

/// Maximum time for which a search is repeated because its hits change while it runs.
const PATIENCE: Duration = Duration::from_millis(150);

/// The same while a hit is missing or empty, between two of its texts.
const LONGEST: Duration = Duration::from_secs(1);

/// Minimum number of tries before a search gives up: on a busy machine one try may take long.
const MIN_TRIES: usize = 5;

/// Results of one try.
struct Attempt {
    results: SearchResults,
    /// Names of hits whose files have changed.
    stale: Vec<String>,
    /// Changed files that still match, with their positions in the results.
    changed: Vec<(usize, Hit)>,
}

impl Attempt {
    /// Returns the results with the changed hits at their positions.
    fn with_changed(mut self) -> SearchResults {
        for (place, hit) in self.changed {
            let place = place.min(self.results.hits.len());
            self.results.hits.insert(place, hit);
        }
        self.results
    }
}

/// Counts the memories that pass `filter`.
///
/// # Errors
///
/// As for [`search`].
pub fn count(engine: &Engine, filter: Filter) -> Result<usize, EngineError> {
    Ok(search(engine, &Query::everything(filter, 0))?.total)
}

/// Searches; every hit exists and has the text that is returned.
///
/// # Errors
///
/// Fails if the query is empty, or if the directory cannot be read.
pub fn search(engine: &Engine, query: &Query) -> Result<SearchResults, EngineError> {
    let query = resolved(engine, query)?;
    let started = Instant::now();
    let mut tries = 0;
    let mut stale = Vec::new();
    loop {
        tries += 1;
        let attempt = index_recovery::mending(&engine.live, || {
            let snapshot = current_snapshot::snapshot_after(&engine.live, &stale)?;
            usage::at_once(&engine.live, |moment| {
                search_in(engine, snapshot.as_ref(), &query, moment)
            })
        })?;
        if attempt.stale.is_empty() {
            return Ok(attempt.results);
        }
        let is_whole = attempt.changed.len() == attempt.stale.len();
        let patience = if is_whole { PATIENCE } else { LONGEST };
        if started.elapsed() > patience && tries >= MIN_TRIES {
            return Ok(attempt.with_changed());
        }
        stale = attempt.stale;
        // While a file is searched by its last good text, its new one is expected soon.
        if tries > 1 || engine.live.freshness().holds_one_of(&stale) {
            current_snapshot::pause(&engine.live);
        }
    }
}

/// Searches the index as it was committed last, without comparing it with the folder: for the first list of a
/// screen, which a [`search`] replaces. Every hit exists and has the text that is returned; a memory that was
/// written since may be missing, and the total be another.
///
/// `None` where the index does not hold what the hits' files say, or nothing: then only a [`search`] tells.
///
/// # Errors
///
/// As for [`search`].
pub fn search_committed(
    engine: &Engine,
    query: &Query,
) -> Result<Option<SearchResults>, EngineError> {
    let query = resolved(engine, query)?;
    let attempt = index_recovery::mending(&engine.live, || {
        let snapshot = index_recovery::committed(&engine.live)?;
        if snapshot.is_empty() {
            return Ok(None);
        }
        usage::at_once(&engine.live, |moment| {
            search_in(engine, snapshot.as_ref(), &query, moment).map(Some)
        })
    })?;
    let whole = attempt.filter(|attempt| attempt.stale.is_empty());
    Ok(whole.map(|attempt| attempt.results))
}

/// Returns at most `limit` terms of the store's texts that begin with `beginning`, the most frequent first: words
/// without their endings. As of the last search; before the first one, as of the committed index.
///
/// # Errors
///
/// Fails if the index cannot be read.
pub fn completions(
    engine: &Engine,
    beginning: &str,
    limit: usize,
) -> Result<Vec<String>, EngineError> {
    let beginning = beginning.to_lowercase();
    index_recovery::mending(&engine.live, || {
        let snapshot = match engine.live.latest() {
            Some(latest) => latest,
            None => index_recovery::committed(&engine.live)?,
        };
        Ok(snapshot.completions(&beginning, limit)?)
    })
}

/// Returns the numbers of files, as of the last search.
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

/// Returns whether a term is a single sign of a script without spaces, which a word may hold anywhere.
fn is_single_sign(term: &str) -> bool {
    term.chars().count() == 1 && term.chars().all(is_unspaced)
}

/// Returns the query as an index takes it. A text without words, such as an emoji, becomes keywords
/// and is found as it stands; so does a single sign of a script without spaces.
fn resolved<'a>(engine: &Engine, query: &'a Query) -> Result<Cow<'a, Query>, EngineError> {
    let invalid = |what: &str| Err(EngineError::Invalid(what.to_owned()));
    match &query.kind {
        QueryKind::Keywords(words) if words.iter().all(|word| word.trim().is_empty()) => {
            invalid("there is no keyword")
        }
        QueryKind::Text(text) if text.trim().is_empty() => invalid("the query is empty"),
        QueryKind::Text(text)
            if Analyzer::new(&engine.live.languages)
                .term_list(text)
                .iter()
                .all(|term| is_single_sign(term)) =>
        {
            let signs = text.split_whitespace().map(str::to_owned).collect();
            Ok(Cow::Owned(Query {
                kind: QueryKind::Keywords(signs),
                ..query.clone()
            }))
        }
        QueryKind::Keywords(_) | QueryKind::Everything if query.filter.talks == Talks::Answers => {
            Ok(Cow::Owned(Query {
                filter: listed(query.filter.clone()),
                ..query.clone()
            }))
        }
        _ => Ok(Cow::Borrowed(query)),
    }
}

fn search_in(
    engine: &Engine,
    snapshot: &dyn Snapshot,
    query: &Query,
    moment: AsOf<'_>,
) -> Result<Attempt, EngineError> {
    let reader = engine.live.store.reader(Place::Files).held();
    let known = engine.live.read_cache();
    let texts = |name: &str| match known.and_then(|known| known.get(reader.as_ref(), name)) {
        Some((_, memory)) => Some(memory.into_memory()),
        None => memory_of(reader.as_ref(), name),
    };
    let embed = |text: &str| embedding::embed_query(&engine.meaning, snapshot, text);
    let not_reranked = RefCell::new(None);
    let rerank = |text: &str, texts: &mut dyn FnMut() -> Vec<String>| {
        let scores = reranked(engine, text, texts)?;
        if let Err(why) = &scores {
            not_reranked.replace(Some(why.to_string()));
        }
        scores.ok()
    };
    let ahead = |names: &[&str]| rows::read_ahead(&engine.live, reader.as_ref(), names);
    let models = SearchModels {
        embed: Some(&embed),
        rerank: engine.reranker.is_some().then_some(&rerank),
        ahead: Some(&ahead),
    };
    let found = snapshot.search(query, moment, models, &texts)?;
    let mut results = SearchResults {
        hits: Vec::with_capacity(found.hits.len()),
        total: found.total,
        unranked: found.unranked,
        not_reranked: not_reranked.into_inner(),
        people: found.people,
    };
    let (mut stale, mut changed) = (Vec::new(), Vec::new());
    let before = reading::before_reading(&engine.live);
    let names: Vec<&str> = found.hits.iter().map(|hit| hit.name.as_str()).collect();
    ahead(&names);
    for (place, hit) in found.hits.into_iter().enumerate() {
        if let Some((hash, memory)) = known.and_then(|known| known.get(reader.as_ref(), &hit.name))
            && hash == hit.indexed.hash
        {
            results.hits.push(Hit::of(hit, memory));
            continue;
        }
        // Previews need no more; the hash is of the whole file all the same.
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
        if !is_as_found && !is_in_flux() && !is_hit(engine, query, moment, version, &memory) {
            continue;
        }
        let hit = Hit::of(hit, memory);
        if is_as_found {
            results.hits.push(hit);
        } else {
            changed.push((place, hit));
        }
    }
    Ok(Attempt {
        results,
        stale,
        changed,
    })
}

/// Returns what the cross-encoder says of each of `texts` and the query `text`; `None` if there is none.
/// A server loads it in the background; a command waits for it.
fn reranked(
    engine: &Engine,
    text: &str,
    texts: &mut dyn FnMut() -> Vec<String>,
) -> Option<Result<Vec<f32>, Unranked>> {
    let reranker = engine.reranker.as_ref()?;
    if !engine.live.has_background() {
        reranker.prepare();
    }
    let scores = reranker.scores(text, texts);
    Some(scores.inspect_err(|why| tracing::info!("the first hits are not re-ranked: {why}")))
}

/// Whether one text by itself matches `query`.
fn is_hit(
    engine: &Engine,
    query: &Query,
    moment: AsOf<'_>,
    version: Version,
    memory: &Memory,
) -> bool {
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
    let read = Box::new(move |names: &[&str]| vec![Some(document.clone()); names.len()]);
    let scan = Scan::new(files, read, &engine.live.languages).with_people(&engine.live.people);
    let query = Query {
        limit: 1,
        offset: 0,
        ..query.clone()
    };
    let found = scan.search(&query, moment, SearchModels::default(), &|_| None);
    found.is_ok_and(|found| !found.hits.is_empty())
}
