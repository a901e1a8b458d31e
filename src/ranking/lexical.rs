//! Context-aware BM25: words, where they stand, who is named, and when it was.
//!
//! `score = L/max L + D/max D + .5·participant + .2·author + title + priors`, with
//! `L(m) = Σ_t max(B_t(m), .7·B_t(m−1), .4·B_t(m−2), .4·B_t(m+1), .2·B_t(m+2)) + .3·BM25(episode)`:
//! a term counts once, where it is strongest, and memories lend theirs to their neighbours.
//! Every constant stands in [`Weights`]; `docs/RETRIEVAL.md` says what each part is worth.

use std::collections::HashSet;

use super::collection::Collection;
use super::question::Names;
use super::question::Question;
use crate::words::Analyzer;
use crate::words::Part;
use crate::words::is_stop_word;

/// Where terms stand, by row of the [`Collection`].
pub trait Postings {
    type Error;

    /// The rows whose text holds `term`, with how often; each row once, in any order.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    fn text(&self, term: &str) -> Result<Vec<(u32, u32)>, Self::Error>;

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

/// Every constant of the formula. The defaults are round numbers that hold on all sets measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// BM25: how soon repetition stops to count, and how much length does.
    pub k1: f32,
    pub b: f32,
    pub stop_word: f32,
    /// A part of an identifier whose whole is known.
    pub identifier_part: f32,
    /// What a term is worth to the memories two before, one before, one after, two after it.
    pub neighbours: [f32; 4],
    pub episode: f32,
    /// Factor on neighbours and episode if the query is a list of words.
    pub keywords: f32,
    pub date: f32,
    /// A named person takes part in the episode.
    pub participant: f32,
    /// A named person wrote the memory.
    pub author: f32,
    pub title: f32,
    /// For questions only: the memory asks, itself.
    pub asks: f32,
    /// The memory follows one that asks.
    pub answers: f32,
    /// The memory names something.
    pub names: f32,
    /// The query asks when, and the memory says when.
    pub tells_time: f32,
    /// Longer memories get none of the last four.
    pub prior_words: u16,
}

impl Default for Weights {
    fn default() -> Weights {
        Weights {
            k1: 1.0,
            b: 0.6,
            stop_word: 0.2,
            identifier_part: 0.5,
            neighbours: [0.2, 0.4, 0.7, 0.4],
            episode: 0.3,
            keywords: 0.5,
            date: 1.0,
            participant: 0.5,
            author: 0.2,
            title: 1.0,
            asks: -0.1,
            answers: 0.1,
            names: 0.05,
            tells_time: 0.2,
            prior_words: 100,
        }
    }
}

/// A term of the query.
struct Term {
    text: String,
    weight: f32,
    is_content: bool,
    /// The longest memory list of the query lives here once, for all its uses.
    rows: Vec<(u32, u32)>,
}

/// Scores every memory that has something to do with `query` and passes `passes`.
///
/// Returns rows with their scores, in the order of rows; scores of different queries cannot be
/// compared. An empty query finds nothing.
///
/// # Errors
///
/// Fails if the postings do.
pub fn score<P: Postings>(
    query: &str,
    collection: &Collection,
    names: &Names,
    analyzer: &mut Analyzer,
    postings: &P,
    passes: impl Fn(u32) -> bool,
    weights: &Weights,
) -> Result<Vec<(u32, f32)>, P::Error> {
    let question = Question::read(query, names);
    let terms = query_terms(query, &question.text, analyzer, postings, weights)?;
    let scorer = Scorer::new(collection, weights, &question);
    let mut words = scorer.words(&terms);
    let mut dates = vec![
        0.0_f32;
        if question.dates.is_empty() {
            0
        } else {
            collection.len()
        }
    ];
    for term in &question.dates {
        let rows = postings.date(term)?;
        let idf = idf(collection.len(), rows.len());
        for row in rows {
            dates[row as usize] += idf;
            words.is_candidate[row as usize] = true;
        }
    }
    let candidates: Vec<u32> = (0..collection.len() as u32)
        .filter(|&row| words.is_candidate[row as usize] && passes(row))
        .collect();
    let titles = scorer.titles(&terms, postings)?;
    let best = |scores: &[f32]| {
        candidates
            .iter()
            .filter_map(|&row| scores.get(row as usize))
            .copied()
            .fold(0.0, f32::max)
    };
    let (best_words, best_date) = (best(&words.scores), best(&dates));
    let share = |score: f32, best: f32| if best > 0.0 { score / best } else { 0.0 };
    Ok(candidates
        .into_iter()
        .map(|row| {
            let at = row as usize;
            let date = dates.get(at).copied().unwrap_or(0.0);
            let score = share(words.scores[at], best_words)
                + weights.date * share(date, best_date)
                + weights.title * titles.get(at).copied().unwrap_or(0.0)
                + scorer.people(row)
                + scorer.priors(row);
            (row, score)
        })
        .collect())
}

