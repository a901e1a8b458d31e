//! Distinct terms of a field in one buffer, for substring search.

use crate::ranking::keyword::KeywordSet;

/// Separator: a byte that occurs in no UTF-8 text, and so in no term and no keyword. Zero bytes occur
/// in damaged files.
const END: u8 = 0xff;

/// Start and end of a term in the buffer, in bytes.
pub(super) type TermPlace = (u32, u32);

/// Terms of one field of one segment, each with [`END`] after it.
#[derive(Default)]
pub(super) struct Lexicon {
    text: Vec<u8>,
}

impl Lexicon {
    /// Adds a term.
    pub fn push(&mut self, term: &[u8]) {
        self.text.extend_from_slice(term);
        self.text.push(END);
    }

    /// Calls `each` with every term that holds `part`, each once.
    pub fn containing(&self, part: &str, mut each: impl FnMut(&str)) {
        let finder = memchr::memmem::Finder::new(part);
        let mut from = 0;
        while let Some(at) = finder.find(&self.text[from..]).map(|at| from + at) {
            let place = self.place_around(at);
            if let Some(term) = self.term(place) {
                each(term);
            }
            from = (place.1 as usize + 1).min(self.text.len());
        }
    }

    /// Returns the number of each keyword with the place of each term that holds it, each pair once,
    /// sorted.
    pub fn containing_each(&self, keywords: &KeywordSet) -> Vec<(usize, TermPlace)> {
        let mut found = Vec::new();
        keywords.each_in(&self.text, |number, at| {
            found.push((number, self.place_around(at)));
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the term at a place; `None` if it is no UTF-8.
    pub fn term(&self, (start, end): TermPlace) -> Option<&str> {
        std::str::from_utf8(&self.text[start as usize..end as usize]).ok()
    }

    /// Returns the place of the term around the byte `at`.
    fn place_around(&self, at: usize) -> TermPlace {
        let start = memchr::memrchr(END, &self.text[..at]).map_or(0, |end| end + 1);
        let end = memchr::memchr(END, &self.text[at..]).map_or(self.text.len(), |end| at + end);
        (start as u32, end as u32)
    }
}
