//! Many workspaces at one server: each is answered below `/w/NAME`, as a store by itself is.
//!
//! Guarantees: host, origin and token of a request are checked before its workspace is looked for, so that nobody
//! without a token learns which there are; a token of one workspace gets the same answer from every other, also from
//! one that does not exist; a request is answered by the engine of the workspace that its address names, and by no
//! other. Where an issuer of tokens is trusted, a refusal for want of a token leads there. Open workspaces are kept,
//! and those that were not asked for longest are closed where there are many. MCP, the REST interface, metrics and the
//! page for people are served.

mod browsers;
mod ended_body;
pub(super) mod exchange;
pub(super) mod protected_resource;
pub(super) mod routes;

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::http::header::CONTENT_TYPE;
use ::http::{HeaderValue, Request, StatusCode, Uri};
use axum::Router;
use axum::body::Body;
use axum::response::Response;
use serde_json::Value;
use tokio::sync::{OnceCell, Semaphore};
use tower::ServiceExt;

pub use protected_resource::ProtectedResource;

use self::ended_body::EndedBody;
use super::admission::Recording;
use super::answer::{RequestError, sequence};
use super::client::{CallLeases, CallQuota, Client};
use super::connection::Phase;
use super::guard;
use super::login::sessions::Sessions;
use super::metrics::Load;
use super::site::{Front, Site};
use super::tokens::Rights;
use crate::dialect::{Recorder, Refusal};
use crate::engine::live;
use crate::mcp::Served;

/// Maximum number of open workspaces, beside those that answer a request just now.
const MAX_OPEN: usize = 64;

/// Maximum number of tokens that are looked for at once: guesses must not take the connections of the others.
const MAX_LOOKUPS: usize = 4;

/// Maximum number of workspaces that are opened at once: other calls need the threads, too.
const MAX_OPENINGS: usize = 8;

/// Time in which a workspace that is being opened or indexed keeps requests from this server. One that takes longer
/// would send the requests to all others away, to servers that must open those first.
const OPENING_COUNTS: Duration = Duration::from_secs(10);

/// Time for which what `/ready` said holds, and for which it is said again while it is being checked.
const READY_HOLDS: Duration = Duration::from_secs(1);
const READY_AT_MOST: Duration = Duration::from_secs(10);

/// Interval at which the token of an open stream of events is asked for again.
const TOKEN_HOLDS: Duration = Duration::from_secs(15);

/// Address of the tokens of a workspace, below that of the workspace.
const TOKENS: &str = "tokens";

/// Address of the groups of the issuer, below that of the workspace.
const GROUPS: &str = "groups";

/// Address of the audit of a workspace, below that of the workspace.
const AUDIT: &str = "audit";

/// Maximum number of lines of the audit in one answer, and the number where none is asked for.
const AUDIT_LINES: [usize; 2] = [1000, 100];

/// Beginning of the addresses of workspaces.
const PREFIX: &str = "/w/";

/// Workspaces that a server can open.
pub trait Workspaces: CallLeases {
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

    /// Returns the holder of the token `secret`, of the workspace `name` or of the issuer; `None` if it opens nothing
    /// there, be it that there is no such workspace.
    ///
    /// # Errors
    ///
    /// Fails with the reason if that cannot be found out now.
    fn holder(&self, name: &str, secret: &str) -> Result<Option<Holder>, String>;

    /// Returns where tokens for the workspace `name` are to be had; `None` if no issuer is trusted, or if `name` can name
    /// no workspace. Whether there is one makes no difference.
    fn protected_resource(&self, name: &str) -> Option<ProtectedResource>;

    /// Returns the tokens of the workspace `name` as JSON, without their secrets; `None` if there is no such workspace.
    ///
    /// # Errors
    ///
    /// Fails with the reason if they cannot be read now.
    fn tokens(&self, name: &str) -> Result<Option<Value>, String>;

    /// Returns the groups of the issuer that have a role in the workspace `name`, as JSON; `None` if there is no such
    /// workspace.
    ///
    /// # Errors
    ///
    /// Fails with the reason if they cannot be read now.
    fn groups(&self, name: &str) -> Result<Option<Value>, String>;

