//! State shared by all requests to a server.

use std::sync::Arc;

use tokio::sync::{Semaphore, watch};

use super::admission::AdmissionControl;
use super::login::sessions::Sessions;
use super::metrics::Metrics;
use super::names::Names;
use super::tokens::Tokens;
use crate::mcp::{Served, Streamable};
use crate::page::{Health, Uploads};

/// State shared by all requests to a server.
pub(super) struct Site {
    pub(super) served: Served,
    pub(super) mcp: Streamable,
    pub(super) names: Names,
    /// Valid tokens, by which this server also proves itself; `None` if they cannot be read and no token
    /// is required.
    pub(super) tokens: Option<Tokens>,
    /// Whether requests need a token.
    pub(super) needs_token: bool,
    pub(super) admission: Arc<AdmissionControl>,
    pub(super) metrics: Arc<Metrics>,
    /// Limits how many bodies as large as a store are read at once.
    pub(super) large: Semaphore,
    /// Limits how many KiB of answers wait for clients to read them.
    pub(super) outgoing: Arc<Semaphore>,
    /// Sessions of browsers.
    pub(super) sessions: Sessions,
    /// Files that browsers sent to be imported.
    pub(super) uploads: Uploads,
    /// Checks of `memdir doctor`, for the page.
    pub(super) health: Health,
    /// Name of the tool set that agents of this store have, where the settings say so.
    pub(super) dialect: Option<String>,
    /// True once the server stops.
    pub(super) stopping: watch::Receiver<bool>,
}
