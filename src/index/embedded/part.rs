//! The parts of a view: segments, and documents that are in no segment yet.
//!
//! Making a segment in memory costs more than analysing the texts in it: a dictionary is made of each field of the
//! index. So what was just written is a part of *loose* documents, with the fields that a segment would have, made by
//! the same builder and the same tokenizers; their postings are sorted when they are asked for. Every question about
//! postings and terms is asked here, and answered alike.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use tantivy::postings::{BlockSegmentPostings, Postings as _, TermInfo};
use tantivy::schema::{Field, FieldType, IndexRecordOption, Schema, Value as _};
use tantivy::tokenizer::TokenStream as _;
use tantivy::{DocSet, InvertedIndexReader, SegmentReader, TERMINATED, TantivyDocument, Term};

use super::failure::{failed, unusable};
use super::lexicon::Lexicon;
use super::schema;
use super::schema::{DocumentBuilder, Fields, KEY_NAMES};
use crate::index::IndexError;
use crate::vectors::VectorKey;

/// A segment, or loose documents; shared by all snapshots that hold it.
pub(super) struct Part {
    content: Content,
    /// Its files, by their names in the directory.
    pub files: Vec<PathBuf>,
    lexicons: Arc<Lexicons>,
    is_looked_at: AtomicBool,
}

enum Content {
    Segment(Box<SegmentReader>),
    Loose(Box<LooseDocuments>),
}

/// Lexicons of a part, for keyword counts, in the order of [`RunsOf`]; deletions do not change them.
type Lexicons = [OnceLock<Lexicon>; 3];

/// Owner of the runs in a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunsOf {
    /// Content, user and agent of memories that are no talks.
    Memories,
    /// Topics.
    Topics,
    /// Content, user and agent of talks.
    Talks,
}

/// Documents that are in no segment, numbered from 0.
pub(super) struct LooseDocuments {
    /// Fields of the index.
    pub fields: Fields,
    filled: Vec<Arc<TantivyDocument>>,
    schema: Schema,
    /// Postings of each field; made when the field is asked for.
    postings: Vec<OnceLock<LoosePostings>>,
}

/// Postings of a field, of terms in their order.
#[derive(Default)]
struct LoosePostings {
    /// Each term, and where its postings end.
    terms: Vec<(String, usize)>,
    /// Documents in their order, each with the number of times it holds the term.
    counts: Vec<(u32, u32)>,
}

impl LoosePostings {
    /// Makes postings of pairs of a term and a document. Each pair counts once unless it `is_counted`.
    fn of(mut pairs: Vec<(String, u32)>, is_counted: bool) -> LoosePostings {
        pairs.sort_unstable();
        let mut made = LoosePostings::default();
        for same in pairs.chunk_by_mut(|one, next| one == next) {
            let count = if is_counted { same.len() as u32 } else { 1 };
            made.counts.push((same[0].1, count));
            let end = made.counts.len();
            match made.terms.last_mut() {
                Some((term, last)) if *term == same[0].0 => *last = end,
                _ => made.terms.push((std::mem::take(&mut same[0].0), end)),
            }
        }
        made
    }

    /// Returns the postings of a term; none if no document holds it.
    fn of_term(&self, term: &str) -> &[(u32, u32)] {
        let place = self
            .terms
            .binary_search_by(|(known, _)| known.as_str().cmp(term));
        place.map_or(&[], |place| self.at(place))
    }

    /// Returns the postings of the term at a place.
    fn at(&self, place: usize) -> &[(u32, u32)] {
        let from = place
            .checked_sub(1)
            .map_or(0, |before| self.terms[before].1);
        &self.counts[from..self.terms[place].1]
    }

    /// Returns the terms that begin with `prefix`, with their postings.
    fn with(&self, prefix: &str) -> impl Iterator<Item = (&str, &[(u32, u32)])> {
        let from = self
            .terms
            .partition_point(|(term, _)| term.as_str() < prefix);
        let terms = self.terms[from..].iter().enumerate();
        let terms = terms.take_while(move |(_, (term, _))| term.starts_with(prefix));
        terms.map(move |(place, (term, _))| (term.as_str(), self.at(from + place)))
    }
}

