//! The MCP server as a client sees it, line by line.
//!
//! What holds for any tools is tried on `memdir mcp` itself; where a tool has to be slow, to fail
//! or to tell who calls, the probe server stands in.

mod calls;
mod ending;
mod eras;
mod resources;
mod wire;
