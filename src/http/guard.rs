//! The checks that every request passes, in this order: host name, origin, token, type and size of
//! the body. Then the request is answered, counted and logged.
//!
//! A page in a browser can send requests here; what it cannot do is choose `Host` and `Origin`, know
//! the token, or send JSON to another origin without asking first, which nobody answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ::http::HeaderMap;
use ::http::HeaderValue;
use ::http::Method;
use ::http::Request;
use ::http::StatusCode;
use ::http::header;
use axum::body::Body;
use axum::extract::{MatchedPath, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::answer::RequestError;
use super::client::{Client, Peer};
use super::names::Names;
use super::openapi::BASE;
use super::proof::{ConnectionProof, Handshake};
use super::reading::{MOST_BYTES, too_long};
use super::site::{Front, Site};
use super::tokens::{FIRST, Rights, Tokens};
use super::{answer, page, proof, reading};

/// Path of the health check, which needs no token and has an empty response.
pub const OPEN: &str = "/healthz";

pub(super) const REQUEST_ID: &str = "x-request-id";
const LONGEST_ID: usize = 64;

/// Middleware around all routes.
pub async fn guard(
    State(site): State<Arc<Site>>,
    mut request: Request<Body>,
    next: Next,
) -> Response {
    let begun = Instant::now();
    let id = request_id(request.headers());
    let method = method_name(request.method());
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("-", MatchedPath::as_str).to_owned();
    let checked = check(&site, &route, &request);
    let name = checked.as_ref().ok().map(|client| Arc::clone(&client.name));
    let is_page = page::is_of_page(&route);
    let mut response = match checked {
        Ok(_) if route == OPEN && is_reading(request.method()) => {
            answer::small(StatusCode::OK, &json!({"status": "ok"}))
        }
        Ok(_) if route == proof::PATH => match prove(&site, &request) {
            Ok(proof) => answer::small(StatusCode::OK, &proof),
            Err(error) => error.into_response(),
        },
        Ok(client) => {
            if let Some(session) = site.session(request.headers()).filter(|_| is_page) {
                request.extensions_mut().insert(session);
            }
            request.extensions_mut().insert(client);
            next.run(request).await
        }
        Err((layer, error)) => {
            site.metrics.refused(layer);
            if layer == "body" {
                reading::drain(request.body_mut());
            }
            match (layer, is_page) {
                ("site", true) if is_navigation(request.headers()) => {
                    page::refusal(&site, request.method(), request.uri(), true)
                }
                ("token", true) => page::refusal(&site, request.method(), request.uri(), false),
                _ => error.into_response(),
            }
        }
    };
    if is_page {
        page::secure(&mut response);
    }
    add_headers(response.headers_mut(), &id);
    let took = begun.elapsed();
    let status = response.status().as_u16();
    site.metrics.answered(&route, method, status, took);
    if let Some(class) = site.class() {
        site.metrics.answered_in(class, status, took);
    }
    // The address as the table has it: what was asked for may hold a memory's words.
    tracing::info!(
        request = id,
        client = name.as_deref().unwrap_or("-"),
        method,
        route,
        status,
        micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        "request"
    );
    response
}

/// Adds what every answer has to its headers, with the id of the request.
pub(super) fn add_headers(headers: &mut HeaderMap, id: &str) {
    if let Ok(id) = HeaderValue::from_str(id) {
        headers.insert(REQUEST_ID, id);
    }
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        let value = HeaderValue::from_static(value);
        headers.entry(name).or_insert(value);
    }
    // What memories say is kept by nobody on the way.
    let never = HeaderValue::from_static("no-store");
    headers.entry(header::CACHE_CONTROL).or_insert(never);
}

/// Returns the client, if the request is admitted; else the layer that refused it.
fn check(
    site: &Site,
    route: &str,
    request: &Request<Body>,
) -> Result<Client, (&'static str, RequestError)> {
    let headers = request.headers();
    check_host(&site.names, request).map_err(|error| ("host", error))?;
    check_origin(&site.names, headers).map_err(|error| ("origin", error))?;
    check_site(headers).map_err(|error| ("site", error))?;
    let client = match request.uri().path() {
        OPEN | proof::PATH => Ok(Client::unnamed(peer(request))),
        _ if page::is_of_page(route) => page::check_visit(site, route, request, peer(request))
            .ok_or_else(|| missing("a browser needs a session: `memdir open` begins one")),
        _ => match request.extensions().get::<Client>() {
            // Checked where the workspace was looked for.
            Some(client) => Ok(client.clone()),
            None => check_token(&site.front, request),
        },
    };
    let client = client.map_err(|error| ("token", error))?;
    check_body(request.method(), route, headers).map_err(|error| ("body", error))?;
    Ok(client)
}

fn forbidden(code: &'static str, message: &str) -> RequestError {
    RequestError::new(StatusCode::FORBIDDEN, code, message)
}

