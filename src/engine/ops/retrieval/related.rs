//! Words related to a text, derived from the memories of the store.
//!
//! Frequency counts replace a language model: words that occur in many of the memories that a
//! text finds and in few others, and topics in use that fit a memory. Nothing is written.

use std::collections::{BTreeMap, HashSet};

use crate::engine::error::EngineError;
use crate::engine::live::{current_snapshot, rows};
use crate::engine::ops::retrieval::{search, similar};
use crate::engine::ops::stats;
use crate::engine::parts::Engine;
use crate::index::Query;
use crate::model::{Filter, Memory};
use crate::ranking::Method;
use crate::words::{Analyzer, Part, is_stop_word};

/// Number of best hits that are read.
const READ: usize = 20;

/// Number of memories that resemble another.
const LIKE: usize = 8;

/// Maximum number of words that are weighted against the whole store.
const WEIGHED: usize = 40;

/// Minimum number of characters of a counted word.
const LEAST: usize = 3;

/// Returns words that occur in the memories that `text` finds and not in it, best first.
///
/// # Errors
///
/// Fails if the store cannot be searched.
pub fn related_words(
    engine: &Engine,
    text: &str,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<String>, EngineError> {
    let mut query = Query::text(text, rows::listed(filter.clone()), READ);
    query.ranking.method = Method::Words;
    let hits = search::search(engine, &query)?.hits;
    let mut analyzer = Analyzer::new(&engine.live.languages);
    let known: HashSet<String> = analyzer.term_list(text).into_iter().collect();
    let mut words = Words::default();
    for hit in &hits {
        words.add(&mut analyzer, &hit.memory);
    }
    // A word of one memory alone is specific to that one.
    let least = hits.len().min(2);
    words
        .0
        .retain(|term, (_, count)| *count >= least && !known.contains(term));
    weighed(engine, words, limit)
}

/// Returns topics in use that fit `memory` and are none of its own, best first; if there are none,
/// the words of its text that few others have.
///
/// # Errors
///
/// Fails if the store cannot be searched.
pub fn fitting_topics(
    engine: &Engine,
    memory: &Memory,
    limit: usize,
) -> Result<Vec<String>, EngineError> {
    let own: HashSet<String> = memory.topics.iter().map(|one| one.to_lowercase()).collect();
    let mut analyzer = Analyzer::new(&engine.live.languages);
    let mut words = Words::default();
    words.add(&mut analyzer, memory);
    let mut shared: BTreeMap<String, usize> = BTreeMap::new();
    for similar in similar::similar(engine, memory, &Filter::default(), LIKE)? {
        for topic in &similar.hit.memory.topics {
            *shared.entry(topic.to_lowercase()).or_default() += 1;
        }
    }
    let mut fitting: Vec<(usize, usize, String)> = Vec::new();
    for (topic, count) in stats::facet(engine, "topics")? {
        let terms = analyzer.term_list(&topic);
        let stands_there = !terms.is_empty() && terms.iter().all(|term| words.has(term));
        let shared = shared.get(&topic).copied().unwrap_or(0);
        // One neighbour alone may be about something else.
        if !own.contains(&topic) && (stands_there || shared > 1) {
            let score = shared + if stands_there { LIKE } else { 0 };
            fitting.push((score, count, topic));
        }
    }
    fitting.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
    let topics: Vec<String> = fitting.into_iter().map(|(_, _, topic)| topic).collect();
    if !topics.is_empty() {
        return Ok(topics.into_iter().take(limit).collect());
    }
    words.0.retain(|_, (word, _)| !own.contains(word));
    weighed(engine, words, limit)
}

/// Returns the words that are frequent among the counted memories and rare in the store, best first.
fn weighed(engine: &Engine, words: Words, limit: usize) -> Result<Vec<String>, EngineError> {
    let mut counted: Vec<(String, usize)> = words.0.into_values().collect();
    counted.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counted.truncate(WEIGHED);
    let mut weighed = current_snapshot::with_snapshot(&engine.live, |snapshot| {
        let all = snapshot.len() as f64;
        let mut weighed = Vec::new();
        for (word, count) in &counted {
            let filter = Filter {
                words: vec![word.clone()],
                ..Filter::default()
            };
            let (frequency, _) = rows::page_of(&engine.live, snapshot, &filter, 0..0)?;
            let rarity = (1.0 + all / frequency.max(1) as f64).ln();
            weighed.push((*count as f64 * rarity, word.clone()));
        }
        Ok(weighed)
    })?;
    weighed.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    Ok(weighed
        .into_iter()
        .take(limit)
        .map(|(_, word)| word)
        .collect())
}

/// Counted words by their terms: the form that was seen first, and the number of memories.
#[derive(Default)]
struct Words(BTreeMap<String, (String, usize)>);

impl Words {
    fn add(&mut self, analyzer: &mut Analyzer, memory: &Memory) {
        let title = memory.title.as_deref().unwrap_or_default();
        let topics = memory.topics.iter().map(String::as_str);
        let mut seen = HashSet::new();
        for text in [title, &memory.content].into_iter().chain(topics) {
            analyzer.terms(text, |term, word, part| {
                let says_something = part == Part::Word
                    && word.chars().count() >= LEAST
                    && word.chars().any(char::is_alphabetic)
                    && !is_stop_word(word);
                if says_something && seen.insert(term.to_owned()) {
                    let known = self.0.entry(term.to_owned());
                    known.or_insert_with(|| (word.to_owned(), 0)).1 += 1;
                }
            });
        }
    }

    fn has(&self, term: &str) -> bool {
        self.0.contains_key(term)
    }
}
