//! Which expressions may match a text at all, by the words that each of them needs.
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

/// Expressions, a bit each.
pub(super) type Named = u128;

/// Words are found by their first so many bytes; shorter ones are looked for by themselves.
const KEY: usize = 3;
/// The bits of what tells places where no word begins.
const SLOTS: usize = 1 << 16;
/// What stands in the table for the end of a line.
const LINE_END: &str = "\\n";

/// What tells the expressions that may match.
pub(super) struct Needed {
    /// A bit for each slot in which a word's beginning falls.
    slots: Vec<u64>,
    /// Sorted by their beginnings.
    words: Vec<Word>,
    short: Vec<(Finder<'static>, Named)>,
    /// Those that need no word.
    always: Named,
}

struct Word {
    key: u32,
    text: Cow<'static, [u8]>,
    of: Named,
}

impl Needed {
    /// Of a table: a line a word, behind the expressions that need it as a hexadecimal number and a
    /// blank. Those that need no word stand on a line without one.
    pub fn read(table: &'static str) -> Needed {
        let mut always = 0;
        let mut words: Vec<(Cow<'static, [u8]>, Named)> = Vec::new();
        for line in table.lines() {
            let (of, word) = line.split_once(' ').unwrap_or((line, ""));
            let of = Named::from_str_radix(of, 16).unwrap_or_default();
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

    fn of(words: Vec<(Cow<'static, [u8]>, Named)>, always: Named) -> Needed {
        let (short, long): (Vec<_>, Vec<_>) =
            words.into_iter().partition(|(text, _)| text.len() < KEY);
        let mut slots = vec![0; SLOTS / 64];
        let mut words: Vec<Word> = long
            .into_iter()
            .map(|(text, of)| {
                let key = key_at(&text);
                let slot = slot_of(key);
                slots[slot / 64] |= 1 << (slot % 64);
                Word { key, text, of }
            })
            .collect();
        words.sort_by_key(|word| word.key);
        let short = short
            .into_iter()
            .map(|(text, of)| (Finder::new(&text).into_owned(), of))
            .collect();
        Needed {
            slots,
            words,
            short,
            always,
        }
    }

    /// The expressions that may match `text`.
    pub fn named_by(&self, text: &str) -> Named {
        let bytes = text.as_bytes();
        let mut named = self.always;
        for (text, of) in &self.short {
            if text.find(bytes).is_some() {
                named |= of;
            }
        }
        // Four bytes are read as easily as one: the last is of the next beginning.
        for (at, four) in bytes.windows(KEY + 1).enumerate() {
            let key = u32::from_be_bytes([four[0], four[1], four[2], four[3]]) >> 8;
            if self.may_begin(key) {
                named |= self.named_at(&bytes[at..], key);
            }
        }
        if let Some(last) = bytes.last_chunk::<KEY>() {
            named |= self.named_at(last, key_at(last));
        }
        named
    }

    fn may_begin(&self, key: u32) -> bool {
        let slot = slot_of(key);
        self.slots[slot / 64] & (1 << (slot % 64)) != 0
    }

    /// The expressions that need a word with which `text` begins; `key` is its beginning.
    fn named_at(&self, text: &[u8], key: u32) -> Named {
        let first = self.words.partition_point(|word| word.key < key);
        let words = self.words[first..].iter();
        words
            .take_while(|word| word.key == key)
            .filter(|word| text.starts_with(&word.text))
            .fold(0, |named, word| named | word.of)
    }
}

/// The beginning of a text of at least [`KEY`] bytes; in the order of the texts.
fn key_at(bytes: &[u8]) -> u32 {
    u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2])
}

fn slot_of(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> 16) as usize
}