/// Checks a request before its workspace is known: host and origin, and that a token is shown. A token that is proved
/// is none here, as the proof would be of the server's connection. Returns the layer that refuses it.
pub(super) fn check_front(
    front: &Front,
    request: &Request<Body>,
) -> Result<(), (&'static str, RequestError)> {
    let headers = request.headers();
    check_host(&front.names, request).map_err(|error| ("host", error))?;
    check_origin(&front.names, headers).map_err(|error| ("origin", error))?;
    check_site(headers).map_err(|error| ("site", error))?;
    let shown = headers.get(header::AUTHORIZATION);
    let scheme = shown.and_then(|shown| shown.to_str().ok()?.split_whitespace().next());
    if scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(proof::SCHEME)) {
        return Err(("token", missing("a token is needed, as `Bearer`")));
    }
    Ok(())
}

/// Returns the secret that a request shows as `Bearer`; `None` if it shows none, or several.
pub(super) fn shown_secret(headers: &HeaderMap) -> Option<&str> {
    let mut shown = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(shown), None) = (shown.next(), shown.next()) else {
        return None;
    };
    let (scheme, secret) = shown.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// Checks that a request calls this server by one of its names.
pub(super) fn check_host(names: &Names, request: &Request<Body>) -> Result<(), RequestError> {
    let mut named = request.headers().get_all(header::HOST).iter();
    let in_header = named.next().and_then(|host| host.to_str().ok());
    let in_address = request.uri().authority().map(|it| it.as_str());
    // Each that is there must be ours; a request with none, or two, is nobody's.
    let mut hosts = in_header.into_iter().chain(in_address).peekable();
    let is_ours = hosts.peek().is_some() && hosts.all(|host| names.is_host(host));
    match is_ours && named.next().is_none() {
        true => Ok(()),
        false => {
            let message = "this server is not called by that name: add it with --allow-host";
            Err(forbidden("FOREIGN_HOST", message))
        }
    }
}

fn check_origin(names: &Names, headers: &HeaderMap) -> Result<(), RequestError> {
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let host = headers.get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let is_ours = |origin: &HeaderValue| {
        let origin = origin.to_str();
        origin.is_ok_and(|origin| names.is_origin(origin, host))
    };
    match origins.all(is_ours) {
        true => Ok(()),
        false => {
            let message = "pages of that origin may not ask: add it with --allow-origin";
            Err(forbidden("FOREIGN_ORIGIN", message))
        }
    }
}

/// Refuses requests of other sites' pages that have no `Origin`, such as for images and scripts: the
/// browser marks them in another header. A request with `Origin` was checked already.
fn check_site(headers: &HeaderMap) -> Result<(), RequestError> {
    if headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let mut sites = headers.get_all("sec-fetch-site").iter();
    match sites.all(|site| site == "same-origin" || site == "none") {
        true => Ok(()),
        false => {
            let message = "pages of another site may not ask";
            Err(forbidden("FOREIGN_ORIGIN", message))
        }
    }
}

/// Returns whether a browser asks for a document to show, as after a click on a link.
pub(super) fn is_navigation(headers: &HeaderMap) -> bool {
    headers
        .get("sec-fetch-mode")
        .is_some_and(|mode| mode == "navigate")
        && headers
            .get("sec-fetch-dest")
            .is_some_and(|dest| dest == "document")
}

/// Returns the other end of the connection of a request.
fn peer(request: &Request<Body>) -> Peer {
    // The connection says so of each of its requests.
    let peer = request.extensions().get::<Peer>();
    peer.copied().unwrap_or(Peer::Socket)
}

/// Returns the client by a token of the server.
pub(super) fn check_token(front: &Front, request: &Request<Body>) -> Result<Client, RequestError> {
    let peer = peer(request);
    let is_asked = front.needs_token && peer != Peer::Socket;
    let Some(tokens) = front.tokens.as_ref().filter(|_| is_asked) else {
        return Ok(Client::unnamed(peer));
    };
    let mut shown = request.headers().get_all(header::AUTHORIZATION).iter();
    let (Some(shown), None) = (shown.next(), shown.next()) else {
        let message = "a token is needed: `memdir token header` prints the header that shows it";
        return Err(missing(message));
    };
    let shown = shown.to_str().ok().and_then(|shown| shown.split_once(' '));
    let known = shown.and_then(|(scheme, shown)| match scheme {
        _ if scheme.eq_ignore_ascii_case("bearer") => tokens.who(shown.trim()),
        _ if scheme.eq_ignore_ascii_case(proof::SCHEME) => proved(tokens, request, shown.trim()),
        _ => None,
    });
    holder(known)
}

/// Returns the client by the secret of a token of the server, as a form shows it.
pub(super) fn check_secret(front: &Front, secret: &str) -> Result<Client, RequestError> {
    let tokens = front.tokens.as_ref();
    holder(tokens.and_then(|tokens| tokens.who(secret)))
}

