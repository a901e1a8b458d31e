//! Many workspaces at one server: each is answered below `/w/NAME`, as a store by itself is.
//!
//! Guarantees: host, origin and token of a request are checked before its workspace is looked for, so that nobody
//! without a token learns which there are; a token of one workspace gets the same answer from every other, also from one
//! that does not exist; a request is answered by the engine of the workspace that its address
//! names, and by no other. Open workspaces are kept, and those that were not asked for longest are closed where there
//! are many. MCP, the REST interface and metrics are served; the page for people is not.

pub(super) mod exchange;
pub(super) mod sequence;

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::http::{HeaderValue, Method, Request, StatusCode, Uri};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::Value;
use tokio::sync::{OnceCell, Semaphore};
use tower::ServiceExt;

use super::admission::Recording;
use super::answer::RequestError;
use super::client::{CallQuota, Client};
use super::guard;
use super::openapi::BASE;
use super::site::{Front, Site};
use super::tokens::Rights;
use crate::dialect::{CallOutcome, Recorder, Refusal};
use crate::engine::live;
use crate::mcp::Served;

/// Maximum number of open workspaces, beside those that answer a request just now.
const MAX_OPEN: usize = 64;

/// Path of the check whether requests should be sent here, which needs no token.
const READY: &str = "/ready";

/// Maximum number of tokens that are looked for at once: guesses must not take the connections of the others.
const MAX_LOOKUPS: usize = 4;

/// Address of the tokens of a workspace, below that of the workspace.
const TOKENS: &str = "tokens";

/// Address of the audit of a workspace, below that of the workspace.
const AUDIT: &str = "audit";

/// Maximum number of lines of the audit in one answer, and the number where none is asked for.
const AUDIT_LINES: [usize; 2] = [1000, 100];

/// Beginning of the addresses of workspaces.
const PREFIX: &str = "/w/";

/// Workspaces that a server can open.
pub trait Workspaces: Send + Sync {
    /// Opens the workspace `name`; `None` if there is none.
    ///
    /// # Errors
    ///
    /// Fails with the reason if it cannot be opened now.
    fn open(&self, name: &str) -> Result<Option<Workspace>, String>;

    /// Checks that workspaces can be opened, and written.
    ///
    /// # Errors
    ///
    /// Fails with the reason.
    fn check(&self) -> Result<(), String>;

    /// Returns the holder of the token `secret` in the workspace `name` as of the last few seconds, without waiting;
    /// `None` if that is unknown.
    fn recent_holder(&self, name: &str, secret: &str) -> Option<Holder>;

    /// Returns the holder of the token `secret` in the workspace `name`; `None` if it opens nothing there, be it that
    /// there is no such workspace.
    ///
    /// # Errors
    ///
    /// Fails with the reason if that cannot be found out now.
    fn holder(&self, name: &str, secret: &str) -> Result<Option<Holder>, String>;

    /// Returns the tokens of the workspace `name` as JSON, without their secrets; `None` if there is no such workspace.
    ///
    /// # Errors
    ///
    /// Fails with the reason if they cannot be read now.
    fn tokens(&self, name: &str) -> Result<Option<Value>, String>;

    /// Returns at most `limit` lines of the audit of the workspace `name` after the number `after`, as JSON; `None` if
    /// there is no such workspace.
    ///
    /// # Errors
    ///
    /// Fails with the reason if it cannot be read now.
    fn audit(&self, name: &str, after: u64, limit: usize) -> Result<Option<Value>, String>;

    /// Returns what records the calls of the request with the id `request`, by the holder `identity` of a token.
    fn recorder(&self, name: &str, identity: &str, request: &str) -> Arc<dyn Recorder>;
}

/// Holder of a token of one workspace.
pub struct Holder {
    /// Name of the token.
    pub name: Arc<str>,
    /// Whether it may write.
    pub may_write: bool,
    /// Whether it may see who else has access.
    pub is_owner: bool,
    /// Limit of the workspace's calls a minute at this server; `None` if it has none.
    pub calls_a_minute: Option<u64>,
}

