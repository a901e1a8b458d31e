//! The relay: passes lines between the client and a server until one of them is gone.

use std::io;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::event::Event;
use super::greeting::{ASIDE, Aside, Hello, MAX_BYTES, Welcome};
use super::ledger::Ledger;
use super::place::RelayPlace;
use super::takeover::Takeover;
use crate::mcp;
use crate::mcp::MAX_LINE_BYTES;

/// Maximum time for a server's first line: beyond it, serving alone is quicker.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum number of queued lines of the client.
const QUEUE: usize = 16;

/// A connection to a server.
pub struct Relay {
    stream: UnixStream,
    input: BufReader<UnixStream>,
    /// Id of the server's process.
    pub process: u32,
}

/// Maximum time for the answer to a question: beyond it, who asks finds the answer without a server.
const ANSWER_PATIENCE: Duration = Duration::from_millis(500);

/// Returns the answer of the server at `place` to a question; both are a line without its line feed. `None` if
/// no server answers.
pub fn ask(place: &RelayPlace, hello: &Hello, question: &[u8]) -> Option<Vec<u8>> {
    let mut relay = connected(place, hello, ANSWER_PATIENCE)?;
    tracing::debug!("asking the server in process {}", relay.process);
    match relay.ask(question) {
        Ok(answer) => answer,
        Err(error) => {
            tracing::debug!("a server does not answer: {error}");
            None
        }
    }
}

/// Connects to the server at `place`; `None` if there is none that may be used.
pub fn connect(place: &RelayPlace, hello: &Hello) -> Option<Relay> {
    connected(place, hello, PATIENCE)
}

fn connected(place: &RelayPlace, hello: &Hello, patience: Duration) -> Option<Relay> {
    if !place.is_trusted() {
        return None;
    }
    match greet(place, hello, patience) {
        Ok(relay) => relay,
        Err(error) => {
            tracing::debug!("no server is used: {error}");
            None
        }
    }
}

fn greet(place: &RelayPlace, hello: &Hello, patience: Duration) -> io::Result<Option<Relay>> {
    let mut stream = UnixStream::connect(&place.socket)?;
    if !mcp::is_own(&stream)? {
        return Ok(None);
    }
    stream.set_read_timeout(Some(patience))?;
    let mut line = serde_json::to_vec(hello)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut input = BufReader::new(stream.try_clone()?);
    line.clear();
    (&mut input).take(MAX_BYTES).read_until(b'\n', &mut line)?;
    let Welcome { process } = serde_json::from_slice(&line)?;
    stream.set_read_timeout(None)?;
    Ok(Some(Relay {
        stream,
        input,
        process,
    }))
}

impl Relay {
    /// Sends a question, and returns the line that follows; `None` for half a line.
    fn ask(&mut self, question: &[u8]) -> io::Result<Option<Vec<u8>>> {
        self.stream.set_read_timeout(Some(ANSWER_PATIENCE))?; // Until now it had none.
        self.stream.write_all(&[question, b"\n"].concat())?;
        let mut answer = Vec::new();
        self.input.read_until(b'\n', &mut answer)?;
        Ok(answer.pop_if(|last| *last == b'\n').map(|_| answer))
    }

    /// Passes lines between standard input and output and the server, until one of the two is gone. Returns
    /// the session to go on with if it is the server; `None` if it is the client.
    ///
    /// # Errors
    ///
    /// Fails if the system gives no threads.
    pub fn run(self) -> io::Result<Option<Takeover>> {
        let (sender, events) = sync_channel(QUEUE);
        let ledger = Arc::new(Mutex::new(Ledger::default()));
        let lines = sender.clone();
        thread::Builder::new()
            .name("relay-read".into())
            .spawn(move || read_client(io::stdin().lock(), &lines))?;
        let (input, of_server) = (self.input, Arc::clone(&ledger));
        let reader = thread::Builder::new()
            .name("relay-write".into())
            .spawn(move || {
                let _ = sender.send(read_server(input, &of_server)); // Or nobody waits.
            })?;
        let later = pass_on(self.stream, &events, &ledger);
        let Some(later) = later else {
            return Ok(None);
        };
        // It has ended: it was the last thing that it said.
        let _ = reader.join();
        let ledger = std::mem::take(&mut *locked(&ledger));
        Ok(Some(Takeover::new(&ledger, later, events)))
    }
}

/// Passes the client's lines on. Returns those that no server got when the server is gone; `None` when the
/// client is.
fn pass_on(
    mut stream: UnixStream,
    events: &Receiver<Event>,
    ledger: &Mutex<Ledger>,
) -> Option<Vec<Event>> {
    let mut later = Vec::new();
    let mut is_broken = false;
    loop {
        match events.recv().ok()? {
            Event::Line(line) if is_broken => later.push(Event::Line(line)),
            Event::Line(line) => {
                locked(ledger).sent(&line);
                // It is in the ledger: whoever goes on answers it.
                is_broken = stream.write_all(&line).is_err();
            }
            Event::InputEnd => {
                later.push(Event::InputEnd);
                // The server ends the session, and gives what runs a moment.
                let _ = stream.shutdown(Shutdown::Write);
            }
            Event::OutputEnd | Event::SessionEnd => return None,
            Event::ServerEnd => return Some(later),
        }
    }
}

/// Reads the client's lines until their end.
fn read_client(input: impl BufRead, lines: &SyncSender<Event>) {
    let mut input = input;
    loop {
        let mut line = Vec::new();
        let limit = MAX_LINE_BYTES as u64 + 1;
        let read = (&mut input).take(limit).read_until(b'\n', &mut line);
        if read.is_err() || line.is_empty() {
            let _ = lines.send(Event::InputEnd); // Or nobody waits.
            return;
        }
        if line.last() != Some(&b'\n') {
            // Too long, which the server answers, or the last one.
            let is_too_long = line.len() > MAX_LINE_BYTES;
            line.push(b'\n');
            if is_too_long {
                let _ = input.skip_until(b'\n'); // The next read fails, too.
            }
        }
        if lines.send(Event::Line(line)).is_err() {
            return;
        }
    }
}

/// Passes the server's messages on until there are no more, and returns why.
fn read_server(mut input: impl BufRead, ledger: &Mutex<Ledger>) -> Event {
    let mut output = io::stdout().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        line.shrink_to(64 << 10);
        match input.read_until(b'\n', &mut line) {
            Ok(_) if line.last() == Some(&b'\n') => {}
            // Half a line is no answer.
            _ => return Event::ServerEnd,
        }
        if line.first() == Some(&ASIDE) {
            match Aside::parse(&line) {
                Some(Aside::End) => return Event::SessionEnd,
                Some(aside) => locked(ledger).noted(aside),
                None => {}
            }
            continue;
        }
        if let Ok(message) = serde_json::from_slice(&line) {
            locked(ledger).answered(&message);
        }
        if output
            .write_all(&line)
            .and_then(|()| output.flush())
            .is_err()
        {
            return Event::OutputEnd;
        }
    }
}

fn locked(ledger: &Mutex<Ledger>) -> MutexGuard<'_, Ledger> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}
