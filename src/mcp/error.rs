//! Error of the MCP server.

use std::io;

/// Error that ends a session.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("cannot start the MCP server")]
    Start(#[source] io::Error),
    #[error("cannot read from standard input")]
    Read(#[source] io::Error),
    #[error("cannot write to standard output")]
    Write(#[source] io::Error),
    #[error("the MCP server stopped unexpectedly, please report")]
    Stopped(#[source] tokio::task::JoinError),
}
