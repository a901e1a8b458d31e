//! Writes changes into the index, all or none.

use std::sync::Arc;

use rayon::prelude::*;
use tantivy::indexer::IndexWriterOptions;
use tantivy::merge_policy::{LogMergePolicy, NoMergePolicy};
use tantivy::{Index as TantivyIndex, IndexWriter, TantivyDocument, TantivyError, Term};

use super::embedded_index::EmbeddedIndex;
use super::failure::{failed, guarded, unusable};
use super::opened;
use super::rows::mapped_table::MappedTable;
use super::rows::touched::Touched;
use crate::index::{Batch, Document, IndexError, Indexed};

/// Number of changes from which on two threads and larger segments pay.
const BULK: usize = 500;
const BULK_THREADS: usize = 2;
/// Memory of each thread for postings before a segment is written, in bytes.
const BULK_BYTES: usize = 48 << 20;
/// Number of documents from which on threads pay.
const MANY: usize = 16;
/// Segments of fewer documents count as equal in size: to merge them costs little more than a commit.
const SMALL_SEGMENT: u32 = 1_000;
const SMALL_BYTES: usize = 15 << 20;
/// Segments of more documents are not merged: merging would map and write most of a large index
/// again and again, and save a search one dictionary for each.
const LARGE_SEGMENT: usize = 50_000;

/// A batch of changes and the Tantivy writer that makes them.
pub(super) struct EmbeddedBatch<'a> {
    index: &'a EmbeddedIndex,
    writer: IndexWriter<TantivyDocument>,
    /// Name of the committed state that the batch changes.
    base: String,
    starts_empty: bool,
    /// Files with their indexed bytes under other stamps.
    touched: Touched,
    /// Stamps of files before the batch; none for an empty index.
    known: KnownStamps,
    /// As [`crate::index::Index::mark`] gave it before anything was read for this batch.
    mark: u64,
}

impl<'a> EmbeddedBatch<'a> {
    /// Begins a batch of about `expected` changes of `tantivy`.
    pub fn begin(
        index: &'a EmbeddedIndex,
        tantivy: &TantivyIndex,
        expected: usize,
        mark: u64,
    ) -> Result<EmbeddedBatch<'a>, IndexError> {
        let (threads, bytes) = if expected >= BULK {
            (BULK_THREADS, BULK_BYTES)
        } else {
            (1, SMALL_BYTES)
        };
        let options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(bytes)
            // Allocators keep memory for as many threads as there ever were at once.
            .num_merge_threads(1)
            .build();
        let writer: IndexWriter<TantivyDocument> = tantivy
            .writer_with_options(options)
            .map_err(|error| failed("write", error))?;
        writer.set_merge_policy(Box::new(merge_policy()));
        let starts_empty = tantivy
            .searchable_segment_ids()
            .map_err(|error| unusable(&error))?
            .is_empty();
        let known = match starts_empty {
            true => KnownStamps::default(),
            false => KnownStamps {
                touched: index.touched(),
                tables: index.tables(),
            },
        };
        Ok(EmbeddedBatch {
            index,
            writer,
            base: opened::state_of(tantivy)?,
            starts_empty,
            known,
            touched: Touched::default(),
            mark,
        })
    }

    /// Returns the error of a step that wrote into the index, or took files for it that others changed.
    fn failed(&self, action: &'static str, error: TantivyError) -> IndexError {
        let changed = self.index.check_files(self.mark);
        changed.err().unwrap_or_else(|| failed(action, error))
    }

    /// Makes the changes part of the index, unless what was read for them is wrong.
    fn publish(&mut self, verified: i64) -> Result<(), IndexError> {
        // A table that is mapped cannot be replaced on each system.
        self.known = KnownStamps::default();
        // They are true whether or not the state is published.
        self.index.keep_touched(std::mem::take(&mut self.touched));
        let prepared = self.writer.prepare_commit();
        let committed = prepared.and_then(|mut prepared| {
            prepared.set_payload(&verified.to_string());
            prepared.commit()
        });
        committed.map_err(|error| self.failed("write", error))?;
        Ok(())
    }

    /// Ends the batch once nothing is merged any more. Returns the state that it left.
    fn finish(self: Box<Self>, verified: i64) -> Result<String, IndexError> {
        let tantivy = self.writer.index().clone();
        self.writer
            .wait_merging_threads()
            .map_err(|error| failed("merge", error))?;
        self.index.check_files(self.mark)?;
        let state = opened::state_of(&tantivy)?;
        self.index.trust_committed(verified)?;
        Ok(state)
    }
}

