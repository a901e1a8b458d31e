//! How likely a memory of a namespace is to be needed, without a query.
//!
//! What was needed once is needed again, and so are memories that speak of the same things; beside that
//! newer ones, those of the person in a chat, and texts that say what others do not. Forms and weights were
//! chosen on every other development conversation (docs/SESSIONS.md).

use rustc_hash::FxHashMap;

use crate::ranking::idf;
use crate::words::{Analyzer, Part, is_stop_word};

/// Weight of a memory that was used. How often says less than whether: a brief is to hold different things.
const USED: f32 = 1.0;
/// Weight of the mean rarity of words that used memories hold, as a share of the greatest one.
const LIKE_USED: f32 = 0.3;
/// Weight of the place in time, 1 for the newest memory and 0 for the oldest.
const NEWNESS: f32 = 0.3;
/// Weight of a reply of an assistant.
const REPLY: f32 = -0.2;
/// Weight of the sum of the words' rarity, as a share of the greatest one.
const RARITY: f32 = 0.1;

/// A memory to be judged.
pub(super) struct Judged<'a> {
    /// The text as it would be shown.
    pub text: &'a str,
    /// Whether the memory was used.
    pub is_used: bool,
    /// Whether it is a reply of an assistant.
    pub is_reply: bool,
    /// Place in time, 1 for the newest memory and 0 for the oldest.
    pub newness: f32,
}

/// Returns how likely each of the memories is to be needed, higher is more likely.
pub(super) fn judge(memories: &[Judged<'_>], analyzer: &mut Analyzer) -> Vec<f32> {
    let mut numbers: FxHashMap<String, usize> = FxHashMap::default();
    // Of each term: in how many memories it stands, and in how many that were used.
    let mut frequencies: Vec<usize> = Vec::new();
    let mut in_used: Vec<usize> = Vec::new();
    let mut terms: Vec<Vec<usize>> = Vec::with_capacity(memories.len());
    for judged in memories {
        let mut own = Vec::new();
        analyzer.terms(judged.text, |term, word, part| {
            if part != Part::Word || is_stop_word(word) {
                return;
            }
            own.push(numbers.get(term).copied().unwrap_or_else(|| {
                numbers.insert(term.to_owned(), frequencies.len());
                frequencies.push(0);
                in_used.push(0);
                frequencies.len() - 1
            }));
        });
        own.sort_unstable();
        own.dedup();
        for term in &own {
            frequencies[*term] += 1;
            in_used[*term] += usize::from(judged.is_used);
        }
        terms.push(own);
    }
    let count = memories.len();
    let idfs: Vec<f32> = frequencies.iter().map(|held| idf(count, *held)).collect();
    let rarities = terms
        .iter()
        .map(|own| own.iter().map(|term| idfs[*term]).sum());
    let likenesses = memories.iter().zip(&terms).map(|(judged, own)| {
        let others = own
            .iter()
            .filter(|term| in_used[**term] > usize::from(judged.is_used));
        let shared: f32 = others.map(|term| idfs[*term]).sum();
        shared / (1 + own.len()) as f32
    });
    let (rarities, likenesses) = (shares(rarities), shares(likenesses));
    let memories = memories.iter().zip(rarities).zip(likenesses);
    memories
        .map(|((judged, rarity), likeness)| {
            let has = |is: bool, weight: f32| if is { weight } else { 0.0 };
            has(judged.is_used, USED)
                + LIKE_USED * likeness
                + NEWNESS * judged.newness
                + has(judged.is_reply, REPLY)
                + RARITY * rarity
        })
        .collect()
}

/// Returns values as shares of the greatest one.
fn shares(values: impl Iterator<Item = f32>) -> Vec<f32> {
    let values: Vec<f32> = values.collect();
    let most = values.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    values.into_iter().map(|value| value / most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::Language;

    /// The scores of texts, the newest first, each with whether it was used and is a reply.
    fn scores(texts: &[(&str, bool, bool)]) -> Vec<f32> {
        let judged: Vec<Judged<'_>> = texts
            .iter()
            .enumerate()
            .map(|(number, (text, is_used, is_reply))| Judged {
                text,
                is_used: *is_used,
                is_reply: *is_reply,
                newness: 1.0 - number as f32 / texts.len() as f32,
            })
            .collect();
        judge(&judged, &mut Analyzer::new(&[Language::default()]))
    }

    #[test]
    fn what_was_used_and_what_is_like_it_come_first() {
        let scores = scores(&[
            ("the choir sings Bach on Sunday", false, false),
            ("the ledger moved to Postgres", false, false),
            ("Postgres holds the ledger of the shop", true, false),
        ]);
        assert!(scores[2] > scores[1] && scores[1] > scores[0], "{scores:?}");
    }

    #[test]
    fn without_uses_the_newest_comes_first_and_a_reply_later() {
        let scores = scores(&[
            ("the cache holds seven pages", false, true),
            ("the cache holds eight pages", false, false),
            ("the cache holds nine pages", false, false),
        ]);
        assert!(scores[1] > scores[2] && scores[1] > scores[0], "{scores:?}");
    }
}