/// An open workspace.
pub struct Workspace {
    /// Engine and tool set.
    pub served: Served,
    /// Dropped when the workspace is closed, such as its work in the background.
    pub kept: Box<dyn Any + Send + Sync>,
}

/// Workspaces of a server.
pub(super) struct Hosted {
    front: Front,
    workspaces: Arc<dyn Workspaces>,
    /// Makes the routes of one store.
    routes: fn(&Arc<Site>) -> Router,
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    /// Number of requests, as the time of the last use of a workspace.
    requests: AtomicU64,
    lookups: Semaphore,
}

/// Part of a workspace that its owner may see.
enum Listed {
    Tokens,
    Audit { after: u64, limit: usize },
}

impl Listed {
    /// Returns the part at an address below that of the workspace, with what the query says of it.
    ///
    /// # Errors
    ///
    /// Fails if a value of the query is no number.
    fn of(path: &str, query: Option<&str>) -> Result<Option<Listed>, RequestError> {
        match path {
            TOKENS => Ok(Some(Listed::Tokens)),
            AUDIT => {
                let number = |name: &str| {
                    let mut pairs = form_urlencoded::parse(query.unwrap_or_default().as_bytes());
                    let (_, value) = pairs.find(|(of, _)| of == name)?;
                    let bad = |_| RequestError::bad(format!("`{name}` is a number, not `{value}`"));
                    Some(value.parse::<u64>().map_err(bad))
                };
                let [most, usual] = AUDIT_LINES;
                let limit = number("limit").transpose()?;
                let limit = limit.map_or(usual, |limit| limit.min(most as u64) as usize);
                let after = number("after").transpose()?.unwrap_or(0);
                Ok(Some(Listed::Audit { after, limit }))
            }
            _ => Ok(None),
        }
    }
}

/// Sender of a request to a workspace.
struct Visitor {
    client: Client,
    /// Name of the holder in the audit of the workspace.
    identity: String,
    /// Whether it may see tokens and audit.
    is_owner: bool,
    /// Whether it has a token of the server, which opens all workspaces.
    is_operator: bool,
}

/// A workspace that is open, or about to be.
#[derive(Default)]
struct Slot {
    open: OnceCell<Open>,
    used: AtomicU64,
}

struct Open {
    site: Arc<Site>,
    router: Router,
    /// Dropped after the others.
    _kept: Box<dyn Any + Send + Sync>,
}

impl Hosted {
    /// Returns the workspaces behind `front`, each with `routes`.
    pub(super) fn new(
        front: &Front,
        workspaces: Arc<dyn Workspaces>,
        routes: fn(&Arc<Site>) -> Router,
    ) -> Hosted {
        Hosted {
            front: front.clone(),
            workspaces,
            routes,
            slots: Mutex::default(),
            requests: AtomicU64::new(0),
            lookups: Semaphore::new(MAX_LOOKUPS),
        }
    }

    /// Returns the routes of all workspaces.
    pub(super) fn router(self: &Arc<Self>) -> Router {
        Router::new()
            .route(guard::OPEN, get(health))
            .route(READY, get(ready))
            // No route: its parameters would be arguments of the call within the workspace.
            .fallback(answer)
            .with_state(Arc::clone(self))
    }

