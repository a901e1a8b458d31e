//! The distinct terms of a field in one piece of memory, to look for substrings in.

use tantivy::SegmentReader;
use tantivy::schema::Field;

use super::trouble::unusable;
use crate::index::IndexError;

/// A byte that stands in no UTF-8 text, so in no term and in nothing that is looked for. A zero
/// byte would not do: damaged files hold them.
const END: u8 = 0xff;

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
            let start = memchr::memrchr(END, &self.text[..at]).map_or(0, |end| end + 1);
            let end = at + memchr::memchr(END, &self.text[at..]).unwrap_or(self.text.len() - at);
            if let Ok(term) = std::str::from_utf8(&self.text[start..end]) {
                each(term);
            }
            from = (end + 1).min(self.text.len());
        }
    }
}
