//! How near a query is to each memory by the vectors of their words, where there is no model.

use super::best::first;
use super::collection::Collection;
use super::lexical::{Term, idf};
use super::parsed_query::ParsedQuery;
use super::weights::Weights;
use crate::words::{Analyzer, Part, QueryVector, WordVectors, is_stop_word};

/// Minimum cosine of a memory that is found by vectors alone: for a question, and for a list of words,
/// whose hits are expected to hold them.
const LEAST_COSINES: [f32; 2] = [0.12, 0.25];
/// Mean and standard deviation of the cosines of a question with texts on other matters, as found in
/// stores of 900 to 5,000 memories.
const USUAL: (f32, f32) = (0.05, 0.08);
/// Number of memories that the usual values count as: in a small store they are the better estimate.
const USUAL_COUNT: f32 = 50.0;

/// Nearness of a query and each row.
pub(super) struct Nearness {
    cosines: Vec<f32>,
    mean: f32,
    deviation: f32,
    /// Factor of all scores: lower for a list of words.
    factor: f32,
    /// Minimum cosine of a row that no word found.
    least: f32,
    /// Weight of a standard deviation for memories without context, by how little the words find.
    alone: f32,
}

impl Nearness {
    /// Compares the content words of `query` with all rows; `None` if the table of vectors knows fewer
    /// than half of them. Words count with the root of their idf.
    pub fn of(
        collection: &Collection,
        query: &ParsedQuery,
        terms: &[Term],
        analyzer: &mut Analyzer,
        weights: &Weights,
    ) -> Option<Nearness> {
        let [least_asked, least_listed] = LEAST_COSINES;
        let (factor, least) = match query.asks {
            true => (1.0, least_asked),
            false => (weights.keyword_meaning, least_listed),
        };
        let mut words = WordVectors::default();
        analyzer.terms(&query.text, |term, word, part| {
            if part == Part::Word && !is_stop_word(word) {
                let known = terms.iter().find(|known| known.text == term);
                let frequency = known.map_or(0, Term::frequency);
                words.add(word, idf(collection.len(), frequency).sqrt());
            }
        });
        let query = QueryVector::of(&words)?;
        let vectors = collection.vectors();
        let cosines: Vec<f32> = vectors
            .slices()
            .flatten()
            .map(|vector| query.cosine(vector))
            .collect();
        let count = cosines.len() as f32 + USUAL_COUNT;
        let mean = (cosines.iter().sum::<f32>() + USUAL_COUNT * USUAL.0) / count;
        let squares: f32 = cosines.iter().map(|cosine| (cosine - mean).powi(2)).sum();
        let variance = (squares + USUAL_COUNT * USUAL.1.powi(2)) / count;
        Some(Nearness {
            cosines,
            mean,
            deviation: variance.sqrt(),
            factor,
            least,
            alone: 0.0,
        })
    }

    /// Sets how much the vectors count for memories without context: the less of the query's words the
    /// memory with most of them holds, the more.
    pub fn weigh(&mut self, weights: &Weights, covered: f32) {
        self.alone = weights.uncovered * (1.0 - covered / weights.covered_from).max(0.0);
    }

    /// Returns the `count` nearest rows that pass and are near at all.
    pub fn nearest(&self, count: usize, passes: impl Fn(u32) -> bool) -> Vec<u32> {
        let cosine = |row: &u32| self.cosines[*row as usize];
        let rows = 0..self.cosines.len() as u32;
        let near = rows.filter(|row| cosine(row) >= self.least && passes(*row));
        first(near, count, |a, b| {
            cosine(b).total_cmp(&cosine(a)).then(a.cmp(b))
        })
    }

    /// Returns the score of a row with a number of words and, in a context, the row before it. The cosine
    /// is taken in standard deviations from the mean. Very short texts are near by chance, and the sum of
    /// many words says little.
    pub fn score(&self, weights: &Weights, row: u32, words: f32, context: Context) -> f32 {
        let deviations = |row: u32| (self.cosines[row as usize] - self.mean) / self.deviation;
        let own = deviations(row);
        let (before, alone) = match context {
            Context::After(before) => (deviations(before), 0.0),
            Context::First => (own, 0.0),
            Context::None => (own, self.alone),
        };
        let both = (own + before) * std::f32::consts::FRAC_1_SQRT_2;
        let is_not_short = words / (words + weights.near_short);
        let is_not_long = (weights.near_words / words.max(weights.near_words)).powi(3);
        self.factor * is_not_long * (weights.nearness * is_not_short * (own + both) + alone * own)
    }
}

/// Place of a memory in a context.
pub(super) enum Context {
    /// A memory without context.
    None,
    /// The first memory of its context, or a long one.
    First,
    /// A memory that follows this row.
    After(u32),
}
