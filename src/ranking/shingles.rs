//! How much two texts have in common, word for word.

use std::collections::HashSet;

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
}
