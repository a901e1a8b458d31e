//! Transport of rmcp over two byte streams, one message a line.
//!
//! rmcp's own transport reads and writes on the blocking pool, so that eight slow tools would block the
//! server, and ignores lines that are not JSON. Here the two threads of `lines` read and write, and
//! `message` parses the lines.

use std::io;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::sync::{Notify, mpsc};

use crate::mcp::error::ServeError;
use crate::mcp::lines::Streams;
use crate::mcp::{lines, message};

/// rmcp's end of the connection.
pub(super) struct LineTransport {
    incoming: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
    outgoing: mpsc::Sender<String>,
    over: Arc<Notify>,
}

/// The server's end, which reports when the client is gone and how the streams ended.
pub(super) struct Connection {
    over: Arc<Notify>,
    streams: Streams,
}

/// Starts reading `input` and writing `output`.
pub(super) fn open(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<(LineTransport, Connection)> {
    let lines = lines::open(input, output, message::parse)?;
    let over = Arc::new(Notify::new());
    let transport = LineTransport {
        incoming: lines.incoming,
        outgoing: lines.outgoing,
        over: Arc::clone(&over),
    };
    let streams = lines.streams;
    Ok((transport, Connection { over, streams }))
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
        message.map(|message| *message)
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
        self.streams.finish(patience)
    }
}
