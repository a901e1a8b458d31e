//! Late interaction: how near the words of a query are to those of a memory, one by one, as a model reads
//! both in their texts (Khattab and Zaharia 2020).
//!
//! `late(m) = Σ_t idf(t) · max_u cos(t, u) / Σ_t idf(t)`, over the tokens t of the query and u of the memory,
//! less its mean over the memories compared. One vector of a short memory is mostly what it is about; its
//! tokens tell two memories about the same apart.

use std::collections::HashMap;
use std::ops::Range;

use crate::ranking::lexical::{Term, idf};
use crate::words::{Analyzer, Part, is_stop_word};

/// Tokens of a query, to be compared with those of memories.
pub struct QueryTokens {
    /// Place of each in the text that was embedded, in bytes.
    pub places: Vec<Range<usize>>,
    /// Greatest cosine of each with a token of a row's memory; empty for a memory without tokens.
    pub nearest: Box<dyn Fn(u32) -> Vec<f32>>,
}

/// Comparison of a query's tokens with those of some rows.
pub(in crate::ranking) struct LateInteraction {
    tokens: QueryTokens,
    /// Weight of each token; their sum is 1.
    weights: Vec<f32>,
    scores: HashMap<u32, f32>,
    mean: f32,
}

impl LateInteraction {
    /// Prepares a comparison with `count` memories by the tokens of `text`: each with the idf of its word, in
    /// equal parts if that has several; function words count nothing. `None` if no other word is left.
    pub fn of(
        tokens: QueryTokens,
        text: &str,
        (terms, count): (&[Term], usize),
        analyzer: &mut Analyzer,
    ) -> Option<LateInteraction> {
        let words = tokens.places.iter().map(|place| word_around(text, place));
        let words: Vec<Range<usize>> = words.collect();
        let mut idf_of = |word: &Range<usize>| {
            let mut greatest = 0.0_f32;
            analyzer.terms(&text[word.clone()], |term, word, part| {
                if part != Part::Within && !is_stop_word(word) {
                    let known = terms.iter().find(|known| known.text == term);
                    greatest = greatest.max(idf(count, known.map_or(0, Term::frequency)));
                }
            });
            greatest
        };
        let parts = |word: &Range<usize>| words.iter().filter(|other| *other == word).count();
        let weights = words.iter().map(|word| idf_of(word) / parts(word) as f32);
        let weights: Vec<f32> = weights.collect();
        let sum: f32 = weights.iter().sum();
        (sum > 0.0).then(|| LateInteraction {
            tokens,
            weights: weights.iter().map(|weight| weight / sum).collect(),
            scores: HashMap::new(),
            mean: 0.0,
        })
    }

    /// Compares the tokens with those of `rows`.
    pub fn compare(&mut self, rows: impl Iterator<Item = u32>) {
        for row in rows {
            let nearest = (self.tokens.nearest)(row);
            if !nearest.is_empty() {
                let weighted = self.weights.iter().zip(nearest);
                let score = weighted.map(|(weight, cosine)| weight * cosine).sum();
                self.scores.insert(row, score);
            }
        }
        let count = self.scores.len().max(1) as f32;
        self.mean = self.scores.values().sum::<f32>() / count;
    }

    /// Returns the score of a row, less the mean; 0 of one that was not compared.
    pub fn score(&self, row: u32) -> f32 {
        let score = self.scores.get(&row);
        score.map_or(0.0, |score| score - self.mean)
    }
}

/// Returns the place of the word in which a token lies.
fn word_around(text: &str, place: &Range<usize>) -> Range<usize> {
    let around = (text.get(..place.start), text.get(place.end..));
    let (Some(before), Some(after)) = around else {
        return 0..0;
    };
    let is_outside = |c: char| !c.is_alphanumeric();
    let start = before.rfind(is_outside).map_or(0, |at| {
        at + before[at..].chars().next().map_or(1, char::len_utf8)
    });
    let end = after.find(is_outside).unwrap_or(after.len());
    start..place.end + end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Language;

    fn interaction(text: &str, places: &[Range<usize>], cosines: [Vec<f32>; 3]) -> LateInteraction {
        let tokens = QueryTokens {
            places: places.to_vec(),
            nearest: Box::new(move |row| cosines[row as usize].clone()),
        };
        let mut analyzer = Analyzer::new(&[Language::default()]);
        LateInteraction::of(tokens, text, (&[], 10), &mut analyzer).unwrap()
    }

    #[test]
    fn each_word_counts_once_whatever_its_number_of_tokens() {
        let places = [0..3, 4..7, 7..9, 10..13];
        let cosines = [vec![1.0, 0.5, 0.7, 0.2], vec![0.0; 4], vec![]];
        let mut late = interaction("the allergy cat", &places, cosines);
        late.compare(0..3);
        let expected = (0.5 + 0.7) / 4.0 + 0.2 / 2.0;
        assert!((late.score(0) - expected / 2.0).abs() < 1e-6);
        assert!((late.score(1) + expected / 2.0).abs() < 1e-6);
        assert_eq!(late.score(2), 0.0, "it has no tokens");
    }

    #[test]
    fn a_word_is_found_around_its_token() {
        assert_eq!(word_around("Où est l'été?", &(10..13)), 10..15);
        assert_eq!(word_around("x", &(0..1)), 0..1);
        assert_eq!(word_around("é", &(1..2)), 0..0, "it lies in a character");
    }
}