/// ln(1 + (n − df + ½)/(df + ½)): Robertson's, kept positive.
fn idf(count: usize, frequency: usize) -> f32 {
    let (n, df) = (count as f32, frequency as f32);
    (1.0 + (n - df + 0.5) / (df + 0.5)).ln()
}

/// The distinct terms of the query with their weights and postings.
fn query_terms<P: Postings>(
    query: &str,
    without_names: &str,
    analyzer: &mut Analyzer,
    postings: &P,
    weights: &Weights,
) -> Result<Vec<Term>, P::Error> {
    let mut terms = read_terms(without_names, analyzer, postings)?;
    let says_something = |terms: &[Term]| terms.iter().any(|t| t.is_content && !t.rows.is_empty());
    if !says_something(&terms) {
        // Only names or function words are left: then they are what is asked for.
        terms = read_terms(query, analyzer, postings)?;
        if !says_something(&terms) {
            terms.iter_mut().for_each(|term| term.is_content = true);
        }
    }
    let parts = known_parts(query, analyzer, &terms);
    for term in &mut terms {
        term.weight = if term.is_content {
            1.0
        } else {
            weights.stop_word
        };
        if parts.contains(&term.text) {
            term.weight *= weights.identifier_part;
        }
    }
    Ok(terms)
}

fn read_terms<P: Postings>(
    text: &str,
    analyzer: &mut Analyzer,
    postings: &P,
) -> Result<Vec<Term>, P::Error> {
    let mut terms: Vec<Term> = Vec::new();
    analyzer.terms(text, |term, word, _| {
        if !terms.iter().any(|known| known.text == term) {
            let is_content = !is_stop_word(word);
            terms.push(Term {
                text: term.to_owned(),
                weight: 1.0,
                is_content,
                rows: Vec::new(),
            });
        }
    });
    for term in &mut terms {
        term.rows = postings.text(&term.text)?;
    }
    Ok(terms)
}

/// The parts of those identifiers in `query` that are known as a whole.
fn known_parts(query: &str, analyzer: &mut Analyzer, terms: &[Term]) -> HashSet<String> {
    let mut parts = HashSet::new();
    let mut since_whole: Vec<String> = Vec::new();
    for chunk in query.split_whitespace() {
        since_whole.clear();
        analyzer.terms(chunk, |term, _, part| {
            if part == Part::Word {
                since_whole.push(term.to_owned());
            } else if terms.iter().any(|t| t.text == term && !t.rows.is_empty()) {
                parts.extend(since_whole.drain(..));
            }
        });
    }
    parts
}

struct Scorer<'a> {
    collection: &'a Collection,
    weights: &'a Weights,
    question: &'a Question,
    /// By episode: a named person takes part. Empty if nobody is named.
    with_named: Vec<bool>,
}

/// The lexical part, by row.
struct Words {
    scores: Vec<f32>,
    is_candidate: Vec<bool>,
}

