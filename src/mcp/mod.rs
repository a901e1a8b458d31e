//! Serves one dialect to MCP clients: over standard input and output, or over streamable HTTP.
//!
//! Guarantees: no input of a client ends the server for others. Over standard input and output, standard
//! output has JSON-RPC messages only, one a line. No input ends the session, and no call blocks another.
//! Once the input has ended, pending calls have a second to be answered, and the server returns within
//! two. Protocol revisions with `initialize` (2024-11-05 to 2025-11-25) and without (2026-07-28) are both
//! served, also mixed in one session.
//!
//! The dialect implements the tools; the program must keep logs off standard output. Only this module
//! uses `rmcp`.

mod error;
mod gate;
mod handler;
mod lines;
mod message;
#[cfg(unix)]
mod peer;
mod resources;
mod sequence;
mod served;
mod session;
mod streamable;
mod subscriptions;
mod surrogates;
mod tools;
mod transport;

use std::io;
use std::io::{Read, Write};
use std::time::Duration;

use rmcp::ServerHandler;
use rmcp::service::QuitReason;

pub use error::ServeError;
pub use gate::{Admission, Admitted, Gate};
pub use lines::{Lines, Streams};
pub use message::MAX_LINE_BYTES;
#[cfg(unix)]
pub use peer::is_own;
pub use sequence::{CallNote, SEQUENCE_HEADER, asked_in, stale_seconds};
pub use served::Served;
pub use session::{AnnounceWrite, Session};
pub use streamable::{Body, RequestBody, SESSION, Streamable, streamable};

use crate::dialect::JsonObject;
use crate::mcp::handler::Handler;
use crate::mcp::message::Line;

/// Maximum number of concurrent tools; further calls wait for their turn. More threads
/// than a small machine has cores, so that a slow call does not hold up quick
/// ones, and few enough to bound memory.
const CONCURRENT_CALLS: usize = 8;

/// Maximum time of calls that are still running at the end of input. Long
/// enough for a write to reach the disk, short enough that no client kills us.
const GRACE: Duration = Duration::from_secs(1);

/// Maximum time after that for the client to read the last lines.
const FLUSH: Duration = Duration::from_millis(500);

/// Opens the messages on standard input, and a channel to standard output, for a bridge to another
/// server. Invalid messages are answered here.
///
/// # Errors
///
/// Fails if the system gives no threads.
pub fn stdio_messages() -> Result<Lines<JsonObject>, ServeError> {
    lines::open(io::stdin(), io::stdout(), message::parse_whole).map_err(ServeError::Start)
}

/// Serves on standard input and output until the client is gone.
///
/// A tool that outlasts the session keeps its thread and its share of the engine:
/// the caller should exit the process.
///
/// # Errors
///
/// Fails if the server cannot start, or on an I/O error other than a closed
/// output, which is how some clients say goodbye.
pub fn serve_stdio(served: Served) -> Result<(), ServeError> {
    serve_stdio_with(Handler::new(served))
}

/// Serves as [`serve_stdio`], with `handler`.
///
/// # Errors
///
/// As [`serve_stdio`].
pub fn serve_stdio_with<H: ServerHandler>(handler: H) -> Result<(), ServeError> {
    serve_lines_with(handler, io::stdin(), io::stdout())
}

/// Serves as [`serve_stdio`], on other streams.
///
/// # Errors
///
/// As [`serve_stdio`].
pub fn serve_lines(
    served: Served,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), ServeError> {
    serve_lines_with(Handler::new(served), input, output)
}

/// Parses a line of a client's for a relay; `None` if it is no message.
pub fn read_message(line: &[u8]) -> Option<JsonObject> {
    match message::parse_whole(line) {
        Line::Message(message) => Some(message),
        Line::Refused(_) | Line::Ignored => None,
    }
}

/// Returns the answer of the protocol to a text that is no message; `None` if it is one, or nothing to answer.
pub fn refusal(text: &[u8]) -> Option<String> {
    match message::parse_whole(text) {
        Line::Refused(answer) => Some(answer),
        Line::Message(_) | Line::Ignored => None,
    }
}

fn serve_lines_with<H: ServerHandler>(
    handler: H,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> Result<(), ServeError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(CONCURRENT_CALLS)
        .build()
        .map_err(ServeError::Start)?;
    let (transport, connection) = transport::open(input, output).map_err(ServeError::Start)?;
    let served = runtime.block_on(async {
        // `serve_directly` skips rmcp's own opening, in which any notification
        // or failed `initialize` ends the session. The handler does it instead.
        let service = rmcp::service::serve_directly(handler, transport, None);
        tokio::select! {
            quit = service.waiting() => match quit {
                Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Stopped(error)),
                Ok(_) => Ok(()),
            },
            () = connection.over_for(GRACE) => Ok(()),
        }
    });
    // Frees the transport, and with it the writer, without waiting for tools.
    runtime.shutdown_background();
    served.and(connection.finish(FLUSH))
}
