//! Browsers at the page of a workspace: the tokens by which they come in, and the end of their sessions.
//!
//! Guarantees: a token is taken from the body of a form, never from an address, and checked as one that `Authorization`
//! shows; who holds it is asked again with each request, so that a session ends with its token, or where its role is
//! lowered; a session opens the page of one workspace, and nothing else; without a session every name gets the same
//! answers, whether or not there is a workspace of that name.

use std::sync::Arc;

use ::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri, header};
use axum::body::Body;
use axum::response::{Html, IntoResponse, Response};

use super::{Hosted, Visitor, base_of, no_workspace};
use crate::dialect::CallOutcome;
use crate::http::answer::RequestError;
use crate::http::client::Client;
use crate::http::login::sessions::{BrowserSession, Entry};
use crate::http::site::PAGE;
use crate::http::tokens::Rights;
use crate::http::{guard, page, reading};
use crate::page::{Parameters, elsewhere, entrance_of_workspace};

/// Maximum size in bytes of a form with a token.
const MOST_FORM: usize = 16 * 1024;

/// Prefix of the addresses of the program's own files.
const ASSETS: &str = "/assets/";

/// A request to the page of a workspace.
struct Asked<'a> {
    hosted: &'a Arc<Hosted>,
    /// Name of the workspace, be there one or not.
    name: &'a str,
    /// Path of the page.
    base: String,
    /// Id of the request.
    id: String,
}

