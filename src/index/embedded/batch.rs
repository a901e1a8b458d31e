//! Writes changes into the index, all or none.

use rayon::prelude::*;
use tantivy::Index as TantivyIndex;
use tantivy::IndexWriter;
use tantivy::TantivyDocument;
use tantivy::Term;

use super::EmbeddedIndex;
use super::failed;
use super::schema;
use super::schema::Fields;
use super::unusable;
use crate::index::Batch;
use crate::index::Document;
use crate::index::IndexError;
use crate::words::Analyzer;

/// From so many changes on, two threads and larger segments pay.
const BULK: usize = 500;
const BULK_THREADS: usize = 2;
/// Memory for postings before a segment is written, a thread.
const BULK_BYTES: usize = 96 << 20;
const SMALL_BYTES: usize = 15 << 20;

pub(super) struct EmbeddedBatch {
    writer: IndexWriter<TantivyDocument>,
    fields: Fields,
    analyzer: Analyzer,
    starts_empty: bool,
}

impl EmbeddedBatch {
    pub fn begin(
        index: &EmbeddedIndex,
        tantivy: &TantivyIndex,
        expected: usize,
    ) -> Result<EmbeddedBatch, IndexError> {
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
            .map_err(unusable)?
            .is_empty();
        Ok(EmbeddedBatch {
            writer,
            fields: index.fields,
            analyzer: index.analyzer(),
            starts_empty,
        })
    }
}

impl Batch for EmbeddedBatch {
    fn upsert(&mut self, document: Document) -> Result<(), IndexError> {
        if !self.starts_empty {
            self.delete(&document.name);
        }
        let filled = schema::fill(&self.fields, &mut self.analyzer, &document);
        self.writer
            .add_document(filled)
            .map(drop)
            .map_err(|error| failed("write", error))
    }

    fn upsert_all(&mut self, documents: Vec<Document>) -> Result<(), IndexError> {
        if !self.starts_empty {
            documents
                .iter()
                .for_each(|document| self.delete(&document.name));
        }
        let (fields, writer) = (&self.fields, &self.writer);
        documents
            .into_par_iter()
            .try_for_each_init(
                || self.analyzer.clone(),
                |analyzer, document| {
                    let filled = schema::fill(fields, analyzer, &document);
                    writer.add_document(filled).map(drop)
                },
            )
            .map_err(|error| failed("write", error))
    }

    fn delete(&mut self, name: &str) {
        self.writer
            .delete_term(Term::from_field_text(self.fields.name, name));
    }

    fn commit(mut self: Box<Self>, verified: i64) -> Result<(), IndexError> {
        let mut prepared = self
            .writer
            .prepare_commit()
            .map_err(|error| failed("write", error))?;
        prepared.set_payload(&verified.to_string());
        prepared.commit().map_err(|error| failed("write", error))?;
        self.writer
            .wait_merging_threads()
            .map_err(|error| failed("merge", error))
    }
}
