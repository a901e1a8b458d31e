//! Commands that serve a store until they are stopped: over MCP, over HTTP.

pub mod mcp;
pub mod serve;
