//! Finds in one pass where a text holds a word that a rule needs.
//!
//! Most texts hold hardly any, and then no rule runs and no expression is compiled: building the
//! table costs less than compiling one expression. Words are looked up by their first three bytes.

use std::sync::LazyLock;

use super::commands;
use super::keys;
use super::patterns::PATTERNS;
use super::prose;
use super::prose::Noun;
use super::published;

/// What a word in a text announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// The prefix of a token, or the beginning of a private key: written exactly so.
    Token,
    /// What a sentence calls a credential; in letters of either case.
    Noun(Noun),
    /// A program, a file or a header that holds credentials in its own way; in letters of either
    /// case.
    Format(commands::Format),
    /// A keyword of a published rule, by its place in the table; in letters of either case.
    Published(u16),
}

/// A word of the table in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub sign: Sign,
    pub start: usize,
    pub end: usize,
}

/// Words are looked up by so many bytes; no word is shorter.
const KEY: usize = 3;
const SLOTS: usize = 1 << 16;

struct Table {
    /// A bit for each slot in which the first bytes of a word fall.
    slots: Box<[u64; SLOTS / 64]>,
    /// Sorted by key.
    words: Vec<(u32, &'static str, Sign)>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let prefixes = PATTERNS.iter().flat_map(|pattern| pattern.marks);
    let prefixes = prefixes
        .chain(&keys::MARKS)
        .map(|prefix| (*prefix, Sign::Token));
    let nouns = prose::NOUNS
        .iter()
        .flat_map(|(noun, words)| words.iter().map(|word| (*word, Sign::Noun(*noun))));
    let formats = commands::FORMATS
        .iter()
        .flat_map(|(format, words)| words.iter().map(|word| (*word, Sign::Format(*format))));
    let published = (0..).zip(published::RULES).flat_map(|(number, rule)| {
        let marks = rule.marks.iter();
        marks.map(move |word| (*word, Sign::Published(number)))
    });
    let mut slots = Box::new([0; SLOTS / 64]);
    let mut words: Vec<(u32, &str, Sign)> = Vec::with_capacity(1024);
    for (word, sign) in prefixes.chain(nouns).chain(formats).chain(published) {
        let bytes = word.as_bytes();
        let key = key(&[bytes[0], bytes[1], bytes[2]].map(|byte| byte.to_ascii_lowercase()));
        slots[slot(key) / 64] |= 1 << (slot(key) % 64);
        words.push((key, word, sign));
    }
    words.sort_unstable_by_key(|(key, _, _)| *key);
    Table { slots, words }
});

/// The words of the table in `text`, in order of their beginnings. `small` is the text in small
/// ASCII letters.
pub(super) fn find(text: &str, small: &str) -> Vec<Mark> {
    let table = &*TABLE;
    let (bytes, small) = (text.as_bytes(), small.as_bytes());
    let mut marks = Vec::new();
    let mut key = 0;
    for (last, byte) in small.iter().enumerate() {
        key = (key << 8 | u32::from(*byte)) & 0x00ff_ffff;
        let slot = slot(key);
        if table.slots[slot / 64] & (1 << (slot % 64)) == 0 || last + 1 < KEY {
            continue;
        }
        let start = last + 1 - KEY;
        let first = table.words.partition_point(|(other, _, _)| *other < key);
        let words = table.words[first..].iter();
        for (_, word, sign) in words.take_while(|(other, _, _)| *other == key) {
            let is_here = match sign {
                Sign::Token => bytes[start..].starts_with(word.as_bytes()),
                _ => small[start..].starts_with(word.as_bytes()),
            };
            if is_here {
                marks.push(Mark {
                    sign: *sign,
                    start,
                    end: start + word.len(),
                });
            }
        }
    }
    marks
}

fn key(three: &[u8; KEY]) -> u32 {
    u32::from(three[0]) << 16 | u32::from(three[1]) << 8 | u32::from(three[2])
}

fn slot(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_table_is_found_where_it_stands() {
        for (_, word, sign) in &TABLE.words {
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
        for (_, word, sign) in &TABLE.words {
            assert!(*sign == Sign::Token || *word == word.to_ascii_lowercase());
        }
    }
}
