//! Lexical scores: BM25 of terms, shared among neighbours in a context.
//!
//! `L(m) = Σ_t max(B_t(m), .7·B_t(m−1), .4·B_t(m−2), .4·B_t(m+1), .2·B_t(m+2)) + .3·BM25(episode)`:
//! a term counts once for a memory, at its maximum among the memory and its neighbours.

use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::chats::{Chats, is_about_talking};
use super::collection::Collection;
use super::episode::Episode;
use super::parsed_query::ParsedQuery;
use super::postings::Postings;
use super::row_set::RowSet;
use super::weights::Weights;
use crate::columns::Scratch;
use crate::words::{Analyzer, Part, is_stop_word};

/// Maximum number of distinct terms of a query that are ranked: those that the fewest memories hold. All
/// postings of each are read; a question of a person has 30 terms at most, a pasted page 300.
pub const MOST_TERMS: usize = 512;

/// A term of the query.
pub(super) struct Term {
    /// The term.
    pub text: String,
    weight: f32,
    /// Whether it counts as a content word, not as a function word.
    pub is_content: bool,
    /// Whether it comes from a word about talking, which says little in a chat.
    is_about_talking: bool,
    /// Postings: rows with term frequencies.
    rows: Vec<(u32, u32)>,
}

impl Term {
    /// Returns the number of rows that hold it.
    pub fn frequency(&self) -> usize {
        self.rows.len()
    }
}

/// Returns the inverse document frequency ln(1 + (n − df + ½)/(df + ½)): Robertson's, kept positive.
pub fn idf(count: usize, frequency: usize) -> f32 {
    let (n, df) = (count as f32, frequency as f32);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// Returns BM25's factor, without idf, of a term frequency in a text of relative `length`.
pub fn bm25(weights: &Weights, frequency: f32, length: f32) -> f32 {
    let Weights { k1, b, .. } = *weights;
    frequency * (k1 + 1.0) / (frequency + k1 * (1.0 - b + b * length))
}

/// Terms of the query that are ranked.
pub(super) struct QueryTerms {
    /// Distinct terms, in the order of the query, at most [`MOST_TERMS`].
    pub terms: Vec<Term>,
    /// Number of the query's other distinct terms.
    pub unranked: usize,
}

/// Returns the distinct terms of the query with their weights and postings.
pub(super) fn query_terms<P: Postings>(
    query: &str,
    without_names: &str,
    analyzer: &mut Analyzer,
    postings: &P,
    weights: &Weights,
) -> Result<QueryTerms, P::Error> {
    let mut read = read_terms(without_names, analyzer, postings)?;
    let says_something = |terms: &[Term]| terms.iter().any(|t| t.is_content && !t.rows.is_empty());
    if !says_something(&read.terms) {
        // Only names or function words are left: then they count as content words.
        read = read_terms(query, analyzer, postings)?;
        if !says_something(&read.terms) {
            let terms = read.terms.iter_mut();
            terms.for_each(|term| term.is_content = true);
        }
    }
    let parts = known_parts(query, analyzer, &read.terms);
    for term in &mut read.terms {
        term.weight = if term.is_content {
            1.0
        } else {
            weights.stop_word
        };
        if parts.contains(&term.text) {
            term.weight *= weights.identifier_part;
        }
    }
    Ok(read)
}

fn read_terms<P: Postings>(
    text: &str,
    analyzer: &mut Analyzer,
    postings: &P,
) -> Result<QueryTerms, P::Error> {
    let mut terms: Vec<Term> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    // Name and number of the next word.
    let mut within: Vec<Term> = Vec::new();
    let mut failure = None;
    analyzer.terms(text, |term, word, part| {
        let new = Term {
            text: term.to_owned(),
            weight: 1.0,
            is_content: !is_stop_word(word),
            is_about_talking: is_about_talking(word),
            rows: Vec::new(),
        };
        if part == Part::Within {
            within.push(new);
            return;
        }
        let mut parts = std::mem::take(&mut within);
        if !parts.is_empty() {
            match postings.frequency(term) {
                Ok(0) => {}
                Ok(_) => parts.clear(),
                Err(error) => failure = Some(error),
            }
        }
        for term in parts.into_iter().chain([new]) {
            if known.insert(term.text.clone()) {
                terms.push(term);
            }
        }
    });
    if let Some(error) = failure {
        return Err(error);
    }
    let unranked = terms.len().saturating_sub(MOST_TERMS);
    if unranked > 0 {
        keep_rarest(&mut terms, postings)?;
    }
    for term in &mut terms {
        term.rows = postings.text(&term.text)?;
    }
    Ok(QueryTerms { terms, unranked })
}

/// Keeps the [`MOST_TERMS`] terms that the fewest rows hold, and of equal ones those that come first in
/// the query. Terms that no row holds are the first to be dropped.
fn keep_rarest<P: Postings>(terms: &mut Vec<Term>, postings: &P) -> Result<(), P::Error> {
    let mut places = Vec::with_capacity(terms.len());
    for (place, term) in terms.iter().enumerate() {
        let frequency = postings.frequency(&term.text)?;
        places.push((frequency == 0, frequency, place));
    }
    places.select_nth_unstable(MOST_TERMS);
    let kept: HashSet<usize> = places[..MOST_TERMS]
        .iter()
        .map(|(.., place)| *place)
        .collect();
    let mut place = 0;
    terms.retain(|_| {
        place += 1;
        kept.contains(&(place - 1))
    });
    Ok(())
}

/// Returns the parts of those identifiers in `query` that some row holds as a whole.
fn known_parts(query: &str, analyzer: &mut Analyzer, terms: &[Term]) -> HashSet<String> {
    let there = terms.iter().filter(|term| !term.rows.is_empty());
    let there: HashSet<&str> = there.map(|term| term.text.as_str()).collect();
    let mut parts = HashSet::new();
    let mut since_whole: Vec<String> = Vec::new();
    for chunk in query.split_whitespace() {
        since_whole.clear();
        analyzer.terms(chunk, |term, _, part| match part {
            Part::Word => since_whole.push(term.to_owned()),
            Part::Whole if there.contains(term) => parts.extend(since_whole.drain(..)),
            Part::Whole | Part::Within => {}
        });
    }
    parts
}

/// Scorer of the words of one query.
pub(super) struct Scorer<'a> {
    /// Rows of the store.
    pub collection: &'a Collection,
    /// Constants of the ranking.
    pub weights: &'a Weights,
    /// The query.
    pub query: &'a ParsedQuery,
    /// Chats of the store.
    pub chats: &'a Chats,
}

