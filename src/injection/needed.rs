//! Tells which expressions may match a text at all, by the words that each of them needs.
//!
//! Most texts hold none of these words, and one pass over their bytes tells. Promises: what is not
//! named does not match. What is named may still not; to look closer is left to others.
//!
//! To find the words takes longer than most commands do everything, so they are read from a table
//! (`words.txt`). That it is the one of the expressions is seen to by a test (`derived`), which
//! writes it anew where `MEMDIR_RENEW` is set.

#[cfg(test)]
mod derived;

use std::borrow::Cow;

use memchr::memmem::Finder;

use crate::literals::{Dictionary, KEY, lines};

/// Expressions, a bit each.
pub(super) type ExpressionSet = u128;

/// Notation of the end of a line in the table.
const LINE_END: &str = "\\n";

/// The words that each expression needs.
pub(super) struct Needed {
    words: Dictionary<ExpressionSet>,
    /// Those that are too short for the dictionary.
    short: Vec<(Finder<'static>, ExpressionSet)>,
    /// Those that need no word.
    always: ExpressionSet,
}

impl Needed {
    /// Reads a table with a word a line, behind the expressions that need it as a hexadecimal
    /// number and a blank. Those that need no word stand on a line without one.
    pub fn read(table: &'static str) -> Needed {
        let mut always = 0;
        let mut words: Vec<(Cow<'static, [u8]>, ExpressionSet)> = Vec::new();
        for line in lines(table) {
            let (of, word) = line.split_once(' ').unwrap_or((line, ""));
            let of = ExpressionSet::from_str_radix(of, 16).unwrap_or_default();
            if word.is_empty() {
                always |= of;
            } else if word.contains(LINE_END) {
                words.push((Cow::Owned(word.replace(LINE_END, "\n").into_bytes()), of));
            } else {
                words.push((Cow::Borrowed(word.as_bytes()), of));
            }
        }
        Needed::of(words, always)
    }

    fn of(words: Vec<(Cow<'static, [u8]>, ExpressionSet)>, always: ExpressionSet) -> Needed {
        let (short, long): (Vec<_>, Vec<_>) =
            words.into_iter().partition(|(text, _)| text.len() < KEY);
        let short = short
            .into_iter()
            .map(|(text, of)| (Finder::new(&text).into_owned(), of))
            .collect();
        Needed {
            words: Dictionary::new(long),
            short,
            always,
        }
    }

    /// Returns the expressions that may match `text`, which is in small letters.
    pub fn named_by(&self, text: &str) -> ExpressionSet {
        let bytes = text.as_bytes();
        let mut named = self.always;
        for (text, of) in &self.short {
            if text.find(bytes).is_some() {
                named |= of;
            }
        }
        self.words.find(bytes, |at, word| {
            if bytes[at..].starts_with(&word.text) {
                named |= word.of;
            }
        });
        named
    }
}
