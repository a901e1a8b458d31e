//! The derived state: the contract of an index.
//!
//! [`embedded`] is its first implementation, and [`Scan`] gives the same answers from the files where
//! there is no index. Guarantees: changes become visible together with the record of the file versions
//! that they come from; a snapshot never changes; deleting the index and rebuilding it gives the same
//! answers. An index never reads or writes a memory file: the caller hands it documents, and where a
//! search needs a text, the text is requested ([`Texts`]). The contract does not depend on a local
//! directory.

mod copies;
pub mod embedded;
mod facts;
mod filter;
pub mod passage;
mod phrase;
mod query;
mod scan;
mod text;

/// Unmaps the pages of index files until they are used again; for a process that rests.
pub use crate::columns::{free_scratch, give_back_pages};
pub use copies::{CopyState, IncomingIndex, IndexCopies, StateFiles};
pub use query::{Query, QueryKind, SearchResults};
pub use scan::Scan;

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::lifecycle;
use crate::lifecycle::{Life, State, Stated};
use crate::model::{Filter, Memory, Stamp, Usage};
use crate::ranking::{Parts, RankingSignals, Rerank};
use crate::vectors::{VectorEntry, VectorKey};

/// Error of reading or writing the index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The index is of another version, damaged or incomplete; it is to be rebuilt.
    #[error("the index is unusable: {reason}")]
    Unusable { reason: String },
    #[error("cannot {action} the index: {reason}")]
    Failed {
        action: &'static str,
        reason: String,
    },
    /// The index is being made, and was not ready in time; without it the search would take longer still.
    #[error("the index is being made, {done} of {total} memories are in it")]
    Building { done: usize, total: usize },
    /// The index was made while a search without one waited for it: a new view has it.
    #[error("the index was made meanwhile")]
    Superseded,
}

/// Version of an indexed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexed {
    /// Stamp of the file.
    pub stamp: Stamp,
    /// Hash of the file's bytes.
    pub hash: u128,
    /// Whether the file was so new when it was read that a later change may have the same stamp.
    pub racy: bool,
}

impl Indexed {
    /// Returns the version of a file with `stamp` that was not read: the hash is 0.
    pub fn unread(stamp: Stamp) -> Indexed {
        Indexed {
            stamp,
            hash: 0,
            racy: true,
        }
    }

    /// Whether the file was read, so that its hash is known.
    pub fn is_read(&self) -> bool {
        self.hash != 0
    }
}

/// A file version with its memory, to be indexed.
#[derive(Debug, Clone)]
pub struct Document {
    /// Name of the file below the memory directory.
    pub name: String,
    /// Version of the file.
    pub indexed: Indexed,
    /// The memory in the file.
    pub memory: Memory,
    /// The file's bytes as far as they are searched.
    pub bytes: Vec<u8>,
}

/// Changes that are not in the index yet, but visible to a search.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    /// Changed documents by file name; `None` of a deleted file.
    pub files: BTreeMap<String, Option<Arc<Document>>>,
}

/// Returns the memory of a file by its name; `None` if it is gone.
pub type Texts<'a> = dyn Fn(&str) -> Option<Memory> + 'a;

/// Returns the vector of a query's text; `None` if there is none at present.
pub type EmbedQuery<'a> = dyn Fn(&str) -> Option<Embedded> + 'a;

/// Told which files' texts are asked for next, so that a store in another place sends them together.
pub type ReadAhead<'a> = dyn Fn(&[&str]) + 'a;

/// Models that a search asks, where there are any, and the reader that it tells of the texts it asks for next.
#[derive(Clone, Copy, Default)]
pub struct SearchModels<'a> {
    /// Vector of the query's text; without one a text is ranked by words alone.
    pub embed: Option<&'a EmbedQuery<'a>>,
    /// Scores of the first hits by a cross-encoder.
    pub rerank: Option<&'a Rerank<'a>>,
    /// Told which texts are asked for next.
    pub ahead: Option<&'a ReadAhead<'a>>,
}

/// A vector with the model that made it: only vectors of one model can be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// Name of the model.
    pub model: String,
    /// The vector.
    pub vector: Vec<f32>,
    /// Tokens of the text with their places in it, in bytes, and the model's states; may be empty.
    pub tokens: Vec<(Range<usize>, Vec<f32>)>,
}