impl<'a> Scorer<'a> {
    fn new(collection: &'a Collection, weights: &'a Weights, question: &'a Question) -> Scorer<'a> {
        let mut with_named = Vec::new();
        if !question.users.is_empty() {
            with_named.resize(collection.episodes.len(), false);
            for (user, &episode) in collection.users.iter().zip(&collection.episode_of) {
                with_named[episode as usize] |= question.users.contains_key(user);
            }
        }
        Scorer {
            collection,
            weights,
            question,
            with_named,
        }
    }

    fn words(&self, terms: &[Term]) -> Words {
        let count = self.collection.len();
        let mut words = Words {
            scores: vec![0.0; count],
            is_candidate: vec![false; count],
        };
        let mut strongest = vec![0.0_f32; count];
        let mut touched: Vec<u32> = Vec::new();
        let mut episodes = vec![0.0_f32; self.collection.episodes.len()];
        for term in terms.iter().filter(|term| !term.rows.is_empty()) {
            let idf = idf(count, term.rows.len());
            for &(row, frequency) in &term.rows {
                let length = self.collection.lengths[row as usize] / self.collection.mean_length;
                let own = term.weight * idf * self.saturation(frequency as f32, length);
                self.offer(row, own, |row, value| {
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
                words.is_candidate[row as usize] = true;
                *slot = 0.0;
            }
            self.add_episodes(term, &mut episodes);
        }
        let weight = self.weights.episode * self.context_factor();
        for (episode, score) in self.collection.episodes.iter().zip(episodes) {
            if episode.is_ranked && score > 0.0 {
                for row in episode.start..episode.end {
                    words.scores[row as usize] += weight * score;
                }
            }
        }
        words
    }

    /// BM25's share of a term that stands `frequency` times in a text of relative `length`.
    fn saturation(&self, frequency: f32, length: f32) -> f32 {
        let Weights { k1, b, .. } = *self.weights;
        frequency * (k1 + 1.0) / (frequency + k1 * (1.0 - b + b * length))
    }

    fn context_factor(&self) -> f32 {
        if self.question.asks {
            1.0
        } else {
            self.weights.keywords
        }
    }

    /// Gives a term's value to its memory and, weakened, to the neighbours in its context.
    fn offer(&self, row: u32, own: f32, mut give: impl FnMut(u32, f32)) {
        give(row, own);
        let episode = &self.collection.episodes[self.collection.episode_of[row as usize] as usize];
        if !episode.is_context {
            return;
        }
        let factor = self.context_factor();
        for (offset, weight) in [-2, -1, 1, 2].into_iter().zip(self.weights.neighbours) {
            let neighbour = i64::from(row) + offset;
            if (i64::from(episode.start)..i64::from(episode.end)).contains(&neighbour)
                && weight > 0.0
            {
                give(neighbour as u32, own * weight * factor);
            }
        }
    }

    /// BM25 of the term over whole episodes. Rows of one episode are neighbours, so a sorted copy
    /// of the postings holds each episode in one piece.
    fn add_episodes(&self, term: &Term, episodes: &mut [f32]) {
        let mut frequencies: Vec<(u32, f32)> = Vec::new();
        let mut rows: Vec<(u32, u32)> = term.rows.clone();
        rows.sort_unstable();
        for (row, frequency) in rows {
            let episode = self.collection.episode_of[row as usize];
            match frequencies.last_mut() {
                Some((last, sum)) if *last == episode => *sum += frequency as f32,
                _ => frequencies.push((episode, frequency as f32)),
            }
        }
        let idf = idf(self.collection.episodes.len(), frequencies.len());
        for (number, frequency) in frequencies {
            let episode = &self.collection.episodes[number as usize];
            let length = episode.length / self.collection.mean_episode_length;
            episodes[number as usize] += term.weight * idf * self.saturation(frequency, length);
        }
    }

    /// How well each title answers to the query: 1 if it holds all of it and nothing else.
    fn titles<P: Postings>(&self, terms: &[Term], postings: &P) -> Result<Vec<f32>, P::Error> {
        let count = self.collection.len();
        let content = || terms.iter().filter(|term| term.is_content);
        let all: f32 = content().map(|term| idf(count, term.rows.len())).sum();
        let mut found: Vec<(f32, u32)> = Vec::new();
        for term in content() {
            for row in postings.title(&term.text)? {
                found.resize(count, (0.0, 0));
                found[row as usize].0 += idf(count, term.rows.len());
                found[row as usize].1 += 1;
            }
        }
        Ok(found
            .iter()
            .zip(&self.collection.traits)
            .map(|(&(weight, words), traits)| {
                let coverage = (2.0 * weight / all.max(f32::MIN_POSITIVE) - 1.0).clamp(0.0, 1.0);
                coverage * (words as f32 / f32::from(traits.title_words)).min(1.0)
            })
            .collect())
    }

    fn people(&self, row: u32) -> f32 {
        if self.with_named.is_empty() {
            return 0.0;
        }
        let number = self.collection.episode_of[row as usize] as usize;
        let users = &self.question.users;
        let author = users
            .get(&self.collection.users[row as usize])
            .copied()
            .unwrap_or(0);
        let takes_part = if self.collection.episodes[number].is_context {
            self.with_named[number]
        } else {
            author > 0
        };
        self.weights.author * author as f32
            + if takes_part {
                self.weights.participant
            } else {
                0.0
            }
    }

    fn priors(&self, row: u32) -> f32 {
        let traits = &self.collection.traits[row as usize];
        let episode = &self.collection.episodes[self.collection.episode_of[row as usize] as usize];
        if !self.question.asks || !episode.is_context || traits.words > self.weights.prior_words {
            return 0.0;
        }
        let answers = row > episode.start && self.collection.traits[row as usize - 1].asks;
        let when = |condition: bool, weight: f32| if condition { weight } else { 0.0 };
        when(traits.asks, self.weights.asks)
            + when(answers, self.weights.answers)
            + when(traits.names, self.weights.names)
            + when(
                self.question.asks_when && traits.tells_time,
                self.weights.tells_time,
            )
    }
}
