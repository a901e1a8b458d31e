//! Bounds above scores, so that few of many candidates are scored in full.
//!
//! Most of a score is known at once: words, coverage, title, date and nearness lie in tables. What is left, and what depends
//! on the context, has a maximum. A candidate whose bound is below the scores of as many others as are wanted is not among
//! those. Promise: the first ones, their scores and their order are those of an evaluation of all, and the number of
//! candidates is exact.

use super::{Scored, Scoring, best, share};
use crate::ranking::row_set::RowSet;
use crate::ranking::weights::Weights;

/// Number added to a bound: a sum in another order differs by less.
const ROUNDING: f32 = 1e-4;

/// Number of candidates that are scored in full at first, as a multiple of those that are wanted: the last wanted one
/// of twice as many has nearly the least score that counts.
const AT_FIRST: usize = 2;

impl Scoring<'_> {
    /// Returns all candidates with their scores, and the rows of those that are scored in full: all of them, or those that
    /// may be among the first `wanted`. The others have bounds.
    pub(super) fn begin(&self, candidates: Vec<u32>, wanted: usize) -> (Vec<Scored>, RowSet) {
        let count = self.collection.len();
        let candidates = candidates.into_iter();
        if !self.has_bounds() || candidates.len() <= AT_FIRST.saturating_mul(wanted) {
            let scored = candidates.map(|row| self.scored(row)).collect();
            return (scored, RowSet::all(count));
        }
        let mut scored: Vec<Scored> = candidates.map(|row| self.bounded(row)).collect();
        let mut in_full = RowSet::none(count);
        self.settle(&mut scored, &mut in_full, wanted);
        (scored, in_full)
    }

    /// Scores those of `scored` in full that may be among the first `wanted`, and adds them to `in_full`.
    pub(super) fn settle(&self, scored: &mut [Scored], in_full: &mut RowSet, wanted: usize) {
        if !self.has_bounds() {
            return;
        }
        let mut places = best(scored, wanted.saturating_mul(AT_FIRST));
        for &place in &places {
            self.score_in_full(&mut scored[place], in_full);
        }
        let Some(last) = wanted.min(places.len()).checked_sub(1) else {
            return;
        };
        let by_score = |&a: &usize, &b: &usize| scored[b].score.total_cmp(&scored[a].score);
        let (_, &mut last, _) = places.select_nth_unstable_by(last, by_score);
        let least = scored[last].score;
        for one in scored.iter_mut().filter(|one| one.score >= least) {
            self.score_in_full(one, in_full);
        }
    }

    /// Scores a candidate in full that is not in `in_full`, and adds it.
    pub(super) fn score_in_full(&self, one: &mut Scored, in_full: &mut RowSet) {
        if !in_full.contains(one.row) {
            in_full.put_in(one.row);
            *one = self.scored(one.row);
        }
    }

    /// Returns whether [`Scoring::bounded`] knows bounds: not with a model, in chats, and for persons, of which each
    /// memory must be asked; nor with weights of which a bound would have to be another one.
    fn has_bounds(&self) -> bool {
        let Weights {
            passage,
            near_short,
            coverage_from,
            ..
        } = self.weights;
        let are_rewards = passage >= 0.0 && near_short >= 0.0 && coverage_from < 1.0;
        are_rewards && self.cosines.is_none() && self.chats.is_empty() && self.with_named.is_empty()
    }

    /// Returns a row with a bound above its score.
    #[inline]
    pub(super) fn bounded(&self, row: u32) -> Scored {
        let weights = &self.weights;
        let words = self.rows.words(row);
        let nearness = self.nearness.as_ref();
        let mut score = share(self.words.scores[row as usize], self.best_words)
            + nearness.map_or(0.0, |near| near.bound(weights, row, words, self.uncovered))
            + self.most_priors(words)
            + ROUNDING;
        if self.words.coverage[row as usize] > weights.coverage_from {
            score += weights.coverage * self.coverage(row);
        }
        if !self.titles.is_empty() {
            score += weights.title * self.title(row);
        }
        if !self.dated.scores.is_empty() {
            score += weights.date * self.date(row);
        }
        if !self.namespaces.is_empty() {
            score += weights.namespace * self.of_namespace(self.rows.namespace(row));
        }
        Scored { row, score }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use crate::model::Memory;
    use crate::ranking::fused::{self, Pieces, RankingInput, Scored};
    use crate::ranking::people::Names;
    use crate::ranking::text::{Calling, Sketch, TextFeatures};
    use crate::ranking::{Collection, Member, Postings, Ranking, RankingSignals};
    use crate::words::{Analyzer, Language, WordVectors};

    const WORDS: [&str; 12] = [
        "garden",
        "server",
        "apple",
        "boat",
        "login",
        "meeting",
        "water",
        "paper",
        "migration",
        "the",
        "of",
        "and",
    ];

    const QUERIES: [&str; 6] = [
        "why did the server lose the login of the garden?",
        "how many apples and boats are in the water?",
        "when was the meeting of the migration?",
        "which paper is about the garden and the boat",
        "garden server",
        "paper",
    ];

    #[derive(Debug, Default)]
    struct Held {
        text: HashMap<String, Vec<(u32, u32)>>,
        title: HashMap<String, Vec<u32>>,
    }

    impl Postings for Held {
        type Error = Infallible;

        fn text(&self, term: &str) -> Result<Vec<(u32, u32)>, Infallible> {
            Ok(self.text.get(term).cloned().unwrap_or_default())
        }

        fn frequency(&self, term: &str) -> Result<usize, Infallible> {
            Ok(self.text.get(term).map_or(0, Vec::len))
        }

        fn called(&self, _: Calling, _: &str) -> Result<Vec<u32>, Infallible> {
            Ok(Vec::new())
        }

        fn title(&self, term: &str) -> Result<Vec<u32>, Infallible> {
            Ok(self.title.get(term).cloned().unwrap_or_default())
        }

        fn date(&self, _: &str) -> Result<Vec<u32>, Infallible> {
            Ok(Vec::new())
        }
    }

    /// A memory: its words by number, its length, the flags of its text, the seconds since the one before, its user.
    type Row = (Vec<usize>, u16, u32, i64, u32);

    fn store(rows: &[Row]) -> (Collection, Held) {
        let mut analyzer = Analyzer::new(&[Language::default()]);
        let (mut held, mut members, mut at) = (Held::default(), Vec::new(), 0);
        for (row, (words, length, flags, since, user)) in (0_u32..).zip(rows) {
            at += since * 1_000_000;
            let mut vector = WordVectors::default();
            for word in words.iter().map(|&word| WORDS[word]) {
                vector.add(word, 1.0);
                let term = analyzer.term_list(word).remove(0);
                let known = held.text.entry(term.clone()).or_default();
                match known.last_mut() {
                    Some((last, times)) if *last == row => *times += 1,
                    _ => known.push((row, 1)),
                }
                let titles = held.title.entry(term).or_default();
                if words[0] == words[words.len() - 1] && titles.last() != Some(&row) {
                    titles.push(row);
                }
            }
            members.push(Member {
                namespace: row / 150,
                user: *user,
                timestamp: at,
                length: words.len() as u32,
                traits: TextFeatures::unpack(flags << 16 | u32::from(*length), Sketch::EMPTY),
                vector: vector.pack(),
            });
        }
        let users = ["mira", "jon"].map(str::to_owned).to_vec();
        (Collection::of(members.into_iter().collect(), users), held)
    }

    /// Scores all, the first ones as exactly as is asked.
    fn scored((collection, held): &(Collection, Held), text: &str, first: usize) -> Vec<Scored> {
        let ranking = Ranking::default();
        let input = RankingInput {
            text,
            first,
            ranking: &ranking,
            meaning: &|_| None,
            pieces: Pieces {
                ahead: &|_| {},
                of: &|row| vec![format!("{} garden", WORDS[row as usize % WORDS.len()])],
            },
            signals: &|_| -> RankingSignals { unreachable!("this method asks for none") },
            memory: &|_| None::<Memory>,
            reranking: None,
        };
        let mut analyzer = Analyzer::new(&[Language::default()]);
        let names = Names::default();
        let ranked = fused::score(&input, collection, &names, &mut analyzer, held, |row| {
            row % 7 != 3
        });
        ranked.unwrap_or_else(|never| match never {}).scored
    }

    /// Returns the best, in order.
    fn leading(scored: &[Scored], count: usize) -> Vec<Scored> {
        let mut scored = scored.to_vec();
        scored.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
        scored.truncate(count);
        scored
    }

    fn rows() -> impl Strategy<Value = Vec<Row>> {
        let words = prop::collection::vec(0..WORDS.len(), 1..8);
        let length = prop_oneof![2..20_u16, 80..120_u16, 350..500_u16];
        let since = prop_oneof![5..60_i64, 50_000..90_000_i64];
        prop::collection::vec((words, length, 0..1_u32 << 16, since, 0..2_u32), 300..500)
    }

    /// Makes a word rare, so that most of what it finds holds it not.
    fn rare(mut rows: Vec<Row>) -> Vec<Row> {
        const PAPER: usize = 7;
        for (words, ..) in rows
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| at % 97 != 5)
            .map(|(_, row)| row)
        {
            words
                .iter_mut()
                .filter(|word| **word == PAPER)
                .for_each(|word| *word += 1);
        }
        rows
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn what_vectors_alone_find_stays_behind(rows in rows().prop_map(rare), wanted in 1..120_usize) {
            let store = store(&rows);
            let (all, some) = (scored(&store, "paper", usize::MAX), scored(&store, "paper", wanted));
            prop_assert_eq!(all.len(), some.len());
            prop_assert_eq!(leading(&all, wanted), leading(&some, wanted));
        }

        #[test]
        fn the_first_are_those_of_an_evaluation_of_all(rows in rows(), wanted in 1..120_usize) {
            let store = store(&rows);
            for query in QUERIES {
                let (all, some) = (scored(&store, query, usize::MAX), scored(&store, query, wanted));
                prop_assert_eq!(all.len(), some.len());
                prop_assert_eq!(leading(&all, wanted), leading(&some, wanted), "{}", query);
                for (exact, bound) in all.iter().zip(&some) {
                    prop_assert_eq!(exact.row, bound.row);
                    prop_assert!(exact.score <= bound.score, "{query}: {exact:?} {bound:?}");
                }
            }
        }
    }

    #[test]
    fn most_of_many_long_memories_are_not_scored_in_full() {
        let row = |number: usize| (vec![number % 12, number % 5, number % 7], 300, 0, 80_000, 0);
        let store = store(&(0..2_000).map(row).collect::<Vec<Row>>());
        let (all, some) = (
            scored(&store, QUERIES[0], usize::MAX),
            scored(&store, QUERIES[0], 25),
        );
        let in_full = all
            .iter()
            .zip(&some)
            .filter(|(exact, bound)| exact == bound)
            .count();
        assert!(
            all.len() > 1_000 && in_full < all.len() / 2,
            "{in_full} of {}",
            all.len()
        );
    }
}
