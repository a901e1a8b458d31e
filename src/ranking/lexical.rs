//! Words, and where they stand.
//!
//! `L(m) = Σ_t max(B_t(m), .7·B_t(m−1), .4·B_t(m−2), .4·B_t(m+1), .2·B_t(m+2)) + .3·BM25(episode)`:
//! a term counts once, where it is strongest, and memories lend theirs to their neighbours.

use std::collections::HashSet;

use super::collection::Collection;
use super::episode::Episode;
use super::parsed_query::ParsedQuery;
use super::row_set::RowSet;
use super::weights::Weights;
use crate::words::{Analyzer, Part, is_stop_word};

/// Where terms stand, by row of the [`Collection`].
pub trait Postings {
    type Error;

    /// The rows whose text holds `term`, with how often; each row once, in any order.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    fn text(&self, term: &str) -> Result<Vec<(u32, u32)>, Self::Error>;

    /// How many rows' texts hold `term`.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    fn frequency(&self, term: &str) -> Result<usize, Self::Error>;

    /// The rows whose title holds `term`.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    fn title(&self, term: &str) -> Result<Vec<u32>, Self::Error>;

    /// The rows whose timestamp has the calendar term `term`.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    fn date(&self, term: &str) -> Result<Vec<u32>, Self::Error>;
}

/// Maximum number of distinct terms of a query that are ranked: those that the fewest memories hold. Each
/// costs a look at all memories that hold it; a question of a person has 30 at most, a pasted page 300.
pub const MOST_TERMS: usize = 512;

/// A term of the query.
pub(super) struct Term {
    pub text: String,
    weight: f32,
    pub is_content: bool,
    /// The longest memory list of the query lives here once, for all its uses.
    rows: Vec<(u32, u32)>,
}

/// ln(1 + (n − df + ½)/(df + ½)): Robertson's, kept positive.
pub fn idf(count: usize, frequency: usize) -> f32 {
    let (n, df) = (count as f32, frequency as f32);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// BM25's share of a term that stands `frequency` times in a text of relative `length`.
pub fn bm25(weights: &Weights, frequency: f32, length: f32) -> f32 {
    let Weights { k1, b, .. } = *weights;
    frequency * (k1 + 1.0) / (frequency + k1 * (1.0 - b + b * length))
}

/// The terms of the query that are ranked.
pub(super) struct QueryTerms {
    /// Distinct, in the order of the query, at most [`MOST_TERMS`].
    pub terms: Vec<Term>,
    /// How many more distinct terms the query has.
    pub unranked: usize,
}

/// The distinct terms of the query with their weights and postings.
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
        // Only names or function words are left: then they are what is asked for.
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
    analyzer.terms(text, |term, word, _| {
        if !known.contains(term) {
            known.insert(term.to_owned());
            let is_content = !is_stop_word(word);
            terms.push(Term {
                text: term.to_owned(),
                weight: 1.0,
                is_content,
                rows: Vec::new(),
            });
        }
    });
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
/// the query. Terms that no row holds say nothing and are kept last.
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

/// The parts of those identifiers in `query` that are known as a whole.
fn known_parts(query: &str, analyzer: &mut Analyzer, terms: &[Term]) -> HashSet<String> {
    let there = terms.iter().filter(|term| !term.rows.is_empty());
    let there: HashSet<&str> = there.map(|term| term.text.as_str()).collect();
    let mut parts = HashSet::new();
    let mut since_whole: Vec<String> = Vec::new();
    for chunk in query.split_whitespace() {
        since_whole.clear();
        analyzer.terms(chunk, |term, _, part| {
            if part == Part::Word {
                since_whole.push(term.to_owned());
            } else if there.contains(term) {
                parts.extend(since_whole.drain(..));
            }
        });
    }
    parts
}

/// Scores the words of one query.
pub(super) struct Scorer<'a> {
    pub collection: &'a Collection,
    pub weights: &'a Weights,
    pub query: &'a ParsedQuery,
}

/// What the words say, by row.
pub(super) struct Words {
    pub scores: Vec<f32>,
    /// The share of the query's content words, by idf, that stand in the memory itself.
    pub coverage: Vec<f32>,
    pub candidates: RowSet,
    /// The rows that hold a term themselves.
    pub holders: RowSet,
}

