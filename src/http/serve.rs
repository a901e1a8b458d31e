//! Puts a server together: routes, layers, listeners; and ends it in order.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ::http::Request;
use ::http::StatusCode;
use ::http::header::CONTENT_TYPE;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, any, get, on};
use axum::{Router, middleware};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use tokio::sync::{Semaphore, watch};

use super::admission::{AdmissionControl, CALL_TIMEOUT, recorded};
use super::answer::{OUTGOING, RequestError, sequence};
use super::client::Client;
use super::concurrency::{self, ConcurrencyLimits, RETRY_AFTER, ShortCalls, THREADS};
use super::connection::{ConnectionSlots, Phase, ServerState};
use super::events::Events;
use super::listen::{Address, TlsError};
use super::metrics::Metrics;
use super::names::Names;
use super::openapi::BASE;
use super::page;
use super::rate::{CallCounts, Rate, Rates};
use super::reading::MOST_BYTES;
use super::site::{Front, Site};
use super::tokens::{TokenError, Tokens};
use super::workspaces::{Hosted, Workspaces, exchange, routes};
use super::{answer, connection, guard, listen, metrics, openapi, proof, reading};
use crate::dialect::{
    Call, CallOutcome, CallRecord, Caller, Endpoint, JsonObject, Refusal, Reply, ToolError, Verb,
};
use crate::engine::{EndedCall, history, ops};
use crate::mcp::{CallNote, Gate, SESSION, Served, Streamable};
use crate::page::Examine;

/// Maximum number of store-sized bodies that are read at once.
const LARGE_BODIES: usize = 2;

/// Maximum time that running work may take once the server stops.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(6);

/// Time for requests that were sent before the listeners closed to arrive on connections without a request.
const LAST_REQUESTS: Duration = Duration::from_millis(500);

/// Value of the header `Mcp-Method` of a request whose reply ends with the server only.
const SUBSCRIPTION: &str = "subscriptions/listen";

/// Settings of an HTTP server.
pub struct Settings {
    /// Addresses to listen at.
    pub addresses: Vec<Address>,
    /// Permitted values of `Host`, besides this machine's own names.
    pub hosts: Vec<String>,
    /// Permitted values of `Origin`, besides the server's own.
    pub origins: Vec<String>,
    /// Path of the file with the tokens.
    pub tokens: PathBuf,
    /// Whether requests need a token.
    pub needs_token: bool,
    /// Paths of the PEM files with the certificates and with the key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Makes the checks of `memdir doctor`, for the page.
    pub examine: Examine,
    /// Name of the tool set that agents of this store have, where the user's settings say so.
    pub dialect: Option<String>,
    /// Limit of the reads of each client.
    pub reads: Rate,
    /// Limit of the writes of each client.
    pub writes: Rate,
    /// Limit of the reads of the store's owner: by the store's own token, or without one where none is needed.
    pub owner_reads: Rate,
    /// Limit of the owner's writes.
    pub owner_writes: Rate,
    /// Time for which a server goes on after SIGTERM, while `/ready` says that requests should go elsewhere; zero for
    /// none.
    pub drain: Duration,
    /// The service at `/mcp`: usually [`crate::mcp::streamable`].
    pub mcp: fn(Served, Arc<dyn Gate>, usize) -> Streamable,
}

/// A server that listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serving {
    /// Its addresses as clients use them: `http://127.0.0.1:9077`, `unix:/path`.
    pub names: Vec<String>,
}

/// Name of the file, among those of a store's index, with the addresses of a running server.
pub const NOTE: &str = "serving";

/// Returns the path of the lock that a server holds while its note at `note` is valid.
pub fn lock_of(note: &Path) -> PathBuf {
    note.with_extension("lock")
}

/// Returns the addresses in the note at `note`, if its server runs.
pub fn noted(note: &Path) -> Vec<String> {
    // Of a server that was killed the note is left; another user's program may listen there now.
    if !crate::files::is_held(&lock_of(note)) {
        return Vec::new();
    }
    let bytes = crate::files::read_derived(note).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().map(str::to_owned).collect()
}

impl Serving {
    /// Returns the content of the note: a line for each name.
    pub fn written(&self) -> String {
        self.names.iter().map(|name| format!("{name}\n")).collect()
    }
}

