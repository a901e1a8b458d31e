//! Connects two byte streams with channels of lines, with a thread for each direction.
//!
//! One thread reads lines of at most [`MAX_LINE_BYTES`] in constant memory and answers those that are no
//! message, the other writes. The caller's function parses the lines.

use std::io;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::sync::{Arc, mpsc as std_mpsc};
use std::thread;
use std::time::Duration;

use tokio::sync::{Notify, mpsc};

use super::message::MAX_LINE_BYTES;
use crate::mcp::error::ServeError;
use crate::mcp::message;
use crate::mcp::message::Line;

/// Size of the buffer, in bytes: that of a pipe on Linux.
const CHUNK_BYTES: usize = 64 << 10;

/// Maximum number of queued messages in either direction.
const QUEUE: usize = 256;

/// Channels of the two threads.
pub struct Lines<T> {
    /// Messages from the input.
    pub incoming: mpsc::Receiver<T>,
    /// Lines for the output.
    pub outgoing: mpsc::Sender<String>,
    /// State of the streams.
    pub streams: Streams,
}

/// State of the streams.
pub struct Streams {
    /// Notification that the input has ended, although lines of it may still be queued.
    pub ended: Arc<Notify>,
    read_failed: std_mpsc::Receiver<io::Error>,
    written: std_mpsc::Receiver<io::Result<()>>,
}

/// Starts one thread that reads `input`, each line by `parse`, and one that writes `output`.
///
/// The writer ends when both the sender and the reader are gone. The reader may stay blocked in a
/// read for as long as the process lives.
pub(super) fn open<T: Send + 'static>(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    parse: fn(&[u8]) -> Line<T>,
) -> io::Result<Lines<T>> {
    let (message_sender, incoming) = mpsc::channel(QUEUE);
    let (outgoing, line_receiver) = mpsc::channel(QUEUE);
    let (read_error_sender, read_failed) = std_mpsc::channel();
    let (written_sender, written) = std_mpsc::channel();
    let ended = Arc::new(Notify::new());

    let refusals = outgoing.clone();
    let end = Arc::clone(&ended);
    thread::Builder::new()
        .name("mcp-read".into())
        .spawn(move || {
            if let Err(error) = read_lines(input, parse, &message_sender, &refusals) {
                // Sent before `message_sender` is dropped, which is what ends the
                // session. Nobody is left to tell if the session is over already.
                let _ = read_error_sender.send(error);
            }
            end.notify_one();
        })?;
    thread::Builder::new()
        .name("mcp-write".into())
        .spawn(move || {
            let _ = written_sender.send(write_lines(output, line_receiver));
        })?;
    Ok(Lines {
        incoming,
        outgoing,
        streams: Streams {
            ended,
            read_failed,
            written,
        },
    })
}

impl Streams {
    /// Waits until everything is written, at most for `patience`.
    ///
    /// # Errors
    ///
    /// Fails if the input could not be read, or the output not be written for another reason than
    /// that nobody reads it.
    pub fn finish(self, patience: Duration) -> Result<(), ServeError> {
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
fn read_lines<T>(
    input: impl Read,
    parse: fn(&[u8]) -> Line<T>,
    messages: &mpsc::Sender<T>,
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
            match parse(&line) {
                Line::Message(message) => messages.blocking_send(message).is_ok(),
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
