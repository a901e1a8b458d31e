//! Words as they are meant: without what nobody sees, in one alphabet, and in one piece.

use unicode_normalization::UnicodeNormalization;

use super::hidden::is_unseen;

/// Returns the text in small letters of one form, without invisible characters. Lines stay.
pub(super) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut folded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.bytes().position(|byte| !byte.is_ascii()) {
        // A mark may make one character of itself and the letter before it; nothing does with the
        // letter behind.
        let start = at.saturating_sub(1);
        let length = rest[at..].bytes().position(|byte| byte.is_ascii());
        let end = length.map_or(rest.len(), |length| at + length);
        if &rest[at..end] == "…" {
            // By itself, as every preview has it, it is three dots.
            push_small(&mut folded, &rest[..at]);
            folded.push_str("...");
        } else {
            push_small(&mut folded, &rest[..start]);
            folded.extend(folded_one_by_one(&rest[start..end]));
        }
        rest = &rest[end..];
    }
    push_small(&mut folded, rest);
    folded
}

fn push_small(folded: &mut String, ascii: &str) {
    let from = folded.len();
    folded.push_str(ascii);
    folded[from..].make_ascii_lowercase();
}

fn folded_one_by_one(text: &str) -> impl Iterator<Item = char> {
    let seen = text.chars().filter(|c| !is_unseen(*c));
    seen.nfkc().flat_map(char::to_lowercase).map(|c| match c {
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201c}' | '\u{201d}' => '"',
        other => other,
    })
}

/// Returns other readings of a folded text: with letters for characters that look like them, and
/// with its letters pushed together.
pub(super) fn others(folded: &str) -> [String; 2] {
    let letters = match folded.is_ascii() {
        true => ascii(
            folded
                .bytes()
                .map(|byte| LOOK_LIKE[usize::from(byte)])
                .collect(),
        ),
        false => folded.chars().map(looks_like).collect(),
    };
    // Without a branch for each character, which nobody could guess.
    let mut together = vec![0; letters.len()];
    let mut length = 0;
    for byte in letters.bytes() {
        together[length] = byte;
        length += usize::from(byte.is_ascii_alphabetic());
    }
    together.truncate(length);
    [letters, ascii(together)]
}

/// The next two letters before and behind the byte at `at`, as [`others`] has them and the nearest
/// first; blanks where there are none.
pub(super) fn letters_around(folded: &str, at: usize) -> [[char; 2]; 2] {
    let before = folded[..at].chars().rev().map(looks_like);
    let behind = folded[at + 1..].chars().map(looks_like);
    [two_letters(before), two_letters(behind)]
}

fn two_letters(all: impl Iterator<Item = char>) -> [char; 2] {
    let mut letters = all.filter(char::is_ascii_alphabetic);
    [(); 2].map(|()| letters.next().unwrap_or(' '))
}

fn ascii(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("ASCII is UTF-8")
}

/// Characters of one byte that others of one byte look like.
static LOOK_LIKE: [u8; 128] = {
    let mut letters = [0; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        letters[byte as usize] = looks_like(byte as char) as u8;
        byte += 1;
    }
    letters
};

/// Returns the Latin letter that a character is taken for.
const fn looks_like(character: char) -> char {
    match character {
        'а' | 'α' | '4' | '@' => 'a',
        'с' | 'ϲ' => 'c',
        'е' | 'ε' | '3' => 'e',
        'і' | 'ι' | '1' | '!' | 'ı' => 'i',
        'ј' => 'j',
        'о' | 'ο' | '0' => 'o',
        'р' | 'ρ' => 'p',
        'ѕ' | '5' | '$' => 's',
        'т' | '7' => 't',
        'υ' => 'u',
        'ν' => 'v',
        'х' => 'x',
        'у' => 'y',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_word_has_one_spelling() {
        let check = |text: &str| assert_eq!(others(&folded(text))[1], "ignore", "{text}");
        check("ignore");
        check("Ｉｇｎｏｒｅ");
        check("𝐈𝐠𝐧𝐨𝐫𝐞");
        check("ignоrе");
        check("1gn0r3");
        check("i.g n-o\u{200b}r e");
    }

    proptest! {
        #[test]
        fn the_letters_of_ascii_are_those_of_all_characters(text in "[ -~]{0,40}|.{0,20}") {
            let letters: String = text.chars().map(looks_like).collect();
            let together: String = letters.chars().filter(char::is_ascii_alphabetic).collect();
            prop_assert_eq!(others(&text), [letters, together]);
        }

        #[test]
        fn a_text_is_folded_as_its_characters_one_by_one(
            text in "([A-Da-d. 1]|[\\u{300}-\\u{304}\\u{ad}\\u{200b}\\u{e0041}\\u{2026}\\u{1d7ec}]|.){0,40}",
        ) {
            let expected: String = folded_one_by_one(&text).collect();
            prop_assert_eq!(folded(&text), expected);
        }
    }
}