/// Error of starting a server.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    #[error("cannot start the server")]
    Start(#[source] io::Error),
    #[error("cannot listen at {0}")]
    Listen(String, #[source] io::Error),
    #[error("cannot make tokens of use")]
    Tokens(#[from] TokenError),
    #[error("cannot serve over TLS")]
    Tls(#[from] TlsError),
    #[error(
        "{0} can be reached from other machines, and a server without a token must not be: leave --no-token out"
    )]
    NoToken(String),
    #[error("no address is given to listen at")]
    Nowhere,
}

/// Serves until the process is asked to end. Calls `begun` once, when requests are answered.
///
/// A call that outlasts the end keeps its thread: the caller should exit the process.
///
/// # Errors
///
/// Fails if it cannot begin.
pub fn serve(
    served: Served,
    settings: &Settings,
    begun: impl FnOnce(&Serving),
) -> Result<(), HttpError> {
    serve_by(settings, begun, |front| {
        let site = Arc::new(Site::of_folder(front, served));
        let router = router(&site);
        (router, Box::new(move || site.mcp.stop()))
    })
}

/// Serves many workspaces until the process is asked to end, as [`serve`].
///
/// # Errors
///
/// As for [`serve`].
pub fn serve_workspaces(
    workspaces: Arc<dyn Workspaces>,
    settings: &Settings,
    begun: impl FnOnce(&Serving),
) -> Result<(), HttpError> {
    serve_by(settings, begun, |front| {
        let hosted = Arc::new(Hosted::new(front, workspaces, workspace_router));
        hosted.leave_at_the_end();
        (routes::router(&hosted), Box::new(move || hosted.stop()))
    })
}

/// Routes, and a function that ends the sessions of what they serve.
type Answers = (Router, Box<dyn FnOnce()>);

fn serve_by(
    settings: &Settings,
    begun: impl FnOnce(&Serving),
    answers: impl FnOnce(&Front) -> Answers,
) -> Result<(), HttpError> {
    let far = settings
        .addresses
        .iter()
        .find(|address| !address.is_local());
    match (far, settings.needs_token) {
        (Some(far), false) => return Err(HttpError::NoToken(far.to_string())),
        _ if settings.addresses.is_empty() => return Err(HttpError::Nowhere),
        _ => {}
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(concurrency::workers())
        .max_blocking_threads(THREADS)
        .thread_name("http")
        .enable_all()
        .build()
        .map_err(HttpError::Start)?;
    let ended = runtime.block_on(run(settings, begun, answers));
    runtime.shutdown_background();
    ended
}

async fn run(
    settings: &Settings,
    begun: impl FnOnce(&Serving),
    answers: impl FnOnce(&Front) -> Answers,
) -> Result<(), HttpError> {
    let (advance, phase) = watch::channel(Phase::Serving);
    let calls = Arc::new(watch::Sender::new(()));
    let tokens = match Tokens::open(settings.tokens.clone()) {
        Err(error) if !settings.needs_token => {
            tracing::warn!("clients cannot tell this server from others: {error}");
            None
        }
        tokens => Some(tokens?),
    };
    let tls = match &settings.tls {
        Some((certificates, key)) => Some(listen::tls(certificates, key)?),
        None => None,
    };
    let metrics = Arc::new(Metrics::default());
    let admission = Arc::new(AdmissionControl {
        rates: Rates::new(settings.reads, settings.writes),
        owner_rates: Rates::new(settings.owner_reads, settings.owner_writes),
        concurrency: ConcurrencyLimits::default(),
        calls: CallCounts::default(),
        leasing: tokio::sync::Mutex::default(),
        metrics: Arc::clone(&metrics),
    });
    let mut listeners = Vec::new();
    let mut names = Vec::new();
    let mut hosts = settings.hosts.clone();
    for address in &settings.addresses {
        let failed = |error| HttpError::Listen(address.to_string(), error);
        let listener = listen::listen(address).await.map_err(failed)?;
        names.push(listener.name(tls.is_some()).map_err(failed)?);
        // Who was told to listen at a number may be called by it; `0.0.0.0` is nobody's.
        let own = listener.port().filter(|own| !own.ip().is_unspecified());
        hosts.extend(own.map(|own| own.to_string()));
        listeners.push(listener);
    }
    let front = Front {
        names: Arc::new(Names::new(&hosts, &settings.origins, tls.is_some())),
        tokens: tokens.map(Arc::new),
        needs_token: settings.needs_token,
        admission,
        metrics: Arc::clone(&metrics),
        large: Arc::new(Semaphore::new(LARGE_BODIES)),
        short: ShortCalls::default(),
        outgoing: Arc::new(Semaphore::new(OUTGOING / 1024)),
        has_tls: tls.is_some(),
        examine: Arc::clone(&settings.examine),
        dialect: settings.dialect.clone(),
        mcp: settings.mcp,
        calls: Arc::clone(&calls),
        phase: phase.clone(),
    };
    let (router, end_sessions) = answers(&front);
    let state = ServerState {
        router,
        metrics,
        phase,
        slots: Arc::new(ConnectionSlots::default()),
        open: Arc::default(),
        tls,
    };
    let mut accepting: Vec<_> = listeners
        .into_iter()
        .map(|listener| tokio::spawn(connection::accept_all(listener, state.clone())))
        .collect();
    let mut signals = Signals::listen().map_err(HttpError::Start)?;
    begun(&Serving { names });
    let signal = signals.next().await;
    if signal == Signal::Terminate && !settings.drain.is_zero() {
        tracing::info!("draining for {} s", settings.drain.as_secs());
        advance.send_replace(Phase::Draining);
        tokio::select! {
            () = tokio::time::sleep(settings.drain) => {}
            _ = signals.next() => {}
        }
        advance.send_replace(Phase::Closing);
        for task in accepting.drain(..) {
            let _ = task.await; // As below.
        }
        tracing::info!("closed to new connections");
        let _ = tokio::time::timeout(LAST_REQUESTS, state.open.closed()).await; // Idle ones stay.
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, calls.closed()).await; // As below.
    }
    tracing::info!("stopping");
    advance.send_replace(Phase::Stopping);
    end_sessions();
    for task in accepting {
        let _ = task.await; // One that broke down listens no more, either.
    }
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, state.open.closed()).await; // Enough is enough.
    Ok(())
}

