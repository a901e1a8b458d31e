//! Routes of the page: addresses → views, forms → actions.

use std::sync::Arc;

use ::http::{Request, StatusCode, header};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};

use super::answers::{failed, later, refused, see};
use super::{answers, guarding, upload};
use crate::dialect::{CallOutcome, CallRecord, Refusal, ToolError};
use crate::engine::live;
use crate::http::admission::{AdmissionError, CALL_TIMEOUT, recorded, run_recorded};
use crate::http::answer::{RequestError, html_of, sequence};
use crate::http::client::{Client, Peer};
use crate::http::events::Events;
use crate::http::login::codes;
use crate::http::login::sessions::BrowserSession;
use crate::http::reading;
use crate::http::site::Site;
use crate::http::tokens::Rights;
use crate::page;
use crate::page::{Acted, Action, OfFolder, PageError, Parameters, View, Visit, Visitor};

type Shared = State<Arc<Site>>;

const NO_SESSION: &str = "this needs a session";

const FOREIGN_FORM: &str = "this form is not one of your session: load the page again";

/// Maximum number of characters of the name of an action in the audit: names of actions are shorter.
const MOST_ACTION: usize = 20;

/// Adds the routes of the page that every place for memories has.
pub fn add_routes(router: Router<Arc<Site>>) -> Router<Arc<Site>> {
    router
        .route(
            "/",
            get(|site, request| show(site, View::Timeline, request)),
        )
        .route(
            "/search",
            get(|site, request| show(site, View::Search, request)),
        )
        .route(
            "/review",
            get(|site, request| show(site, View::Review, request)),
        )
        .route(
            "/brief",
            get(|site, request| show(site, View::Brief, request)),
        )
        .route(
            "/store",
            get(|site, request| show(site, View::Store, request)),
        )
        .route(
            "/memory/{id}",
            get(|site: Shared, Path(id): Path<String>, request| {
                show(site, View::Memory(id), request)
            }),
        )
        .route("/memory/{id}/{view}", get(of_memory).post(act_on_memory))
        .route("/review/{action}", post(act_on_review))
        .route("/live", get(live))
}

/// Adds the routes of the page that a store in a folder has besides.
pub fn add_routes_of_folder(router: Router<Arc<Site>>) -> Router<Arc<Site>> {
    router
        .route(
            "/import",
            get(|site, request| show(site, View::Import, request)),
        )
        .route(
            "/import/perform",
            post(|site, request| act(site, Doing::Import, request)),
        )
        .route(
            "/store/check",
            post(|site, request| act(site, Doing::Check, request)),
        )
        .route("/import/upload", post(receive))
        .route("/login", get(log_in))
        .route("/logout", post(log_out))
        .route("/assets/{name}", get(asset))
}

/// Action of a form, by itself.
enum Doing {
    Memory(String, String),
    Review(String),
    Import,
    Check,
}

impl Doing {
    fn action(&self) -> Action<'_> {
        match self {
            Doing::Memory(id, action) => Action::Memory(id, action),
            Doing::Review(action) => Action::Review(action),
            Doing::Import => Action::Import,
            Doing::Check => Action::Check,
        }
    }

    /// Returns the name of the action in the audit.
    fn name(&self) -> String {
        match self {
            Doing::Memory(_, action) => name_of("memory", action),
            Doing::Review(action) => name_of("review", action),
            Doing::Import => "page/import".to_owned(),
            Doing::Check => "page/check".to_owned(),
        }
    }
}

/// Returns the name of an action that an address names, which may be anything.
fn name_of(of: &str, action: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte == b'-';
    match action.len() <= MOST_ACTION && action.bytes().all(is_plain) {
        true => format!("page/{of}/{action}"),
        false => format!("page/{of}"),
    }
}

/// Returns the name of a view in the audit.
fn name_of_view(view: &View) -> &'static str {
    match view {
        View::Timeline => "page/timeline",
        View::Search => "page/search",
        View::Memory(_) => "page/memory",
        View::Raw(_) => "page/raw",
        View::History(_) => "page/history",
        View::Edit(_) => "page/edit",
        View::Review => "page/review",
        View::Brief => "page/brief",
        View::Store => "page/store",
        View::Import => "page/import",
    }
}

async fn of_memory(
    site: Shared,
    Path((id, view)): Path<(String, String)>,
    request: Request<Body>,
) -> Response {
    let view = match view.as_str() {
        "raw" => View::Raw(id),
        "history" => View::History(id),
        "edit" => View::Edit(id),
        _ => {
            let message = "there is no such view of a memory";
            return failed(&site.base, StatusCode::NOT_FOUND, message);
        }
    };
    show(site, view, request).await
}