/// Returns the client who holds the token of the server with this name and these rights.
fn holder(known: Option<(Arc<str>, Rights)>) -> Result<Client, RequestError> {
    let (name, rights) = known.ok_or_else(|| missing("this token is none, or no longer one"))?;
    Ok(Client {
        is_owner: *name == *FIRST,
        name,
        rights,
        quota: None,
    })
}

fn missing(message: &str) -> RequestError {
    RequestError::new(StatusCode::UNAUTHORIZED, "UNAUTHORIZED", message)
}

/// Returns the proof to the client of this connection that this server has the client's token; see
/// [`proof`].
fn prove(site: &Site, request: &Request<Body>) -> Result<serde_json::Value, RequestError> {
    let header = |name: &str| request.headers().get(name)?.to_str().ok();
    let unknown = || {
        let message = "this server has no such token, or cannot prove that it has it";
        RequestError::new(StatusCode::UNAUTHORIZED, proof::UNKNOWN, message)
    };
    let link = request.extensions().get::<Arc<ConnectionProof>>();
    let link = link.ok_or_else(RequestError::internal)?;
    let host = header(header::HOST.as_str()).unwrap_or_default();
    let place = link.place(host).ok_or_else(unknown)?;
    let nonce = header(proof::NONCE).filter(|nonce| proof::is_nonce(nonce));
    let token = header(proof::TOKEN).unwrap_or_default();
    let known = site
        .tokens
        .as_ref()
        .and_then(|tokens| tokens.with_id(token));
    let (Some(nonce), Some(known)) = (nonce, known) else {
        return Err(unknown());
    };
    let handshake = Handshake {
        place,
        client_nonce: nonce.to_owned(),
        server_nonce: proof::nonce().map_err(|_| RequestError::internal())?,
    };
    let shown = known.key.of_server(&handshake).to_hex();
    let answer = json!({"nonce": handshake.server_nonce, "proof": shown.as_str()});
    link.begin(token.to_owned(), handshake);
    Ok(answer)
}

/// Returns name and rights of the token that the client has proved to have on this connection.
fn proved(tokens: &Tokens, request: &Request<Body>, shown: &str) -> Option<(Arc<str>, Rights)> {
    let (token, handshake) = request.extensions().get::<Arc<ConnectionProof>>()?.take()?;
    let shown = blake3::Hash::from_hex(shown).ok()?;
    let known = tokens.with_id(&token)?;
    // Compared in constant time.
    (known.key.of_client(&handshake) == shown).then_some((known.name, known.rights))
}

fn is_reading(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Refuses bodies that are no JSON or too long. A page can send forms and plain texts to any server
/// without a preflight request, but not JSON.
fn check_body(method: &Method, route: &str, headers: &HeaderMap) -> Result<(), RequestError> {
    if is_reading(method) {
        return Ok(());
    }
    let length = headers.get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > MOST_BYTES as u64) {
        // An upload is written to a file as it arrives.
        let most = match page::is_of_page(route) {
            true => usize::MAX,
            false => most_bytes(route),
        };
        if length.is_some_and(|length| length > most as u64) {
            return Err(too_long(most));
        }
    }
    let has_body = length.unwrap_or(0) > 0 || headers.contains_key(header::TRANSFER_ENCODING);
    let kind = headers.get(header::CONTENT_TYPE);
    let is_read = |kind: &HeaderValue| {
        let kind = kind.to_str().unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        // Forms of the page are known by their token.
        let read = match page::is_of_page(route) {
            true => &page::FORM_TYPES[..],
            false => &["application/json"],
        };
        read.iter().any(|read| kind.eq_ignore_ascii_case(read))
    };
    match kind {
        Some(kind) if is_read(kind) => Ok(()),
        None if !has_body => Ok(()),
        _ => {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            let message = "only JSON is read here: Content-Type: application/json";
            Err(RequestError::new(status, "UNSUPPORTED_MEDIA_TYPE", message))
        }
    }
}

/// Returns the maximum size of a body for a route in bytes, also for a route that does not exist.
fn most_bytes(route: &str) -> usize {
    let path = route.strip_prefix(BASE);
    if path == Some(reading::CHANGES) {
        return reading::MOST_CHANGES;
    }
    let mut large = crate::dialect::endpoints().filter(|endpoint| endpoint.is_large);
    let known = large.find(|endpoint| path == Some(endpoint.path));
    known.map_or(MOST_BYTES, reading::most_bytes)
}

/// Returns the request's own id, if it is a plain one; else a new one.
pub(super) fn request_id(headers: &HeaderMap) -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_plain = |id: &&str| {
        let is_fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        (1..=LONGEST_ID).contains(&id.len()) && id.chars().all(is_fine)
    };
    match given.filter(is_plain) {
        Some(id) => id.to_owned(),
        None => {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            format!("{:x}-{number:x}", std::process::id())
        }
    }
}

/// Returns the method, if it is one of the usual ones, so that the number of labels is bounded.
fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}
