//! Distinct terms of a field in one buffer, for substring search.

use std::ops::Range;

use tantivy::SegmentReader;
use tantivy::postings::TermInfo;
use tantivy::schema::Field;

use super::failure::unusable;
use crate::index::IndexError;
use crate::ranking::keyword::KeywordSet;

/// Separator: a byte that occurs in no UTF-8 text, and so in no term and no keyword. Zero bytes occur
/// in damaged files.
const END: u8 = 0xff;

/// Start and end of a term in the buffer, in bytes.
pub(super) type TermPlace = (u32, u32);

/// Terms of one field of one segment, each with [`END`] after it, and where the postings of each lie. Looking up
/// one term in the dictionary takes a microsecond, and thousands of terms hold two given letters.
#[derive(Default)]
pub(super) struct Lexicon {
    text: Vec<u8>,
    /// Number of documents of each term.
    counts: Vec<u32>,
    /// Start of the postings of the first term, and the end of those of each; empty if they do not lie one
    /// after the other.
    ends: Vec<usize>,
}

impl Lexicon {
    /// Adds a term of which it is not known where its postings lie.
    pub fn push(&mut self, term: &str) {
        self.text.extend_from_slice(term.as_bytes());
        self.text.push(END);
    }

    /// Reads the terms of `field` from its dictionary.
    pub fn read(reader: &SegmentReader, field: Field) -> Result<Lexicon, IndexError> {
        let terms = reader
            .inverted_index(field)
            .map_err(|error| unusable(&error))?;
        let mut lexicon = Lexicon::default();
        let mut is_in_order = true;
        let mut stream = terms.terms().stream().map_err(|error| unusable(&error))?;
        while stream.advance() {
            lexicon.text.extend_from_slice(stream.key());
            lexicon.text.push(END);
            let of_term = stream.value().clone();
            let Range { start, end } = of_term.postings_range;
            if lexicon.ends.is_empty() {
                lexicon.ends.push(start);
            }
            is_in_order &= lexicon.ends.last() == Some(&start);
            lexicon.ends.push(end);
            lexicon.counts.push(of_term.doc_freq);
        }
        if !is_in_order {
            lexicon.ends.clear();
        }
        Ok(lexicon)
    }

    /// Calls `each` with every term that holds `part`, each once, and with where its postings lie, if that is
    /// known.
    pub fn containing(&self, part: &str, mut each: impl FnMut(&str, Option<TermInfo>)) {
        let finder = memchr::memmem::Finder::new(part);
        let (mut from, mut number) = (0, 0);
        while let Some(at) = finder.find(&self.text[from..]).map(|at| from + at) {
            number += memchr::memchr_iter(END, &self.text[from..at]).count();
            let place = self.place_around(at);
            if let Some(term) = self.term(place) {
                each(term, self.postings_of(number));
            }
            number += 1;
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

    /// Returns where the postings of the term of this number lie.
    fn postings_of(&self, number: usize) -> Option<TermInfo> {
        Some(TermInfo {
            doc_freq: *self.counts.get(number)?,
            postings_range: *self.ends.get(number)?..*self.ends.get(number + 1)?,
            positions_range: 0..0,
        })
    }

    /// Returns the place of the term around the byte `at`.
    fn place_around(&self, at: usize) -> TermPlace {
        let start = memchr::memrchr(END, &self.text[..at]).map_or(0, |end| end + 1);
        let end = memchr::memchr(END, &self.text[at..]).map_or(self.text.len(), |end| at + end);
        (start as u32, end as u32)
    }
}

#[cfg(test)]
mod tests {
    use tantivy::schema::{STRING, Schema};
    use tantivy::{Index, Term, doc};

    use super::*;

    #[test]
    fn the_postings_of_a_term_lie_where_the_dictionary_says() {
        let mut schema = Schema::builder();
        let field = schema.add_text_field("runs", STRING);
        let other = schema.add_text_field("other", STRING);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads(1, 15 << 20).unwrap();
        for number in 0..400_usize {
            let run = format!("{:x}", number.pow(2) % 77);
            writer
                .add_document(doc!(field => run, field => "all", other => "e"))
                .unwrap();
        }
        writer.commit().unwrap();
        let searcher = index.reader().unwrap().searcher();
        let reader = searcher.segment_reader(0);
        let lexicon = Lexicon::read(reader, field).unwrap();
        let inverted = reader.inverted_index(field).unwrap();
        let mut stream = inverted.terms().stream().unwrap();
        let mut all = Vec::new();
        while stream.advance() {
            all.push(String::from_utf8(stream.key().to_vec()).unwrap());
        }
        assert!(all.len() > 10);
        for part in ["1", "a", "al", "l", "3c", "nowhere"] {
            let mut found = Vec::new();
            lexicon.containing(part, |term, postings| {
                let known = inverted.get_term_info(&Term::from_field_text(field, term));
                let (known, postings) = (known.unwrap().unwrap(), postings.unwrap());
                assert_eq!(known.doc_freq, postings.doc_freq, "{term}");
                assert_eq!(known.postings_range, postings.postings_range, "{term}");
                found.push(term.to_owned());
            });
            let expected = all.iter().filter(|term| term.contains(part));
            assert_eq!(found, expected.cloned().collect::<Vec<_>>());
        }
    }
}