/// Returns the merge policy: eight segments of one size class (a factor of four; all small ones are
/// of one class), and a segment of which half was deleted. Large ones are not merged.
fn merge_policy() -> LogMergePolicy {
    let mut policy = LogMergePolicy::default();
    policy.set_min_layer_size(SMALL_SEGMENT);
    policy.set_level_log_size(2.0);
    policy.set_del_docs_ratio_before_merge(0.5);
    policy.set_max_docs_before_merge(LARGE_SEGMENT);
    policy
}

/// Stamps of files as a table and the touched files beside it have them.
#[derive(Default)]
struct KnownStamps {
    touched: Touched,
    tables: Vec<Arc<MappedTable>>,
}

impl KnownStamps {
    /// Returns whether a file is known with other stamps than this one, and the same bytes.
    fn differ_from(&self, name: &str, indexed: Indexed) -> bool {
        let tables = self.tables.iter();
        let mut stamps = tables
            .map(|table| table.stamp(name, indexed))
            .chain([self.touched.stamp(name, indexed)])
            .flatten();
        stamps.any(|stamp| stamp != indexed.stamp)
    }
}

impl Batch for EmbeddedBatch<'_> {
    fn upsert(&mut self, document: Document) -> Result<(), IndexError> {
        self.upsert_all(vec![document])
    }

    fn upsert_all(&mut self, documents: Vec<Document>) -> Result<(), IndexError> {
        if !self.starts_empty {
            for document in &documents {
                self.delete(&document.name);
                // Else that stamp would count, as if the document came from a merge.
                if self.known.differ_from(&document.name, document.indexed) {
                    self.touched.insert(&document.name, document.indexed);
                }
            }
        }
        let (index, writer) = (self.index, &self.writer);
        let add = |document: &Document| {
            // A search may have filled the fields of what was just written.
            let known = index.layers.filled(document);
            let filled = known.map(|known| TantivyDocument::clone(&known));
            let filled = filled.unwrap_or_else(|| index.documents.build(document));
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

    fn touch(&mut self, name: &str, indexed: Indexed) {
        self.touched.insert(name, indexed);
    }

    fn delete(&mut self, name: &str) {
        let field = self.index.documents.fields.name;
        self.writer.delete_term(Term::from_field_text(field, name));
    }

    fn base(&self) -> &str {
        &self.base
    }

    fn commit(mut self: Box<Self>, verified: i64) -> Result<String, IndexError> {
        guarded(|| {
            self.publish(verified)?;
            self.finish(verified)
        })
    }

    fn commit_without_remains(mut self: Box<Self>, verified: i64) -> Result<String, IndexError> {
        guarded(|| {
            // A segment that a running merge takes could not be rewritten.
            self.writer.set_merge_policy(Box::new(NoMergePolicy));
            self.publish(verified)?;
            let segments = self.writer.index().searchable_segment_metas();
            let segments = segments.map_err(|error| unusable(&error))?;
            for segment in segments.iter().filter(|segment| segment.has_deletes()) {
                self.writer
                    .merge(&[segment.id()])
                    .wait()
                    .map_err(|error| self.failed("merge", error))?;
            }
            self.writer
                .garbage_collect_files()
                .wait()
                .map_err(|error| failed("clear", error))?;
            self.finish(verified)
        })
    }
}
