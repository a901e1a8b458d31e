//! Nearness of a query and each memory by vectors: by those of their words, where there is no model; and
//! the weight of nearness where no memory holds the query's words.

use crate::columns::Scratch;
use crate::ranking::best::first;
use crate::ranking::collection::Collection;
use crate::ranking::lexical::{Term, idf};
use crate::ranking::parsed_query::ParsedQuery;
use crate::ranking::weights::Weights;
use crate::words::{Analyzer, Part, QueryVector, WordVectors, is_stop_word};

/// Minimum cosine of a memory that is found by vectors alone: for a question, and for a list of words,
/// whose hits are expected to hold them.
const LEAST_COSINES: [f32; 2] = [0.12, 0.25];
/// Mean and standard deviation of the cosines of a question with texts on other matters, as found in
/// stores of 900 to 5,000 memories.
const USUAL: (f32, f32) = (0.05, 0.08);
/// Number of memories that the usual values count as: in a small store they are the better estimate.
const USUAL_COUNT: f32 = 50.0;

/// Mean and standard deviation of a model's cosines for which the weights of the ranking are chosen: those
/// of all-MiniLM-L6-v2, whose deviation is 0.07 to 0.15 for most queries.
const OF_MODEL: (f32, f32) = (0.05, 0.1);
/// Deviation below which the cosines are those of another kind of model, and are spread.
const NARROW: f32 = 0.05;

/// Mean and standard deviation of the cosines of a query with all memories.
#[derive(Debug, Clone, Copy)]
pub(in crate::ranking) struct Distribution {
    mean: f32,
    deviation: f32,
}

impl Distribution {
    /// Returns the distribution of these cosines and of the usual ones.
    pub fn of(cosines: impl Iterator<Item = f32> + Clone) -> Distribution {
        let (sum, count) = cosines.clone().fold((0.0, 0.0), |(sum, count), cosine| {
            (sum + cosine, count + 1.0)
        });
        let count: f32 = count + USUAL_COUNT;
        let mean = (sum + USUAL_COUNT * USUAL.0) / count;
        let squares: f32 = cosines.map(|cosine| (cosine - mean).powi(2)).sum();
        let variance = (squares + USUAL_COUNT * USUAL.1.powi(2)) / count;
        Distribution {
            mean,
            deviation: variance.sqrt(),
        }
    }

    /// Returns the number of standard deviations of a cosine above the mean.
    pub fn deviations(&self, cosine: f32) -> f32 {
        (cosine - self.mean) / self.deviation
    }
}

/// Returns the function that spreads a model's cosines if they are narrow, so that the weights hold for
/// them; NaN are left out.
pub(in crate::ranking) fn spreading(cosines: &[f32]) -> Option<impl Fn(f32) -> f32 + Copy + use<>> {
    let known = || cosines.iter().copied().filter(|cosine| !cosine.is_nan());
    let count = known().count() as f32;
    let mean = known().sum::<f32>() / count;
    let squares: f32 = known().map(|cosine| (cosine - mean).powi(2)).sum();
    // Few memories say little of the deviation.
    let usual = USUAL_COUNT * OF_MODEL.1.powi(2);
    let deviation = ((squares + usual) / (count + USUAL_COUNT)).sqrt();
    let spread = move |cosine: f32| OF_MODEL.0 + OF_MODEL.1 * (cosine - mean) / deviation;
    (deviation < NARROW).then_some(spread)
}

/// Returns the weight of a standard deviation for memories without context: the less of the query's
/// words the memory with most of them holds, the greater.
pub(in crate::ranking) fn uncovered(weights: &Weights, covered: f32) -> f32 {
    weights.uncovered * (1.0 - covered / weights.covered_from).max(0.0)
}

/// Returns the factor of the nearness of a memory with a number of words: one vector says little of many.
pub(in crate::ranking) fn is_not_long(weights: &Weights, words: f32) -> f32 {
    (weights.near_words / words.max(weights.near_words)).powi(3)
}

/// Nearness of a query and each row by the vectors of words.
pub(in crate::ranking) struct Nearness {
    cosines: Scratch,
    distribution: Distribution,
    /// Greatest number of standard deviations of a row above the mean, or 0.
    most: f32,
    /// Factor of all scores: lower for a list of words.
    factor: f32,
    /// Minimum cosine of a row that no word found.
    least: f32,
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
        let mut cosines = Scratch::zeros(collection.len());
        let mut first = 0;
        for texts in vectors.slices() {
            let end = first + texts.len();
            query.cosines(texts, &mut cosines[first..end]);
            first = end;
        }
        let distribution = Distribution::of(cosines.iter().copied());
        let most = cosines.iter().copied().fold(0.0, f32::max);
        Some(Nearness {
            most: distribution.deviations(most).max(0.0),
            distribution,
            cosines,
            factor,
            least,
        })
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

    /// Returns the number of standard deviations of a row's cosine above the mean.
    pub fn deviations(&self, row: u32) -> f32 {
        self.distribution.deviations(self.cosines[row as usize])
    }

    /// Returns a bound above [`Nearness::score`] in any context; infinite with weights that are no rewards.
    #[inline]
    pub fn bound(&self, weights: &Weights, row: u32, words: f32, alone: f32) -> f32 {
        if weights.nearness < 0.0 || alone < 0.0 || self.factor < 0.0 {
            return f32::INFINITY;
        }
        let own = self.deviations(row).max(0.0);
        let both = (own + self.most) * std::f32::consts::FRAC_1_SQRT_2;
        self.factor * is_not_long(weights, words) * (weights.nearness * (own + both) + alone * own)
    }

    /// Returns the score of a row with a number of words and, in a context, the row before it. `alone` is
    /// the weight of a standard deviation of a memory without context. Very short texts are near by
    /// chance.
    pub fn score(
        &self,
        weights: &Weights,
        row: u32,
        words: f32,
        context: Context,
        alone: f32,
    ) -> f32 {
        let own = self.deviations(row);
        let (before, alone) = match context {
            Context::After(before) => (self.deviations(before), 0.0),
            Context::First => (own, 0.0),
            Context::None => (own, alone),
        };
        let both = (own + before) * std::f32::consts::FRAC_1_SQRT_2;
        let is_not_short = words / (words + weights.near_short);
        self.factor
            * is_not_long(weights, words)
            * (weights.nearness * is_not_short * (own + both) + alone * own)
    }
}

/// Place of a memory in a context.
pub(in crate::ranking) enum Context {
    /// A memory without context.
    None,
    /// The first memory of its context, or a long one.
    First,
    /// A memory that follows this row.
    After(u32),
}
