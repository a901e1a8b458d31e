//! Checks of the page's requests, and the headers of its answers.

use ::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::body::Body;
use axum::response::{Html, IntoResponse, Response};

use crate::http::client::{Client, Peer};
use crate::http::site::Site;
use crate::http::tokens::Rights;
use crate::page;

/// Routes of the page. What `/login` and `/assets` answer needs no session.
pub(super) const ROUTES: [&str; 16] = [
    "/",
    "/search",
    "/memory/{id}",
    "/memory/{id}/{view}",
    "/review",
    "/review/{action}",
    "/brief",
    "/store",
    "/store/check",
    "/import",
    "/import/upload",
    "/import/perform",
    "/live",
    "/login",
    "/logout",
    "/assets/{name}",
];

const OPEN_ROUTES: [&str; 2] = ["/login", "/assets/{name}"];

/// Types of bodies that the page takes: forms, and files to import.
pub const FORM_TYPES: [&str; 2] = [
    "application/x-www-form-urlencoded",
    "application/octet-stream",
];

/// No script, style, picture or request but this server's own, and no other page around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Returns whether a route is one of the page.
pub fn is_of_page(route: &str) -> bool {
    ROUTES.contains(&route)
}

/// Returns the client of a request to the page; `None` if it needs a session and has none.
pub fn check_visit(site: &Site, route: &str, headers: &HeaderMap, peer: Peer) -> Option<Client> {
    match site.sessions.of(headers) {
        Some(session) => Some(Client {
            name: "page".into(),
            is_owner: session.rights == Rights::ReadWrite,
            rights: session.rights,
            quota: None,
        }),
        None => OPEN_ROUTES.contains(&route).then(|| Client::unnamed(peer)),
    }
}

/// Returns the answer to a browser that may not come in: from where other sites led it here it goes on by itself.
pub fn refusal(site: &Site, method: &Method, is_from_elsewhere: bool) -> Response {
    let (status, document) = match is_from_elsewhere {
        true => (StatusCode::FORBIDDEN, page::elsewhere()),
        false => (StatusCode::UNAUTHORIZED, page::entrance(false)),
    };
    // Where no token is asked for, any browser of this machine has a session.
    if !site.needs_token
        && !is_from_elsewhere
        && *method == Method::GET
        && let Ok(cookie) = site.sessions.begin(Rights::ReadWrite)
    {
        return [
            (header::SET_COOKIE, cookie),
            (header::REFRESH, "0".to_owned()),
        ]
        .into_response();
    }
    // What a program without a browser should show instead.
    let scheme = HeaderValue::from_static("Bearer realm=\"memdir\"");
    (status, [(header::WWW_AUTHENTICATE, scheme)], Html(document)).into_response()
}

/// Sets the headers of every answer of the page.
pub fn secure(response: &mut Response<Body>) {
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    for (name, value) in [
        // With `no-referrer` the origin of a form is `null`, too.
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("x-frame-options", "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}