/// Request to the process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Signal {
    /// By a service manager.
    #[cfg_attr(not(unix), allow(dead_code, reason = "only Ctrl-C is known there"))]
    Terminate,
    /// By a person at a terminal, or by its end.
    Terminal,
}

/// Requests to the process to end.
struct Signals {
    #[cfg(unix)]
    all: [tokio::signal::unix::Signal; 3],
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        Ok(Signals {
            #[cfg(unix)]
            all: {
                use tokio::signal::unix::{SignalKind, signal};
                [
                    signal(SignalKind::terminate())?,
                    signal(SignalKind::interrupt())?,
                    signal(SignalKind::hangup())?,
                ]
            },
        })
    }

    /// Waits for the next one.
    #[cfg(unix)]
    async fn next(&mut self) -> Signal {
        let [terminate, interrupt, hang_up] = &mut self.all;
        tokio::select! {
            _ = terminate.recv() => Signal::Terminate,
            _ = interrupt.recv() => Signal::Terminal,
            _ = hang_up.recv() => Signal::Terminal,
        }
    }

    /// Waits for the next one.
    #[cfg(not(unix))]
    async fn next(&mut self) -> Signal {
        let _ = tokio::signal::ctrl_c().await;
        Signal::Terminal
    }
}

/// Returns the router of a workspace: that of a store, and the exchange.
fn workspace_router(site: &Arc<Site>) -> Router {
    guarded(
        exchange::add_routes(routes(openapi::document_of_workspace)),
        site,
    )
}

/// Returns the router of all paths, behind the guard.
fn router(site: &Arc<Site>) -> Router {
    guarded(page::add_routes_of_folder(routes(openapi::document)), site)
}

/// Returns the routes of a store, whose interface `description` describes.
fn routes(description: fn() -> serde_json::Value) -> Router<Arc<Site>> {
    let describe = move || async move { answer::small(StatusCode::OK, &description()) };
    let mut router = Router::new()
        .route(guard::OPEN, get(|| async {}))
        .route(proof::PATH, get(|| async {}))
        .route("/metrics", get(serve_metrics))
        .route("/mcp", any(mcp))
        .route(&format!("{BASE}/events"), get(serve_events))
        .route(&format!("{BASE}/openapi.json"), get(describe));
    for endpoint in crate::dialect::endpoints() {
        let filter = match endpoint.verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
            Verb::Put => MethodFilter::PUT,
            Verb::Delete => MethodFilter::DELETE,
        };
        let run = move |State(site): State<Arc<Site>>, request: Request<Body>| {
            call(site, endpoint, request)
        };
        let path = format!("{BASE}{}", endpoint.path);
        router = router.route(&path, on(filter, run));
    }
    page::add_routes(router)
}