impl LooseDocuments {
    fn new(builder: &DocumentBuilder, filled: Vec<Arc<TantivyDocument>>) -> LooseDocuments {
        LooseDocuments {
            fields: builder.fields,
            filled,
            postings: (0..builder.schema.num_fields())
                .map(|_| OnceLock::new())
                .collect(),
            schema: builder.schema.clone(),
        }
    }

    /// Returns the documents with their fields.
    pub fn filled(&self) -> &[Arc<TantivyDocument>] {
        &self.filled
    }

    fn postings(&self, field: Field) -> &LoosePostings {
        self.postings[field.field_id() as usize].get_or_init(|| self.make_postings(field))
    }

    fn make_postings(&self, field: Field) -> LoosePostings {
        let FieldType::Str(options) = self.schema.get_field_entry(field).field_type() else {
            return LoosePostings::default();
        };
        let Some(indexing) = options.get_indexing_options() else {
            return LoosePostings::default();
        };
        let Some(mut analyzer) = schema::tokenizers().get(indexing.tokenizer()) else {
            return LoosePostings::default();
        };
        let mut pairs: Vec<(String, u32)> = Vec::new();
        for (number, filled) in self.filled.iter().enumerate() {
            for value in filled.get_all(field) {
                let mut stream = analyzer.token_stream(value.as_str().unwrap_or_default());
                while stream.advance() {
                    pairs.push((stream.token().text.clone(), number as u32));
                }
            }
        }
        // Longer ones are in no segment.
        pairs.retain(|(term, _)| term.len() <= MAX_TERM_BYTES);
        LoosePostings::of(pairs, indexing.index_option() != IndexRecordOption::Basic)
    }

    /// Returns the text of a field of a document; empty if it has none.
    pub fn text(&self, doc: u32, field: Field) -> &str {
        let value = self.filled[doc as usize].get_first(field);
        value.and_then(|value| value.as_str()).unwrap_or_default()
    }

    /// Returns the number in a field of a document, if there is one.
    pub fn u64(&self, doc: u32, field: Field) -> Option<u64> {
        self.filled[doc as usize].get_first(field)?.as_u64()
    }

    /// Returns the signed number in a field of a document, if there is one.
    pub fn i64(&self, doc: u32, field: Field) -> Option<i64> {
        self.filled[doc as usize].get_first(field)?.as_i64()
    }

    /// Returns the fraction in a field of a document, if there is one.
    pub fn f64(&self, doc: u32, field: Field) -> Option<f64> {
        self.filled[doc as usize].get_first(field)?.as_f64()
    }

    /// Returns the bytes in a field of a document, if there are some.
    pub fn bytes(&self, doc: u32, field: Field) -> Option<&[u8]> {
        self.filled[doc as usize].get_first(field)?.as_bytes()
    }
}

/// Reader of the postings of one term after the other, with one decoder.
pub(super) struct PostingsReader<'a> {
    field: Field,
    source: PostingsSource<'a>,
}

enum PostingsSource<'a> {
    Segment(Arc<InvertedIndexReader>, Option<Box<BlockSegmentPostings>>),
    Loose(&'a LooseDocuments),
}

