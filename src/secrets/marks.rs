//! Finds in one pass where a text holds a word that a rule needs.
//!
//! Most texts hold hardly any, and then no rule runs and no expression is compiled: building the
//! table costs less than compiling one expression.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::formats::FORMATS;
use super::mark::{Mark, Sign};
use super::patterns::PATTERNS;
use super::{keys, nouns, published};
use crate::literals::{Dictionary, DictionaryWord};

static TABLE: LazyLock<Dictionary<Sign>> = LazyLock::new(|| {
    let prefixes = PATTERNS.iter().flat_map(|pattern| pattern.marks);
    let prefixes = prefixes
        .chain(&keys::MARKS)
        .map(|prefix| (*prefix, Sign::Token));
    let nouns = nouns::words().map(|(word, noun)| (word, Sign::Noun(noun)));
    let formats = FORMATS
        .iter()
        .flat_map(|(format, words)| words.iter().map(|word| (*word, Sign::Format(*format))));
    let published = (0..)
        .zip(published::RULES.iter())
        .flat_map(|(number, rule)| {
            let marks = rule.marks.iter();
            marks.map(move |word| (*word, Sign::Published(number)))
        });
    let words = prefixes.chain(nouns).chain(formats).chain(published);
    Dictionary::new(words.map(|(word, sign)| (Cow::Borrowed(word.as_bytes()), sign)))
});

/// Returns the words of the table in `text`, in order of their beginnings. `small` is the text in small
/// ASCII letters.
pub(super) fn find(text: &str, small: &str) -> Vec<Mark> {
    let mut marks = Vec::new();
    TABLE.find(
        small.as_bytes(),
        |start,
         DictionaryWord {
             text: word,
             of: sign,
             ..
         }| {
            let text = match sign {
                Sign::Token => text,
                _ => small,
            };
            if text.as_bytes()[start..].starts_with(word) {
                marks.push(Mark {
                    sign: *sign,
                    start,
                    end: start + word.len(),
                });
            }
        },
    );
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_table_is_found_where_it_stands() {
        for DictionaryWord {
            text: word,
            of: sign,
            ..
        } in TABLE.words()
        {
            let word = str::from_utf8(word).unwrap();
            let text = format!("é {word}");
            let found = find(&text, &text.to_ascii_lowercase());
            let expected = Mark {
                sign: *sign,
                start: 3,
                end: 3 + word.len(),
            };
            assert!(found.contains(&expected), "{word}: {found:?}");
        }
    }

    #[test]
    fn words_that_are_no_prefix_are_listed_in_small_letters() {
        for DictionaryWord {
            text: word,
            of: sign,
            ..
        } in TABLE.words()
        {
            let word = str::from_utf8(word).unwrap();
            assert!(*sign == Sign::Token || word == word.to_ascii_lowercase());
        }
    }
}