/// Returns the routes behind the guard.
fn guarded(router: Router<Arc<Site>>, site: &Arc<Site>) -> Router {
    router
        .method_not_allowed_fallback(|| async {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let message = "this address does not answer that method";
            RequestError::new(status, "METHOD_NOT_ALLOWED", message)
        })
        .fallback(|| async {
            let message = "there is nothing at this address";
            RequestError::new(StatusCode::NOT_FOUND, Refusal::NOT_FOUND, message)
        })
        .layer(middleware::from_fn_with_state(
            Arc::clone(site),
            guard::guard,
        ))
        .with_state(Arc::clone(site))
}

/// Answers a request to an endpoint of the table.
async fn call(
    site: Arc<Site>,
    endpoint: &'static Endpoint,
    request: Request<Body>,
) -> Result<Response, RequestError> {
    let client = client(&request)?;
    let record = recorded(request.extensions(), endpoint.name);
    if endpoint.writes && !client.may_write() {
        // Before its body is read.
        if let Some(record) = record {
            record.refuse();
        }
        return Err(super::admission::AdmissionError::OnlyReads.into());
    }
    let caller = caller(&request);
    let least = sequence::asked(&site.served.engine, request.headers())?;
    let _large = match endpoint.is_large {
        true => Some(
            site.large
                .try_acquire()
                .map_err(|_| RequestError::overload())?,
        ),
        false => None,
    };
    let values = reading::arguments(endpoint, request).await?;
    let turn = site.admission.enter(&client, endpoint.writes).await;
    if let (Err(_), Some(record)) = (&turn, &record) {
        record.refuse();
    }
    let turn = turn?;
    let of = Arc::clone(&site);
    let run = move || {
        // Until the call has ended, also where nobody waits for it any more.
        let turn = turn;
        let served = &of.served;
        served
            .engine
            .writer
            .serve(caller.client.as_deref().unwrap_or("http"));
        let call = Call {
            engine: &served.engine,
            caller: &caller,
            preferences: &served.preferences,
            stores: &[],
        };
        let writes = endpoint.writes;
        let mut record = record;
        let run = || match record.take() {
            Some(record) => recorded_call(endpoint, &call, values, record.as_ref()),
            None => endpoint.call(&call, values),
        };
        let (reply, ended) = match served.engine.live.call(least, writes, run) {
            Ok(done) => done,
            Err(error) => {
                if let Some(record) = record {
                    record.refuse();
                }
                return (Err(error.into()), EndedCall::default(), turn);
            }
        };
        let answer = reply
            .map(|reply| (endpoint.status(&reply), reply.text.into_bytes()))
            .map_err(|error| sequence::of_call(Refusal::of(&error).into(), writes));
        (sequence::judged(answer, &ended, writes), ended, turn)
    };
    // A database is waited for, and not on a thread that others wait for.
    let live = &site.served.engine.live;
    let is_short = endpoint.is_short && !live.has_sequence() && live.answers_at_once();
    let running = site.short.run(is_short, run);
    let done = tokio::time::timeout(CALL_TIMEOUT, running).await;
    let late = |_| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        let message = "not done in time: it goes on, ask for its outcome later";
        let late = RequestError {
            retry_after: Some(RETRY_AFTER),
            ..RequestError::new(status, "LATE", message)
        };
        sequence::of_call(late, endpoint.writes)
    };
    // The panic hook has written what happened to the log.
    let (answer, ended, _turn) = done.map_err(late)?.map_err(|_| RequestError::internal())?;
    let mut response = match answer {
        Ok((status, body)) => {
            let status = StatusCode::from_u16(status).map_err(|_| RequestError::internal())?;
            let response = answer::json_of(status, body, &site.outgoing).await;
            response.map_err(|error| sequence::of_call(error, endpoint.writes))?
        }
        Err(error) => error.into_response(),
    };
    sequence::tell(&mut response, &ended);
    Ok(response)
}

/// Runs a call of an endpoint, and keeps its outcome.
fn recorded_call(
    endpoint: &Endpoint,
    call: &Call<'_>,
    values: JsonObject,
    record: &dyn CallRecord,
) -> Result<Reply, ToolError> {
    let (mut values, mut reply) = (Some(values), Ok(Reply::text("").failed()));
    record.run(&mut || {
        reply = endpoint.call(call, values.take().unwrap_or_default());
        match &reply {
            Ok(reply) => CallOutcome::of_reply(reply),
            Err(_) => CallOutcome::of(false, ""),
        }
    });
    reply
}