impl PostingsReader<'_> {
    /// Calls `each` with every document that holds the term `text`, and how often; `known` is where its postings lie,
    /// if that is known.
    pub fn each(
        &mut self,
        text: &str,
        known: Option<TermInfo>,
        mut each: impl FnMut(u32, u32),
    ) -> Result<(), IndexError> {
        let (inverted, decoder) = match &mut self.source {
            PostingsSource::Segment(inverted, decoder) => (inverted, decoder),
            PostingsSource::Loose(documents) => {
                let postings = documents.postings(self.field).of_term(text).iter();
                postings.for_each(|&(doc, times)| each(doc, times));
                return Ok(());
            }
        };
        let read = || -> std::io::Result<Option<BlockSegmentPostings>> {
            let of_term = match known {
                Some(of_term) => Some(of_term),
                None => inverted.get_term_info(&Term::from_field_text(self.field, text))?,
            };
            let Some(of_term) = of_term else {
                return Ok(None);
            };
            let Some(mut postings) = decoder.take().map(|postings| *postings) else {
                let record = IndexRecordOption::WithFreqs;
                let read = inverted.read_block_postings_from_terminfo(&of_term, record);
                return read.map(Some);
            };
            inverted.reset_block_postings_from_terminfo(&of_term, &mut postings)?;
            Ok(Some(postings))
        };
        let Some(mut postings) = read().map_err(|error| unusable(&error))? else {
            return Ok(());
        };
        while postings.block_len() > 0 {
            for (doc, times) in postings.docs().iter().zip(postings.freqs()) {
                each(*doc, *times);
            }
            postings.advance();
        }
        *decoder = Some(Box::new(postings));
        Ok(())
    }
}

/// Maximum length of a term, in bytes, in a segment: Tantivy drops longer ones.
const MAX_TERM_BYTES: usize = u16::MAX as usize - 5;

impl Part {
    /// Returns an opened segment with the names of its files. One whose documents are those of `known`, but for
    /// deletions, shares its lexicons.
    pub fn segment(reader: SegmentReader, files: Vec<PathBuf>, known: Option<&Part>) -> Part {
        Part {
            content: Content::Segment(Box::new(reader)),
            files,
            lexicons: known.map_or_else(Arc::default, |part| Arc::clone(&part.lexicons)),
            is_looked_at: AtomicBool::new(false),
        }
    }

    /// Returns a segment without files, as verified.
    pub fn in_memory(reader: SegmentReader) -> Part {
        Part::without_files(Content::Segment(Box::new(reader)))
    }

    /// Returns a part of documents with their fields.
    pub fn loose(builder: &DocumentBuilder, filled: Vec<Arc<TantivyDocument>>) -> Part {
        let documents = LooseDocuments::new(builder, filled);
        Part::without_files(Content::Loose(Box::new(documents)))
    }

    fn without_files(content: Content) -> Part {
        Part {
            content,
            files: Vec::new(),
            lexicons: Arc::default(),
            is_looked_at: AtomicBool::new(true),
        }
    }

    /// Returns Tantivy's reader of a segment.
    pub fn reader(&self) -> Option<&SegmentReader> {
        match &self.content {
            Content::Segment(reader) => Some(reader),
            Content::Loose(_) => None,
        }
    }

    /// Returns the documents of a part that is no segment.
    pub fn documents(&self) -> Option<&LooseDocuments> {
        match &self.content {
            Content::Segment(_) => None,
            Content::Loose(documents) => Some(documents),
        }
    }

    /// Returns Tantivy's id of a segment; empty for loose documents.
    pub fn id(&self) -> String {
        let reader = self.reader();
        reader.map_or_else(String::new, |reader| reader.segment_id().uuid_string())
    }

    /// Returns the number of the operation that last deleted in it.
    pub fn deleted(&self) -> Option<u64> {
        self.reader().and_then(SegmentReader::delete_opstamp)
    }

    /// Returns whether a document was deleted.
    pub fn is_deleted(&self, doc: u32) -> bool {
        self.reader().is_some_and(|reader| reader.is_deleted(doc))
    }

    /// Returns the number of documents, deleted ones included: they are numbered from 0.
    pub fn max_doc(&self) -> u32 {
        match &self.content {
            Content::Segment(reader) => reader.max_doc(),
            Content::Loose(documents) => documents.filled.len() as u32,
        }
    }

    /// Returns the number of documents that are not deleted.
    pub fn num_docs(&self) -> u32 {
        self.reader()
            .map_or_else(|| self.max_doc(), SegmentReader::num_docs)
    }

    /// Returns whether it was checked that its files are verified.
    pub fn is_looked_at(&self) -> bool {
        self.is_looked_at.load(Ordering::Relaxed)
    }

