//! How answers look: JSON, and errors with a code, a message and the request's id.

use std::sync::Arc;
use std::time::Duration;

use ::http::HeaderValue;
use ::http::StatusCode;
use ::http::header;
use axum::body::Body;
use axum::response::Response;
use serde_json::Value;
use serde_json::json;
use tokio::sync::Semaphore;

use super::admission::Closed;
use super::chunked_body::ChunkedBody;
use super::concurrency::RETRY_AFTER;
use crate::dialect::Refusal;

/// Maximum number of bytes of all responses that clients have not read yet.
pub const OUTGOING: usize = 64 * 1024 * 1024;

const KIB: usize = 1024;

/// Smaller ones are not counted.
const COUNTED_FROM: usize = 64 * KIB;

/// Maximum time a response waits for room.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a request came to nothing, before anything was done.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestError {
    pub status: StatusCode,
    pub code: &'static str,
    pub message: String,
    pub retry_after: Option<u64>,
}

impl RequestError {
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> RequestError {
        RequestError {
            status,
            code,
            message: message.into(),
            retry_after: None,
        }
    }

    pub fn overload() -> RequestError {
        Closed::Overload.into()
    }

    /// What was asked for went wrong.
    pub fn bad(message: impl Into<String>) -> RequestError {
        let code = Refusal::VALIDATION_FAILED;
        RequestError::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// What went wrong is this machine's business; the log says more.
    pub fn internal() -> RequestError {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        RequestError::new(status, Refusal::DATABASE_ERROR, "Internal server error")
    }
}

impl From<Closed> for RequestError {
    fn from(closed: Closed) -> RequestError {
        let (status, code, retry_after) = match closed {
            Closed::OnlyReads => (StatusCode::FORBIDDEN, "FORBIDDEN", None),
            // Whole seconds are all that the header can say.
            Closed::TooOften(wait) => {
                let seconds = wait.as_secs_f64().ceil().max(1.0) as u64;
                (StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", Some(seconds))
            }
            Closed::Overload => {
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
            Refusal::VALIDATION_FAILED => StatusCode::BAD_REQUEST,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        RequestError::new(status, refusal.code, refusal.message)
    }
}

impl From<RequestError> for Response {
    fn from(trouble: RequestError) -> Response {
        let body = json!({
            "code": trouble.code,
            "message": trouble.message,
            // Older clients look for it here.
            "error": trouble.message,
        });
        let mut response = small(trouble.status, &body);
        let headers = response.headers_mut();
        if let Some(seconds) = trouble.retry_after {
            headers.insert(header::RETRY_AFTER, seconds.into());
        }
        if trouble.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"memdir\"");
            headers.insert(header::WWW_AUTHENTICATE, scheme);
        }
        if trouble.status == StatusCode::REQUEST_TIMEOUT
            || trouble.status == StatusCode::PAYLOAD_TOO_LARGE
        {
            // What is left of the body is not read.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

/// A JSON answer that is small whatever the store holds.
pub fn small(status: StatusCode, body: &Value) -> Response {
    with_type(
        status,
        "application/json",
        body.to_string().into_bytes(),
        None,
    )
}

/// A text that is small, of a type.
pub fn text(of: &'static str, text: String) -> Response {
    with_type(StatusCode::OK, of, text.into_bytes(), None)
}

/// Any JSON answer. A large one waits until there is room for it.
pub async fn json_of(
    status: StatusCode,
    body: Vec<u8>,
    outgoing: &Arc<Semaphore>,
) -> Result<Response, RequestError> {
    let counted = match body.len() {
        ..COUNTED_FROM => None,
        length => {
            let kib = length.min(OUTGOING).div_ceil(KIB);
            let kib = u32::try_from(kib).unwrap_or(u32::MAX);
            let room = Arc::clone(outgoing).acquire_many_owned(kib);
            match tokio::time::timeout(PATIENCE, room).await {
                Ok(Ok(room)) => Some(room),
                Ok(Err(_)) | Err(_) => return Err(RequestError::overload()),
            }
        }
    };
    Ok(with_type(status, "application/json", body, counted))
}

fn with_type(
    status: StatusCode,
    of: &'static str,
    bytes: Vec<u8>,
    counted: Option<tokio::sync::OwnedSemaphorePermit>,
) -> Response {
    let mut response = Response::new(Body::new(ChunkedBody::new(bytes, counted)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(of));
    response
}
