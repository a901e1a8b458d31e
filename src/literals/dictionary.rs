//! Finds all words of a table in a text by their first three bytes.

use std::borrow::Cow;

/// Number of bytes by which words are looked up; no word is shorter.
pub const KEY: usize = 3;
/// The bits of what tells places where no word begins.
const SLOTS: usize = 1 << 16;

/// A table of words, each with what it stands for.
pub struct Dictionary<T> {
    /// A bit for each slot in which a word's beginning falls.
    slots: Vec<u64>,
    /// Sorted by their beginnings.
    words: Vec<DictionaryWord<T>>,
}

/// A word of a table.
pub struct DictionaryWord<T> {
    key: u32,
    pub text: Cow<'static, [u8]>,
    pub of: T,
}

impl<T> Dictionary<T> {
    /// Returns the table of `words`, of which each has at least [`KEY`] bytes.
    pub fn new(words: impl IntoIterator<Item = (Cow<'static, [u8]>, T)>) -> Dictionary<T> {
        let mut slots = vec![0; SLOTS / 64];
        let mut order = Vec::new();
        let words = words.into_iter().zip(0_u64..).map(|((text, of), place)| {
            let begin = [text[0], text[1], text[2]].map(|byte| byte.to_ascii_lowercase());
            let key = key_at(&begin);
            let slot = slot_of(key);
            slots[slot / 64] |= 1 << (slot % 64);
            order.push(u64::from(key) << 32 | place);
            Some(DictionaryWord { key, text, of })
        });
        let mut words: Vec<Option<DictionaryWord<T>>> = words.collect();
        // A stable sort by keys that moves eight bytes a word, and each word once.
        order.sort_unstable();
        let words = order
            .iter()
            .filter_map(|word| words[*word as u32 as usize].take());
        let words = words.collect();
        Dictionary { slots, words }
    }

    /// Calls `each` with every word that may begin in `text`, a text in small ASCII letters, and with
    /// the place where it may: its first [`KEY`] bytes stand there, in letters of either case. In the
    /// order of the places.
    pub fn find(&self, text: &[u8], mut each: impl FnMut(usize, &DictionaryWord<T>)) {
        // Four bytes are read as easily as one: the last is of the next beginning.
        for (at, four) in text.windows(KEY + 1).enumerate() {
            let key = u32::from_be_bytes([four[0], four[1], four[2], four[3]]) >> 8;
            if self.may_begin(key) {
                self.beginning_with(key).for_each(|word| each(at, word));
            }
        }
        if let Some(last) = text.last_chunk::<KEY>() {
            let at = text.len() - KEY;
            self.beginning_with(key_at(last))
                .for_each(|word| each(at, word));
        }
    }

    fn may_begin(&self, key: u32) -> bool {
        let slot = slot_of(key);
        self.slots[slot / 64] & (1 << (slot % 64)) != 0
    }

    fn beginning_with(&self, key: u32) -> impl Iterator<Item = &DictionaryWord<T>> {
        let first = self.words.partition_point(|word| word.key < key);
        let words = self.words[first..].iter();
        words.take_while(move |word| word.key == key)
    }

    /// All words, in the order of their beginnings.
    pub fn words(&self) -> &[DictionaryWord<T>] {
        &self.words
    }
}

/// Returns the beginning of a text; in the order of the texts.
fn key_at(bytes: &[u8; KEY]) -> u32 {
    u32::from(bytes[0]) << 16 | u32::from(bytes[1]) << 8 | u32::from(bytes[2])
}

fn slot_of(key: u32) -> usize {
    (key.wrapping_mul(0x9e37_79b1) >> 16) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_announced_where_it_stands_also_at_the_end() {
        let words = ["abc", "Abcd", "xyz"];
        let words = words.map(|word| (Cow::Borrowed(word.as_bytes()), word));
        let dictionary = Dictionary::new(words);
        let mut found = Vec::new();
        dictionary.find(b"abcd xyab xyz", |at, word| found.push((at, word.of)));
        assert_eq!(found, [(0, "abc"), (0, "Abcd"), (10, "xyz")]);
        dictionary.find(b"ab", |_, _| panic!("it is too short"));
    }
}
