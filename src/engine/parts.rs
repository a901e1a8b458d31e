//! A store, opened: the parts of the engine, and how they are put together.
//!
//! Each part keeps one promise and knows only the parts below it: `live` shows the files as they are,
//! `write` is the only way to change one, `meaning` makes vectors of what `live` shows, `history`
//! commits and exchanges what `write` and `live` tell of. What is done with them are functions in
//! `ops`; nothing is done here.

use std::sync::Arc;

use super::history::History;
use super::live::store::LiveStore;
use super::meaning::models::Meaning;
use super::options::Options;
use super::write::writer::Writer;
use crate::clock::Clock;
use crate::engine::error::EngineError;
use crate::engine::history::commits::dates;
use crate::lifecycle::Maintenance;

/// A store with everything that can be done to it. Shared between threads.
pub struct Engine {
    pub live: Arc<LiveStore>,
    pub writer: Arc<Writer>,
    pub meaning: Arc<Meaning>,
    pub history: Arc<History>,
    pub(in crate::engine) maintenance: Maintenance,
    limit: usize,
}

impl Engine {
    /// Opens the store. Cheap: nothing is read before the first operation needs it, but notes that
    /// git wrote since the last time.
    ///
    /// # Errors
    ///
    /// Fails if the store's folder does not exist.
    pub fn open(options: Options, clock: Box<dyn Clock>) -> Result<Engine, EngineError> {
        let live = Arc::new(LiveStore::open(&options, clock)?);
        let git = options.git.filter(|_| !live.is_read_only());
        let (writes, secrets) = (options.writes, options.secrets);
        let writer = Writer::new(Arc::clone(&live), writes, secrets, git.is_some());
        let writer = Arc::new(writer);
        let engine = Engine {
            meaning: Arc::new(Meaning::new(Arc::clone(&live), options.models)),
            history: Arc::new(History::new(Arc::clone(&writer), git, options.consent)),
            live,
            writer,
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
    /// Default length, in characters, of a memory that is made of several.
    pub fn summary_length(&self) -> usize {
        self.maintenance.compaction.budget
    }

    /// Default maximum number of hits of a search.
    pub fn default_limit(&self) -> usize {
        self.limit
    }
}
