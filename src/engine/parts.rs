//! An opened store: the parts of the engine, and their construction.
//!
//! Each part depends only on the parts below it: `live` reads the files,
//! `write` is the only way to change one, `meaning` makes vectors of the memories in `live`, `history`
//! commits and exchanges the changes of `write` and `live`. Operations on them are functions in
//! `ops`; there are none here.

use std::sync::Arc;

use super::history::History;
use super::live::store::LiveStore;
use super::meaning::models::Meaning;
use super::options::Options;
use super::write::writer::Writer;
use crate::clock::Clock;
use crate::embed::CrossEncoder;
use crate::engine::error::EngineError;
use crate::engine::history::commits::dates;
use crate::engine::live::index_copies;
use crate::index::IndexCopies;
use crate::lifecycle::Maintenance;

/// An opened store. Shared between threads; a clone is the same store.
#[derive(Clone)]
pub struct Engine {
    /// Reading of the store.
    pub live: Arc<LiveStore>,
    /// Writing of memories.
    pub writer: Arc<Writer>,
    /// Search by meaning.
    pub meaning: Arc<Meaning>,
    /// Cross-encoder that re-ranks the first hits of a text.
    pub reranker: Option<Arc<CrossEncoder>>,
    /// Commits and exchange with a remote.
    pub history: Arc<History>,
    /// Copies of the index that servers share.
    pub(in crate::engine) copies: Option<Arc<dyn IndexCopies>>,
    /// Settings of maintenance.
    pub(in crate::engine) maintenance: Maintenance,
    limit: usize,
}

impl Engine {
    /// Opens the store. Cheap: nothing is read before the first operation needs it, except notes that
    /// git wrote since the last time.
    ///
    /// # Errors
    ///
    /// Fails if the store's folder does not exist.
    pub fn open(options: Options, clock: Box<dyn Clock>) -> Result<Engine, EngineError> {
        let live = Arc::new(LiveStore::open(&options, clock)?);
        let (storage, copies, vectors) = match options.backend {
            Some(backend) => (Some(backend.storage), backend.copies, backend.vectors),
            None => (None, None, None),
        };
        if let Some(copies) = &copies {
            index_copies::fetch(&live, copies.as_ref());
        }
        // Commits are of files in a folder.
        let is_directory = live.directory().is_some();
        let git = options.git.filter(|_| is_directory && !live.is_read_only());
        let (writes, secrets) = (options.writes, options.secrets);
        let writer = Writer::new(Arc::clone(&live), storage, writes, secrets, git.is_some())?;
        let writer = Arc::new(writer);
        let engine = Engine {
            meaning: Arc::new(Meaning::new(Arc::clone(&live), options.models, vectors)),
            reranker: options.reranker,
            history: Arc::new(History::new(
                Arc::clone(&writer),
                git,
                options.consent,
                options.private,
                options.workspace,
            )),
            live,
            writer,
            copies,
            maintenance: options.maintenance,
            limit: options.limit,
        };
        // Before anything is indexed with the times of a checkout.
        if let Err(error) = dates::date_what_git_wrote(&engine.history) {
            tracing::info!("cannot date what git wrote: {error}");
        }
        Ok(engine)
    }
}

impl Engine {
    /// Returns the same store for questions that no model is asked about, whichever this one has.
    #[must_use]
    pub fn without_models(&self) -> Engine {
        Engine {
            live: Arc::clone(&self.live),
            writer: Arc::clone(&self.writer),
            meaning: Arc::new(Meaning::new(Arc::clone(&self.live), None, None)),
            reranker: None,
            history: Arc::clone(&self.history),
            copies: None,
            maintenance: self.maintenance.clone(),
            limit: self.limit,
        }
    }

    /// Returns the default length, in characters, of a memory made from several.
    pub fn summary_length(&self) -> usize {
        self.maintenance.compaction.budget
    }

    /// Returns the default maximum number of hits of a search.
    pub fn default_limit(&self) -> usize {
        self.limit
    }
}
