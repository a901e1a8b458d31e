//! Soft words: a word of a question that a memory lacks counts by the nearest word that the memory holds, by the
//! vectors of words in the program.
//!
//! `soft(m) = Σ_t idf(t) · max_u cos(t, u) / Σ_t idf(t)`: t runs over the content words of the question, of which those
//! that m holds add nothing, and u over the content words of m that are near enough.

use std::collections::HashMap;

use crate::ranking::lexical::{Term, idf};
use crate::words::{Analyzer, Part, QueryVector, TextVector, WordVectors, is_stop_word};

/// Minimum cosine of two words that count as near.
const LEAST_COSINE: f32 = 0.25;

/// Content words of a question.
pub(in crate::ranking) struct SoftWords {
    words: Vec<SoftWord>,
    /// Sum of their idf.
    idf: f32,
    /// Vectors of the words of memories so far.
    vectors: HashMap<String, TextVector>,
}

struct SoftWord {
    word: String,
    /// Terms of the word, one for each language.
    terms: Vec<String>,
    idf: f32,
    vector: Option<QueryVector>,
}

impl SoftWords {
    /// Takes the content words of `text`; their idf is that of `terms` in a store of `count` memories. `None` if the
    /// table of vectors holds none of them.
    pub fn of(
        text: &str,
        (terms, count): (&[Term], usize),
        analyzer: &mut Analyzer,
    ) -> Option<SoftWords> {
        let mut words: Vec<SoftWord> = Vec::new();
        analyzer.terms(text, |term, word, part| {
            if part != Part::Word || is_stop_word(word) {
                return;
            }
            let known = terms.iter().find(|known| known.text == term);
            let idf = idf(count, known.map_or(0, Term::frequency));
            match words.iter_mut().find(|known| known.word == word) {
                Some(known) => {
                    known.terms.push(term.to_owned());
                    known.idf = known.idf.min(idf);
                }
                None => words.push(SoftWord {
                    word: word.to_owned(),
                    terms: vec![term.to_owned()],
                    idf,
                    vector: QueryVector::of(&vectors(word)),
                }),
            }
        });
        let is_known = words.iter().any(|word| word.vector.is_some());
        is_known.then(|| SoftWords {
            idf: words.iter().map(|word| word.idf).sum(),
            words,
            vectors: HashMap::new(),
        })
    }

    /// Returns the score of a memory whose text has these pieces, 0–1.
    pub fn score(&mut self, pieces: &[String], analyzer: &mut Analyzer) -> f32 {
        let SoftWords {
            words,
            idf,
            vectors: known,
        } = self;
        let mut nearest = vec![0.0_f32; words.len()];
        let mut is_held = vec![false; words.len()];
        for piece in pieces {
            analyzer.terms(piece, |term, word, part| {
                if part != Part::Word || is_stop_word(word) {
                    return;
                }
                let vector = match known.get(word) {
                    Some(vector) => *vector,
                    None => {
                        let vector = vectors(word).pack();
                        known.insert(word.to_owned(), vector);
                        vector
                    }
                };
                for (at, asked) in words.iter().enumerate() {
                    is_held[at] |= asked.terms.iter().any(|known| known == term);
                    if let Some(asked) = &asked.vector {
                        nearest[at] = nearest[at].max(asked.cosine(&vector.0));
                    }
                }
            });
        }
        let near = words.iter().zip(nearest).zip(is_held);
        let near = near.filter(|((_, cosine), is_held)| !is_held && *cosine >= LEAST_COSINE);
        near.map(|((word, cosine), _)| word.idf * cosine)
            .sum::<f32>()
            / *idf
    }
}

fn vectors(word: &str) -> WordVectors {
    let mut vectors = WordVectors::default();
    vectors.add(word, 1.0);
    vectors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Language;

    #[test]
    fn a_word_that_is_lacking_counts_by_the_nearest_one() {
        let mut analyzer = Analyzer::new(&[Language::default()]);
        let mut words =
            SoftWords::of("music instrument", (&[], 10), &mut analyzer).expect("they are known");
        let mut score = |text: &str| words.score(&[text.to_owned()], &mut analyzer);
        let near = score("She plays the violin.");
        assert!(near > 0.2 && near < 1.0, "{near}");
        assert!(near > score("The server was restarted."));
        assert_eq!(
            score("It is a musical instrument of music."),
            0.0,
            "both are held"
        );
    }

    #[test]
    fn words_without_vectors_say_nothing() {
        let mut analyzer = Analyzer::new(&[Language::default()]);
        assert!(SoftWords::of("4711 0a1b2c", (&[], 10), &mut analyzer).is_none());
        assert!(SoftWords::of("the of", (&[], 10), &mut analyzer).is_none());
    }
}