fn client(request: &Request<Body>) -> Result<Client, RequestError> {
    // The guard has put it there.
    let client = request.extensions().get::<Client>();
    client.cloned().ok_or_else(RequestError::internal)
}

/// Returns the caller by its `User-Agent`: `curl/8.5.0`.
fn caller(request: &Request<Body>) -> Caller {
    let agent = request.headers().get(::http::header::USER_AGENT);
    let agent = agent.and_then(|agent| agent.to_str().ok());
    let first = agent.and_then(|agent| agent.split_whitespace().next());
    match first.map(|first| first.split_once('/').unwrap_or((first, ""))) {
        Some((name, version)) if !name.is_empty() => Caller {
            client: Some(name.to_owned()),
            version: Some(version.to_owned()).filter(|version| !version.is_empty()),
        },
        _ => Caller::default(),
    }
}

async fn mcp(
    State(site): State<Arc<Site>>,
    request: Request<Body>,
) -> Result<Response, RequestError> {
    let client = client(&request)?;
    let (mut parts, body) = request.into_parts();
    let is_subscription = parts
        .headers
        .get("mcp-method")
        .is_some_and(|method| method == SUBSCRIPTION);
    let is_call = parts.method == ::http::Method::POST && !is_subscription;
    // The end of the sessions would cut its reply.
    let running = is_call.then(|| site.calls.subscribe());
    let bytes = match parts.method {
        ::http::Method::POST => reading::read(body, MOST_BYTES).await?,
        _ => bytes::Bytes::new(),
    };
    let sent = bytes.clone();
    let body = Full::new(bytes)
        .map_err(|never| match never {})
        .boxed_unsync();
    let note = CallNote::default();
    parts.extensions.insert(note.clone());
    let has_session = parts.headers.contains_key(SESSION);
    let request = Request::from_parts(parts, body);
    let response = site.mcp.answer(&client.name, request).await;
    // rmcp says so of a body that is no message, too; the guard has let no other type through.
    if response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE
        && let Some(answer) = crate::mcp::refusal(&sent)
    {
        let json = [(CONTENT_TYPE, "application/json")];
        return Ok((StatusCode::BAD_REQUEST, json, answer).into_response());
    }
    let mut response = response.map(|body| match body.size_hint().exact() {
        Some(_) => Body::new(body),
        None => Body::new(body.map_frame(move |frame| {
            let _until_it_has_gone = &running;
            frame
        })),
    });
    // The reply within a session begins before its call has ended, or not: nobody could rely on it.
    if let Some(ended) = note.ended().filter(|_| !has_session) {
        sequence::tell(&mut response, ended);
    }
    Ok(response)
}

async fn serve_events(
    State(site): State<Arc<Site>>,
    request: Request<Body>,
) -> Result<impl IntoResponse, RequestError> {
    if let Some(record) = recorded(request.extensions(), "events") {
        record.run(&mut || CallOutcome::of(true, ""));
    }
    let events = Events::of(&site)?;
    Ok(([(CONTENT_TYPE, "text/event-stream")], Body::new(events)))
}

async fn serve_metrics(
    State(site): State<Arc<Site>>,
    request: Request<Body>,
) -> Result<Response, RequestError> {
    let turn = site.admission.enter(&client(&request)?, false).await?;
    let look = move || {
        let _turn = turn;
        let engine = &site.served.engine;
        let status = ops::status(engine);
        let git = history::git_status(&engine.history);
        let state = match (status, git) {
            (Ok(status), Ok(git)) => Some(metrics::State { status, git }),
            (Err(error), _) | (_, Err(error)) => {
                tracing::error!("the store's figures are left out: {error}");
                None
            }
        };
        let load = metrics::Load {
            sessions: site.mcp.sessions(),
            reads: site.admission.concurrency.load(false),
            writes: site.admission.concurrency.load(true),
            workspaces: None,
        };
        metrics::text(&site.metrics, &load, state.as_ref())
    };
    let text = tokio::task::spawn_blocking(look).await;
    let text = text.map_err(|_| RequestError::internal())?;
    Ok(answer::text(metrics::TYPE, text))
}
