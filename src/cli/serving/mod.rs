//! Commands that serve a store until they are stopped: over MCP, over HTTP.

mod also;
#[cfg(feature = "team")]
mod cache;
mod health;
pub mod mcp;
pub mod open;
mod page;
#[cfg(unix)]
mod relay;
pub mod serve;
mod service;
#[cfg(feature = "team")]
pub mod team;
