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
mod site;
pub mod tokens;
mod write_timeout;

pub use client::Client;
pub use listen::{Address, BadAddress};
pub use names::is_loopback;
pub use openapi::document;
pub use rate::Rate;
pub use serve::{HttpError, NOTE, Serving, Settings, lock_of, serve};
