//! The measures, and their means over questions.

use std::collections::BTreeMap;

/// Quality of the answers to one question, or to many on average: shares from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Measures {
    /// The share of relevant answers that is among the first 1, 5, 10, 25.
    pub recall: [f64; 4],
    /// Whether something relevant is among the first 1, 5, 10.
    pub hit: [f64; 3],
    /// Reciprocal rank of the first relevant answer.
    pub mrr: f64,
    /// Normalised discounted cumulative gain of the first 10, each relevant one counting 1
    /// (Järvelin and Kekäläinen 2002).
    pub ndcg: f64,
}

impl Measures {
    /// Cutoffs of the recall.
    pub const RECALL_AT: [usize; 4] = [1, 5, 10, 25];
    /// Cutoffs of the hit rate.
    pub const HIT_AT: [usize; 3] = [1, 5, 10];
    /// Names of all measures, in the order of `values`.
    pub const NAMES: [&'static str; 9] = [
        "R@1", "R@5", "R@10", "R@25", "Hit@1", "Hit@5", "Hit@10", "MRR", "NDCG@10",
    ];

    /// Measures one question: `relevant` says of each answer, best first, whether it is relevant,
    /// and `count` how many relevant ones there are in all.
    pub fn of(relevant: &[bool], count: usize) -> Measures {
        if count == 0 {
            return Measures::default();
        }
        let within = |k: usize| relevant.iter().take(k).filter(|&&is| is).count();
        let discount = |place: usize| 1.0 / ((place + 2) as f64).log2();
        let gain: f64 = (0..relevant.len().min(10))
            .filter(|&place| relevant[place])
            .map(discount)
            .sum();
        let ideal: f64 = (0..count.min(10)).map(discount).sum();
        let first = relevant.iter().position(|&is| is);
        Measures {
            recall: Measures::RECALL_AT.map(|k| within(k) as f64 / count as f64),
            hit: Measures::HIT_AT.map(|k| f64::from(u8::from(within(k) > 0))),
            mrr: first.map_or(0.0, |place| 1.0 / (place + 1) as f64),
            ndcg: gain / ideal,
        }
    }

    /// In the order of [`Measures::NAMES`].
    pub fn values(&self) -> [f64; 9] {
        let ([a, b, c, d], [e, f, g]) = (self.recall, self.hit);
        [a, b, c, d, e, f, g, self.mrr, self.ndcg]
    }
}

/// Means over questions, by their type and over all.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    sums: BTreeMap<String, (usize, [f64; 9])>,
}

impl Tally {
    /// The row of all questions together.
    pub const ALL: &'static str = "all";

    /// Adds the measures of one question of a kind.
    pub fn add(&mut self, kind: &str, measures: &Measures) {
        for key in [kind, Tally::ALL] {
            let (count, sums) = self.sums.entry(key.to_owned()).or_default();
            *count += 1;
            for (sum, value) in sums.iter_mut().zip(measures.values()) {
                *sum += value;
            }
        }
    }

    /// Each type with its number of questions and its means; all together come last.
    pub fn rows(&self) -> Vec<(&str, usize, [f64; 9])> {
        let mut rows: Vec<_> = self
            .sums
            .iter()
            .map(|(kind, (count, sums))| (kind.as_str(), *count, sums.map(|s| s / *count as f64)))
            .collect();
        rows.sort_by_key(|(kind, ..)| *kind == Tally::ALL);
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_are_those_of_the_books() {
        // Two relevant: one found at the second place, the other not at all.
        let measures = Measures::of(&[false, true, false], 2);
        assert_eq!(measures.recall, [0.0, 0.5, 0.5, 0.5]);
        assert_eq!(measures.hit, [0.0, 1.0, 1.0]);
        assert_eq!(measures.mrr, 0.5);
        let ideal = 1.0 + 1.0 / 3_f64.log2();
        assert!((measures.ndcg - (1.0 / 3_f64.log2()) / ideal).abs() < 1e-12);
        assert_eq!(Measures::of(&[true], 1).values(), [1.0; 9]);
        assert_eq!(Measures::of(&[], 3).values(), [0.0; 9]);
    }

    #[test]
    fn means_are_taken_by_type_and_over_all() {
        let mut tally = Tally::default();
        tally.add("b", &Measures::of(&[true], 1));
        tally.add("a", &Measures::of(&[], 1));
        let rows = tally.rows();
        let kinds: Vec<_> = rows
            .iter()
            .map(|(kind, count, _)| (*kind, *count))
            .collect();
        assert_eq!(kinds, [("a", 1), ("b", 1), ("all", 2)]);
        assert_eq!(rows[2].2, [0.5; 9]);
    }
}
