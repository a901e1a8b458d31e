//! Writes changes into the index, all or none.

use rayon::prelude::*;
use tantivy::Index as TantivyIndex;
use tantivy::IndexWriter;
use tantivy::TantivyDocument;
use tantivy::Term;

use super::EmbeddedIndex;
use super::schema;
use super::trouble::failed;
use super::trouble::guarded;
use super::trouble::unusable;
use crate::index::Batch;
use crate::index::Document;
use crate::index::IndexError;

/// From so many changes on, two threads and larger segments pay.
const BULK: usize = 500;
const BULK_THREADS: usize = 2;
/// Memory for postings before a segment is written, a thread.
const BULK_BYTES: usize = 96 << 20;
/// From so many documents on, threads pay.
const MANY: usize = 16;
const SMALL_BYTES: usize = 15 << 20;

pub(super) struct EmbeddedBatch<'a> {
    index: &'a EmbeddedIndex,
    writer: IndexWriter<TantivyDocument>,
    starts_empty: bool,
}

impl<'a> EmbeddedBatch<'a> {
    pub fn begin(
        index: &'a EmbeddedIndex,
        tantivy: &TantivyIndex,
        expected: usize,
    ) -> Result<EmbeddedBatch<'a>, IndexError> {
        let is_bulk = expected >= BULK;
        let (threads, bytes) = if is_bulk {
            (BULK_THREADS, BULK_BYTES * BULK_THREADS)
        } else {
            (1, SMALL_BYTES)
        };
        let writer = tantivy
            .writer_with_num_threads(threads, bytes)
            .map_err(|error| failed("write", error))?;
        let starts_empty = tantivy
            .searchable_segment_ids()
            .map_err(|error| unusable(&error))?
            .is_empty();
        Ok(EmbeddedBatch {
            index,
            writer,
            starts_empty,
        })
    }
}

impl Batch for EmbeddedBatch<'_> {
    fn upsert(&mut self, document: Document) -> Result<(), IndexError> {
        self.upsert_all(vec![document])
    }

    fn upsert_all(&mut self, documents: Vec<Document>) -> Result<(), IndexError> {
        if !self.starts_empty {
            documents
                .iter()
                .for_each(|document| self.delete(&document.name));
        }
        let (index, writer) = (self.index, &self.writer);
        let add = |document: &Document| {
            let filled = index
                .analyzers
                .lend(|analyzer| schema::fill(&index.fields, analyzer, document));
            writer.add_document(filled).map(drop)
        };
        guarded(|| {
            let added = if documents.len() < MANY {
                documents.iter().try_for_each(add)
            } else {
                documents.par_iter().try_for_each(add)
            };
            added.map_err(|error| failed("write", error))
        })
    }

    fn delete(&mut self, name: &str) {
        let field = self.index.fields.name;
        self.writer.delete_term(Term::from_field_text(field, name));
    }

    fn commit(mut self: Box<Self>, verified: i64) -> Result<(), IndexError> {
        guarded(|| {
            let mut prepared = self
                .writer
                .prepare_commit()
                .map_err(|error| failed("write", error))?;
            prepared.set_payload(&verified.to_string());
            prepared.commit().map_err(|error| failed("write", error))?;
            self.writer
                .wait_merging_threads()
                .map_err(|error| failed("merge", error))?;
            self.index.trust_committed(verified)
        })
    }
}
