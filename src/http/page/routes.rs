//! Routes of the page: addresses → views, forms → actions.

use std::sync::Arc;

use ::http::{HeaderMap, Request, StatusCode, header};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};

use super::upload;
use crate::http::admission::CALL_TIMEOUT;
use crate::http::answer::RequestError;
use crate::http::client::Client;
use crate::http::client::Peer;
use crate::http::events::Events;
use crate::http::login::codes;
use crate::http::login::sessions::BrowserSession;
use crate::http::reading;
use crate::http::site::Site;
use crate::http::tokens::Rights;
use crate::page;
use crate::page::{Acted, Action, PageError, Parameters, View, Visit, Visitor};

type Shared = State<Arc<Site>>;

/// Adds the routes of the page.
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
            "/import",
            get(|site, request| show(site, View::Import, request)),
        )
        .route(
            "/memory/{id}",
            get(|site: Shared, Path(id): Path<String>, request| {
                show(site, View::Memory(id), request)
            }),
        )
        .route("/memory/{id}/{view}", get(of_memory).post(act_on_memory))
        .route("/review/{action}", post(act_on_review))
        .route(
            "/import/perform",
            post(|site, request| act(site, Doing::Import, request)),
        )
        .route(
            "/store/check",
            post(|site, request| act(site, Doing::Check, request)),
        )
        .route("/import/upload", post(receive))
        .route("/live", get(live))
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

async fn of_memory(
    site: Shared,
    Path((id, view)): Path<(String, String)>,
    request: Request<Body>,
) -> Response {
    let view = match view.as_str() {
        "raw" => View::Raw(id),
        "history" => View::History(id),
        "edit" => View::Edit(id),
        _ => return failed(StatusCode::NOT_FOUND, "there is no such view of a memory"),
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
    let Some(guest) = Guest::of(&request) else {
        return failed(StatusCode::UNAUTHORIZED, "this needs a session");
    };
    let parameters = Parameters::parse(request.uri().query().unwrap_or_default());
    let run = move |site: &Site, guest: &Guest| {
        let visitor = guest.visitor();
        let shown = page::view(&visit(site, &visitor, &parameters), &view)?;
        Ok(Html(shown).into_response())
    };
    with_turn(site, guest, false, run).await
}

/// Does what a form asks for, if it is one of this session.
async fn act(State(site): Shared, doing: Doing, request: Request<Body>) -> Response {
    let Some(guest) = Guest::of(&request) else {
        return failed(StatusCode::UNAUTHORIZED, "this needs a session");
    };
    let body = match reading::read(request.into_body(), reading::MOST_BYTES * 8).await {
        Ok(body) => body,
        Err(error) => return failed(error.status, &error.message),
    };
    let form = Parameters::parse(&String::from_utf8_lossy(&body));
    if !guest.sent(form.get("token").unwrap_or_default()) {
        return failed(
            StatusCode::FORBIDDEN,
            "this form is not one of your session: load the page again",
        );
    }
    let run = move |site: &Site, guest: &Guest| {
        let (visitor, none) = (guest.visitor(), Parameters::default());
        let action = match &doing {
            Doing::Memory(id, action) => Action::Memory(id, action),
            Doing::Review(action) => Action::Review(action),
            Doing::Import => Action::Import,
            Doing::Check => Action::Check,
        };
        Ok(
            match page::act(&visit(site, &visitor, &none), action, &form)? {
                Acted::Done(address) => see(&address),
                Acted::Undecided(document) => {
                    (StatusCode::CONFLICT, Html(document)).into_response()
                }
            },
        )
    };
    with_turn(site, guest, true, run).await
}

/// Receives a file, and shows what its import would do.
async fn receive(State(site): Shared, request: Request<Body>) -> Response {
    let Some(guest) = Guest::of(&request) else {
        return failed(StatusCode::UNAUTHORIZED, "this needs a session");
    };
    let shown = request.headers().get("x-form-token");
    if !guest.sent(
        shown
            .and_then(|shown| shown.to_str().ok())
            .unwrap_or_default(),
    ) {
        return failed(
            StatusCode::FORBIDDEN,
            "this form is not one of your session: load the page again",
        );
    }
    if !guest.client.may_write() {
        return failed(StatusCode::FORBIDDEN, "this session may only read");
    }
    let parameters = Parameters::parse(request.uri().query().unwrap_or_default());
    let upload = match upload::receive(&parameters, request.into_body()).await {
        Ok(upload) => upload,
        Err(error) => return failed(error.status, &error.message),
    };
    let Ok(id) = crate::http::proof::nonce() else {
        return failed(
            StatusCode::INTERNAL_SERVER_ERROR,
            "this system gives no random bytes",
        );
    };
    let run = move |site: &Site, guest: &Guest| {
        let visitor = guest.visitor();
        let shown = page::uploaded(&visit(site, &visitor, &parameters), &id, upload)?;
        Ok(Html(shown).into_response())
    };
    with_turn(site, guest, true, run).await
}

/// Logs a browser in by a code.
async fn log_in(State(site): Shared, request: Request<Body>) -> Response {
    let parameters = Parameters::parse(request.uri().query().unwrap_or_default());
    let Some(code) = parameters.get("code") else {
        return Html(page::entrance(false)).into_response();
    };
    let state = site.served.engine.live.state().to_owned();
    let Some(rights) = codes::redeem(&state, code) else {
        return (StatusCode::UNAUTHORIZED, Html(page::entrance(true))).into_response();
    };
    match site.sessions.begin(rights) {
        Ok(cookie) => {
            let next = parameters
                .get("memory")
                .map_or_else(|| "/".to_owned(), page::address_of_memory);
            ([(header::SET_COOKIE, cookie)], see(&next)).into_response()
        }
        Err(_) => failed(
            StatusCode::INTERNAL_SERVER_ERROR,
            "this system gives no random bytes",
        ),
    }
}

async fn log_out(State(site): Shared, request: Request<Body>) -> Response {
    let (headers, guest) = (request.headers().clone(), Guest::of(&request));
    let body = reading::read(request.into_body(), reading::MOST_BYTES).await;
    let form = Parameters::parse(&String::from_utf8_lossy(&body.unwrap_or_default()));
    if !guest.is_some_and(|guest| guest.sent(form.get("token").unwrap_or_default())) {
        return failed(
            StatusCode::FORBIDDEN,
            "this form is not one of your session: load the page again",
        );
    }
    (
        [(header::SET_COOKIE, site.sessions.end(&headers))],
        see("/login"),
    )
        .into_response()
}

async fn live(State(site): Shared) -> Result<impl IntoResponse, RequestError> {
    let engine = &site.served.engine;
    let events = Events::of(engine, &site.metrics.listeners, site.stopping.clone())?;
    Ok((
        [(header::CONTENT_TYPE, "text/event-stream")],
        Body::new(events),
    ))
}

async fn asset(Path(name): Path<String>) -> Response {
    match page::asset(&name) {
        Some(asset) => {
            let headers = [
                (header::CONTENT_TYPE, asset.content_type),
                (header::CACHE_CONTROL, "no-cache"),
            ];
            (headers, asset.bytes).into_response()
        }
        None => failed(StatusCode::NOT_FOUND, "there is no such file"),
    }
}

/// A visitor whom the guard let in.
#[derive(Clone)]
struct Guest {
    client: Client,
    session: BrowserSession,
    is_local: bool,
}

impl Guest {
    fn of(request: &Request<Body>) -> Option<Guest> {
        let peer = request.extensions().get::<Peer>();
        Some(Guest {
            client: request.extensions().get::<Client>()?.clone(),
            session: request.extensions().get::<BrowserSession>()?.clone(),
            is_local: match peer {
                Some(Peer::Network(address)) => address.ip().is_loopback(),
                Some(Peer::Socket) | None => true,
            },
        })
    }

    /// Returns whether a form has the token of the session; compared in constant time.
    fn sent(&self, token: &str) -> bool {
        blake3::hash(token.as_bytes()) == blake3::hash(self.session.form_token.as_bytes())
    }

    fn visitor(&self) -> Visitor {
        Visitor {
            may_write: self.session.rights == Rights::ReadWrite,
            form_token: self.session.form_token.clone(),
            is_local: self.is_local,
        }
    }
}

fn visit<'a>(site: &'a Site, visitor: &'a Visitor, parameters: &'a Parameters) -> Visit<'a> {
    Visit {
        engine: &site.served.engine,
        user: &site.served.preferences.user,
        uploads: &site.uploads,
        health: &site.health,
        dialect: site.dialect.as_deref(),
        visitor,
        parameters,
    }
}

