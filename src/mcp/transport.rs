//! Moves messages between two byte streams and rmcp, one line each.
//!
//! rmcp's own transport lets the blocking pool read and write, so that eight
//! slow tools would leave the server deaf and dumb, and passes over lines that
//! are not JSON in silence. Here two threads of their own do the work: one reads
//! lines of at most [`MAX_LINE_BYTES`] in constant memory and answers those
//! that are no message, the other writes. What a line means is up to `message`.

use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::ErrorKind;
use std::io::Read;
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc as std_mpsc;
use std::thread;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::ClientJsonRpcMessage;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::Transport;
use tokio::sync::Notify;
use tokio::sync::mpsc;

use crate::mcp::ServeError;
use crate::mcp::message;
use crate::mcp::message::Line;

/// The longest line that is read, without its line feed: sixteen memories of the
/// largest size, and little enough to hold several times over while parsing.
pub(super) const MAX_LINE_BYTES: usize = 4 << 20;

/// As much as a pipe holds on Linux.
const CHUNK_BYTES: usize = 64 << 10;

/// Messages that may wait in either direction before the sender has to.
const QUEUE: usize = 256;

/// rmcp's end of the connection.
pub(super) struct LineTransport {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    outgoing: mpsc::Sender<String>,
    over: Arc<Notify>,
}

/// The server's end: tells when the client is gone and how the streams ended.
pub(super) struct Connection {
    over: Arc<Notify>,
    read_failed: std_mpsc::Receiver<io::Error>,
    written: std_mpsc::Receiver<io::Result<()>>,
}

/// Starts one thread that reads `input` and one that writes `output`.
///
/// The writer ends when both the transport and the reader are gone. The reader
/// may stay blocked in a read for as long as the process lives.
pub(super) fn open(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<(LineTransport, Connection)> {
    let (message_sender, incoming) = mpsc::channel(QUEUE);
    let (outgoing, line_receiver) = mpsc::channel(QUEUE);
    let (read_error_sender, read_failed) = std_mpsc::channel();
    let (written_sender, written) = std_mpsc::channel();
    let over = Arc::new(Notify::new());

    let refusals = outgoing.clone();
    thread::Builder::new()
        .name("mcp-read".into())
        .spawn(move || {
            if let Err(error) = read_lines(input, &message_sender, &refusals) {
                // Sent before `message_sender` is dropped, which is what ends the
                // session. Nobody is left to tell if the session is over already.
                let _ = read_error_sender.send(error);
            }
        })?;
    thread::Builder::new()
        .name("mcp-write".into())
        .spawn(move || {
            let _ = written_sender.send(write_lines(output, line_receiver));
        })?;

    let transport = LineTransport {
        incoming,
        outgoing,
        over: Arc::clone(&over),
    };
    let connection = Connection {
        over,
        read_failed,
        written,
    };
    Ok((transport, connection))
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let line = serde_json::to_string(&message);
        let outgoing = self.outgoing.clone();
        async move {
            outgoing
                .send(line?)
                .await
                .map_err(|_| ErrorKind::BrokenPipe.into())
        }
    }

    // rmcp drops this future whenever something else happens first. Both
    // branches may be dropped without losing a message.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = tokio::select! {
            biased;
            // The writer has given up: no answer can reach the client any more.
            () = self.outgoing.closed() => None,
            message = self.incoming.recv() => message,
        };
        if message.is_none() {
            self.over.notify_one();
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        self.incoming.close();
        Ok(())
    }
}

impl Connection {
    /// Returns when the client has been gone for `grace`.
    pub(super) async fn over_for(&self, grace: Duration) {
        self.over.notified().await;
        tokio::time::sleep(grace).await;
    }

    /// Waits until everything is written, at most for `patience`.
    pub(super) fn finish(self, patience: Duration) -> Result<(), ServeError> {
        match self.written.recv_timeout(patience) {
            Ok(Err(error)) if error.kind() != ErrorKind::BrokenPipe => {
                return Err(ServeError::Write(error));
            }
            // Written, gone, or a client that does not read: its own loss.
            _ => {}
        }
        match self.read_failed.try_recv() {
            Ok(error) => Err(ServeError::Read(error)),
            Err(_) => Ok(()),
        }
    }
}

/// Reads until the end of `input` or until the session is over.
fn read_lines(
    input: impl Read,
    messages: &mpsc::Sender<ClientJsonRpcMessage>,
    refusals: &mpsc::Sender<String>,
) -> io::Result<()> {
    let mut input = BufReader::with_capacity(CHUNK_BYTES, input);
    let mut line = Vec::new();
    loop {
        line.clear();
        // One long message must not hold its memory for the whole session.
        line.shrink_to(CHUNK_BYTES);
        input
            .by_ref()
            .take(MAX_LINE_BYTES as u64 + 1)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(());
        }
        let too_long = line.len() > MAX_LINE_BYTES && line.last() != Some(&b'\n');
        let sent = if too_long {
            // Answered before the rest is skipped: the line may never end.
            refusals
                .blocking_send(message::refusal_of_long_line())
                .is_ok()
        } else {
            match message::parse(&line) {
                Line::Message(message) => messages.blocking_send(*message).is_ok(),
                Line::Refused(answer) => refusals.blocking_send(answer).is_ok(),
                Line::Ignored => true,
            }
        };
        if !sent {
            return Ok(());
        }
        if too_long {
            input.skip_until(b'\n')?;
        }
    }
}

/// Writes each line as soon as it comes.
fn write_lines(mut output: impl Write, mut lines: mpsc::Receiver<String>) -> io::Result<()> {
    while let Some(mut line) = lines.blocking_recv() {
        line.push('\n');
        output.write_all(line.as_bytes())?;
        output.flush()?;
    }
    Ok(())
}
