//! What all requests to a server share.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::sync::watch;

use super::admission::AdmissionControl;
use super::metrics::Metrics;
use super::names::Names;
use super::tokens::Tokens;
use crate::mcp::Served;
use crate::mcp::Streamable;

/// What all requests to a server share.
pub(super) struct Site {
    pub(super) served: Served,
    pub(super) mcp: Streamable,
    pub(super) names: Names,
    /// What a request may show, and what this server proves itself by; `None` if it cannot be read
    /// where no token is asked for.
    pub(super) tokens: Option<Tokens>,
    /// Whether a request has to show one.
    pub(super) needs_token: bool,
    pub(super) door: Arc<AdmissionControl>,
    pub(super) metrics: Arc<Metrics>,
    /// Of bodies as large as a store, so many are read at once.
    pub(super) large: Semaphore,
    /// How many KiB of answers may wait to be taken.
    pub(super) outgoing: Arc<Semaphore>,
    /// True once the server stops.
    pub(super) stopping: watch::Receiver<bool>,
}