/// Lexical scores by row.
pub(super) struct Words {
    /// Score of each row.
    pub scores: Scratch,
    /// Share of the query's content words, by idf, that each memory itself holds.
    pub coverage: Scratch,
    /// Rows that hold a term, or are next to one in a context.
    pub candidates: RowSet,
    /// Rows that hold a term themselves.
    pub holders: RowSet,
    /// Sum of the idf of the query's content words.
    pub idf: f32,
}

impl Scorer<'_> {
    /// Computes the lexical scores of all rows.
    pub fn words(&self, terms: &[Term]) -> Words {
        let count = self.collection.len();
        let all: f32 = self.content_idf(terms).sum();
        let mut words = Words {
            idf: all,
            scores: Scratch::zeros(count),
            coverage: Scratch::zeros(count),
            candidates: RowSet::none(count),
            holders: RowSet::none(count),
        };
        let mut strongest = Scratch::zeros(count);
        let mut touched: Vec<u32> = Vec::new();
        let mut by_episode = EpisodeScores::new(self.collection.episode_bound());
        let (lengths, episodes) = (self.collection.lengths(), self.collection.episodes());
        for term in terms.iter().filter(|term| !term.rows.is_empty()) {
            let idf = idf(count, term.rows.len());
            let covers = if term.is_content { idf / all } else { 0.0 };
            let (mut number, mut episode, mut in_chat) = (0, Episode::default(), false);
            let in_chats = match term.is_about_talking {
                true => term.weight.min(self.weights.talk_word),
                false => term.weight,
            };
            for &(row, frequency) in &term.rows {
                // The rows of an episode mostly follow each other.
                if !(episode.start..episode.end).contains(&row) {
                    number = episodes.of(row);
                    episode = episodes.get(number);
                    in_chat = self.chats.contains(row);
                }
                words.holders.put_in(row);
                words.coverage[row as usize] += covers;
                let length = lengths.get(row) / self.collection.mean_length;
                let value = idf * bm25(self.weights, frequency as f32, length);
                if in_chat {
                    words.scores[row as usize] += in_chats * value;
                    continue;
                }
                match episode.end - episode.start > 1 {
                    true => by_episode.count(number, frequency),
                    false => by_episode.count_alone(),
                }
                let own = term.weight * value;
                if !episode.is_context {
                    words.scores[row as usize] += own;
                    continue;
                }
                self.offer(row, episode, own, |row, value| {
                    let slot = &mut strongest[row as usize];
                    if *slot == 0.0 {
                        touched.push(row);
                    }
                    *slot = slot.max(value);
                });
            }
            for row in touched.drain(..) {
                let slot = &mut strongest[row as usize];
                words.scores[row as usize] += *slot;
                words.candidates.put_in(row);
                *slot = 0.0;
            }
            self.score_episodes(term, &mut by_episode);
        }
        words.candidates.put_in_those_of(&words.holders);
        let weight = self.weights.episode * self.context_factor();
        for (number, score) in by_episode.scored() {
            let episode = episodes.get(number);
            for row in episode.start..episode.end {
                words.scores[row as usize] += weight * score;
            }
        }
        words
    }

    fn context_factor(&self) -> f32 {
        if self.query.asks {
            1.0
        } else {
            self.weights.keyword_context
        }
    }

    /// Calls `give` with a term's value for its memory and, reduced, for its neighbours in the context
    /// `episode`.
    fn offer(&self, row: u32, episode: Episode, own: f32, mut give: impl FnMut(u32, f32)) {
        give(row, own);
        let factor = self.context_factor();
        let Weights {
            before_1,
            before_2,
            after_1,
            after_2,
            ..
        } = *self.weights;
        for (offset, weight) in [(-2, after_2), (-1, after_1), (1, before_1), (2, before_2)] {
            let neighbour = i64::from(row) + offset;
            if (i64::from(episode.start)..i64::from(episode.end)).contains(&neighbour)
                && weight > 0.0
            {
                give(neighbour as u32, own * weight * factor);
            }
        }
    }

    /// Adds the term's BM25 score of each episode in which it was counted.
    fn score_episodes(&self, term: &Term, scores: &mut EpisodeScores) {
        let episodes = self.collection.episodes();
        let idf = idf(self.collection.episode_count(), scores.number_counted());
        scores.score(|number, frequency| {
            let episode = episodes.get(number);
            // Memories of an episode that is no context are ranked by themselves.
            if !episode.is_ranked {
                return 0.0;
            }
            let length = episode.length / self.collection.mean_episode_length;
            term.weight * idf * bm25(self.weights, frequency, length)
        });
    }

    /// Returns the idf of each content word, those that no row holds included.
    fn content_idf(&self, terms: &[Term]) -> impl Iterator<Item = f32> {
        let count = self.collection.len();
        terms
            .iter()
            .filter(|term| term.is_content)
            .map(move |term| idf(count, term.rows.len()))
    }

    /// Returns the title score of each row whose title holds more than half of the content words, by idf: 1 for one that
    /// holds all, and no others.
    pub fn titles<P: Postings>(
        &self,
        terms: &[Term],
        postings: &P,
    ) -> Result<FxHashMap<u32, f32>, P::Error> {
        let count = self.collection.len();
        let content = || terms.iter().filter(|term| term.is_content);
        let all: f32 = self.content_idf(terms).sum();
        let mut found: FxHashMap<u32, (f32, u32)> = FxHashMap::default();
        for term in content() {
            let idf = idf(count, term.rows.len());
            for row in postings.title(&term.text)? {
                let (weight, words) = found.entry(row).or_default();
                *weight += idf;
                *words += 1;
            }
        }
        let score = |(row, (weight, words)): (u32, (f32, u32))| {
            let coverage = (2.0 * weight / all.max(f32::MIN_POSITIVE) - 1.0).clamp(0.0, 1.0);
            // Most titles that hold a word hold less than half of the query.
            (coverage != 0.0).then(|| {
                let title_words = f32::from(self.collection.traits(row).title_words);
                (row, coverage * (words as f32 / title_words).min(1.0))
            })
        };
        Ok(found.into_iter().filter_map(score).collect())
    }
}

