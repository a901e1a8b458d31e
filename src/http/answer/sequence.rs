//! Numbers of changes and ages of answers in the headers of requests and replies.

use ::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

use crate::engine::{EndedCall, Engine, SequenceError};
use crate::http::answer::RequestError;
use crate::mcp::{SEQUENCE_HEADER, asked_in, stale_seconds};

/// Header with the age of an answer, while the database is away.
const STALE_HEADER: &str = "memdir-stale-seconds";

/// Seconds after which a client should ask again while the database is away.
const RETRY_AFTER: u64 = 2;

/// Returns the number of the change that the answer of `engine` must hold.
pub fn asked(engine: &Engine, headers: &HeaderMap) -> Result<Option<u64>, RequestError> {
    match engine.live.has_sequence() {
        true => asked_in(headers).map_err(RequestError::bad),
        false => Ok(None),
    }
}

/// Returns the error of a request that cannot be answered, or not be done, while the database is away.
pub fn unavailable(message: &str) -> RequestError {
    RequestError {
        retry_after: Some(RETRY_AFTER),
        ..RequestError::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", message)
    }
}

impl From<SequenceError> for RequestError {
    fn from(error: SequenceError) -> RequestError {
        match error {
            SequenceError::Unknown { .. } => RequestError::bad(error.to_string()),
            SequenceError::Away { .. } => unavailable(&error.to_string()),
        }
    }
}

/// Returns the answer of a call that has `ended`; an error instead if it lacks what the database did not give.
pub fn judged<T>(
    answer: Result<T, RequestError>,
    ended: &EndedCall,
    writes: bool,
) -> Result<T, RequestError> {
    // What was written is acknowledged, whatever could not be read after it.
    if !ended.is_incomplete || (writes && answer.is_ok()) {
        return answer;
    }
    let missing = unavailable(ended.lack(writes));
    Err(of_call(missing, ended.may_have_written))
}

/// Returns `error` as that of a call that may have written something: clients repeat what is unavailable unasked, and
/// it would be there twice.
pub fn of_call(error: RequestError, may_have_written: bool) -> RequestError {
    match may_have_written && error.status == StatusCode::SERVICE_UNAVAILABLE {
        true => RequestError {
            message: error.message,
            ..RequestError::internal()
        },
        false => error,
    }
}

/// Adds what an answer holds to its headers.
pub fn tell(response: &mut Response, ended: &EndedCall) {
    let headers = response.headers_mut();
    for (name, number) in [
        (SEQUENCE_HEADER, ended.number),
        (STALE_HEADER, stale_seconds(ended)),
    ] {
        if let Some(number) = number {
            headers.insert(name, HeaderValue::from(number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_written_is_not_to_be_sent_again_unasked() {
        let failed = || Err::<(), _>(RequestError::internal());
        let mut ended = EndedCall {
            is_incomplete: true,
            ..EndedCall::default()
        };
        let refused = judged(failed(), &ended, true).unwrap_err();
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(refused.message.contains("nothing was written"));
        ended.may_have_written = true;
        let unknown = judged(failed(), &ended, true).unwrap_err();
        assert_eq!(unknown.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert!(unknown.retry_after.is_none() && unknown.message.contains("read whether"));
        assert_eq!(judged(Ok(()), &ended, true), Ok(()));
    }
}
