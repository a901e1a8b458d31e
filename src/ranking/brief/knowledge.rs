//! How much a text says that the others of its namespace do not, without a query.
//!
//! The sum of its words' rarity counts most; a time, a name and earlier uses count, too: questions ask for
//! what is particular. The weights were chosen on development conversations (docs/SESSIONS.md).

use std::collections::{HashMap, HashSet};

use crate::ranking::idf;
use crate::ranking::text::{names_something, tells_time};
use crate::words::{Analyzer, Part, is_stop_word};

/// Weight of the words' rarity, as a share of that of the text that says most.
const RARITY: f32 = 1.0;
/// Weight of a time in the text.
const TIME: f32 = 0.15;
/// Weight of a name in the text.
const NAME: f32 = 0.15;
/// Weight of the natural logarithm of one more than the number of uses.
const USES: f32 = 0.2;
/// Weight of a question in the text.
const QUESTION: f32 = -0.2;

/// A text to be judged.
pub(super) struct Judged<'a> {
    /// The text as it would be shown.
    pub text: &'a str,
    /// Number of uses of its memory.
    pub uses: u32,
}

/// Returns how much each of the texts says, higher is more.
pub(super) fn judge(texts: &[Judged<'_>], analyzer: &mut Analyzer) -> Vec<f32> {
    let mut frequency: HashMap<String, usize> = HashMap::new();
    let mut terms: Vec<HashSet<String>> = Vec::with_capacity(texts.len());
    for judged in texts {
        let mut own = HashSet::new();
        analyzer.terms(judged.text, |term, word, part| {
            if part == Part::Word && !is_stop_word(word) {
                own.insert(term.to_owned());
            }
        });
        for term in &own {
            *frequency.entry(term.clone()).or_default() += 1;
        }
        terms.push(own);
    }
    let count = texts.len();
    let rarity = |own: &HashSet<String>| -> f32 {
        let mut each: Vec<f32> = own.iter().map(|term| idf(count, frequency[term])).collect();
        // Sets have no order, and sums of floats have one.
        each.sort_unstable_by(f32::total_cmp);
        each.iter().sum()
    };
    let rarities: Vec<f32> = terms.iter().map(rarity).collect();
    let most = rarities
        .iter()
        .copied()
        .fold(0.0, f32::max)
        .max(f32::MIN_POSITIVE);
    let scored = texts.iter().zip(rarities);
    scored
        .map(|(judged, rarity)| {
            let has = |is: bool, weight: f32| if is { weight } else { 0.0 };
            RARITY * rarity / most
                + has(tells_time(judged.text), TIME)
                + has(names_something(judged.text), NAME)
                + USES * (judged.uses as f32).ln_1p()
                + has(judged.text.contains(['?', '？']), QUESTION)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Language;

    fn scores(texts: &[(&str, u32)]) -> Vec<f32> {
        let judged: Vec<Judged<'_>> = texts
            .iter()
            .map(|(text, uses)| Judged { text, uses: *uses })
            .collect();
        judge(&judged, &mut Analyzer::new(&[Language::default()]))
    }

    #[test]
    fn particulars_say_more_than_pleasantries() {
        let scores = scores(&[
            ("Thanks, that sounds great!", 0),
            ("Sounds great, thanks a lot!", 0),
            ("The ledger moved to Postgres 17 in Zürich on Tuesday.", 0),
        ]);
        assert!(scores[2] > 2.0 * scores[0].max(scores[1]), "{scores:?}");
    }

    #[test]
    fn uses_lift_a_text_and_questions_lower_it() {
        let scores = scores(&[
            ("the cache holds seven pages", 0),
            ("the cache holds seven pages", 9),
            ("the cache holds seven pages?", 0),
        ]);
        assert!(scores[1] > scores[0] && scores[0] > scores[2], "{scores:?}");
    }
}