/// A passage without a vector of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unembedded {
    /// Key of the vector.
    pub key: VectorKey,
    /// Name of the file.
    pub name: String,
    /// Name of the file of the previous memory, of a window passage.
    pub previous: Option<String>,
}

/// Numbers of memories and passages of a snapshot that have vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Number of memories that have all their vectors.
    pub complete: usize,
    /// Number of memories.
    pub memories: usize,
    /// Number of passages.
    pub wanted: usize,
    /// Number of vectors' keys, those that no passage has any more included.
    pub kept: usize,
    /// Size of the vectors on disk, in bytes.
    pub bytes: usize,
}

/// Returns the state of the memory called by a stem at a moment, from the fields that its file states.
pub type StateOf<'a> = dyn Fn(&str, &Stated, DateTime<Utc>) -> State + Sync + 'a;

/// Moment of a search, and the states of memories at it.
#[derive(Clone, Copy)]
pub struct AsOf<'a> {
    /// Moment of the search.
    pub now: DateTime<Utc>,
    /// State of a memory; called only where the answer depends on it.
    pub state: &'a StateOf<'a>,
}

impl AsOf<'_> {
    /// Returns the ranking signals of the memory in the file `name`.
    fn signals(&self, name: &str, stated: &Stated) -> RankingSignals {
        let state = (self.state)(facts::stem_in(name), stated, self.now);
        let days = |at: DateTime<Utc>| (self.now - at).num_seconds() as f32 / 86_400.0;
        RankingSignals {
            importance: f32::from(state.importance),
            confidence: stated.confidence.unwrap_or(lifecycle::USUAL_CONFIDENCE) as f32,
            tier: state.tier,
            uses: state.uses,
            unchanged: days(state.changed),
            unused: state.last_used.map(days),
        }
    }

    /// Returns the moment `now` of a store in which no memory was used yet.
    pub fn unused(now: DateTime<Utc>) -> AsOf<'static> {
        AsOf {
            now,
            state: &unused,
        }
    }
}

fn unused(_: &str, stated: &Stated, now: DateTime<Utc>) -> State {
    lifecycle::state(stated, &Usage::default(), &Life::default(), now)
}

/// A memory that an index found.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexHit {
    /// Name of the file.
    pub name: String,
    /// Score; 0 of a search for everything.
    pub score: f64,
    /// Keywords that matched, in lower case, in the order of the query.
    pub matched: Vec<String>,
    /// Parts of the score of a ranked text.
    pub parts: Option<Parts>,
    /// Indexed version of the file.
    pub indexed: Indexed,
}

/// An unchanging view of the index together with an [`Overlay`].
pub trait Snapshot: Send + Sync {
    /// Runs one search. Memories that have expired at `moment` are not current; without an embedding model in
    /// `models` a text is ranked by words and vectors of words.
    ///
    /// # Errors
    ///
    /// [`IndexError::Unusable`] if a part of the index cannot be read.
    fn search(
        &self,
        query: &Query,
        moment: AsOf<'_>,
        models: SearchModels<'_>,
        texts: &Texts<'_>,
    ) -> Result<SearchResults<IndexHit>, IndexError>;

