//! Takes connections and speaks HTTP/1.1 on them: a bounded number, each with bounded headers and
//! times. Where there is no seat left, the one that was silent longest gives up its.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::rt::TokioTimer;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt;

use super::client::Peer;
use super::concurrency::RETRY_AFTER;
use super::listen::Listener;
use super::metrics::Metrics;
use super::proof::Link;
use super::write_timeout::PATIENCE;
use super::write_timeout::WriteTimeout;

/// Maximum number of open connections. A silent one costs some kilobytes; what costs more is
/// bounded by itself.
const SEATS: usize = 512;

/// Maximum size of a request's headers in bytes.
const MOST_HEADER: usize = 16 * 1024;

/// Maximum time that running requests may take once the server stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long to wait after an error of `accept`, such as too many open files.
const BREATH: Duration = Duration::from_millis(50);

/// What all connections share.
#[derive(Clone)]
pub struct ServerState {
    pub router: Router,
    pub metrics: Arc<Metrics>,
    pub stopping: watch::Receiver<bool>,
    pub seats: Arc<ConnectionSlots>,
    pub tls: Option<TlsAcceptor>,
}

/// Who sits where.
#[derive(Default)]
pub struct ConnectionSlots {
    taken: Mutex<HashMap<u64, Arc<Seat>>>,
    next: AtomicU64,
    /// Told when one is free.
    free: Notify,
}

/// One connection.
struct Seat {
    number: u64,
    /// Since when nothing was asked; `None` while a request runs.
    silent: Mutex<Option<Instant>>,
    /// Told when it has to go.
    end: Notify,
}

impl ConnectionSlots {
    fn taken(&self) -> MutexGuard<'_, HashMap<u64, Arc<Seat>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat, if need be the one of who was silent longest; none if all of them have requests that
    /// run.
    fn take(&self) -> Option<Arc<Seat>> {
        let mut taken = self.taken();
        if taken.len() >= SEATS {
            let silent = taken
                .values()
                .filter_map(|seat| Some((seat.since()?, seat)));
            let (_, longest) = silent.min_by_key(|(since, _)| *since)?;
            longest.end.notify_one();
            let number = longest.number;
            taken.remove(&number);
        }
        let seat = Arc::new(Seat {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            silent: Mutex::new(Some(Instant::now())),
            end: Notify::new(),
        });
        taken.insert(seat.number, Arc::clone(&seat));
        Some(seat)
    }

    fn leave(&self, seat: &Seat) {
        self.taken().remove(&seat.number);
        self.free.notify_waiters();
    }

    /// Waits until all have left.
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

impl Seat {
    fn since(&self) -> Option<Instant> {
        *self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_silent(&self, since: Option<Instant>) {
        *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }
}

/// Takes connections until the server stops.
pub async fn take(listener: Listener, hall: ServerState) {
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener) => accepted,
            () = stops(hall.stopping.clone()) => return,
        };
        match accepted {
            Ok(Accepted::Network(stream, peer)) => {
                let _ = stream.set_nodelay(true); // Slower without.
                let hall = hall.clone();
                let link = Link::new(stream.local_addr().ok(), hall.tls.is_some());
                match hall.tls.clone() {
                    None => drop(tokio::spawn(seat(stream, peer, link, hall))),
                    Some(tls) => drop(tokio::spawn(async move {
                        let greeted = tokio::time::timeout(PATIENCE, tls.accept(stream)).await;
                        match greeted {
                            Ok(Ok(stream)) => seat(stream, peer, link, hall).await,
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
                let link = Link::new(None, false);
                drop(tokio::spawn(seat(stream, Peer::Socket, link, hall.clone())));
            }
            Err(error) => {
                tracing::warn!("cannot take a connection: {error}");
                tokio::time::sleep(BREATH).await;
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

async fn seat<S>(mut stream: S, peer: Peer, link: Link, hall: ServerState)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Some(seat) = hall.seats.take() else {
        hall.metrics.refused("connections");
        let refusal = format!(
            "HTTP/1.1 503 Service Unavailable\r\nretry-after: {RETRY_AFTER}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        let _ = stream.write_all(refusal.as_bytes()).await; // It may be gone by now.
        return;
    };
    hall.metrics.connections.inc();
    speak(stream, peer, link, &hall, &seat).await;
    hall.metrics.connections.dec();
    hall.seats.leave(&seat);
}

async fn speak<S>(stream: S, peer: Peer, link: Link, hall: &ServerState, seat: &Arc<Seat>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let link = Arc::new(link);
    let service = service_fn(|request: hyper::Request<Incoming>| {
        seat.is_silent(None);
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(peer);
        request.extensions_mut().insert(Arc::clone(&link));
        let answered = hall.router.clone().oneshot(request);
        async move {
            let answer = answered.await;
            seat.is_silent(Some(Instant::now()));
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MOST_HEADER)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream)), service);
    let mut connection = std::pin::pin!(connection);
    let stops = stops(hall.stopping.clone());
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = seat.end.notified() => return,
        () = stops => {
            connection.as_mut().graceful_shutdown();
            match tokio::time::timeout(FAREWELL, connection).await {
                Ok(ended) => ended,
                Err(_) => return,
            }
        }
    };
    if let Err(error) = ended {
        tracing::debug!("a connection ended: {error}");
    }
}
