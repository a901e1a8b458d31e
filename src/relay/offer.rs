//! The server's side: a socket for relays, and a session for each connection.

use std::io;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::greeting::{Aside, Hello, MAX_BYTES, Welcome};
use super::place::RelayPlace;
use crate::files;
use crate::mcp;
use crate::mcp::{AnnounceWrite, MAX_LINE_BYTES, Served, Session};

/// Maximum time for the first line of a connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum number of connections, so that no number of relays takes all threads of the process.
const MAX_CONNECTIONS: usize = 256;

/// Pause after a connection could not be taken.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers a question: both are a line without its line feed.
pub type AnswerQuestion = Arc<dyn Fn(&[u8]) -> Vec<u8> + Send + Sync>;

/// Service of a socket, for each connection.
#[derive(Clone)]
pub enum Service {
    /// A session of the protocol.
    Sessions(Box<Served>),
    /// The answer to one question.
    Questions(AnswerQuestion),
}

/// The socket of a running server, removed when this is dropped.
pub struct Offer {
    place: RelayPlace,
}

impl Drop for Offer {
    fn drop(&mut self) {
        let _ = files::remove_derived(&self.place.socket); // The next server does.
    }
}

/// Offers `service` to processes with this fingerprint. Returns `None` if another server does so already.
///
/// # Errors
///
/// Fails if the socket cannot be made.
pub fn offer(
    place: RelayPlace,
    fingerprint: String,
    service: Service,
) -> io::Result<Option<Offer>> {
    place.prepare()?;
    if std::fs::symlink_metadata(&place.socket).is_ok() {
        if UnixStream::connect(&place.socket).is_ok() {
            return Ok(None);
        }
        // Of a server that was killed.
        files::remove_derived(&place.socket)?;
    }
    // The folder keeps others out until the mode is set.
    let listener = UnixListener::bind(&place.socket)?;
    std::fs::set_permissions(&place.socket, PermissionsExt::from_mode(0o600))?;
    let offer = Offer { place };
    thread::Builder::new()
        .name("relay".into())
        .spawn(move || accept_all(&listener, &fingerprint, &service))?;
    Ok(Some(offer))
}

fn accept_all(listener: &UnixListener, fingerprint: &str, service: &Service) {
    let open = Arc::new(());
    loop {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!("cannot take a connection of `memdir mcp`: {error}");
                thread::sleep(ACCEPT_PAUSE);
                continue;
            }
        };
        // One that is closed serves alone.
        if Arc::strong_count(&open) > MAX_CONNECTIONS {
            continue;
        }
        let (fingerprint, service, held) = (fingerprint.to_owned(), service.clone(), open.clone());
        let serve = move || {
            let _held = held;
            if let Err(error) = serve(stream, &fingerprint, service) {
                tracing::debug!("a relay ended: {error}");
            }
        };
        let started = thread::Builder::new().name("relayed".into()).spawn(serve);
        if let Err(error) = started {
            tracing::warn!("cannot serve a connection of `memdir mcp`: {error}");
        }
    }
}

/// Serves one connection until its end.
fn serve(stream: UnixStream, fingerprint: &str, service: Service) -> io::Result<()> {
    if !mcp::is_own(&stream)? {
        tracing::warn!("another user connected to the socket for `memdir mcp`, and was refused");
        return Ok(());
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut input = BufReader::new(stream.try_clone()?);
    let mut line = Vec::new();
    (&mut input).take(MAX_BYTES).read_until(b'\n', &mut line)?;
    let hello: Hello = serde_json::from_slice(&line)?;
    if hello.fingerprint != fingerprint {
        return Ok(());
    }
    let process = std::process::id();
    let mut welcome = serde_json::to_vec(&Welcome { process })?;
    welcome.push(b'\n');
    (&stream).write_all(&welcome)?;
    match service {
        Service::Questions(answer) => answer_one(&stream, input, &answer),
        Service::Sessions(served) => serve_session(stream, input, hello, *served),
    }
}

/// Answers the one question of a connection.
fn answer_one(
    mut stream: &UnixStream,
    input: BufReader<UnixStream>,
    answer: &AnswerQuestion,
) -> io::Result<()> {
    let mut question = Vec::new();
    let limit = MAX_LINE_BYTES as u64 + 1;
    input.take(limit).read_until(b'\n', &mut question)?;
    let mut answer = answer(&question);
    answer.push(b'\n');
    stream.write_all(&answer)
}

/// Serves a session until its end.
fn serve_session(
    stream: UnixStream,
    input: BufReader<UnixStream>,
    hello: Hello,
    served: Served,
) -> io::Result<()> {
    stream.set_read_timeout(None)?;
    let output = Output(Arc::new(Mutex::new(stream)));
    let announcer = output.clone();
    // Written before this returns: what is in the socket outlives this process.
    let announce = move |request: &str, memory: &str| {
        let aside = Aside::Writes {
            request: request.to_owned(),
            memory: memory.to_owned(),
        };
        let _ = announcer.put(&aside.line()); // Nobody is left to repeat the call.
    };
    let session = Session {
        namespace: Some(hello.namespace),
        announce: Some(Arc::new(announce) as AnnounceWrite),
        ..Session::default()
    };
    let served = Served {
        session,
        notice: Arc::new(Mutex::new(hello.notice)),
        ..served
    };
    mcp::serve_lines(served, input, output.clone()).map_err(io::Error::other)?;
    output.put(&Aside::End.line())
}

/// The writing half of a connection, where a line is never inside another one.
#[derive(Clone)]
struct Output(Arc<Mutex<UnixStream>>);

impl Output {
    fn put(&self, line: &[u8]) -> io::Result<()> {
        let mut stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stream.write_all(line)
    }
}

impl Write for Output {
    /// Writes all of `line`.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.put(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
