//! Commands that serve a store until they are stopped: over MCP, over HTTP.

pub(in crate::cli) mod mcp;
pub(in crate::cli) mod serve;
