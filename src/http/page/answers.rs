//! Answers of the page beside its views: where to go on, what failed, files of the program.

use ::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use crate::http::answer::RequestError;
use crate::page;

/// Returns the answer that leads to an address below that of the page at `base`.
pub fn see(base: &str, address: &str) -> Response {
    let location = HeaderValue::from_str(&format!("{base}{address}"));
    let location = location.or_else(|_| HeaderValue::from_str(base));
    let location = location.unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, location)]).into_response()
}

/// Returns the answer that gives a browser a session and has it ask again.
pub fn again(cookie: String) -> Response {
    [
        (header::SET_COOKIE, cookie),
        (header::REFRESH, "0".to_owned()),
    ]
    .into_response()
}

/// Returns the answer that says to a visitor of the page at `base` what failed.
pub fn failed(base: &str, status: StatusCode, message: &str) -> Response {
    (status, Html(page::failure(base, message))).into_response()
}

/// As [`failed`], with the time after which to try again.
pub fn refused(base: &str, error: &RequestError) -> Response {
    later(failed(base, error.status, &error.message), error)
}

/// Adds the time after which to try again to an answer that says that something failed.
pub fn later(mut response: Response, error: &RequestError) -> Response {
    if let Some(seconds) = error.retry_after {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Returns a file of the program for the page at `base`.
pub fn asset(base: &str, name: &str) -> Response {
    match page::asset(name) {
        Some(asset) => {
            let headers = [
                (header::CONTENT_TYPE, asset.content_type),
                (header::CACHE_CONTROL, "no-cache"),
            ];
            (headers, asset.bytes).into_response()
        }
        None => failed(base, StatusCode::NOT_FOUND, "there is no such file"),
    }
}
