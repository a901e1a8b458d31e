//! Serves a store over HTTP: MCP at `/mcp`, a REST interface at `/api/v1`, health and metrics.
//!
//! Promises: every address, also one that does not exist, stands behind the same layers, in this
//! order: the name we are called by, the page that asks, the token, the kind and size of what is
//! sent, how often and how much at once. No answer tells of this machine, no log of a memory or a
//! token. Reads never wait for writes; who takes or gives too slowly is cut off. What is done at an
//! address is the dialect's business, what MCP says `mcp`'s.

mod admission;
mod answer;
pub mod bridge;
mod chunked_body;
mod client;
mod concurrency;
mod connection;
mod events;
mod guard;
mod listen;
mod metrics;
mod names;
mod openapi;
mod proof;
mod rate;
mod reading;
mod serve;
pub mod tokens;
mod write_timeout;

pub use client::Client;
pub use listen::Address;
pub use listen::BadAddress;
pub use names::is_loopback;
pub use openapi::document;
pub use rate::Rate;
pub use serve::HttpError;
pub use serve::NOTE;
pub use serve::Serving;
pub use serve::Settings;
pub use serve::lock_of;
pub use serve::serve;

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::sync::watch;

use self::admission::AdmissionControl;
use self::metrics::Metrics;
use self::names::Names;
use self::tokens::Tokens;
use crate::mcp::Served;
use crate::mcp::Streamable;

/// What all requests to a server share.
struct Site {
    served: Served,
    mcp: Streamable,
    names: Names,
    /// What a request may show, and what this server proves itself by; `None` if it cannot be read
    /// where no token is asked for.
    tokens: Option<Tokens>,
    /// Whether a request has to show one.
    needs_token: bool,
    door: Arc<AdmissionControl>,
    metrics: Arc<Metrics>,
    /// Of bodies as large as a store, so many are read at once.
    large: Semaphore,
    /// How many KiB of answers may wait to be taken.
    outgoing: Arc<Semaphore>,
    /// True once the server stops.
    stopping: watch::Receiver<bool>,
}
