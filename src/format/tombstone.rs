//! Tombstones: files that say that a memory was purged.

use std::collections::BTreeSet;
use std::fmt::Write;

/// The content of `tombstones/STEM`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Its first line: when it was written.
    word: String,
    /// Git's ids of the texts that were purged; empty where the stem says enough.
    texts: BTreeSet<String>,
}

/// Beginning of a line that names a text.
const TEXT: &str = "text ";

impl Tombstone {
    /// Makes the tombstone of a memory that is purged `at` a moment, which is written as given.
    pub fn new(at: &str) -> Tombstone {
        Tombstone {
            word: format!("{at} purged"),
            texts: BTreeSet::new(),
        }
    }

    /// Reads one; what cannot be read says nothing of any text.
    pub fn read(bytes: &[u8]) -> Tombstone {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = text.lines();
        Tombstone {
            word: lines.next().unwrap_or_default().to_owned(),
            texts: lines
                .filter_map(|line| line.strip_prefix(TEXT))
                .map(str::to_owned)
                .collect(),
        }
    }

    /// Returns the file's text.
    pub fn written(&self) -> String {
        let mut written = format!("{}\n", self.word);
        for text in &self.texts {
            let _ = writeln!(written, "{TEXT}{text}");
        }
        written
    }

    /// Adds texts; whether one of them is new.
    pub fn add(&mut self, texts: impl IntoIterator<Item = String>) -> bool {
        let known = self.texts.len();
        self.texts.extend(texts);
        self.texts.len() > known
    }

    /// Unites two tombstones, with the same result whichever comes first.
    pub fn and(mut self, other: Tombstone) -> Tombstone {
        self.texts.extend(other.texts);
        self.word = self.word.min(other.word);
        self
    }

    /// Returns whether it names texts at all.
    pub fn names_texts(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Returns whether it names the text that git calls `text`.
    pub fn names(&self, text: &str) -> bool {
        self.texts.contains(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_say_together_what_each_says() {
        let mut one = Tombstone::new("2026-01-02T00:00:00Z");
        assert!(one.add(["b".to_owned()]) && !one.add(["b".to_owned()]));
        let other = Tombstone::read(b"2026-01-01T00:00:00Z purged\ntext a\nlater key\n");
        let both = "2026-01-01T00:00:00Z purged\ntext a\ntext b\n";
        assert_eq!(one.clone().and(other.clone()).written(), both);
        assert_eq!(other.and(one).written(), both);
        assert!(!Tombstone::read(b"2026-01-01T00:00:00Z purged\n").names_texts());
    }
}
