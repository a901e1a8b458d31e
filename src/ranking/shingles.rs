//! How much two texts have in common, word for word.

use std::collections::HashSet;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;

/// So many words in a row make a shingle.
const WORDS: usize = 3;

/// The share of their runs of three words that two texts have in common (Jaccard; Broder 1997):
/// 1 for texts of the same words, also in other case and punctuation, 0 for texts that share no
/// run. Texts of fewer words are one run.
pub fn resemblance(one: &str, other: &str) -> f32 {
    let (one, other) = (shingles(one), shingles(other));
    let common = one.intersection(&other).count();
    let all = one.len() + other.len() - common;
    if all == 0 {
        return 0.0;
    }
    common as f32 / all as f32
}

fn shingles(text: &str) -> HashSet<Vec<String>> {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    match words.len() {
        0 => HashSet::new(),
        1..WORDS => HashSet::from([words]),
        _ => words.windows(WORDS).map(<[String]>::to_vec).collect(),
    }
}

/// So many runs stand for all of a text.
const OUTLINED: usize = 64;
/// So much of a text is looked at.
const OUTLINED_BYTES: usize = 16 * 1024;

/// What is kept of a text to compare it with many others: the smallest hashes of its runs (Broder's
/// bottom sketch). Costs a fraction of the texts themselves, and tells their resemblance to about a
/// tenth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outline(Vec<u64>);

impl Outline {
    pub fn of(text: &str) -> Outline {
        let end = text.floor_char_boundary(OUTLINED_BYTES);
        let runs = shingles(&text[..end]).into_iter();
        let hashed = runs.map(|run| {
            let mut hasher = DefaultHasher::new();
            run.hash(&mut hasher);
            hasher.finish()
        });
        let mut hashes: Vec<u64> = hashed.collect();
        hashes.sort_unstable();
        hashes.truncate(OUTLINED);
        Outline(hashes)
    }

    /// About the [`resemblance`] of the two texts.
    pub fn resemblance(&self, other: &Outline) -> f32 {
        let (mut one, mut two) = (self.0.as_slice(), other.0.as_slice());
        let (mut common, mut all) = (0_u16, 0_u16);
        // The smallest hashes of both together are a sample of what either text holds.
        while usize::from(all) < OUTLINED && !(one.is_empty() && two.is_empty()) {
            all += 1;
            match (one.first(), two.first()) {
                (Some(a), Some(b)) if a == b => {
                    common += 1;
                    (one, two) = (&one[1..], &two[1..]);
                }
                (Some(a), Some(b)) if a < b => one = &one[1..],
                (Some(_), None) => one = &one[1..],
                _ => two = &two[1..],
            }
        }
        match all {
            0 => 0.0,
            all => f32::from(common) / f32::from(all),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_run_by_run() {
        let text = "We deploy atlas with a tag on Tuesdays.";
        assert_eq!(
            resemblance(text, "we deploy ATLAS with a tag, on tuesdays"),
            1.0
        );
        let near = resemblance(text, "We deploy atlas with a tag on Mondays.");
        assert!((0.6..0.9).contains(&near), "{near}");
        assert_eq!(
            resemblance(text, "on Tuesdays a tag with atlas deploy we"),
            0.0
        );
        assert_eq!(resemblance("two words", "Two words!"), 1.0);
        assert_eq!(resemblance("", "..."), 0.0);
    }

    #[test]
    fn an_outline_tells_about_the_same_as_the_texts() {
        let text =
            |from: u32| -> String { (from..from + 300).map(|n| format!("word{n} ")).collect() };
        for shift in [0, 10, 50, 150, 300] {
            let (one, other) = (text(0), text(shift));
            let told = Outline::of(&one).resemblance(&Outline::of(&other));
            let real = resemblance(&one, &other);
            assert!((told - real).abs() < 0.15, "{shift}: {told} for {real}");
        }
        assert_eq!(Outline::of("").resemblance(&Outline::of("")), 0.0);
        assert_eq!(
            Outline::of("One word").resemblance(&Outline::of("one WORD!")),
            1.0
        );
    }
}
