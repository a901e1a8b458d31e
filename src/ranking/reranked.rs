//! The scores of a cross-encoder for the first hits, as one part of their scores.

use std::collections::HashSet;

use crate::words::Analyzer;

/// Returns for each of some texts how well it answers the query, the greater the better; `None` if the
/// first hits stay as they are, mostly without reading the texts.
pub type Rerank<'a> = dyn Fn(&str, &mut dyn FnMut() -> Vec<String>) -> Option<Vec<f32>> + 'a;

/// Text of a memory for a cross-encoder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Excerpts {
    /// Author and title.
    pub head: String,
    /// Content in pieces of about forty words.
    pub pieces: Vec<String>,
}

/// A cross-encoder, and the texts that it reads.
#[derive(Clone, Copy)]
pub struct Reranking<'a> {
    /// Scores of texts.
    pub rerank: &'a Rerank<'a>,
    /// Told which rows are asked for next.
    pub ahead: &'a dyn Fn(&[u32]),
    /// Text of a row; empty if it cannot be read.
    pub excerpts: &'a dyn Fn(u32) -> Excerpts,
}

/// Number of hits that are re-ranked.
pub(super) const RERANKED: usize = 50;

/// Minimum standard deviation of what a cross-encoder says: below it, the texts are much the same to it.
const LEAST_DEVIATION: f32 = 1.0;

/// The same of the hits' scores, where they are equal.
const LEAST_SPREAD: f32 = 0.001;

impl Reranking<'_> {
    /// Returns the part of each of these hits (row and score), in their order; `None` if they are not
    /// re-ranked. The least has 0, so that none falls behind the hits after them. A standard deviation of
    /// what the cross-encoder says is one of the scores: models differ in their scale.
    pub fn parts(
        &self,
        query: &str,
        content: &[String],
        hits: &[(u32, f32)],
        analyzer: &mut Analyzer,
    ) -> Option<Vec<f32>> {
        let content: HashSet<&str> = content.iter().map(String::as_str).collect();
        let mut text = |row| (self.excerpts)(row).into_text(&content, analyzer);
        let mut texts = || hits.iter().map(|&(row, _)| text(row)).collect();
        let said = (self.rerank)(query, &mut texts)?;
        let scores: Vec<f32> = hits.iter().map(|(_, score)| *score).collect();
        let unit = deviation(&scores).max(LEAST_SPREAD) / deviation(&said).max(LEAST_DEVIATION);
        let least = said.iter().copied().fold(f32::INFINITY, f32::min);
        Some(said.iter().map(|one| unit * (one - least)).collect())
    }
}

impl Excerpts {
    /// Returns the text from the piece on that holds most of the words of `content`, after the head, but
    /// two pieces at least: a cross-encoder reads the beginning of what it gets, about so long.
    fn into_text(self, content: &HashSet<&str>, analyzer: &mut Analyzer) -> String {
        let held = |piece: &String| {
            let mut held: HashSet<&str> = HashSet::new();
            analyzer.terms(piece, |term, _, _| held.extend(content.get(term)));
            held.len()
        };
        let counts: Vec<usize> = self.pieces.iter().map(held).collect();
        let most = counts.iter().copied().max().unwrap_or(0);
        let best = counts.iter().position(|&count| count == most).unwrap_or(0);
        let start = best.min(self.pieces.len().saturating_sub(2));
        self.head + &self.pieces[start..].concat()
    }
}

fn deviation(values: &[f32]) -> f32 {
    let count = values.len().max(1) as f32;
    let mean = values.iter().sum::<f32>() / count;
    let squares: f32 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Language;

    fn parts(said: &[f32], scores: &[f32]) -> Vec<f32> {
        let reranking = Reranking {
            rerank: &|_, _| Some(said.to_vec()),
            ahead: &|_| (),
            excerpts: &|_| Excerpts::default(),
        };
        let hits: Vec<(u32, f32)> = scores.iter().map(|score| (0, *score)).collect();
        let mut analyzer = Analyzer::new(&[Language::default()]);
        reranking.parts("q", &[], &hits, &mut analyzer).unwrap()
    }

    #[test]
    fn the_scale_of_the_model_does_not_count() {
        assert_eq!(parts(&[-4.0, 4.0], &[3.0, 1.0]), [0.0, 2.0]);
        assert_eq!(parts(&[-40.0, 40.0], &[3.0, 1.0]), [0.0, 2.0]);
    }

    #[test]
    fn what_is_much_the_same_to_the_model_stays_so() {
        let parts = parts(&[0.01, 0.0], &[3.0, 1.0]);
        assert!(parts[0] < 0.02, "{parts:?}");
    }

    #[test]
    fn hits_of_one_score_are_told_apart() {
        let parts = parts(&[0.0, 5.0], &[1.0, 1.0]);
        assert!(parts[1] > parts[0], "{parts:?}");
    }

    #[test]
    fn a_long_text_begins_with_the_piece_that_holds_most_of_the_query() {
        let mut analyzer = Analyzer::new(&[Language::default()]);
        let mut text = |pieces: &[&str]| {
            let excerpts = Excerpts {
                head: "Ana: ".to_owned(),
                pieces: pieces.iter().map(|&piece| piece.to_owned()).collect(),
            };
            excerpts.into_text(&["bread", "milk"].into(), &mut analyzer)
        };
        let long = ["Trains. ", "Bread and milk. ", "Bread. ", "Buses."];
        assert_eq!(text(&long), "Ana: Bread and milk. Bread. Buses.");
        assert_eq!(text(&["Trains. ", "Bread."]), "Ana: Trains. Bread.");
        assert_eq!(text(&[]), "Ana: ");
    }
}