    /// Marks the segment as checked.
    pub fn set_looked_at(&self) {
        self.is_looked_at.store(true, Ordering::Relaxed);
    }

    /// Returns the distinct terms of `field`, which holds these runs.
    pub fn lexicon(&self, field: Field, of: RunsOf) -> Result<&Lexicon, IndexError> {
        let slot = &self.lexicons[of as usize];
        if slot.get().is_none() {
            let lexicon = match &self.content {
                Content::Segment(reader) => Lexicon::read(reader, field)?,
                Content::Loose(documents) => {
                    let mut lexicon = Lexicon::default();
                    let terms = documents.postings(field).terms.iter();
                    terms.for_each(|(term, _)| lexicon.push(term));
                    lexicon
                }
            };
            let _ = slot.set(lexicon);
        }
        Ok(slot.get().expect("it was just set"))
    }

    /// Returns a reader of the postings of many terms of `field`.
    pub fn postings_in(&self, field: Field) -> Result<PostingsReader<'_>, IndexError> {
        let source = match &self.content {
            Content::Segment(reader) => PostingsSource::Segment(inverted(reader, field)?, None),
            Content::Loose(documents) => PostingsSource::Loose(documents),
        };
        Ok(PostingsReader { field, source })
    }

    /// Calls `each` with every document that holds the term `text` in `field`, and how often.
    pub fn each_posting(
        &self,
        field: Field,
        text: &str,
        record: IndexRecordOption,
        mut each: impl FnMut(u32, u32),
    ) -> Result<(), IndexError> {
        let reader = match &self.content {
            Content::Segment(reader) => reader,
            Content::Loose(documents) => {
                let postings = documents.postings(field).of_term(text).iter();
                postings.for_each(|&(doc, times)| each(doc, times));
                return Ok(());
            }
        };
        let inverted = inverted(reader, field)?;
        let postings = inverted
            .read_postings(&Term::from_field_text(field, text), record)
            .map_err(|error| unusable(&error))?;
        let Some(mut postings) = postings else {
            return Ok(());
        };
        while postings.doc() != TERMINATED {
            each(postings.doc(), postings.term_freq());
            postings.advance();
        }
        Ok(())
    }

    /// Calls `each` with the place in `docs`, which are ascending, of every document that holds the term `text` in
    /// `field`, and how often.
    pub fn counts_in(
        &self,
        field: Field,
        text: &str,
        docs: impl Iterator<Item = u32>,
        mut each: impl FnMut(usize, u32),
    ) -> Result<(), IndexError> {
        let reader = match &self.content {
            Content::Segment(reader) => reader,
            Content::Loose(documents) => {
                let postings = documents.postings(field).of_term(text);
                for (place, doc) in docs.enumerate() {
                    if let Ok(at) = postings.binary_search_by_key(&doc, |&(known, _)| known) {
                        each(place, postings[at].1);
                    }
                }
                return Ok(());
            }
        };
        let inverted = inverted(reader, field)?;
        let term = Term::from_field_text(field, text);
        let postings = inverted
            .read_postings(&term, IndexRecordOption::WithFreqs)
            .map_err(|error| unusable(&error))?;
        let Some(mut postings) = postings else {
            return Ok(());
        };
        for (place, doc) in docs.enumerate() {
            if postings.doc() < doc {
                postings.seek(doc);
            }
            if postings.doc() == doc {
                each(place, postings.term_freq());
            }
        }
        Ok(())
    }

    /// Returns the number of documents that hold the term `text` in `field`, deleted ones included.
    pub fn doc_freq(&self, field: Field, text: &str) -> Result<u32, IndexError> {
        match &self.content {
            Content::Segment(reader) => inverted(reader, field)?
                .doc_freq(&Term::from_field_text(field, text))
                .map_err(|error| unusable(&error)),
            Content::Loose(documents) => Ok(documents.postings(field).of_term(text).len() as u32),
        }
    }

    /// Calls `each` with every term of `field` that begins with `prefix`, in their order, and the number of documents
    /// that hold it, deleted ones included.
    pub fn each_term(
        &self,
        field: Field,
        prefix: &str,
        mut each: impl FnMut(&[u8], u32),
    ) -> Result<(), IndexError> {
        let reader = match &self.content {
            Content::Segment(reader) => reader,
            Content::Loose(documents) => {
                let terms = documents.postings(field).with(prefix);
                terms.for_each(|(term, postings)| each(term.as_bytes(), postings.len() as u32));
                return Ok(());
            }
        };
        let inverted = inverted(reader, field)?;
        each_term_with(&inverted, prefix, |term, postings| {
            each(term, postings.doc_freq);
            Ok(())
        })
    }

    /// Adds to `values` the rest of each term of `field` that begins with `prefix` and stands in a document for which
    /// `is_live` is true.
    pub fn add_values(
        &self,
        field: Field,
        prefix: &str,
        is_live: impl Fn(u32) -> bool,
        values: &mut HashSet<String>,
    ) -> Result<(), IndexError> {
        let reader = match &self.content {
            Content::Segment(reader) => reader,
            Content::Loose(documents) => {
                let terms = documents.postings(field).with(prefix);
                let live =
                    terms.filter(|(_, postings)| postings.iter().any(|(doc, _)| is_live(*doc)));
                values.extend(live.map(|(term, _)| term[prefix.len()..].to_owned()));
                return Ok(());
            }
        };
        let inverted = inverted(reader, field)?;
        each_term_with(&inverted, prefix, |term, postings| {
            let value = String::from_utf8_lossy(&term[prefix.len()..]);
            if values.contains(&*value) {
                return Ok(());
            }
            let mut postings = inverted
                .read_postings_from_terminfo(postings, IndexRecordOption::Basic)
                .map_err(|error| failed("read", error))?;
            while postings.doc() != TERMINATED {
                if is_live(postings.doc()) {
                    values.insert(value.into_owned());
                    break;
                }
                postings.advance();
            }
            Ok(())
        })
    }

    /// Calls `each` with each of `docs` and the vector key of its memory's own passage.
    pub fn each_vector_key(
        &self,
        docs: impl Iterator<Item = u32>,
        mut each: impl FnMut(u32, VectorKey),
    ) -> Result<(), IndexError> {
        let key = |high: u64, low: u64| VectorKey::from(high) << 64 | VectorKey::from(low);
        match &self.content {
            Content::Segment(reader) => {
                let fast = reader.fast_fields();
                let column = |name| fast.u64(name).map_err(|error| unusable(&error));
                let [high, low] = [column(KEY_NAMES[0])?, column(KEY_NAMES[1])?];
                for doc in docs {
                    let number =
                        |column: &tantivy::columnar::Column<u64>| column.first(doc).unwrap_or(0);
                    each(doc, key(number(&high), number(&low)));
                }
            }
            Content::Loose(documents) => {
                let fields = documents.fields;
                for doc in docs {
                    let number = |field| documents.u64(doc, field).unwrap_or(0);
                    each(doc, key(number(fields.key_high), number(fields.key_low)));
                }
            }
        }
        Ok(())
    }
}

/// Returns the dictionary and the postings of a field of a segment.
fn inverted(reader: &SegmentReader, field: Field) -> Result<Arc<InvertedIndexReader>, IndexError> {
    reader
        .inverted_index(field)
        .map_err(|error| unusable(&error))
}

/// Calls `each` with every term that begins with `prefix`, in their order, and where its postings lie.
fn each_term_with(
    inverted: &InvertedIndexReader,
    prefix: &str,
    mut each: impl FnMut(&[u8], &TermInfo) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let range = inverted.terms().range().ge(prefix.as_bytes());
    let mut stream = range.into_stream().map_err(|error| unusable(&error))?;
    while stream.advance() && stream.key().starts_with(prefix.as_bytes()) {
        each(stream.key(), stream.value())?;
    }
    Ok(())
}
