//! Lets a client on standard input and output use a server that runs already: each line goes to it
//! as a request over HTTP, each answer comes back as a line.
//!
//! Promises: standard output carries messages only. Requests run side by side, begun in their order,
//! eight at once; a slow one holds up no quick one. Whatever goes wrong on the way is the answer to
//! the request that it befell, in a sentence that says what to do. A server that was started anew is
//! used as if nothing had happened. Once the input has ended, what runs has a second, the session is
//! ended, and the bridge is gone within two. It opens no store: what is served is the server's
//! business.

mod address;
mod client;
mod connection;
mod events;
mod exchange;
mod failure;
mod message;
mod session;
mod timeouts;

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::task::{AbortHandle, JoinSet};

pub use crate::tls::TrustError;
pub use address::{BadPlace, ServerAddress, Whereabouts};
pub use client::Token;

use self::client::HttpClient;
use self::exchange::Exchange;
use self::failure::RequestFailure;
use self::message::Message;
use self::session::Session;
use crate::dialect::JsonObject;
use crate::mcp::{Lines, ServeError};
use crate::tls;

/// Maximum number of concurrent requests, as many as a server on standard input and output runs
/// itself.
const AT_ONCE: usize = 8;

/// Maximum number of queued requests: a cancellation behind them is still read.
const WAITING: usize = 256;

/// Maximum number of endless subscriptions beside the requests.
const MOST_LISTENING: usize = 16;

/// Maximum time that running requests may take once the input has ended.
const GRACE: Duration = Duration::from_secs(1);

/// Maximum time after that to end the session, and to write what is left.
const END_TIMEOUT: Duration = Duration::from_millis(400);
const FLUSH: Duration = Duration::from_millis(400);

/// Settings of the bridge.
pub struct Settings {
    /// Location of the server.
    pub whereabouts: Whereabouts,
    /// Whether the user's own settings name the address: then the token itself may go there.
    pub is_trusted: bool,
    /// Source of the token.
    pub token: Token,
    /// Path of the file with trusted certificates, instead of the system's.
    pub authorities: Option<PathBuf>,
}