    /// Returns the files that pass the filter and whose own passages are nearest to the passage whose
    /// pieces are `embedded`, nearest first, each with the mean, over these pieces, of the cosine with its
    /// nearest piece. Empty where no vectors of that model are kept.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn nearest(
        &self,
        embedded: &[Embedded],
        filter: &Filter,
        moment: AsOf<'_>,
        limit: usize,
        texts: &Texts<'_>,
    ) -> Result<Vec<(String, f32)>, IndexError>;

    /// Returns the names of the files that may hold all fragments (lower-case texts) of one of the lists
    /// in `fragments`, sorted; `None` if the index cannot narrow it down.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn containing(&self, fragments: &[Vec<String>]) -> Result<Option<Vec<String>>, IndexError>;

    /// Returns the names of files that are larger than the part of a file that is indexed.
    fn cut(&self) -> Vec<String>;

    /// Returns those of `names` whose memories pass the filter.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn passing(
        &self,
        names: Vec<String>,
        filter: &Filter,
        moment: AsOf<'_>,
        texts: &Texts<'_>,
    ) -> Result<Vec<String>, IndexError>;

    /// Returns the names of at most `limit` files that pass the filter and share the rarest of some words,
    /// best first. Files that share only common words may be missing.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn sharing_rare(
        &self,
        words: &str,
        filter: &Filter,
        moment: AsOf<'_>,
        limit: usize,
        texts: &Texts<'_>,
    ) -> Result<Vec<String>, IndexError>;

    /// Returns the indexed version of the file `name`.
    fn indexed(&self, name: &str) -> Option<Indexed>;

    /// Returns every indexed file name with its version, in the order of the names.
    fn files(&self) -> Box<dyn Iterator<Item = (&str, Indexed)> + '_>;

    /// Returns the name of the committed state of this view: equal for equal states only.
    fn state(&self) -> &str;

    /// Returns the names of the files that may be called `id`, a stem or a handle, and maybe others;
    /// `None` if searching all names is as quick.
    fn maybe_called(&self, id: &str) -> Option<Vec<String>>;

    /// Returns the number of memories whose ids end with the eight hex digits `handle`; 1 on an error.
    fn handle_count(&self, handle: &str) -> usize;

    /// Returns the number of files.
    fn len(&self) -> usize;

    /// Returns whether there are no files.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the distinct values of a facet (`topics`, `user`, …) with their numbers of memories, most
    /// first.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn facet(&self, key: &str) -> Result<Vec<(String, usize)>, IndexError>;

    /// Returns the distinct values of a facet that several files have; maybe others, if that is quicker.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn shared(&self, key: &str) -> Result<Vec<String>, IndexError> {
        let values = self.facet(key)?.into_iter();
        let shared = values.filter(|(_, count)| *count > 1);
        Ok(shared.map(|(value, _)| value).collect())
    }

    /// Returns at most `limit` terms of the texts that begin with `beginning`, which is in lower case, the most
    /// frequent first. Terms that only deleted memories hold may be among them.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn completions(&self, beginning: &str, limit: usize) -> Result<Vec<String>, IndexError>;

    /// Returns the lower-case values of a facet, each with the name of a file that holds it.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn holders(&self, key: &str) -> Result<Vec<(String, String)>, IndexError>;

    /// Returns the names of files with problems.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn with_problems(&self) -> Result<Vec<String>, IndexError>;

    /// Returns the first `limit` passages without a vector of `model`, in an order that brings neighbours
    /// together.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn unembedded(&self, model: &str, limit: usize) -> Result<Vec<Unembedded>, IndexError>;

    /// Returns the vector keys of all passages.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn vector_keys(&self) -> Result<HashSet<VectorKey>, IndexError>;

    /// Returns the numbers of memories and passages that have vectors of `model`.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn coverage(&self, model: &str) -> Result<Coverage, IndexError>;

    /// Returns the moment until which racy files are known to be as indexed, in nanoseconds since 1970.
    fn verified(&self) -> i64;
}

/// Changes of the index that become visible together.
pub trait Batch {
    /// Indexes a file version in place of any other of its name.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot take it; the batch cannot be committed then.
    fn upsert(&mut self, document: Document) -> Result<(), IndexError>;

    /// As [`Batch::upsert`] for many at once, on all cores.
    ///
    /// # Errors
    ///
    /// As for [`Batch::upsert`].
    fn upsert_all(&mut self, documents: Vec<Document>) -> Result<(), IndexError>;

    /// Records the stamp of a file whose indexed bytes are those of `indexed`. Without effect on a file that is
    /// indexed in another version.
    fn touch(&mut self, name: &str, indexed: Indexed);

    /// Removes a file from the index.
    fn delete(&mut self, name: &str);

    /// Returns the name of the committed state that the batch changes, as [`Snapshot::state`] does.
    fn base(&self) -> &str;

