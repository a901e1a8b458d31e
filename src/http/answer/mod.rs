//! Responses: JSON, and errors with a code, a message and the request's id.

pub mod sequence;

use std::sync::Arc;
use std::time::Duration;

use ::http::HeaderValue;
use ::http::StatusCode;
use ::http::header;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use tokio::sync::Semaphore;

use super::admission::AdmissionError;
use super::chunked_body::ChunkedBody;
use super::concurrency::RETRY_AFTER;
use crate::dialect::json::to_text;
use crate::dialect::{ErrorView, Refusal};

/// Maximum number of bytes of all responses that clients have not read yet.
pub const OUTGOING: usize = 64 * 1024 * 1024;

const KIB: usize = 1024;

/// Minimum number of bytes of a response that counts.
const COUNTED_FROM: usize = 64 * KIB;

/// Maximum time a response waits for room.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(10);

/// An error response.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestError {
    /// HTTP status.
    pub status: StatusCode,
    /// Code of the error for programs, such as `NOT_FOUND`.
    pub code: &'static str,
    /// Message for people.
    pub message: String,
    /// Number of seconds until a retry makes sense.
    pub retry_after: Option<u64>,
}

impl RequestError {
    /// Creates an error without a time for a retry.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> RequestError {
        RequestError {
            status,
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    /// Returns the error for a server under too much load.
    pub fn overload() -> RequestError {
        AdmissionError::Overload.into()
    }

    /// Returns the error for an invalid request.
    pub fn bad(message: impl Into<String>) -> RequestError {
        let code = Refusal::VALIDATION_FAILED;
        RequestError::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// Returns the error for a failure whose cause is only logged.
    pub fn internal() -> RequestError {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        RequestError::new(status, Refusal::DATABASE_ERROR, "Internal server error")
    }
}

impl From<AdmissionError> for RequestError {
    fn from(closed: AdmissionError) -> RequestError {
        let (status, code, retry_after) = match closed {
            AdmissionError::OnlyReads => (StatusCode::FORBIDDEN, "FORBIDDEN", None),
            // Whole seconds are all that the header can say.
            AdmissionError::TooOften(wait) | AdmissionError::OverQuota { wait, .. } => {
                let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
                (StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", Some(seconds))
            }
            AdmissionError::Overload => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                (status, "OVERLOADED", Some(RETRY_AFTER))
            }
        };
        RequestError {
            retry_after,
            ..RequestError::new(status, code, closed.to_string())
        }
    }
}

impl From<Refusal> for RequestError {
    fn from(refusal: Refusal) -> RequestError {
        let status = match refusal.code {
            Refusal::NOT_FOUND => StatusCode::NOT_FOUND,
            Refusal::CONFLICT => StatusCode::CONFLICT,
            Refusal::OVER_QUOTA => StatusCode::FORBIDDEN,
            Refusal::VALIDATION_FAILED => StatusCode::BAD_REQUEST,
            Refusal::UNAVAILABLE => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let is_unavailable = status == StatusCode::SERVICE_UNAVAILABLE;
        RequestError {
            retry_after: is_unavailable.then_some(RETRY_AFTER),
            ..RequestError::new(status, refusal.code, refusal.message)
        }
    }
}

impl IntoResponse for RequestError {
    fn into_response(self) -> Response {
        let body = ErrorView::new(self.code, self.message);
        let mut response = small(self.status, &body);
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"memdir\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if self.status == StatusCode::REQUEST_TIMEOUT
            || self.status == StatusCode::PAYLOAD_TOO_LARGE
        {
            // What is left of the body is not read.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// Returns a JSON response whose size does not depend on the store.
pub fn small(status: StatusCode, body: &impl Serialize) -> Response {
    let body = to_text(body).into_bytes();
    with_type(status, "application/json", body, None)
}

/// Returns a small text response of the content type `of`.
pub fn text(of: &'static str, text: String) -> Response {
    with_type(StatusCode::OK, of, text.into_bytes(), None)
}

/// Returns a JSON response of any size. A large one waits until there is room for it.
pub async fn json_of(
    status: StatusCode,
    body: Vec<u8>,
    outgoing: &Arc<Semaphore>,
) -> Result<Response, RequestError> {
    counted(status, "application/json", body, outgoing).await
}

/// As [`json_of`], of a document.
pub async fn html_of(
    status: StatusCode,
    document: String,
    outgoing: &Arc<Semaphore>,
) -> Result<Response, RequestError> {
    let body = document.into_bytes();
    counted(status, "text/html; charset=utf-8", body, outgoing).await
}

async fn counted(
    status: StatusCode,
    of: &'static str,
    body: Vec<u8>,
    outgoing: &Arc<Semaphore>,
) -> Result<Response, RequestError> {
    let counted = match body.len() {
        ..COUNTED_FROM => None,
        length => {
            let kib = length.min(OUTGOING).div_ceil(KIB);
            let kib = u32::try_from(kib).unwrap_or(u32::MAX);
            let room = Arc::clone(outgoing).acquire_many_owned(kib);
            match tokio::time::timeout(QUEUE_TIMEOUT, room).await {
                Ok(Ok(room)) => Some(room),
                Ok(Err(_)) | Err(_) => return Err(RequestError::overload()),
            }
        }
    };
    Ok(with_type(status, of, body, counted))
}

fn with_type(
    status: StatusCode,
    of: &'static str,
    bytes: Vec<u8>,
    counted: Option<tokio::sync::OwnedSemaphorePermit>,
) -> Response {
    let body = Body::new(ChunkedBody::new(bytes, counted));
    (status, [(header::CONTENT_TYPE, of)], body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_large_document_takes_room_until_it_is_read() {
        let outgoing = Arc::new(Semaphore::new(200));
        let of = |kib: usize| html_of(StatusCode::OK, "x".repeat(kib * KIB), &outgoing);
        let small = of(1).await.unwrap();
        assert_eq!(outgoing.available_permits(), 200);
        let large = of(150).await.unwrap();
        assert_eq!(outgoing.available_permits(), 50);
        let kind = large.headers().get(header::CONTENT_TYPE).unwrap();
        assert_eq!(kind, "text/html; charset=utf-8");
        drop((small, large));
        assert_eq!(outgoing.available_permits(), 200);
    }
}
