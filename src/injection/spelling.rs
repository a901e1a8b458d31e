//! Words as they are meant: without what nobody sees, in one alphabet, and in one piece.

use unicode_normalization::UnicodeNormalization;

use super::hidden::is_unseen;

/// The text in small letters of one form, without invisible characters. Lines stay.
pub(super) fn folded(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let seen = text.chars().filter(|c| !is_unseen(*c));
    seen.nfkc()
        .flat_map(char::to_lowercase)
        .map(|c| match c {
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            other => other,
        })
        .collect()
}

/// What else a folded text may be meant to say: with letters for what looks like them, and with its
/// letters pushed together.
pub(super) fn others(folded: &str) -> [String; 2] {
    let letters: String = folded.chars().map(looks_like).collect();
    let together = letters.chars().filter(char::is_ascii_alphabetic).collect();
    [letters, together]
}

/// The Latin letter that a character is taken for.
fn looks_like(character: char) -> char {
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
}
