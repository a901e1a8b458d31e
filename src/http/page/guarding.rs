//! Checks of the page's requests, and the headers of its answers.

use ::http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use axum::body::Body;
use axum::response::{Html, IntoResponse, Response};

use super::answers::again;
use crate::http::client::{Client, Peer};
use crate::http::login::sessions::BrowserSession;
use crate::http::site::{PAGE, Site};
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

/// No script, style, picture, request or base of addresses but this server's own, and no other page around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'self'; frame-ancestors 'none'";

/// Returns whether a route is one of the page.
pub fn is_of_page(route: &str) -> bool {
    ROUTES.contains(&route)
}

/// Returns whether an address is one of the page, also one that does not exist.
pub fn holds(path: &str) -> bool {
    let top = |path: &str| path.split('/').nth(1).unwrap_or_default().to_owned();
    path == "/"
        || ROUTES
            .iter()
            .any(|route| *route != "/" && top(route) == top(path))
}

/// Returns the client of a request to the page; `None` if it needs a session and has none.
pub fn check_visit(
    site: &Site,
    route: &str,
    request: &Request<Body>,
    peer: Peer,
) -> Option<Client> {
    let extensions = request.extensions();
    if extensions.get::<BrowserSession>().is_some() {
        // Checked where the workspace was looked for.
        return extensions.get::<Client>().cloned();
    }
    match site.session(request.headers()) {
        Some(session) => Some(Client {
            name: PAGE.into(),
            is_owner: session.entry.rights == Rights::ReadWrite,
            rights: session.entry.rights,
            quota: None,
        }),
        None => OPEN_ROUTES.contains(&route).then(|| Client::unnamed(peer)),
    }
}

/// Returns the answer to a browser that may not come in: from where other sites led it here it goes on by itself.
pub fn refusal(site: &Site, method: &Method, uri: &Uri, is_from_elsewhere: bool) -> Response {
    let (status, document) = match is_from_elsewhere {
        true => {
            let document = page::elsewhere(&site.base, address_within(uri));
            (StatusCode::FORBIDDEN, document)
        }
        false => (StatusCode::UNAUTHORIZED, page::entrance(&site.base, false)),
    };
    // Where no token is asked for, any browser of this machine has a session.
    if !site.needs_token
        && !is_from_elsewhere
        && *method == Method::GET
        && let Some(cookie) = site.begin_session(Rights::ReadWrite)
    {
        return again(cookie);
    }
    // What a program without a browser should show instead.
    let scheme = HeaderValue::from_static("Bearer realm=\"memdir\"");
    (status, [(header::WWW_AUTHENTICATE, scheme)], Html(document)).into_response()
}

/// Returns the address of a view below that of the page, with its parameters.
pub fn address_within(uri: &Uri) -> &str {
    let whole = uri.path_and_query().map_or("", |whole| whole.as_str());
    whole.strip_prefix('/').unwrap_or(whole)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_the_page_are_told_from_others() {
        for path in ["/", "/search", "/memory/a/b/c", "/login", "/assets/"] {
            assert!(holds(path), "{path}");
        }
        for path in [
            "",
            "//",
            "//search",
            "/mcp",
            "/searching",
            "/page",
            "/api/v1/search",
        ] {
            assert!(!holds(path), "{path}");
        }
    }
}
