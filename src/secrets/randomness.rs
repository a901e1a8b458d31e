//! Judges how random a value looks: its entropy, and whether words make it up.

/// Returns whether it is made of words and short numbers, as names of things are: `prod-db-2`, `useToken`.
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

/// Letters only, which change their case like those of a random text, or hardly have a vowel.
pub(super) fn is_jumbled(value: &str) -> bool {
    if value.len() < 16 || !value.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return false;
    }
    let case = |byte: &u8| byte.is_ascii_uppercase();
    let changes = value
        .as_bytes()
        .windows(2)
        .filter(|pair| case(&pair[0]) != case(&pair[1]));
    let is_vowel = |byte: &u8| b"aeiouyAEIOUY".contains(byte);
    let vowels = value.bytes().filter(|byte| is_vowel(byte)).count();
    changes.count() * 3 > value.len() || (vowels * 5 < value.len() && entropy(value) >= 3.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_counted_in_bits_a_byte() {
        assert_eq!(entropy("aaaa"), 0.0);
        assert_eq!(entropy("abab"), 1.0);
        assert_eq!(entropy("0123456789abcdef"), 4.0);
    }
}