/// Error of starting or running a bridge.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    #[error("cannot start")]
    Start(#[source] io::Error),
    #[error("no server runs for this store")]
    NoServer,
    #[error("{0}")]
    Unreachable(String),
    #[error("cannot connect over TLS")]
    Trust(#[from] TrustError),
    #[error(transparent)]
    Streams(#[from] ServeError),
}

/// Passes messages until standard input ends.
///
/// A request that outlasts the end keeps its connection: the caller should exit the process.
///
/// # Errors
///
/// Fails if no server answers at the noted address, or if standard input cannot be read or standard
/// output cannot be written. A server whose address was given may be started later.
pub fn bridge(settings: Settings) -> Result<(), BridgeError> {
    let is_named = match &settings.whereabouts {
        Whereabouts::At(ServerAddress::Network { is_encrypted, .. }) => {
            if *is_encrypted {
                // Said now and not with each request.
                tls::connector(settings.authorities.as_deref(), client::PROTOCOL)?;
            }
            true
        }
        Whereabouts::At(ServerAddress::Socket(_)) => true,
        Whereabouts::Noted(_) => false,
    };
    let client = HttpClient::new(
        settings.whereabouts,
        settings.is_trusted,
        settings.token,
        settings.authorities,
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(BridgeError::Start)?;
    if !is_named {
        match runtime.block_on(client.reach()) {
            Ok(place) => tracing::info!("using the server at {place}"),
            Err(RequestFailure::Unreachable { place, why }) => {
                tracing::debug!("nobody answers at {place}: {why}");
                return Err(BridgeError::NoServer);
            }
            Err(RequestFailure::Nowhere) => return Err(BridgeError::NoServer),
            Err(failure) => return Err(BridgeError::Unreachable(failure.sentence())),
        }
    }
    let Lines {
        incoming,
        outgoing,
        streams,
    } = crate::mcp::stdio_messages()?;
    let client_is_gone = outgoing.clone();
    let session = Arc::new(Session::new(Exchange { client, outgoing }));
    let dispatcher = Arc::new(RequestDispatcher::new(Arc::clone(&session)));
    runtime.block_on(async {
        let over = async {
            streams.ended.notified().await;
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            () = dispatcher.take(incoming) => {}
            () = over => {}
            () = client_is_gone.closed() => {}
        }
        // Late: then the server ends it by itself, some time.
        let _ = tokio::time::timeout(END_TIMEOUT, session.end()).await;
    });
    // Frees all that could write, and with it the writer.
    runtime.shutdown_background();
    drop((client_is_gone, session, dispatcher));
    Ok(streams.finish(FLUSH)?)
}

/// Dispatches the client's messages.
struct RequestDispatcher {
    session: Arc<Session>,
    turns: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    listening: Arc<Semaphore>,
    /// Running requests, by their id as JSON.
    running: Mutex<HashMap<String, AbortHandle>>,
}

impl RequestDispatcher {
    fn new(session: Arc<Session>) -> RequestDispatcher {
        RequestDispatcher {
            session,
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            waiting: Arc::new(Semaphore::new(AT_ONCE + WAITING)),
            listening: Arc::new(Semaphore::new(MOST_LISTENING)),
            running: Mutex::default(),
        }
    }

    /// Dispatches messages until there are no more, and then waits for the running requests.
    async fn take(self: &Arc<Self>, mut messages: mpsc::Receiver<JsonObject>) {
        let mut running = JoinSet::new();
        // Gone with this call: they have no end of their own.
        let mut listening = JoinSet::new();
        while let Some(message) = messages.recv().await {
            while running.try_join_next().is_some() {}
            while listening.try_join_next().is_some() {}
            let message = Message::of(message);
            match (message.method.as_str(), &message.id) {
                // What follows needs the session.
                ("initialize", Some(_)) => self.session.open(&message).await,
                ("subscriptions/listen", Some(_)) => {
                    self.begin_to_listen(message, &mut listening).await;
                }
                (_, Some(_)) => self.begin(message, &mut running).await,
                ("notifications/cancelled", None) => {
                    self.stop(&message);
                    let session = Arc::clone(&self.session);
                    // Nothing waits for it: it has to come through when nothing else does.
                    running.spawn(async move { session.tell(&message).await });
                }
                // Before what follows it, as the client says it.
                (_, None) => self.session.tell(&message).await,
            }
        }
        while running.join_next().await.is_some() {}
    }

    /// Starts a request, in order of arrival.
    async fn begin(self: &Arc<Self>, message: Message, running: &mut JoinSet<()>) {
        let place = Arc::clone(&self.waiting).acquire_owned().await;
        let dispatcher = Arc::clone(self);
        let key = key(&message);
        let started = running.spawn(async move {
            let _place = place;
            // Turns are given in the order in which they were asked for.
            let _turn = dispatcher.turns.acquire().await;
            dispatcher.session.answer(&message).await;
            dispatcher.forget(&message);
        });
        self.remember(key, started);
    }

    /// Starts a request that runs until it is cancelled.
    async fn begin_to_listen(self: &Arc<Self>, message: Message, listening: &mut JoinSet<()>) {
        let Ok(turn) = Arc::clone(&self.listening).try_acquire_owned() else {
            let answer =
                RequestFailure::Full(MOST_LISTENING).answer(&message.id.unwrap_or_default());
            self.session.exchange.say(&answer).await;
            return;
        };
        let dispatcher = Arc::clone(self);
        let key = key(&message);
        let started = listening.spawn(async move {
            let _turn = turn;
            dispatcher.session.answer(&message).await;
            dispatcher.forget(&message);
        });
        self.remember(key, started);
    }

    fn running(&self) -> std::sync::MutexGuard<'_, HashMap<String, AbortHandle>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, key: String, started: AbortHandle) {
        // It has not run yet: one thread does everything.
        self.running().insert(key, started);
    }

    fn forget(&self, message: &Message) {
        self.running().remove(&key(message));
    }

    /// Aborts the request that is cancelled. It gets no response; for a server without sessions the end
    /// of its connection is the only sign of it.
    fn stop(&self, message: &Message) {
        let Some(id) = &message.cancels else {
            return;
        };
        if let Some(started) = self.running().remove(&id.to_string()) {
            started.abort();
        }
    }
}

fn key(message: &Message) -> String {
    message
        .id
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default()
}