    /// Returns at most `limit` lines of the audit of the workspace `name` after the number `after`, as JSON; `None` if
    /// there is no such workspace.
    ///
    /// # Errors
    ///
    /// Fails with the reason if it cannot be read now.
    fn audit(&self, name: &str, after: u64, limit: usize) -> Result<Option<Value>, String>;

    /// Returns the name of the server that the workspace `name` prefers, so that its index is warm there; `None` if that is
    /// not known. Whether there is such a workspace makes no difference.
    fn preferred_server(&self, name: &str) -> Option<String>;

    /// Removes indexes of workspaces from the cache if it is too large, of none for which `is_open` holds.
    fn trim_cache(&self, is_open: &dyn Fn(&str) -> bool);

    /// Has no workspace prefer this server any more, which is about to end.
    fn leave(&self);

    /// Returns what records the calls of the request with the id `request`, by the holder `identity` of a token; `None`
    /// if `name` can name no workspace.
    fn recorder(&self, name: &str, identity: &str, request: &str) -> Option<Arc<dyn Recorder>>;
}

/// Holder of a token that opens one workspace.
pub struct Holder {
    /// Name of the token, or of the holder at the issuer.
    pub name: Arc<str>,
    /// Whether it may write.
    pub may_write: bool,
    /// Whether it may see who else has access.
    pub is_owner: bool,
    /// Limit of the workspace's calls a minute, at all servers; `None` if it has none.
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
    /// The same of signed tokens, which may wait for their issuer.
    verifications: Semaphore,
    openings: Semaphore,
    /// Sessions of browsers, of all workspaces.
    sessions: Sessions,
    /// State of the answer of `/ready`.
    readiness: Mutex<Readiness>,
}

/// Part of a workspace that its owner may see.
enum Listed {
    Tokens,
    Groups,
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
            GROUPS => Ok(Some(Listed::Groups)),
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
    /// Token of the workspace that it shows.
    secret: Option<String>,
}

/// A workspace that is open, or about to be.
struct Slot {
    open: OnceCell<Open>,
    /// Time of the request for which it is opened.
    since: Instant,
    used: AtomicU64,
}

impl Slot {
    fn new() -> Arc<Slot> {
        Arc::new(Slot {
            open: OnceCell::new(),
            since: Instant::now(),
            used: AtomicU64::new(0),
        })
    }

    /// Returns whether a stream of its events is open.
    fn is_watched(&self) -> bool {
        let open = self.open.get();
        open.is_some_and(|open| open.site.is_open.receiver_count() > 0)
    }
}

struct Open {
    site: Arc<Site>,
    router: Router,
    /// Dropped after the others.
    _kept: Box<dyn Any + Send + Sync>,
}

