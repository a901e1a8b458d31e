//! Accepts connections and serves HTTP/1.1 on them: a bounded number, each with bounded headers and
//! times. Where all slots are taken, the connection that was silent longest is closed.
//!
//! A server ends in [`Phase`]s. Guarantee of one that drains: a request on a connection that a client made before the
//! listener closed is answered, and answered whole.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::client::Peer;
use super::concurrency::RETRY_AFTER;
use super::listen::Listener;
use super::metrics::Metrics;
use super::proof::ConnectionProof;
use super::write_timeout::{IDLE_TIMEOUT, WriteTimeout};

/// Maximum number of open connections. A silent one costs some kilobytes; what costs more is
/// bounded by itself.
const MOST_CONNECTIONS: usize = 512;

/// Maximum size of a request's headers in bytes.
const MOST_HEADER: usize = 16 * 1024;

/// Maximum time that running requests may take once the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Pause after an error of `accept`, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Phases of a server, in their order; one that does not drain has the first and the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Connections are accepted, and requests are answered.
    Serving,
    /// The same, while `/ready` says that none should come and replies close their connections.
    Draining,
    /// No connection is accepted; requests on open ones are answered.
    Closing,
    /// Connections end with the request that runs.
    Stopping,
}

/// Resolves when a server is in `phase`, or beyond.
pub async fn reached(mut phases: watch::Receiver<Phase>, phase: Phase) {
    let _ = phases.wait_for(|now| *now >= phase).await; // Or nobody is left to stop it.
}

/// State shared by all connections.
#[derive(Clone)]
pub struct ServerState {
    /// Routes of requests.
    pub router: Router,
    /// Metrics of the server.
    pub metrics: Arc<Metrics>,
    /// Phase of the server.
    pub phase: watch::Receiver<Phase>,
    /// Slots of open connections.
    pub slots: Arc<ConnectionSlots>,
    /// Has a receiver for each connection, from its acceptance on.
    pub open: Arc<watch::Sender<()>>,
    /// TLS of network connections, if configured.
    pub tls: Option<TlsAcceptor>,
}

/// Open connections.
#[derive(Default)]
pub struct ConnectionSlots {
    taken: Mutex<HashMap<u64, Arc<ConnectionSlot>>>,
    next: AtomicU64,
}

/// An open connection.
struct ConnectionSlot {
    number: u64,
    /// Start of its idle time; `None` while a request runs.
    silent: Mutex<Option<Instant>>,
    /// Notified when it has to close.
    end: Notify,
}

impl ConnectionSlots {
    fn taken(&self) -> MutexGuard<'_, HashMap<u64, Arc<ConnectionSlot>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a slot, if need be that of the connection that was silent longest; `None` if all of them
    /// have running requests.
    fn take(&self) -> Option<Arc<ConnectionSlot>> {
        let mut taken = self.taken();
        if taken.len() >= MOST_CONNECTIONS {
            let silent = taken
                .values()
                .filter_map(|slot| Some((slot.since()?, slot)));
            let (_, longest) = silent.min_by_key(|(since, _)| *since)?;
            longest.end.notify_one();
            let number = longest.number;
            taken.remove(&number);
        }
        let slot = Arc::new(ConnectionSlot {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            silent: Mutex::new(Some(Instant::now())),
            end: Notify::new(),
        });
        taken.insert(slot.number, Arc::clone(&slot));
        Some(slot)
    }

    fn leave(&self, slot: &ConnectionSlot) {
        self.taken().remove(&slot.number);
    }
}