    /// Makes the changes visible and durable, with the moment until which racy files are known
    /// to be as indexed. Returns the name of the state that they made of [`Batch::base`].
    ///
    /// # Errors
    ///
    /// Fails if they could not be written; the index is then as it was.
    fn commit(self: Box<Self>, verified: i64) -> Result<String, IndexError>;

    /// Commits as [`Batch::commit`], and rewrites the index files that still hold words of deleted
    /// documents, of this batch or an earlier one.
    ///
    /// # Errors
    ///
    /// As for [`Batch::commit`]; what was committed then is, with the words still in it.
    fn commit_without_remains(self: Box<Self>, verified: i64) -> Result<String, IndexError>;
}

/// An index of one store.
pub trait Index: Send + Sync {
    /// Returns a view of the newest committed state, with `overlay` over it.
    ///
    /// # Errors
    ///
    /// [`IndexError::Unusable`]: rebuild it.
    fn snapshot(&self, overlay: &Overlay) -> Result<Arc<dyn Snapshot>, IndexError>;

    /// Begins a batch of about `expected` changes. A store has at most one at a time: the caller holds the
    /// store's writer lock.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be written.
    fn batch(&self, expected: usize) -> Result<Box<dyn Batch + '_>, IndexError>;

    /// Stores vectors that `model` made of passages. Every snapshot finds them from now on. The caller holds the writer lock.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be written; then none of them is kept.
    fn keep_vectors(&self, model: &str, vectors: Vec<VectorEntry>) -> Result<(), IndexError>;

    /// Compacts the vectors: removes those whose keys are not in `wanted` where that is much, and those of
    /// all models that are not among `models`. The caller holds the writer lock.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be written.
    fn tidy_vectors(&self, models: &[&str], wanted: &HashSet<VectorKey>) -> Result<(), IndexError>;

    /// Returns the names of the models that have vectors.
    fn models(&self) -> Vec<String>;

    /// Removes everything but undamaged vectors, and makes an empty index. The caller holds the writer
    /// lock.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be written.
    fn reset(&self) -> Result<(), IndexError>;

    /// Returns a mark of this moment, for [`Index::changed_since`].
    fn mark(&self) -> u64;

    /// Returns an error if data that was read since `mark` may be wrong: another process wrote into the
    /// files, or the index was opened again for that reason. A reader checks it before it answers.
    fn changed_since(&self, mark: u64) -> Option<IndexError>;

    /// Drops all open files after one was changed, so that they are opened again, and clears those changes
    /// from [`Index::changed_since`]. The caller has dropped every snapshot that others could take.
    fn reopen(&self);

    /// Returns whether its files are undamaged.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be opened for another reason.
    fn is_sound(&self) -> Result<bool, IndexError>;

    /// Verifies the index's own files, and returns the names of the damaged ones.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read at all.
    fn damaged_parts(&self) -> Result<Vec<String>, IndexError>;

    /// Verifies some of the index's own files that were not verified for long, for about `budget`. Returns
    /// whether none is left. To be called now and then when there is nothing else to do.
    ///
    /// # Errors
    ///
    /// [`IndexError::Unusable`] if one is damaged.
    fn check_some(&self, budget: Duration, now: DateTime<Utc>) -> Result<bool, IndexError>;

    /// Removes indexes of other versions and languages that were not used for long, and returns their
    /// number. The caller holds the writer lock.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read.
    fn remove_unused(&self, now: DateTime<Utc>) -> Result<usize, IndexError>;

    /// Returns the name of the index: equal for indexes that hold equal files in the same way, on any machine. `None` of
    /// an index in memory.
    fn name(&self) -> Option<&str>;

    /// Opens the files of the newest committed state, which are undamaged; `None` of an index in memory, or if there is
    /// none. The caller holds the writer lock.
    ///
    /// # Errors
    ///
    /// [`IndexError::Unusable`] if one is damaged.
    fn state_files(&self) -> Result<Option<StateFiles>, IndexError>;

    /// Begins to put a copy of another machine's index in place; `None` if there is an index, or if it is in memory. The
    /// caller holds the writer lock until that has ended.
    ///
    /// # Errors
    ///
    /// Fails if no files can be written.
    fn receive(&self) -> Result<Option<Box<dyn IncomingIndex>>, IndexError>;
}
