//! The derived state: what is indexed, and who finds what.
//!
//! This file is the contract; [`embedded`] is its first implementation, and [`Scan`] answers the
//! same from the files where there is no index. Promises: changes
//! become visible together with the record of which file versions they stand for; a snapshot
//! never changes; deleting the index and rebuilding it gives the same answers. An index never
//! reads or writes a memory file: documents are brought to it, and where a search needs a text it
//! asks for it ([`Texts`]). The contract speaks of nothing that only a local directory has.

pub mod embedded;
mod facts;
mod filter;
pub mod passage;
mod query;
mod scan;
mod text;

pub use query::{Query, QueryKind, SearchResults};
pub use scan::Scan;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::lifecycle;
use crate::lifecycle::{Life, State, Stated};
use crate::model::{Filter, Memory, Stamp, Usage};
use crate::ranking::{Parts, RankingSignals};
use crate::vectors::VectorKey;

/// What could not be done with the index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The index is of another version, damaged or incomplete: throw it away and rebuild.
    #[error("the index is unusable: {reason}")]
    Unusable { reason: String },
    #[error("cannot {action} the index: {reason}")]
    Failed {
        action: &'static str,
        reason: String,
    },
}

/// Which version of a file is indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Indexed {
    pub stamp: Stamp,
    pub hash: u128,
    /// The file was so young when it was read that a later change may bear the same stamp.
    pub racy: bool,
}

/// A file version with its memory, to be indexed.
#[derive(Debug, Clone)]
pub struct Document {
    pub name: String,
    pub indexed: Indexed,
    pub memory: Memory,
    /// The file's bytes as far as they are searched.
    pub bytes: Vec<u8>,
}

/// Changes that are not in the index yet, and shall be seen by a search all the same.
#[derive(Debug, Clone, Default)]
pub struct Overlay {
    /// By file name. `None`: the file is gone.
    pub files: BTreeMap<String, Option<Arc<Document>>>,
}

/// Gives the text of a file where a search needs it; `None` if it is gone.
pub type Texts<'a> = dyn Fn(&str) -> Option<Memory> + 'a;

/// Gives the vector of what is asked; `None` if that cannot be had now.
pub type EmbedQuery<'a> = dyn Fn(&str) -> Option<Embedded> + 'a;

/// A vector with the model that made it: only vectors of one model can be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    pub model: String,
    pub vector: Vec<f32>,
}

/// A passage that a model has made no vector of yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unembedded {
    /// What the vector is to be kept under.
    pub key: VectorKey,
    /// The file.
    pub name: String,
    /// The file before it, of which the passage holds the text as well.
    pub previous: Option<String>,
}

/// How far the memories of a snapshot have vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Coverage {
    /// How many memories have all vectors that they want.
    pub complete: usize,
    pub memories: usize,
    /// How many passages want a vector.
    pub wanted: usize,
    /// How many have one, and those that nobody wants any more.
    pub kept: usize,
    /// On disk, in bytes.
    pub bytes: usize,
}

/// Says what the memory called by a stem is at a moment, from what its file states.
pub type StateOf<'a> = dyn Fn(&str, &Stated, DateTime<Utc>) -> State + Sync + 'a;

/// The moment of a search, and what memories are at it.
#[derive(Clone, Copy)]
pub struct AsOf<'a> {
    pub now: DateTime<Utc>,
    /// Asked only of memories whose passing depends on it.
    pub state: &'a StateOf<'a>,
}

impl AsOf<'_> {
    /// What the memory in the file `name` is worth.
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

    /// The moment `now`, when nothing was used yet.
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

/// A memory that an index found: which file, and in which version.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexHit {
    pub name: String,
    pub score: f64,
    /// The keywords that matched, in lower case, in the order asked.
    pub matched: Vec<String>,
    /// What the score of a ranked text is made of.
    pub parts: Option<Parts>,
    pub indexed: Indexed,
}

/// An unchanging view of the index together with an [`Overlay`].
pub trait Snapshot: Send + Sync {
    /// Runs one search. What is no longer alive at `moment` is not current; without `embed` a text
    /// is ranked by words alone.
    ///
    /// # Errors
    ///
    /// [`IndexError::Unusable`] if a part of the index cannot be read.
    fn search(
        &self,
        query: &Query,
        moment: AsOf<'_>,
        embed: Option<&EmbedQuery<'_>>,
        texts: &Texts<'_>,
    ) -> Result<SearchResults<IndexHit>, IndexError>;

    /// The files that pass the filter and whose own passages are nearest to the passage whose pieces
    /// are `embedded`, nearest first, each with the mean, over these pieces, of the cosine with its
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

    /// The names of the files that may hold all of `fragments` in the order of the names, each
    /// fragment a lower-case text; `None` if the index cannot narrow it down.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn containing(&self, fragments: &[Vec<String>]) -> Result<Option<Vec<String>>, IndexError>;

    /// The names of files that are larger than what is indexed of one.
    fn cut(&self) -> Vec<String>;

    /// Those of `names` whose memories pass the filter.
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

    /// The names of at most `limit` files that pass the filter and share the rarest of some words,
    /// those first that share most. What shares only common words may not be among them.
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

    /// The indexed version of the file `name`.
    fn indexed(&self, name: &str) -> Option<Indexed>;

    /// Every indexed file name with its version, in the order of the names.
    fn files(&self) -> Box<dyn Iterator<Item = (&str, Indexed)> + '_>;

    /// Names the committed state that this is a view of: equal for equal states only.
    fn state(&self) -> &str;

    /// The names of the files that may be called by the whole of `id`, a stem or a handle, and maybe
    /// of others; `None` if looking through all names is as quick.
    fn maybe_called(&self, id: &str) -> Option<Vec<String>>;