async fn act_on_memory(
    site: Shared,
    Path((id, action)): Path<(String, String)>,
    request: Request<Body>,
) -> Response {
    act(site, Doing::Memory(id, action), request).await
}

async fn act_on_review(
    site: Shared,
    Path(action): Path<String>,
    request: Request<Body>,
) -> Response {
    act(site, Doing::Review(action), request).await
}

/// Shows a view.
async fn show(State(site): Shared, view: View, request: Request<Body>) -> Response {
    let Some(guest) = Guest::of(&site, &request) else {
        return failed(&site.base, StatusCode::UNAUTHORIZED, NO_SESSION);
    };
    let call = PageCall {
        record: recorded(request.extensions(), name_of_view(&view)),
        writes: false,
    };
    let parameters = Parameters::parse(request.uri().query().unwrap_or_default());
    let run = move |site: &Site, guest: &Guest| {
        let visitor = guest.visitor();
        let visit = visit(site, (guest, &visitor), &parameters);
        let shown = page::view(&visit, &view)?;
        Ok((Reply::Document(StatusCode::OK, shown), visit.into_named()))
    };
    let shown = with_turn(&site, guest, call, run).await;
    shown.unwrap_or_else(|error| refused(&site.base, &error))
}

/// Does what a form asks for, if it is one of this session.
async fn act(State(site): Shared, doing: Doing, request: Request<Body>) -> Response {
    let Some(guest) = Guest::of(&site, &request) else {
        return failed(&site.base, StatusCode::UNAUTHORIZED, NO_SESSION);
    };
    let call = PageCall {
        record: recorded(request.extensions(), &doing.name()),
        writes: true,
    };
    if !guest.client.may_write() {
        // Before its body is read.
        call.refuse();
        return refused(&site.base, &AdmissionError::OnlyReads.into());
    }
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    let is_large = length.is_none_or(|length| length > reading::MOST_BYTES);
    let large = Arc::clone(&site.large);
    let large = is_large.then(|| large.try_acquire_owned()).transpose();
    let Ok(_large) = large else {
        return refused(&site.base, &RequestError::overload());
    };
    let body = match reading::read(request.into_body(), reading::MOST_BYTES * 8).await {
        Ok(body) => body,
        Err(error) => return refused(&site.base, &error),
    };
    let form = Parameters::parse(&String::from_utf8_lossy(&body));
    if !guest.session.sent(form.get("token").unwrap_or_default()) {
        call.refuse();
        return failed(&site.base, StatusCode::FORBIDDEN, FOREIGN_FORM);
    }
    let token = guest.session.form_token.clone();
    let sent = Arc::new((doing, form));
    let done = Arc::clone(&sent);
    let run = move |site: &Site, guest: &Guest| {
        let (visitor, none) = (guest.visitor(), Parameters::default());
        let (doing, form) = &*done;
        let visit = visit(site, (guest, &visitor), &none);
        let reply = match page::act(&visit, doing.action(), form)? {
            Acted::Done(address) => Reply::See(address),
            Acted::Shown(document) => Reply::Document(StatusCode::OK, document),
            Acted::Undecided(document) => Reply::Document(StatusCode::CONFLICT, document),
        };
        Ok((reply, visit.into_named()))
    };
    match with_turn(&site, guest, call, run).await {
        Ok(response) => response,
        Err(error) => not_done(&site, &token, &sent, &error).await,
    }
}

/// Returns the answer to a form that failed: a text that somebody typed is in a form again.
async fn not_done(
    site: &Site,
    token: &str,
    (doing, form): &(Doing, Parameters),
    error: &RequestError,
) -> Response {
    let is_gone = error.status == StatusCode::NOT_FOUND;
    let why = (error.message.as_str(), is_gone);
    let Some(document) = page::unsent(&site.base, token, doing.action(), form, why) else {
        return refused(&site.base, error);
    };
    match html_of(error.status, document, &site.outgoing).await {
        Ok(response) => later(response, error),
        Err(overload) => refused(&site.base, &overload),
    }
}

