//! Commands that serve a store until they are stopped: over MCP, over HTTP.

mod also;
pub mod mcp;
#[cfg(unix)]
mod relay;
pub mod serve;
mod service;