    /// How many memories end with the eight hex digits `handle`.
    fn handle_count(&self, handle: &str) -> usize;

    /// How many files are covered.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The distinct values of a facet (`topics`, `user`, …) with their numbers of memories.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn facet(&self, key: &str) -> Result<Vec<(String, usize)>, IndexError>;

    /// The distinct values of a facet that several files have; maybe others, if that is quicker.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn shared(&self, key: &str) -> Result<Vec<String>, IndexError> {
        let values = self.facet(key)?.into_iter();
        let shared = values.filter(|(_, count)| *count > 1);
        Ok(shared.map(|(value, _)| value).collect())
    }

    /// The lower-case values of a facet, each with the name of a file that holds it.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn holders(&self, key: &str) -> Result<Vec<(String, String)>, IndexError>;

    /// The names of files with problems.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn with_problems(&self) -> Result<Vec<String>, IndexError>;

    /// The first `limit` passages that `model` has made no vector of yet, in an order that brings
    /// neighbours together.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn unembedded(&self, model: &str, limit: usize) -> Result<Vec<Unembedded>, IndexError>;

    /// Every key that a vector is wanted for.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn vector_keys(&self) -> Result<HashSet<VectorKey>, IndexError>;

    /// How far the memories have vectors of `model`.
    ///
    /// # Errors
    ///
    /// As for [`Snapshot::search`].
    fn coverage(&self, model: &str) -> Result<Coverage, IndexError>;

    /// Until when racy files are known to be as indexed, in nanoseconds since 1970.
    fn verified(&self) -> i64;
}

/// Changes of the index that become visible together.
pub trait Batch {
    /// Indexes a file version in place of any other of its name.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot take it; the batch is then worthless.
    fn upsert(&mut self, document: Document) -> Result<(), IndexError>;

    /// As [`Batch::upsert`] for many at once, on all cores.
    ///
    /// # Errors
    ///
    /// As for [`Batch::upsert`].
    fn upsert_all(&mut self, documents: Vec<Document>) -> Result<(), IndexError>;

    /// Takes a file out of the index.
    fn delete(&mut self, name: &str);

    /// Names the committed state that the batch changes, as [`Snapshot::state`] does.
    fn base(&self) -> &str;

    /// Makes the changes visible and durable, with the moment until which racy files are known
    /// to be as indexed. Returns the name of the state that they made of [`Batch::base`].
    ///
    /// # Errors
    ///
    /// Fails if they could not be written; the index is then as it was.
    fn commit(self: Box<Self>, verified: i64) -> Result<String, IndexError>;

    /// As [`Batch::commit`], and writes those files of the index anew that still hold words of what
    /// was taken out, in this batch or an earlier one.
    ///
    /// # Errors
    ///
    /// As for [`Batch::commit`]; what was committed then is, with the words still in it.
    fn commit_without_remains(self: Box<Self>, verified: i64) -> Result<String, IndexError>;
}

/// An index of one store.
pub trait Index: Send + Sync {
    /// The newest committed state, with `overlay` over it.
    ///
    /// # Errors
    ///
    /// [`IndexError::Unusable`]: rebuild it.
    fn snapshot(&self, overlay: &Overlay) -> Result<Arc<dyn Snapshot>, IndexError>;

    /// Begins a batch of about `expected` changes. At most one at a time and store: the caller
    /// holds the store's writer lock.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be written.
    fn batch(&self, expected: usize) -> Result<Box<dyn Batch + '_>, IndexError>;

    /// Keeps vectors that `model` made of passages, each key with those of its pieces. They are
    /// found by every snapshot from now on. The caller holds the writer lock.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be written; then none of them is kept.
    fn keep_vectors(
        &self,
        model: &str,
        vectors: Vec<(VectorKey, Vec<Vec<f32>>)>,
    ) -> Result<(), IndexError>;

    /// Puts the vectors in order: what is kept under none of the keys in `wanted` goes where that is
    /// much, and so do the vectors of all models that are not among `models`. The caller holds the
    /// writer lock.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be written.
    fn tidy_vectors(&self, models: &[&str], wanted: &HashSet<VectorKey>) -> Result<(), IndexError>;

    /// The models that there are vectors of.
    fn models(&self) -> Vec<String>;

    /// Throws everything but sound vectors away and begins anew, empty. The caller holds the writer
    /// lock.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be written.
    fn reset(&self) -> Result<(), IndexError>;

    /// A mark of this moment, for [`Index::changed_since`].
    fn mark(&self) -> u64;

    /// Why what was read of it since `mark` may be wrong: somebody else wrote into its files, or it
    /// was opened again for that reason meanwhile. Whoever read it asks before the answer is given.
    fn changed_since(&self, mark: u64) -> Option<IndexError>;

    /// Has everything opened anew, after files were changed below it, and [`Index::changed_since`] say
    /// no more of those: the caller has dropped every snapshot that others could take.
    fn reopen(&self);

    /// Whether its files are whole.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be opened for want of something else.
    fn is_sound(&self) -> Result<bool, IndexError>;

    /// Proves that the index's own files are whole; the names of those that are not.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read at all.
    fn damaged_parts(&self) -> Result<Vec<String>, IndexError>;

    /// Proves some of the index's own files that nobody has proved for long, for about `budget`;
    /// whether none is left. To be called now and then when there is nothing else to do.
    ///
    /// # Errors
    ///
    /// [`IndexError::Unusable`] if one is damaged.
    fn check_some(&self, budget: Duration, now: DateTime<Utc>) -> Result<bool, IndexError>;

    /// Removes what indexes of other versions and languages left, if nobody used it for long; how
    /// many there were. The caller holds the writer lock.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be looked for.
    fn remove_unused(&self, now: DateTime<Utc>) -> Result<usize, IndexError>;
}