/// Receives a file, and shows what its import would do.
async fn receive(State(site): Shared, request: Request<Body>) -> Response {
    let Some(guest) = Guest::of(&site, &request) else {
        return failed(&site.base, StatusCode::UNAUTHORIZED, NO_SESSION);
    };
    let call = PageCall {
        record: recorded(request.extensions(), "page/upload"),
        writes: true,
    };
    let shown = request.headers().get("x-form-token");
    let shown = shown.and_then(|shown| shown.to_str().ok());
    if !guest.session.sent(shown.unwrap_or_default()) {
        return failed(&site.base, StatusCode::FORBIDDEN, FOREIGN_FORM);
    }
    if !guest.client.may_write() {
        let message = "this session may only read";
        return failed(&site.base, StatusCode::FORBIDDEN, message);
    }
    let parameters = Parameters::parse(request.uri().query().unwrap_or_default());
    let upload = match upload::receive(&parameters, request.into_body()).await {
        Ok(upload) => upload,
        Err(error) => return refused(&site.base, &error),
    };
    let Ok(id) = crate::http::proof::nonce() else {
        return no_random_bytes(&site);
    };
    let run = move |site: &Site, guest: &Guest| {
        let visitor = guest.visitor();
        let visit = visit(site, (guest, &visitor), &parameters);
        let shown = page::uploaded(&visit, &id, upload)?;
        Ok((Reply::Document(StatusCode::OK, shown), visit.into_named()))
    };
    let shown = with_turn(&site, guest, call, run).await;
    shown.unwrap_or_else(|error| refused(&site.base, &error))
}

/// Logs a browser in by a code.
async fn log_in(State(site): Shared, request: Request<Body>) -> Response {
    let parameters = Parameters::parse(request.uri().query().unwrap_or_default());
    let Some(code) = parameters.get("code") else {
        return Html(page::entrance(&site.base, false)).into_response();
    };
    let state = site.served.engine.live.state().to_owned();
    let Some(rights) = codes::redeem(&state, code) else {
        let document = page::entrance(&site.base, true);
        return (StatusCode::UNAUTHORIZED, Html(document)).into_response();
    };
    match site.begin_session(rights) {
        Some(cookie) => {
            let next = parameters.get("memory");
            let next = next.map_or_else(String::new, page::address_of_memory);
            ([(header::SET_COOKIE, cookie)], see(&site.base, &next)).into_response()
        }
        None => no_random_bytes(&site),
    }
}

fn no_random_bytes(site: &Site) -> Response {
    let message = "this system gives no random bytes";
    failed(&site.base, StatusCode::INTERNAL_SERVER_ERROR, message)
}

async fn log_out(State(site): Shared, request: Request<Body>) -> Response {
    let (headers, guest) = (request.headers().clone(), Guest::of(&site, &request));
    let body = reading::read(request.into_body(), reading::MOST_BYTES).await;
    let form = Parameters::parse(&String::from_utf8_lossy(&body.unwrap_or_default()));
    let is_own = |guest: Guest| guest.session.sent(form.get("token").unwrap_or_default());
    let folder = site.folder.as_ref().filter(|_| guest.is_some_and(is_own));
    let Some(folder) = folder else {
        return failed(&site.base, StatusCode::FORBIDDEN, FOREIGN_FORM);
    };
    let cookie = folder.sessions.end(&headers, &site.base);
    ([(header::SET_COOKIE, cookie)], see(&site.base, "login")).into_response()
}

/// Opens a stream of changes; of those since the state that a view names, it tells first that there are some.
async fn live(
    State(site): Shared,
    request: Request<Body>,
) -> Result<impl IntoResponse, RequestError> {
    if let Some(record) = recorded(request.extensions(), "page/live") {
        record.run(&mut || CallOutcome::of(true, ""));
    }
    let parameters = Parameters::parse(request.uri().query().unwrap_or_default());
    let at = parameters.get("at").and_then(|at| at.parse().ok());
    let events = Events::since(&site, at)?;
    Ok((
        [(header::CONTENT_TYPE, "text/event-stream")],
        Body::new(events),
    ))
}

async fn asset(State(site): Shared, Path(name): Path<String>) -> Response {
    answers::asset(&site.base, &name)
}

/// A visitor whom the guard let in.
#[derive(Clone)]
struct Guest {
    client: Client,
    session: BrowserSession,
    /// Whether the store is in a folder of the machine that the browser runs on.
    is_local: bool,
    /// Address that the request names, below that of the page.
    address: String,
}

impl Guest {
    fn of(site: &Site, request: &Request<Body>) -> Option<Guest> {
        let peer = request.extensions().get::<Peer>();
        let is_here = match peer {
            Some(Peer::Network(address)) => address.ip().is_loopback(),
            Some(Peer::Socket) | None => true,
        };
        Some(Guest {
            client: request.extensions().get::<Client>()?.clone(),
            session: request.extensions().get::<BrowserSession>()?.clone(),
            is_local: is_here && site.folder.is_some(),
            address: guarding::address_within(request.uri()).to_owned(),
        })
    }

