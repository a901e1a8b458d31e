//! Serves a store over HTTP: MCP at `/mcp`, a REST interface at `/api/v1`, health and metrics.
//!
//! Guarantees: every path, also one that does not exist, is behind the same layers, in this order:
//! `Host`, `Origin`, token, type and size of the body, rate, load. No response contains details of
//! this machine, no log contains a memory or a token. Reads never wait for writes; a connection that
//! reads or sends too slowly is closed. The endpoints are in the dialect, MCP in `mcp`.

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
mod login;
mod metrics;
mod names;
mod openapi;
mod page;
mod proof;
mod rate;
mod reading;
mod serve;
mod site;
pub mod tokens;
mod workspaces;
mod write_timeout;

pub use crate::page::{Examine, HealthCheck};
pub use client::{CallLease, CallLeases, Client};
pub use listen::{Address, BadAddress};
pub use login::codes;
pub use names::is_loopback;
pub use openapi::document;
pub use rate::Rate;
pub use serve::{HttpError, NOTE, Serving, Settings, lock_of, noted, serve, serve_workspaces};
pub use workspaces::{Holder, ProtectedResource, Workspace, Workspaces, is_signed};