impl ConnectionSlot {
    fn since(&self) -> Option<Instant> {
        *self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_silent(&self, since: Option<Instant>) {
        *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}

/// Accepts connections until the server closes; of one that drained also those that wait to be accepted then.
pub async fn accept_all(listener: Listener, state: ServerState) {
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = reached(state.phase.clone(), Phase::Closing) => break,
        };
        match accepted {
            Ok(accepted) => begin(accepted, &state),
            Err(error) => {
                tracing::warn!("cannot take a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    #[cfg(unix)]
    if *state.phase.borrow() == Phase::Closing {
        let waiting = waiting(&listener);
        // The system resets whatever comes in between.
        drop(listener);
        for accepted in waiting {
            begin(accepted, &state);
        }
    }
}

/// Begins to serve a connection.
fn begin(accepted: Accepted, state: &ServerState) {
    let open = state.open.subscribe();
    let state = state.clone();
    match accepted {
        Accepted::Network(stream, peer) => {
            let _ = stream.set_nodelay(true); // Slower without.
            let link = ConnectionProof::new(stream.local_addr().ok(), state.tls.is_some());
            match state.tls.clone() {
                None => spawn(open, serve_stream(stream, peer, link, state)),
                Some(tls) => spawn(open, async move {
                    let stops = reached(state.phase.clone(), Phase::Stopping);
                    let greeting = tokio::time::timeout(IDLE_TIMEOUT, tls.accept(stream));
                    let greeted = tokio::select! {
                        greeted = greeting => greeted,
                        () = stops => return,
                    };
                    match greeted {
                        Ok(Ok(stream)) => serve_stream(stream, peer, link, state).await,
                        Ok(Err(error)) => tracing::debug!("no TLS with {peer:?}: {error}"),
                        Err(_) => tracing::debug!("no TLS with {peer:?}: too slow"),
                    }
                }),
            }
        }
        #[cfg(unix)]
        Accepted::Socket(stream) => {
            // Its mode says the same, but for the moment before that is set.
            if !super::client::is_own(&stream) {
                tracing::warn!("another user connected to the socket, and was refused");
                return;
            }
            let link = ConnectionProof::new(None, false);
            spawn(open, serve_stream(stream, Peer::Socket, link, state));
        }
    }
}

/// Serves a connection, and drops `open` at its end.
fn spawn(open: watch::Receiver<()>, serving: impl Future<Output = ()> + Send + 'static) {
    drop(tokio::spawn(async move {
        serving.await;
        drop(open);
    }));
}

enum Accepted {
    Network(tokio::net::TcpStream, Peer),
    #[cfg(unix)]
    Socket(tokio::net::UnixStream),
}

async fn accept(listener: &Listener) -> io::Result<Accepted> {
    match listener {
        Listener::Network(listener) => {
            let (stream, address) = listener.accept().await?;
            Ok(Accepted::Network(stream, Peer::Network(address)))
        }
        #[cfg(unix)]
        Listener::Socket(listener, _) => Ok(Accepted::Socket(listener.accept().await?.0)),
    }
}

/// Returns the connections that clients made and nobody accepted yet. The runtime learns of them later, so that the
/// system is asked.
#[cfg(unix)]
fn waiting(listener: &Listener) -> Vec<Accepted> {
    use std::os::fd::AsFd;
    let next: Box<dyn Fn() -> io::Result<Accepted>> = match listener {
        Listener::Network(listener) => {
            let Ok(copy) = listener.as_fd().try_clone_to_owned() else {
                return Vec::new();
            };
            let listener = std::net::TcpListener::from(copy);
            Box::new(move || {
                let (stream, address) = listener.accept()?;
                stream.set_nonblocking(true)?;
                let stream = tokio::net::TcpStream::from_std(stream)?;
                Ok(Accepted::Network(stream, Peer::Network(address)))
            })
        }
        Listener::Socket(listener, _) => {
            let Ok(copy) = listener.as_fd().try_clone_to_owned() else {
                return Vec::new();
            };
            let listener = std::os::unix::net::UnixListener::from(copy);
            Box::new(move || {
                let (stream, _) = listener.accept()?;
                stream.set_nonblocking(true)?;
                Ok(Accepted::Socket(tokio::net::UnixStream::from_std(stream)?))
            })
        }
    };
    let mut all = Vec::new();
    loop {
        match next() {
            Ok(accepted) => all.push(accepted),
            // Its client has gone.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            // There are no more: it does not block.
            Err(_) => return all,
        }
    }
}

async fn serve_stream<S>(mut stream: S, peer: Peer, link: ConnectionProof, state: ServerState)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(slot) = state.slots.take() else {
        state.metrics.refused("connections");
        let refusal = format!(
            "HTTP/1.1 503 Service Unavailable\r\nretry-after: {RETRY_AFTER}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let _ = stream.write_all(refusal.as_bytes()).await; // It may be gone by now.
        return;
    };
    let open = OpenConnection::begin(&state, slot);
    serve_http(stream, peer, link, &state, &open.slot).await;
}

/// A connection that is served; it counts, and has its slot, until this is dropped, even by a panic.
struct OpenConnection<'a> {
    state: &'a ServerState,
    slot: Arc<ConnectionSlot>,
}

impl<'a> OpenConnection<'a> {
    fn begin(state: &'a ServerState, slot: Arc<ConnectionSlot>) -> OpenConnection<'a> {
        state.metrics.connections.inc();
        OpenConnection { state, slot }
    }
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.state.metrics.connections.dec();
        self.state.slots.leave(&self.slot);
    }
}

async fn serve_http<S>(
    stream: S,
    peer: Peer,
    link: ConnectionProof,
    state: &ServerState,
    slot: &Arc<ConnectionSlot>,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let link = Arc::new(link);
    let service = service_fn(|request: hyper::Request<Incoming>| {
        slot.set_silent(None);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(Arc::clone(&link));
        let answered = state.router.clone().oneshot(request);
        let phase = state.phase.clone();
        async move {
            let mut answer = answered.await;
            slot.set_silent(Some(Instant::now()));
            if let Ok(answer) = &mut answer
                && *phase.borrow() >= Phase::Draining
            {
                // The next request goes to another server, and none to a connection that is about to end.
                let close = HeaderValue::from_static("close");
                answer.headers_mut().insert(CONNECTION, close);
            }
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .max_buf_size(MOST_HEADER)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
    let mut connection = std::pin::pin!(connection);
    let stops = reached(state.phase.clone(), Phase::Stopping);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = slot.end.notified() => return,
        () = stops => {
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(SHUTDOWN_TIMEOUT, connection).await {
                Ok(ended) => ended,
                Err(_) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}