/// Scores of whole episodes; only those that hold a term are visited.
struct EpisodeScores {
    /// Frequency of the current term in each episode.
    frequencies: Scratch,
    counted: Vec<u32>,
    /// Number of counted episodes of one row, which have no score.
    alone: usize,
    scores: Scratch,
    scored: Vec<u32>,
}

impl EpisodeScores {
    fn new(count: usize) -> EpisodeScores {
        EpisodeScores {
            frequencies: Scratch::zeros(count),
            counted: Vec::new(),
            alone: 0,
            scores: Scratch::zeros(count),
            scored: Vec::new(),
        }
    }

    fn count(&mut self, episode: u32, times: u32) {
        let slot = &mut self.frequencies[episode as usize];
        if *slot == 0.0 {
            self.counted.push(episode);
        }
        *slot += times as f32;
    }

    /// Counts an episode of one row, which is no context: a term has one posting in it.
    fn count_alone(&mut self) {
        self.alone += 1;
    }

    /// Returns the number of episodes in which the current term was counted.
    fn number_counted(&self) -> usize {
        self.counted.len() + self.alone
    }

    /// Adds the result of `score` for each counted episode, and resets the counts.
    fn score(&mut self, score: impl Fn(u32, f32) -> f32) {
        self.alone = 0;
        for episode in self.counted.drain(..) {
            let frequency = std::mem::take(&mut self.frequencies[episode as usize]);
            let score = score(episode, frequency);
            if score > 0.0 {
                let slot = &mut self.scores[episode as usize];
                if *slot == 0.0 {
                    self.scored.push(episode);
                }
                *slot += score;
            }
        }
    }

    /// Returns the episodes that have a score, each once.
    fn scored(self) -> impl Iterator<Item = (u32, f32)> {
        let scores = self.scores;
        let scored = self.scored.into_iter();
        scored.map(move |episode| (episode, scores[episode as usize]))
    }
}