/// State of the answer to whether requests should be sent here.
#[derive(Default)]
struct Readiness {
    /// Time of the last answer, and the reasons against it.
    last: Option<(Instant, Vec<String>)>,
    /// Begin of the last look; `None` if none is running.
    looks_since: Option<Instant>,
    /// Begin of the first look since the last answer; `None` if none is running.
    unanswered_since: Option<Instant>,
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
            verifications: Semaphore::new(MAX_LOOKUPS),
            openings: Semaphore::new(MAX_OPENINGS),
            sessions: Sessions::of_workspaces(),
            readiness: Mutex::default(),
        }
    }

    /// Has workspaces prefer other servers as soon as this one is asked to end.
    pub(super) fn leave_at_the_end(&self) {
        let (mut phase, workspaces) = (self.front.phase.clone(), Arc::clone(&self.workspaces));
        tokio::spawn(async move {
            // Without a sender the server is gone, too.
            drop(phase.wait_for(|phase| *phase > Phase::Serving).await);
            drop(tokio::task::spawn_blocking(move || workspaces.leave()));
        });
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
    async fn workspace(self: &Arc<Hosted>, name: &str) -> Result<Arc<Slot>, RequestError> {
        let slot = Arc::clone(
            self.slots()
                .entry(name.to_owned())
                .or_insert_with(Slot::new),
        );
        let now = self.requests.fetch_add(1, Ordering::Relaxed);
        slot.used.store(now, Ordering::Relaxed);
        if slot.open.get().is_none() {
            let (hosted, opened, name) = (Arc::clone(self), Arc::clone(&slot), name.to_owned());
            // On a task of its own: a client that goes away must not throw away what was opened for it.
            let opening = tokio::spawn(async move { hosted.open_slot(&opened, &name).await });
            opening.await.map_err(|_| RequestError::internal())??;
            let hosted = Arc::clone(self);
            drop(tokio::task::spawn_blocking(move || {
                let is_open = |name: &str| hosted.slots().contains_key(name);
                hosted.workspaces.trim_cache(&is_open);
            }));
        }
        self.close_unused();
        Ok(slot)
    }

    async fn open_slot(&self, slot: &Arc<Slot>, name: &str) -> Result<(), RequestError> {
        let opened = slot
            .open
            .get_or_try_init(|| self.open(name))
            .await
            .map(drop);
        let mut slots = self.slots();
        let is_known = slots
            .get(name)
            .is_some_and(|known| Arc::ptr_eq(known, slot));
        if opened.is_err() && is_known {
            slots.remove(name);
        } else if opened.is_ok() && !slots.contains_key(name) {
            // Another attempt failed before this one succeeded.
            slots.insert(name.to_owned(), Arc::clone(slot));
        }
        drop(slots);
        opened
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
                    secret: None,
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
                    leases: Arc::clone(&self.workspaces) as Arc<dyn CallLeases>,
                }),
            },
            is_owner: holder.is_owner,
            is_operator: false,
            secret: Some(secret.to_owned()),
        })
    }

    async fn look_up(&self, name: &str, secret: &str) -> Result<Option<Holder>, RequestError> {
        let lookups = match is_signed(secret) {
            true => &self.verifications,
            false => &self.lookups,
        };
        let _permit = lookups
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
            Listed::Tokens => TOKENS,
            Listed::Groups => GROUPS,
            Listed::Audit { .. } => "lines",
        };
        let read = move || match what {
            Listed::Tokens => workspaces.tokens(&name),
            Listed::Groups => workspaces.groups(&name),
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
        let base = base_of(name);
        let (workspaces, name) = (Arc::clone(&self.workspaces), name.to_owned());
        let permit = self.openings.acquire().await;
        let _permit = permit.map_err(|_| RequestError::internal())?;
        let opened = tokio::task::spawn_blocking(move || workspaces.open(&name)).await;
        let opened = opened.map_err(|_| RequestError::internal())?;
        let opened = opened.map_err(|why| {
            tracing::error!("a workspace cannot be opened: {why}");
            sequence::unavailable("the workspace cannot be opened now")
        })?;
        let workspace = opened.ok_or_else(no_workspace)?;
        let site = Site::of_workspace(&self.front, workspace.served, base);
        let site = Arc::new(site);
        Ok(Open {
            router: (self.routes)(&site),
            site,
            _kept: workspace.kept,
        })
    }

    /// Has the workspace `name` answer a request of `visitor` at the address `within` it, whose calls `recorder` keeps under
    /// the id of the request. A stream of events ends with the visitor's token.
    async fn pass_on(
        self: &Arc<Hosted>,
        (name, within): (&str, Uri),
        visitor: Visitor,
        (recorder, id): (Arc<dyn Recorder>, &str),
        mut request: Request<Body>,
    ) -> Result<Response, RequestError> {
        let slot = self.workspace(name).await?;
        let open = slot.open.get().ok_or_else(RequestError::internal)?;
        *request.uri_mut() = within;
        request.extensions_mut().insert(visitor.client);
        request.extensions_mut().insert(Recording(recorder));
        if let Ok(id) = HeaderValue::from_str(id) {
            // The reply names the request as the audit does.
            request.headers_mut().insert(guard::REQUEST_ID, id);
        }
        let answered = open.router.clone().oneshot(request).await;
        let response = answered.unwrap_or_else(|never| match never {});
        Ok(match visitor.secret {
            Some(secret) if is_stream(&response) => {
                let revoked = until_revoked(Arc::clone(self), name.to_owned(), secret);
                response.map(|body| Body::new(EndedBody::new(body, revoked)))
            }
            _ => response,
        })
    }

    /// Returns the load of the server at this moment.
    fn load(&self) -> Load {
        let slots: Vec<_> = self.slots().values().cloned().collect();
        let sites = slots.iter().filter_map(|slot| Some(&slot.open.get()?.site));
        let (mut sessions, mut workspaces) = (0, [0; 3]);
        for site in sites {
            sessions += site.mcp.sessions();
            if let Some(class) = site.class() {
                workspaces[class as usize] += 1;
            }
        }
        let concurrency = &self.front.admission.concurrency;
        Load {
            sessions,
            reads: concurrency.load(false),
            writes: concurrency.load(true),
            workspaces: Some(workspaces),
        }
    }

    /// Returns why no requests should be sent here; nothing if they should.
    fn reasons_against(&self) -> Vec<String> {
        if self.front.is_ending() {
            return vec!["the server ends".to_owned()];
        }
        // Whoever asks needs no token: however many do, the database is asked once in a while.
        // Nor does one wait for another, with a thread that calls need.
        let readiness = || {
            self.readiness
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
        };
        let mut known = readiness();
        let is_recent = |at: Option<Instant>| at.is_some_and(|at| at.elapsed() < READY_AT_MOST);
        match &known.last {
            Some((at, reasons)) if at.elapsed() < READY_HOLDS => return reasons.clone(),
            Some((_, reasons)) if is_recent(known.unanswered_since) => return reasons.clone(),
            _ if is_recent(known.looks_since) => return vec!["it is being checked".to_owned()],
            _ => {}
        }
        let now = Instant::now();
        known.looks_since = Some(now);
        known.unanswered_since.get_or_insert(now);
        drop(known);
        let reasons = self.look_for_reasons();
        let mut known = readiness();
        // Another one may have begun later, where this one took long.
        if known.looks_since == Some(now) {
            *known = Readiness {
                last: Some((Instant::now(), reasons.clone())),
                ..Readiness::default()
            };
        }
        reasons
    }

    fn look_for_reasons(&self) -> Vec<String> {
        if let Err(why) = self.workspaces.check() {
            return vec![why];
        }
        let slots: Vec<_> = self.slots().values().cloned().collect();
        let is_new = |slot: &Slot| slot.since.elapsed() < OPENING_COUNTS;
        let opening = slots
            .iter()
            .filter(|slot| slot.open.get().is_none() && is_new(slot));
        let opening = opening.count();
        if opening > 0 {
            return vec![format!("{opening} workspaces are being opened")];
        }
        // Names of workspaces are told to nobody without a token.
        let behind = slots.iter().filter(|slot| {
            slot.open.get().is_some_and(|open| {
                let live = &open.site.served.engine.live;
                let checked = live::check_caught_up(live);
                if let Err(why) = &checked {
                    tracing::info!("not ready: {why}");
                }
                checked.is_err() || is_new(slot) && !live::is_indexed(live)
            })
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
                // One that somebody watches would be asked for again at once.
                .min_by_key(|(_, slot)| (slot.is_watched(), slot.used.load(Ordering::Relaxed)));
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

/// Returns whether a response is a stream of events, which may last for days.
fn is_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE);
    kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"))
}

/// Returns when the token `secret` does not open the workspace `name` any more.
async fn until_revoked(hosted: Arc<Hosted>, name: String, secret: String) {
    loop {
        tokio::time::sleep(TOKEN_HOLDS).await;
        // While it cannot be asked for, nobody has revoked it.
        if let Ok(None) = hosted.look_up(&name, &secret).await {
            return;
        }
    }
}

/// Returns whether a secret has the form of a signed token, three parts (RFC 7519), which no secret of a workspace has.
pub fn is_signed(secret: &str) -> bool {
    secret.split('.').count() == 3
}

/// Returns the path of the page of the workspace `name`.
fn base_of(name: &str) -> String {
    format!("{PREFIX}{name}/")
}

fn no_workspace() -> RequestError {
    let message = "there is no workspace of that name";
    RequestError::new(StatusCode::NOT_FOUND, Refusal::NOT_FOUND, message)
}