/// Runs `act` when it is its turn, and as long as one may wait for it.
async fn with_turn(
    site: Arc<Site>,
    guest: Guest,
    writes: bool,
    act: impl FnOnce(&Site, &Guest) -> Result<Response, PageError> + Send + 'static,
) -> Response {
    let turn = match site.admission.enter(&guest.client, writes).await {
        Ok(turn) => turn,
        Err(closed) => {
            let error = RequestError::from(closed);
            return failed(error.status, &error.message);
        }
    };
    let run = move || {
        let _turn = turn;
        site.served.engine.writer.serve("page");
        act(&site, &guest)
    };
    match tokio::time::timeout(CALL_TIMEOUT, tokio::task::spawn_blocking(run)).await {
        Ok(Ok(Ok(response))) => response,
        Ok(Ok(Err(error))) => {
            let status =
                StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            failed(status, &error.to_string())
        }
        // The panic hook has written what happened to the log.
        Ok(Err(_)) => failed(
            StatusCode::INTERNAL_SERVER_ERROR,
            "an error of the program: the log says more",
        ),
        Err(_) => failed(
            StatusCode::SERVICE_UNAVAILABLE,
            "not done in time: it goes on, load the page again later",
        ),
    }
}

fn see(address: &str) -> Response {
    (
        StatusCode::SEE_OTHER,
        HeaderMap::from_iter([(header::LOCATION, location(address))]),
    )
        .into_response()
}

fn location(address: &str) -> ::http::HeaderValue {
    ::http::HeaderValue::from_str(address).unwrap_or(::http::HeaderValue::from_static("/"))
}

fn failed(status: StatusCode, message: &str) -> Response {
    (status, Html(page::failure(message))).into_response()
}
