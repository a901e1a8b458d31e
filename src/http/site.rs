//! State shared by all requests: of a server, and of one of its stores.

use std::ops::Deref;
use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

use super::admission::AdmissionControl;
use super::login::sessions::Sessions;
use super::metrics::Metrics;
use super::names::Names;
use super::reading::MOST_BYTES;
use super::tokens::Tokens;
use crate::mcp::{Gate, Served, Streamable};
use crate::page::{Examine, Health, Uploads};

/// State that all stores of a server share.
#[derive(Clone)]
pub(super) struct Front {
    pub(super) names: Arc<Names>,
    /// Valid tokens, by which this server also proves itself; `None` if they cannot be read and no token
    /// is required.
    pub(super) tokens: Option<Arc<Tokens>>,
    /// Whether requests need a token.
    pub(super) needs_token: bool,
    pub(super) admission: Arc<AdmissionControl>,
    pub(super) metrics: Arc<Metrics>,
    /// Limits how many bodies as large as a store are read at once.
    pub(super) large: Arc<Semaphore>,
    /// Limits how many KiB of answers wait for clients to read them.
    pub(super) outgoing: Arc<Semaphore>,
    /// Whether the server has TLS.
    pub(super) has_tls: bool,
    /// Makes the checks of `memdir doctor`.
    pub(super) examine: Examine,
    /// Name of the tool set that agents of this store have, where the settings say so.
    pub(super) dialect: Option<String>,
    /// Makes the service at `/mcp`.
    pub(super) mcp: fn(Served, Arc<dyn Gate>, usize) -> Streamable,
    /// True once the server stops.
    pub(super) stopping: watch::Receiver<bool>,
}

/// State shared by all requests to a store.
pub(super) struct Site {
    pub(super) front: Front,
    pub(super) served: Served,
    pub(super) mcp: Streamable,
    /// Sessions of browsers.
    pub(super) sessions: Sessions,
    /// Files that browsers sent to be imported.
    pub(super) uploads: Uploads,
    /// Checks of `memdir doctor`, for the page.
    pub(super) health: Health,
}

impl Site {
    /// Returns the site of a store at a server.
    pub(super) fn new(front: &Front, served: Served) -> Site {
        let gate: Arc<dyn Gate> = Arc::clone(&front.admission) as Arc<dyn Gate>;
        Site {
            sessions: Sessions::new(served.engine.live.state(), front.has_tls),
            uploads: Uploads::default(),
            health: Health::new(Arc::clone(&front.examine)),
            mcp: (front.mcp)(served.clone(), gate, MOST_BYTES),
            served,
            front: front.clone(),
        }
    }
}

impl Deref for Site {
    type Target = Front;

    fn deref(&self) -> &Front {
        &self.front
    }
}
