//! How random a value looks: its entropy, and whether words make it up.

use super::value::is_jumbled;

/// Whether it is made of words and short numbers, as names of things are: `prod-db-2`, `useToken`.
pub(super) fn is_wordy(value: &str) -> bool {
    value
        .split(|c: char| c.is_ascii_punctuation())
        .all(|piece| {
            piece.len() <= 3 || is_word(piece) || is_number(piece) || is_word_and_number(piece)
        })
}

/// `utf8`, `Version2`: letters in order, then up to five digits.
pub(super) fn is_word_and_number(piece: &str) -> bool {
    let word = piece.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = piece.len() - word.len();
    (1..=5).contains(&digits) && word.len() >= 2 && is_word(word)
}

pub(super) fn is_number(piece: &str) -> bool {
    piece.len() <= 8 && piece.bytes().all(|byte| byte.is_ascii_digit())
}

/// Letters in an order: one case, or capitals at the beginnings of words.
pub(super) fn is_word(piece: &str) -> bool {
    piece.chars().all(char::is_alphabetic) && !is_jumbled(piece)
}

/// Shannon's entropy of a text's bytes, in bits a byte: 4 at most for hexadecimal digits, 6 for
/// base64, and close to that only for long texts.
pub(super) fn entropy(text: &str) -> f32 {
    let mut counts = [0_u32; 256];
    for byte in text.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let len = text.len() as f32;
    let share = |count: &u32| *count as f32 / len;
    let seen = counts.iter().filter(|count| **count > 0).map(share);
    -seen.map(|share| share * share.log2()).sum::<f32>()
}
