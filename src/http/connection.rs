//! Accepts connections and serves HTTP/1.1 on them: a bounded number, each with bounded headers and
//! times. Where all slots are taken, the connection that was silent longest is closed.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
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

/// State shared by all connections.
#[derive(Clone)]
pub struct ServerState {
    /// Routes of requests.
    pub router: Router,
    /// Metrics of the server.
    pub metrics: Arc<Metrics>,
    /// True once the server stops.
    pub stopping: watch::Receiver<bool>,
    /// Slots of open connections.
    pub slots: Arc<ConnectionSlots>,
    /// TLS of network connections, if configured.
    pub tls: Option<TlsAcceptor>,
}

/// Open connections.
#[derive(Default)]
pub struct ConnectionSlots {
    taken: Mutex<HashMap<u64, Arc<ConnectionSlot>>>,
    next: AtomicU64,
    /// Notified when a slot becomes free.
    free: Notify,
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
        self.free.notify_waiters();
    }

    /// Waits until all connections are closed.
    pub async fn empty(&self) {
        loop {
            let free = self.free.notified();
            if self.taken().is_empty() {
                return;
            }
            free.await;
        }
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

/// Accepts connections until the server stops.
pub async fn accept_all(listener: Listener, state: ServerState) {
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = stops(state.stopping.clone()) => return,
        };
        match accepted {
            Ok(Accepted::Network(stream, peer)) => {
                let _ = stream.set_nodelay(true); // Slower without.
                let state = state.clone();
                let link = ConnectionProof::new(stream.local_addr().ok(), state.tls.is_some());
                match state.tls.clone() {
                    None => drop(tokio::spawn(serve_stream(stream, peer, link, state))),
                    Some(tls) => drop(tokio::spawn(async move {
                        let greeted = tokio::time::timeout(IDLE_TIMEOUT, tls.accept(stream)).await;
                        match greeted {
                            Ok(Ok(stream)) => serve_stream(stream, peer, link, state).await,
                            Ok(Err(error)) => tracing::debug!("no TLS with {peer:?}: {error}"),
                            Err(_) => tracing::debug!("no TLS with {peer:?}: too slow"),
                        }
                    })),
                }
            }
            #[cfg(unix)]
            Ok(Accepted::Socket(stream)) => {
                // Its mode says the same, but for the moment before that is set.
                if !super::client::is_own(&stream) {
                    tracing::warn!("another user connected to the socket, and was refused");
                    continue;
                }
                let link = ConnectionProof::new(None, false);
                drop(tokio::spawn(serve_stream(
                    stream,
                    Peer::Socket,
                    link,
                    state.clone(),
                )));
            }
            Err(error) => {
                tracing::warn!("cannot take a connection: {error}");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// Resolves when the server stops.
async fn stops(mut stopping: watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stops| *stops).await; // Or nobody is left to stop it.
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
    state.metrics.connections.inc();
    serve_http(stream, peer, link, &state, &slot).await;
    state.metrics.connections.dec();
    state.slots.leave(&slot);
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
        async move {
            let answer = answered.await;
            slot.set_silent(Some(Instant::now()));
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_TIMEOUT)
        .max_buf_size(MOST_HEADER)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
    let mut connection = std::pin::pin!(connection);
    let stops = stops(state.stopping.clone());
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