impl Scorer<'_> {
    pub fn words(&self, terms: &[Term]) -> Words {
        let count = self.collection.len();
        let mut words = Words {
            scores: vec![0.0; count],
            coverage: vec![0.0; count],
            candidates: RowSet::none(count),
            holders: RowSet::none(count),
        };
        let mut strongest = vec![0.0_f32; count];
        let mut touched: Vec<u32> = Vec::new();
        let mut by_episode = EpisodeScores::new(self.collection.episode_bound());
        let (lengths, episodes) = (self.collection.lengths(), self.collection.episodes());
        let all: f32 = self.content_idf(terms).sum();
        for term in terms.iter().filter(|term| !term.rows.is_empty()) {
            let idf = idf(count, term.rows.len());
            let covers = if term.is_content { idf / all } else { 0.0 };
            let (mut number, mut episode) = (0, Episode::default());
            for &(row, frequency) in &term.rows {
                // The rows of an episode mostly follow each other.
                if !(episode.start..episode.end).contains(&row) {
                    number = episodes.of(row);
                    episode = episodes.get(number);
                }
                words.holders.put_in(row);
                by_episode.count(number, frequency);
                words.coverage[row as usize] += covers;
                let length = lengths.get(row) / self.collection.mean_length;
                let own = term.weight * idf * bm25(self.weights, frequency as f32, length);
                if !episode.is_context {
                    words.scores[row as usize] += own;
                    words.candidates.put_in(row);
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

    /// Gives a term's value to its memory and, weakened, to its neighbours in the context `episode`.
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

    /// BM25 of the term over the whole episodes in which it was counted.
    fn score_episodes(&self, term: &Term, scores: &mut EpisodeScores) {
        let episodes = self.collection.episodes();
        let idf = idf(self.collection.episode_count(), scores.counted.len());
        scores.score(|number, frequency| {
            let episode = episodes.get(number);
            // One memory that is no context of others is ranked by itself alone.
            if !episode.is_ranked {
                return 0.0;
            }
            let length = episode.length / self.collection.mean_episode_length;
            term.weight * idf * bm25(self.weights, frequency, length)
        });
    }

    /// The idf of each content word, those that stand nowhere included.
    fn content_idf(&self, terms: &[Term]) -> impl Iterator<Item = f32> {
        let count = self.collection.len();
        terms
            .iter()
            .filter(|term| term.is_content)
            .map(move |term| idf(count, term.rows.len()))
    }

    /// How well each title answers to the query: 1 if it holds all of it and nothing else.
    pub fn titles<P: Postings>(&self, terms: &[Term], postings: &P) -> Result<Vec<f32>, P::Error> {
        let count = self.collection.len();
        let content = || terms.iter().filter(|term| term.is_content);
        let all: f32 = self.content_idf(terms).sum();
        let mut found: Vec<(f32, u32)> = Vec::new();
        let mut rows: Vec<u32> = Vec::new();
        for term in content() {
            let idf = idf(count, term.rows.len());
            for row in postings.title(&term.text)? {
                found.resize(count, (0.0, 0));
                let (weight, words) = &mut found[row as usize];
                if *words == 0 {
                    rows.push(row);
                }
                *weight += idf;
                *words += 1;
            }
        }
        let mut titles = vec![0.0; found.len()];
        for row in rows {
            let (weight, words) = found[row as usize];
            let coverage = (2.0 * weight / all.max(f32::MIN_POSITIVE) - 1.0).clamp(0.0, 1.0);
            // Most titles that hold a word hold less than half of the query.
            if coverage == 0.0 {
                continue;
            }
            let title_words = f32::from(self.collection.traits(row).title_words);
            titles[row as usize] = coverage * (words as f32 / title_words).min(1.0);
        }
        Ok(titles)
    }
}

/// What the terms say of whole episodes. Only those that hold a term are ever looked at.
struct EpisodeScores {
    /// How often the term at hand stands in each.
    frequencies: Vec<u32>,
    counted: Vec<u32>,
    scores: Vec<f32>,
    scored: Vec<u32>,
}

impl EpisodeScores {
    fn new(count: usize) -> EpisodeScores {
        EpisodeScores {
            frequencies: vec![0; count],
            counted: Vec::new(),
            scores: vec![0.0; count],
            scored: Vec::new(),
        }
    }

    fn count(&mut self, episode: u32, times: u32) {
        let slot = &mut self.frequencies[episode as usize];
        if *slot == 0 {
            self.counted.push(episode);
        }
        *slot += times;
    }

    /// Adds what `score` gives for each episode that was counted, and begins to count anew.
    fn score(&mut self, score: impl Fn(u32, f32) -> f32) {
        for episode in self.counted.drain(..) {
            let frequency = std::mem::take(&mut self.frequencies[episode as usize]);
            let score = score(episode, frequency as f32);
            if score > 0.0 {
                let slot = &mut self.scores[episode as usize];
                if *slot == 0.0 {
                    self.scored.push(episode);
                }
                *slot += score;
            }
        }
    }

    /// The episodes that have a score, each once.
    fn scored(self) -> impl Iterator<Item = (u32, f32)> {
        let scores = self.scores;
        let scored = self.scored.into_iter();
        scored.map(move |episode| (episode, scores[episode as usize]))
    }
}
