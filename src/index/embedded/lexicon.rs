//! The distinct terms of a field in one piece of memory, to look for substrings in.

use tantivy::SegmentReader;
use tantivy::schema::Field;

use super::failure::unusable;
use crate::index::IndexError;
use crate::ranking::keyword::KeywordSet;

/// A byte that stands in no UTF-8 text, so in no term and in nothing that is looked for. A zero
/// byte would not do: damaged files hold them.
const END: u8 = 0xff;

/// Where a term begins and ends.
pub(super) type TermPlace = (u32, u32);

/// The terms of one field of one segment, one after the other, each with [`END`] after it.
#[derive(Default)]
pub(super) struct Lexicon {
    text: Vec<u8>,
}

impl Lexicon {
    pub fn read(reader: &SegmentReader, field: Field) -> Result<Lexicon, IndexError> {
        let terms = reader
            .inverted_index(field)
            .map_err(|error| unusable(&error))?;
        let mut text = Vec::new();
        let mut stream = terms.terms().stream().map_err(|error| unusable(&error))?;
        while stream.advance() {
            text.extend_from_slice(stream.key());
            text.push(END);
        }
        Ok(Lexicon { text })
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

    /// Every keyword with the place of every term that holds it, each pair once, by the keywords'
    /// numbers.
    pub fn containing_each(&self, keywords: &KeywordSet) -> Vec<(usize, TermPlace)> {
        let mut found = Vec::new();
        keywords.each_in(&self.text, |number, at| {
            found.push((number, self.place_around(at)));
        });
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The term at a place.
    pub fn term(&self, (start, end): TermPlace) -> Option<&str> {
        std::str::from_utf8(&self.text[start as usize..end as usize]).ok()
    }

    /// The place of the term of which `at` is within.
    fn place_around(&self, at: usize) -> TermPlace {
        let start = memchr::memrchr(END, &self.text[..at]).map_or(0, |end| end + 1);
        let end = memchr::memchr(END, &self.text[at..]).map_or(self.text.len(), |end| at + end);
        (start as u32, end as u32)
    }
}