    fn visitor(&self) -> Visitor {
        Visitor {
            may_write: self.session.entry.rights == Rights::ReadWrite,
            form_token: self.session.form_token.clone(),
            is_local: self.is_local,
        }
    }
}

fn visit<'a>(
    site: &'a Site,
    (guest, visitor): (&'a Guest, &'a Visitor),
    parameters: &'a Parameters,
) -> Visit<'a> {
    Visit {
        engine: &site.served.engine,
        folder: site.folder.as_ref().map(|folder| OfFolder {
            user: &site.served.preferences.user,
            uploads: &folder.uploads,
            health: &folder.health,
        }),
        dialect: site.dialect.as_deref(),
        visitor,
        base: &site.base,
        address: &guest.address,
        at: live::state_number(&site.served.engine.live).ok(),
        parameters,
        named: Default::default(),
        warnings: Default::default(),
    }
}

/// Look at a view, or action of a form, as limits and audit see it.
struct PageCall {
    record: Option<Box<dyn CallRecord>>,
    writes: bool,
}

impl PageCall {
    /// Keeps that it was not admitted.
    fn refuse(&self) {
        if let Some(record) = &self.record {
            record.refuse();
        }
    }
}

/// Answer to a call.
enum Reply {
    /// A document with its status.
    Document(StatusCode, String),
    /// Address to go on with, below that of the page.
    See(String),
}

/// Answer to a call, and the ids of the memories that it names.
type Done = (Reply, Vec<String>);

/// Runs `act` when it is its turn, and as long as one may wait for it.
async fn with_turn(
    site: &Arc<Site>,
    guest: Guest,
    call: PageCall,
    act: impl FnOnce(&Site, &Guest) -> Result<Done, PageError> + Send + 'static,
) -> Result<Response, RequestError> {
    let turn = match site.admission.enter(&guest.client, call.writes).await {
        Ok(turn) => turn,
        Err(closed) => {
            call.refuse();
            return Err(closed.into());
        }
    };
    let of = Arc::clone(site);
    let run = move || -> Result<_, RequestError> {
        let engine = &of.served.engine;
        engine.writer.serve("page");
        let act = || act(&of, &guest).map_err(|error| told(&of, error));
        let outcome = |(_, named): &Done| CallOutcome {
            is_done: true,
            ids: named.clone(),
        };
        let run = || run_recorded(call.record, act, outcome);
        let (done, ended) = engine.live.call(None, call.writes, run)?;
        let (reply, _) = sequence::judged(done, &ended, call.writes)?;
        Ok((reply, ended, turn))
    };
    let done = tokio::time::timeout(CALL_TIMEOUT, tokio::task::spawn_blocking(run)).await;
    let late = |_| {
        let message = "not done in time: it goes on, load the page again later";
        RequestError::new(StatusCode::SERVICE_UNAVAILABLE, "LATE", message)
    };
    // The panic hook has written what happened to the log.
    let broken = |_| {
        let message = "an error of the program: the log says more";
        RequestError::new(StatusCode::INTERNAL_SERVER_ERROR, "FAILED", message)
    };
    let (reply, ended, _turn) = done.map_err(late)?.map_err(broken)??;
    let mut response = match reply {
        Reply::Document(status, document) => {
            let response = html_of(status, document, &site.outgoing).await;
            response.map_err(|error| sequence::of_call(error, ended.may_have_written))?
        }
        Reply::See(address) => see(&site.base, &address),
    };
    sequence::tell(&mut response, &ended);
    Ok(response)
}

/// Returns what a visitor is told of an error: to one of a workspace, the server's machine is none of his business.
fn told(site: &Site, error: PageError) -> RequestError {
    match error {
        PageError::Engine(error) if site.folder.is_none() => {
            Refusal::of(&ToolError::Engine(error)).into()
        }
        error => {
            let status = StatusCode::from_u16(error.status());
            let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let message = match error.hint() {
                Some(hint) => format!("{error}. {hint}"),
                None => error.to_string(),
            };
            RequestError::new(status, "FAILED", message)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audit_has_the_names_of_actions_and_nothing_else_of_an_address() {
        assert_eq!(
            name_of("memory", "restore-version"),
            "page/memory/restore-version"
        );
        assert_eq!(name_of("memory", "forget\n"), "page/memory");
        assert_eq!(name_of("review", &"a".repeat(99)), "page/review");
    }
}