/// Answers a request to the page of the workspace that is named, at the address within it. `checked` is the outcome of
/// the checks before a workspace is looked for.
pub(super) async fn answer(
    hosted: &Arc<Hosted>,
    checked: Result<(), (&'static str, RequestError)>,
    (name, within): (&str, Uri),
    request: Request<Body>,
) -> Response {
    let asked = Asked {
        hosted,
        name,
        base: base_of(name),
        id: guard::request_id(request.headers()),
    };
    let answered = match checked {
        Ok(()) => asked.answer(within, request).await,
        Err((layer, error)) => {
            hosted.front.metrics.refused(layer);
            match layer == "site" && guard::is_navigation(request.headers()) {
                true => {
                    let document = elsewhere(&asked.base, page::address_within(&within));
                    Ok((StatusCode::FORBIDDEN, Html(document)).into_response())
                }
                false => Ok(error.into_response()),
            }
        }
    };
    let mut response = answered.unwrap_or_else(|error| page::refused(&asked.base, &error));
    page::secure(&mut response);
    guard::add_headers(response.headers_mut(), &asked.id);
    response
}

impl Asked<'_> {
    async fn answer(
        &self,
        within: Uri,
        mut request: Request<Body>,
    ) -> Result<Response, RequestError> {
        if let Some(name) = within.path().strip_prefix(ASSETS) {
            return Ok(page::asset(&self.base, name));
        }
        let is_form = *request.method() == Method::POST;
        match within.path() {
            "/login" if is_form => return self.log_in(request).await,
            "/login" => {
                return Ok(Html(entrance_of_workspace(&self.base, false)).into_response());
            }
            _ => {}
        }
        let session = self.hosted.sessions.of(request.headers(), &self.base);
        let Some(session) = session else {
            return Ok(self.no_session(&request));
        };
        let client = match session.entry.secret.as_deref() {
            Some(secret) => guard::check_secret(&self.hosted.front, secret),
            // Begun where no token is asked for.
            None => guard::check_token(&self.hosted.front, &request),
        };
        let visitor = match self.visitor(&session, client).await {
            Ok(visitor) => visitor,
            Err(error) if error.status == StatusCode::UNAUTHORIZED => {
                let cookie = self.hosted.sessions.end(request.headers(), &self.base);
                let cookie = [(header::SET_COOKIE, cookie)];
                return Ok((cookie, self.entrance(false)).into_response());
            }
            Err(error) => return Err(error),
        };
        if within.path() == "/logout" && is_form {
            return self.log_out(&session, &visitor, request).await;
        }
        request.extensions_mut().insert(session);
        let workspaces = &self.hosted.workspaces;
        let recorder = workspaces.recorder(self.name, &visitor.identity, &self.id);
        let recorder = recorder.ok_or_else(no_workspace)?;
        self.hosted
            .pass_on((self.name, within), visitor, (recorder, &self.id), request)
            .await
    }

    /// Returns who has a session, as of now: a `client` by a token of the server, else the holder of the session's token.
    async fn visitor(
        &self,
        session: &BrowserSession,
        client: Result<Client, RequestError>,
    ) -> Result<Visitor, RequestError> {
        let secret = session.entry.secret.as_deref();
        let mut visitor = self.hosted.visitor(Some(self.name), client, secret).await?;
        if session.entry.rights == Rights::ReadWrite && !visitor.client.may_write() {
            let message = "the role of this token was lowered: log in again";
            let status = StatusCode::UNAUTHORIZED;
            return Err(RequestError::new(status, "UNAUTHORIZED", message));
        }
        visitor.client.rights = session.entry.rights;
        Ok(visitor)
    }

    /// Returns the form that takes a token; `is_refused` if the one that was sent opens nothing here.
    fn entrance(&self, is_refused: bool) -> Response {
        self.hosted.front.metrics.refused("token");
        let document = entrance_of_workspace(&self.base, is_refused);
        // What a program without a browser should show instead.
        let scheme = HeaderValue::from_static("Bearer realm=\"memdir\"");
        let headers = [(header::WWW_AUTHENTICATE, scheme)];
        (StatusCode::UNAUTHORIZED, headers, Html(document)).into_response()
    }

    /// Returns the answer to a browser without a session.
    fn no_session(&self, request: &Request<Body>) -> Response {
        let front = &self.hosted.front;
        // Where no token is asked for, any browser of this machine has a session.
        if !front.needs_token && *request.method() == Method::GET {
            let entry = self.entry(Rights::ReadWrite, PAGE.into(), None, request.headers());
            if let Ok(cookie) = self.hosted.sessions.begin(entry) {
                return page::again(cookie);
            }
        }
        self.entrance(false)
    }

    fn entry(
        &self,
        rights: Rights,
        holder: Arc<str>,
        secret: Option<Arc<str>>,
        headers: &HeaderMap,
    ) -> Entry {
        // A proxy before this server may have TLS: its name was allowed as an origin.
        let origin = headers.get(header::ORIGIN);
        let is_over_tls = |origin: &HeaderValue| origin.as_bytes().starts_with(b"https://");
        Entry {
            rights,
            path: self.base.clone(),
            holder,
            secret,
            is_secure: self.hosted.front.has_tls || origin.is_some_and(is_over_tls),
        }
    }

    /// Begins a session by the token of a form.
    async fn log_in(&self, request: Request<Body>) -> Result<Response, RequestError> {
        let headers = request.headers().clone();
        let form = form(request).await?;
        let secret = form.get("token").unwrap_or_default();
        let client = guard::check_secret(&self.hosted.front, secret);
        let visitor = self
            .hosted
            .visitor(Some(self.name), client, Some(secret))
            .await;
        let visitor = match visitor {
            Ok(visitor) => visitor,
            Err(error) if error.status == StatusCode::UNAUTHORIZED => {
                return Ok(self.entrance(true));
            }
            Err(error) => return Err(error),
        };
        let admission = &self.hosted.front.admission;
        let _turn = admission.enter(&visitor.client, false).await?;
        // An operator's token opens what there is, and nothing else.
        self.hosted.workspace(self.name).await?;
        let (rights, holder) = (visitor.client.rights, Arc::clone(&visitor.client.name));
        let entry = self.entry(rights, holder, Some(secret.into()), &headers);
        let begun = self.hosted.sessions.begin(entry);
        let cookie = begun.map_err(|_| RequestError::internal())?;
        self.record("page/login", &visitor);
        let cookie = [(header::SET_COOKIE, cookie)];
        Ok((cookie, page::see(&self.base, "")).into_response())
    }

    async fn log_out(
        &self,
        session: &BrowserSession,
        visitor: &Visitor,
        request: Request<Body>,
    ) -> Result<Response, RequestError> {
        let headers = request.headers().clone();
        let form = form(request).await?;
        if !session.sent(form.get("token").unwrap_or_default()) {
            let message = "this form is not one of your session: load the page again";
            let status = StatusCode::FORBIDDEN;
            return Err(RequestError::new(status, "FORBIDDEN", message));
        }
        let cookie = self.hosted.sessions.end(&headers, &self.base);
        self.record("page/logout", visitor);
        let cookie = [(header::SET_COOKIE, cookie)];
        Ok((cookie, page::see(&self.base, "login")).into_response())
    }

    /// Keeps in the audit that a visitor did something.
    fn record(&self, action: &str, visitor: &Visitor) {
        let workspaces = &self.hosted.workspaces;
        if let Some(recorder) = workspaces.recorder(self.name, &visitor.identity, &self.id) {
            let record = recorder.record(action);
            record.run(&mut || CallOutcome::of(true, ""));
        }
    }
}

/// Reads a small form.
async fn form(request: Request<Body>) -> Result<Parameters, RequestError> {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if !kind.eq_ignore_ascii_case(page::FORM_TYPES[0]) {
        let message = "only forms are read here";
        let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        return Err(RequestError::new(status, "UNSUPPORTED_MEDIA_TYPE", message));
    }
    let body = reading::read(request.into_body(), MOST_FORM).await?;
    Ok(Parameters::parse(&String::from_utf8_lossy(&body)))
}
