//! The distinct terms of a field in one piece of memory, to look for substrings in.

use tantivy::SegmentReader;
use tantivy::schema::Field;

use super::unusable;
use crate::index::IndexError;

/// The terms of one field of one segment, one after the other with a zero byte between.
#[derive(Default)]
pub(super) struct Lexicon {
    text: Vec<u8>,
}

impl Lexicon {
    pub fn read(reader: &SegmentReader, field: Field) -> Result<Lexicon, IndexError> {
        let terms = reader.inverted_index(field).map_err(unusable)?;
        let mut text = Vec::new();
        let mut stream = terms.terms().stream().map_err(unusable)?;
        while stream.advance() {
            text.extend_from_slice(stream.key());
            text.push(0);
        }
        Ok(Lexicon { text })
    }

    /// Calls `each` with every term that holds `part`, each once.
    pub fn containing(&self, part: &str, mut each: impl FnMut(&str)) {
        let finder = memchr::memmem::Finder::new(part);
        let mut from = 0;
        while let Some(at) = finder.find(&self.text[from..]).map(|at| from + at) {
            let start = memchr::memrchr(0, &self.text[..at]).map_or(0, |zero| zero + 1);
            let end = at + memchr::memchr(0, &self.text[at..]).unwrap_or(self.text.len() - at);
            if let Ok(term) = std::str::from_utf8(&self.text[start..end]) {
                each(term);
            }
            from = (end + 1).min(self.text.len());
        }
    }
}