    /// Ends the sessions of all open workspaces.
    pub(super) fn stop(&self) {
        for slot in self.slots().values() {
            if let Some(open) = slot.open.get() {
                open.site.mcp.stop();
            }
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the open workspace `name`.
    async fn workspace(&self, name: &str) -> Result<Arc<Slot>, RequestError> {
        let slot = Arc::clone(self.slots().entry(name.to_owned()).or_default());
        let now = self.requests.fetch_add(1, Ordering::Relaxed);
        slot.used.store(now, Ordering::Relaxed);
        let opened = slot
            .open
            .get_or_try_init(|| self.open(name))
            .await
            .map(drop);
        if let Err(error) = opened {
            // Requests that wait for it make a slot anew.
            self.slots().remove(name);
            return Err(error);
        }
        self.close_unused();
        Ok(slot)
    }

    /// Returns who sends a request to the workspace `name`, `None` where its address names none: a `client` by a token
    /// of the server, else the holder of the `secret` that it shows.
    async fn visitor(
        &self,
        name: Option<&str>,
        client: Result<Client, RequestError>,
        secret: Option<&str>,
    ) -> Result<Visitor, RequestError> {
        let unknown = match client {
            Ok(client) => {
                return Ok(Visitor {
                    // No token of a workspace has such a name.
                    identity: format!("operator:{}", client.name),
                    client,
                    is_owner: true,
                    is_operator: true,
                });
            }
            Err(unknown) => unknown,
        };
        let (Some(name), Some(secret)) = (name, secret) else {
            return Err(unknown);
        };
        let holder = match self.workspaces.recent_holder(name, secret) {
            Some(holder) => holder,
            None => self.look_up(name, secret).await?.ok_or(unknown)?,
        };
        Ok(Visitor {
            identity: holder.name.to_string(),
            client: Client {
                // Tokens of two workspaces, and of the server, may have the same name.
                name: format!("{name}/{}", holder.name).into(),
                rights: match holder.may_write {
                    true => Rights::ReadWrite,
                    false => Rights::ReadOnly,
                },
                is_owner: false,
                quota: holder.calls_a_minute.map(|calls_a_minute| CallQuota {
                    workspace: Arc::from(name),
                    calls_a_minute,
                }),
            },
            is_owner: holder.is_owner,
            is_operator: false,
        })
    }

    async fn look_up(&self, name: &str, secret: &str) -> Result<Option<Holder>, RequestError> {
        let _permit = self
            .lookups
            .acquire()
            .await
            .map_err(|_| RequestError::internal())?;
        let (workspaces, name, secret) = (
            Arc::clone(&self.workspaces),
            name.to_owned(),
            secret.to_owned(),
        );
        let looked = move || workspaces.holder(&name, &secret);
        let holder = tokio::task::spawn_blocking(looked).await;
        holder
            .map_err(|_| RequestError::internal())?
            .map_err(|why| {
                tracing::error!("a token cannot be looked for: {why}");
                sequence::unavailable("the token cannot be checked now")
            })
    }

    /// Returns what the owner of a workspace may see of it.
    async fn list(
        &self,
        name: String,
        what: Listed,
        is_read: bool,
    ) -> Result<Response, RequestError> {
        if !is_read {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            let message = "this address does not answer that method";
            return Err(RequestError::new(status, "METHOD_NOT_ALLOWED", message));
        }
        let workspaces = Arc::clone(&self.workspaces);
        let member = match what {
            Listed::Tokens => "tokens",
            Listed::Audit { .. } => "lines",
        };
        let read = move || match what {
            Listed::Tokens => workspaces.tokens(&name),
            Listed::Audit { after, limit } => workspaces.audit(&name, after, limit),
        };
        let listed = tokio::task::spawn_blocking(read).await;
        let listed = listed
            .map_err(|_| RequestError::internal())?
            .map_err(|why| {
                tracing::error!("{member} of a workspace cannot be listed: {why}");
                sequence::unavailable("the database does not answer now")
            })?;
        let listed = listed.ok_or_else(no_workspace)?;
        let body = serde_json::to_vec(&serde_json::json!({ member: listed }));
        let body = body.map_err(|_| RequestError::internal())?;
        super::answer::json_of(StatusCode::OK, body, &self.front.outgoing).await
    }

    async fn open(&self, name: &str) -> Result<Open, RequestError> {
        let (workspaces, name) = (Arc::clone(&self.workspaces), name.to_owned());
        let opened = tokio::task::spawn_blocking(move || workspaces.open(&name)).await;
        let opened = opened.map_err(|_| RequestError::internal())?;
        let opened = opened.map_err(|why| {
            tracing::error!("a workspace cannot be opened: {why}");
            sequence::unavailable("the workspace cannot be opened now")
        })?;
        let workspace = opened.ok_or_else(no_workspace)?;
        let site = Arc::new(Site::new(&self.front, workspace.served));
        Ok(Open {
            router: (self.routes)(&site),
            site,
            _kept: workspace.kept,
        })
    }

    /// Returns why no requests should be sent here; nothing if they should.
    fn reasons_against(&self) -> Vec<String> {
        if *self.front.stopping.borrow() {
            return vec!["the server stops".to_owned()];
        }
        if let Err(why) = self.workspaces.check() {
            return vec![why];
        }
        let slots: Vec<_> = self.slots().values().cloned().collect();
        let open = slots.iter().filter_map(|slot| slot.open.get());
        // Names of workspaces are told to nobody without a token.
        let behind = open.filter_map(|open| {
            let checked = live::check_caught_up(&open.site.served.engine.live);
            checked
                .inspect_err(|why| tracing::info!("not ready: {why}"))
                .err()
        });
        match behind.count() {
            0 => Vec::new(),
            count => vec![format!("{count} open workspaces have not caught up")],
        }
    }

    /// Closes the workspaces that were not asked for longest, if there are too many.
    fn close_unused(&self) {
        let mut slots = self.slots();
        let mut closed = Vec::new();
        while slots.len() > MAX_OPEN {
            // One that answers has another owner.
            let idle = slots
                .iter()
                .filter(|(_, slot)| Arc::strong_count(slot) == 1)
                .min_by_key(|(_, slot)| slot.used.load(Ordering::Relaxed));
            let Some(name) = idle.map(|(name, _)| name.clone()) else {
                break;
            };
            closed.extend(slots.remove(&name));
        }
        drop(slots);
        if !closed.is_empty() {
            // Work in the background is waited for.
            drop(tokio::task::spawn_blocking(move || drop(closed)));
        }
    }
}

async fn health(State(hosted): State<Arc<Hosted>>, request: Request<Body>) -> Response {
    match guard::check_host(&hosted.front.names, &request) {
        Ok(()) => super::answer::small(StatusCode::OK, &serde_json::json!({"status": "ok"})),
        Err(error) => refused(&hosted, "host", error),
    }
}

/// Answers whether requests should be sent here: the database answers, and the open workspaces have caught up.
async fn ready(State(hosted): State<Arc<Hosted>>, request: Request<Body>) -> Response {
    if let Err(error) = guard::check_host(&hosted.front.names, &request) {
        return refused(&hosted, "host", error);
    }
    let checked = tokio::task::spawn_blocking(move || hosted.reasons_against()).await;
    let reasons = checked.unwrap_or_else(|_| vec!["the check broke down".to_owned()]);
    let (status, word) = match reasons.is_empty() {
        true => (StatusCode::OK, "ready"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "not ready"),
    };
    let body = serde_json::json!({"status": word, "reasons": reasons});
    super::answer::small(status, &body)
}

/// Answers a request to a workspace.
async fn answer(State(hosted): State<Arc<Hosted>>, mut request: Request<Body>) -> Response {
    if let Err((layer, error)) = guard::check_front(&hosted.front, &request) {
        return refused(&hosted, layer, error);
    }
    let parts = parts_of(request.uri());
    let name = parts.as_ref().map(|(name, _)| name.as_str());
    let client = guard::check_token(&hosted.front, &request);
    let secret = guard::shown_secret(request.headers()).map(str::to_owned);
    let visitor = match hosted.visitor(name, client, secret.as_deref()).await {
        Ok(visitor) => visitor,
        Err(error) => return refused(&hosted, "token", error),
    };
    let Some((name, rest)) = parts else {
        return none().into_response();
    };
    let own = rest
        .path()
        .strip_prefix(BASE)
        .map(|path| &path[1.min(path.len())..]);
    let listed = match own.map(|own| Listed::of(own, rest.query())).transpose() {
        Ok(listed) => listed.flatten(),
        Err(error) => return error.into_response(),
    };
    // The figures of a server are of all its workspaces.
    let is_permitted = match &listed {
        Some(_) => visitor.is_owner,
        None => rest.path() != "/metrics" || visitor.is_operator,
    };
    let id = guard::request_id(request.headers());
    let recorder = hosted.workspaces.recorder(&name, &visitor.identity, &id);
    if !is_permitted {
        recorder.record(own.unwrap_or("metrics")).refuse();
        let message = "this token does not open this address: ask the owner of the workspace";
        let error = RequestError::new(StatusCode::FORBIDDEN, "FORBIDDEN", message);
        return refused(&hosted, "rights", error);
    }
    if let Some(listed) = listed {
        let record = recorder.record(own.unwrap_or_default());
        let answered = hosted
            .list(name, listed, request.method() == Method::GET)
            .await;
        record.run(&mut || CallOutcome::of(answered.is_ok(), ""));
        return answered.unwrap_or_else(IntoResponse::into_response);
    }
    let slot = match hosted.workspace(&name).await {
        Ok(slot) => slot,
        Err(error) => return error.into_response(),
    };
    let Some(open) = slot.open.get() else {
        return RequestError::internal().into_response();
    };
    *request.uri_mut() = rest;
    request.extensions_mut().insert(visitor.client);
    request.extensions_mut().insert(Recording(recorder));
    if let Ok(id) = HeaderValue::from_str(&id) {
        // The reply names the request as the audit does.
        request.headers_mut().insert(guard::REQUEST_ID, id);
    }
    let answered = open.router.clone().oneshot(request).await;
    answered.unwrap_or_else(|never| match never {})
}

fn refused(hosted: &Hosted, layer: &'static str, error: RequestError) -> Response {
    hosted.front.metrics.refused(layer);
    error.into_response()
}

fn no_workspace() -> RequestError {
    let message = "there is no workspace of that name";
    RequestError::new(StatusCode::NOT_FOUND, Refusal::NOT_FOUND, message)
}

fn none() -> RequestError {
    let message = "there is nothing at this address";
    RequestError::new(StatusCode::NOT_FOUND, Refusal::NOT_FOUND, message)
}

/// Splits an address into the name of the workspace and the address within it; `None` if nothing is served there.
fn parts_of(uri: &Uri) -> Option<(String, Uri)> {
    let (name, _) = uri.path().strip_prefix(PREFIX)?.split_once('/')?;
    let within = &uri.path()[PREFIX.len() + name.len()..];
    let is_below = |top: &str| {
        let rest = within.strip_prefix(top);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if !["/mcp", BASE, "/metrics"].into_iter().any(is_below) {
        return None;
    }
    let query = uri
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    let rest = format!("{within}{query}").parse().ok()?;
    Some((name.to_owned(), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: Option<(&str, &str)>) {
        let found = parts_of(&address.parse().unwrap());
        let found = found.map(|(name, rest)| (name, rest.to_string()));
        let expected = expected.map(|(name, rest)| (name.to_owned(), rest.to_owned()));
        assert_eq!(found, expected, "{address}");
    }

    #[test]
    fn an_address_names_a_workspace_and_what_is_served_of_it() {
        check("/w/atlas/mcp", Some(("atlas", "/mcp")));
        check(
            "/w/atlas/api/v1/stats?x=1&y",
            Some(("atlas", "/api/v1/stats?x=1&y")),
        );
        check("http://host/w/atlas/metrics", Some(("atlas", "/metrics")));
        check("/w/%61tlas/mcp", Some(("%61tlas", "/mcp")));
        check("/w/../w/atlas/mcp", None);
        check("/w/atlas", None);
        check("/w/atlas/", None);
        check("/w/atlas/mcpx", None);
        check("/w/atlas/page", None);
        check("/w/atlas/api/v2", None);
        check("/atlas/mcp", None);
    }
}
