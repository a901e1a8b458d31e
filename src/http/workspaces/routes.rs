//! Routes of a server of many workspaces: the checks of its health, and addresses below `/w/NAME`.

use std::sync::Arc;

use ::http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::{Hosted, Listed, PREFIX, Visitor, base_of, browsers, no_workspace, protected_resource};
use crate::dialect::{CallOutcome, Refusal};
use crate::http::answer::{self, RequestError, small};
use crate::http::openapi::BASE;
use crate::http::{guard, metrics, page};

/// Path of the check whether requests should be sent here, which needs no token.
const READY: &str = "/ready";

/// Second path of the check whether the server answers at all.
const HEALTH: &str = "/health";

/// Path of the figures of the server, for the operator.
const METRICS: &str = "/metrics";

/// Header of replies with the name of the server that the workspace prefers.
const SERVER_HEADER: &str = "memdir-server";

/// Returns the routes of all workspaces.
pub(in crate::http) fn router(hosted: &Arc<Hosted>) -> Router {
    Router::new()
        .route(guard::OPEN, get(health))
        .route(HEALTH, get(health))
        .route(METRICS, get(metrics_of_server))
        .route(READY, get(ready))
        .route(protected_resource::PATH, get(metadata))
        // No route: its parameters would be arguments of the call within the workspace.
        .fallback(answer)
        .with_state(Arc::clone(hosted))
}

async fn health(State(hosted): State<Arc<Hosted>>, request: Request<Body>) -> Response {
    match guard::check_host(&hosted.front.names, &request) {
        Ok(()) => small(StatusCode::OK, &serde_json::json!({"status": "ok"})),
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
    small(status, &body)
}

/// Answers the figures of the server to its operator.
async fn metrics_of_server(State(hosted): State<Arc<Hosted>>, request: Request<Body>) -> Response {
    if let Err((layer, error)) = guard::check_front(&hosted.front, &request) {
        return refused(&hosted, layer, error);
    }
    if let Err(error) = guard::check_token(&hosted.front, &request) {
        return refused(&hosted, "token", error);
    }
    let text = tokio::task::spawn_blocking(move || {
        metrics::text(&hosted.front.metrics, &hosted.load(), None)
    });
    match text.await {
        Ok(text) => answer::text(metrics::TYPE, text),
        Err(_) => RequestError::internal().into_response(),
    }
}

/// Answers which issuer gives tokens for a workspace, whether or not there is such a workspace.
async fn metadata(
    State(hosted): State<Arc<Hosted>>,
    Path(name): Path<String>,
    request: Request<Body>,
) -> Response {
    if let Err(error) = guard::check_host(&hosted.front.names, &request) {
        return refused(&hosted, "host", error);
    }
    let resource = hosted.workspaces.protected_resource(&name);
    let shown = resource.map(|resource| small(StatusCode::OK, &resource.metadata()));
    let mut response = shown.unwrap_or_else(|| none().into_response());
    // Clients in a browser, such as the MCP Inspector, read it from a page of their own. It holds nothing secret.
    let anybody = HeaderValue::from_static("*");
    response
        .headers_mut()
        .insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, anybody);
    response
}

/// Answers a request to a workspace.
async fn answer(State(hosted): State<Arc<Hosted>>, request: Request<Body>) -> Response {
    let checked = guard::check_front(&hosted.front, &request);
    let parts = match parts_of(request.uri()) {
        Some((name, within)) if page::holds(within.path()) => {
            return browsers::answer(&hosted, checked, (&name, within), request).await;
        }
        parts => parts,
    };
    if let Err((layer, error)) = checked {
        return refused(&hosted, layer, error);
    }
    if let Some(location) = missing_slash(&request) {
        let headers = [(header::LOCATION, location)];
        return (StatusCode::PERMANENT_REDIRECT, headers).into_response();
    }
    let name = parts.as_ref().map(|(name, _)| name.as_str());
    let client = guard::check_token(&hosted.front, &request);
    let secret = guard::shown_secret(request.headers()).map(str::to_owned);
    let visitor = match hosted.visitor(name, client, secret.as_deref()).await {
        Ok(visitor) => visitor,
        Err(error) => {
            let resource = name.and_then(|name| hosted.workspaces.protected_resource(name));
            let mut response = refused(&hosted, "token", error);
            if let Some(resource) = resource {
                resource.challenge(&mut response, secret.is_some());
            }
            return response;
        }
    };
    let Some((name, rest)) = parts else {
        return none().into_response();
    };
    let preferred = hosted.workspaces.preferred_server(&name);
    let mut response = answer_visitor(&hosted, (name, rest), visitor, request).await;
    if let Some(server) = preferred.and_then(|server| HeaderValue::try_from(server).ok()) {
        response.headers_mut().insert(SERVER_HEADER, server);
    }
    response
}

/// Answers a request of a visitor with a token to what `rest` names of the workspace `name`.
async fn answer_visitor(
    hosted: &Arc<Hosted>,
    (name, rest): (String, Uri),
    visitor: Visitor,
    request: Request<Body>,
) -> Response {
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
    let workspaces = &hosted.workspaces;
    let Some(recorder) = workspaces.recorder(&name, &visitor.identity, &id) else {
        return no_workspace().into_response();
    };
    if !is_permitted {
        recorder.record(own.unwrap_or("metrics")).refuse();
        let message = "this token does not open this address: ask the owner of the workspace";
        let error = RequestError::new(StatusCode::FORBIDDEN, "FORBIDDEN", message);
        return refused(hosted, "rights", error);
    }
    if let Some(listed) = listed {
        let record = recorder.record(own.unwrap_or_default());
        let answered = hosted
            .list(name, listed, request.method() == Method::GET)
            .await;
        record.run(&mut || CallOutcome::of(answered.is_ok(), ""));
        return answered.unwrap_or_else(IntoResponse::into_response);
    }
    let answered = hosted.pass_on((&name, rest), visitor, (recorder, &id), request);
    answered.await.unwrap_or_else(IntoResponse::into_response)
}

/// Returns the address of the page that a request means whose address lacks the slash at its end.
fn missing_slash(request: &Request<Body>) -> Option<HeaderValue> {
    let name = request.uri().path().strip_prefix(PREFIX)?;
    let is_meant = *request.method() == Method::GET && !name.is_empty() && !name.contains('/');
    is_meant.then(|| HeaderValue::from_str(&base_of(name)).ok())?
}

fn refused(hosted: &Hosted, layer: &'static str, error: RequestError) -> Response {
    hosted.front.metrics.refused(layer);
    error.into_response()
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
    if !page::holds(within) && !["/mcp", BASE, "/metrics"].into_iter().any(is_below) {
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
        check("/w/atlas/", Some(("atlas", "/")));
        check(
            "/w/atlas/memory/a%2Fb?x",
            Some(("atlas", "/memory/a%2Fb?x")),
        );
        check("/w/atlas//search", None);
        check("/w/atlas/mcpx", None);
        check("/w/atlas/page", None);
        check("/w/atlas/api/v2", None);
        check("/atlas/mcp", None);
    }
}
