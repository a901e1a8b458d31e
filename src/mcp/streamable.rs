//! Serves one dialect over streamable HTTP, in both eras of the protocol.
//!
//! Clients of revisions with `initialize` have a session with a random, secret id; those of 2026-07-28
//! have none. Guarantees: a session serves only the caller that opened it, ends after half an hour
//! without a request, and there are at most [`MOST_SESSIONS`]: one more ends the idlest of the caller with
//! the most sessions. Authorization and the limit of a request's size are checked before.

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::http::Method;
use ::http::Request;
use ::http::Response;
use ::http::StatusCode;
use bytes::Bytes;
use http_body_util::combinators::{BoxBody, UnsyncBoxBody};
use http_body_util::{BodyExt, Full};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};

use super::gate::Gate;
use super::handler::Handler;
use super::served::Served;

/// Maximum number of open sessions.
pub const MOST_SESSIONS: usize = 256;

/// Maximum time between two requests before a session is closed.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// Interval of keep-alive comments on an open stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Header with the id of a session.
pub const SESSION: &str = "mcp-session-id";

/// HTTP server of a tool set. A copy serves the same sessions.
#[derive(Clone)]
pub struct Streamable {
    service: Arc<dyn HttpService>,
    manager: Arc<LocalSessionManager>,
    open: Arc<Mutex<HashMap<String, Session>>>,
}

/// rmcp's service of any handler.
trait HttpService: Send + Sync {
    fn answer(&self, request: Request<RequestBody>) -> ResponseFuture<'_>;
    fn stop(&self);
}

type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Response<Body>> + Send + 'a>>;

/// Body of a request.
pub type RequestBody = UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>>;

/// Body of a response.
pub type Body = BoxBody<Bytes, Infallible>;

/// An open session.
struct Session {
    owner: Arc<str>,
    used: Instant,
}

impl<H: ServerHandler> HttpService for StreamableHttpService<H, LocalSessionManager> {
    fn answer(&self, request: Request<RequestBody>) -> ResponseFuture<'_> {
        Box::pin(self.handle(request))
    }

    fn stop(&self) {
        self.config.cancellation_token.cancel();
    }
}

/// Returns a server of `served`, whose calls have to pass `gate`, for requests of at most `most_bytes`.
pub fn streamable(served: Served, gate: Arc<dyn Gate>, most_bytes: usize) -> Streamable {
    let make = move || Handler::behind(served.clone(), Arc::clone(&gate));
    Streamable::new(make, most_bytes)
}

impl Streamable {
    /// Returns a server with a handler of `make` for each session, and for each request without one.
    pub fn new<H: ServerHandler>(
        make: impl Fn() -> H + Send + Sync + 'static,
        most_bytes: usize,
    ) -> Streamable {
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(IDLE);
        let manager = Arc::new(manager);
        // Host and Origin are checked before, for every address and not only this one.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .with_sse_keep_alive(Some(KEEP_ALIVE))
            .with_max_request_body_bytes(most_bytes);
        let make = move || Ok(make());
        Streamable {
            service: Arc::new(StreamableHttpService::new(
                make,
                Arc::clone(&manager),
                config,
            )),
            manager,
            open: Arc::default(),
        }
    }

    /// Ends all sessions and streams.
    pub fn stop(&self) {
        self.service.stop();
    }

    /// Returns the number of open sessions.
    pub fn sessions(&self) -> usize {
        self.open().len()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<String, Session>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request of `owner`.
    pub async fn answer(&self, owner: &Arc<str>, request: Request<RequestBody>) -> Response<Body> {
        let named = request.headers().get(SESSION);
        let named = named.map(|id| id.to_str().unwrap_or_default().to_owned());
        if let Some(id) = &named
            && !self.is_of(id, owner)
        {
            // The same as for one that does not exist: nobody learns which do.
            return said(StatusCode::NOT_FOUND, "Not Found: Session not found");
        }
        let ends = request.method() == Method::DELETE;
        let mut response = self.service.answer(request).await;
        if ends && response.status() == StatusCode::ACCEPTED {
            // It has ended: to some clients, "accepted" says that it has not.
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        match named {
            Some(id) if ends && response.status().is_success() => drop(self.open().remove(&id)),
            Some(_) => {}
            None => {
                let begun = response.headers().get(SESSION);
                if let Some(id) = begun.and_then(|id| id.to_str().ok()) {
                    self.begin(id.to_owned(), owner).await;
                }
            }
        }
        response
    }

    /// Returns whether the session is open and `owner`'s, and marks it as used then.
    fn is_of(&self, id: &str, owner: &Arc<str>) -> bool {
        let mut open = self.open();
        open.retain(|_, session| session.used.elapsed() < IDLE);
        match open.get_mut(id) {
            Some(session) if session.owner == *owner => {
                session.used = Instant::now();
                true
            }
            _ => false,
        }
    }

    async fn begin(&self, id: String, owner: &Arc<str>) {
        let idlest = {
            let mut open = self.open();
            let session = Session {
                owner: Arc::clone(owner),
                used: Instant::now(),
            };
            open.insert(id.clone(), session);
            let idlest = (open.len() > MOST_SESSIONS).then(|| idlest(&open, &id));
            let idlest = idlest.flatten();
            if let Some(idlest) = &idlest {
                open.remove(idlest);
            }
            idlest
        };
        if let Some(idlest) = idlest {
            let id = idlest.into();
            if let Err(error) = self.manager.close_session(&id).await {
                tracing::debug!("a session was over already: {error}");
            }
        }
    }
}

/// Returns the session, other than `latest`, that was idle longest, of the caller with the most.
fn idlest(open: &HashMap<String, Session>, latest: &str) -> Option<String> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for session in open.values() {
        *counts.entry(&session.owner).or_default() += 1;
    }
    let (greediest, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let theirs = open.iter();
    let theirs = theirs.filter(|(id, session)| *session.owner == *greediest && *id != latest);
    let idlest = theirs.min_by_key(|(_, session)| session.used);
    idlest.map(|(id, _)| id.clone())
}

fn said(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}
