//! Numbers of changes in requests and results: `_meta` with `memdir/sequence`, or the header `Memdir-Sequence`.

use std::sync::{Arc, OnceLock};

use rmcp::RoleServer;
use rmcp::model::MetaObject;
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use crate::engine::EndedCall;

/// Key of the number in `_meta`.
const SEQUENCE: &str = "memdir/sequence";

/// Key of the age of an answer in `_meta`, in seconds.
const STALE: &str = "memdir/stale-seconds";

/// Header with the number of a change, of requests and replies.
pub const SEQUENCE_HEADER: &str = "memdir-sequence";

/// Result of the call of a request over HTTP, among the extensions of the request.
///
/// It is set before the reply of a request without a session begins; within a session a reply begins earlier.
#[derive(Debug, Clone, Default)]
pub struct CallNote(Arc<OnceLock<EndedCall>>);

impl CallNote {
    /// Returns the properties of the answer, once the call has ended.
    pub fn ended(&self) -> Option<&EndedCall> {
        self.0.get()
    }

    /// Notes the end of the call, for the first time.
    pub(super) fn end(&self, ended: EndedCall) {
        let _ = self.0.set(ended); // A request has one call.
    }
}

/// Returns the number of the change that the answer to a request must hold; `None` if it names none.
///
/// # Errors
///
/// Fails with a message if it is no number.
pub(super) fn asked(context: &RequestContext<RoleServer>) -> Result<Option<u64>, String> {
    let in_meta = match context.meta.get(SEQUENCE) {
        None => None,
        Some(value) => {
            let text = value.as_str().map(str::to_owned);
            let text = text.unwrap_or_else(|| value.to_string());
            Some(number(&text).ok_or_else(|| format!("`{SEQUENCE}` of `_meta` is no number"))?)
        }
    };
    let parts = context.extensions.get::<::http::request::Parts>();
    let in_header = parts.map_or(Ok(None), |parts| asked_in(&parts.headers))?;
    Ok(in_meta.max(in_header))
}

/// Returns the number of a change in the headers of a request; `None` if there is none.
///
/// # Errors
///
/// Fails with a message if it is no number, or if there are several.
pub fn asked_in(headers: &::http::HeaderMap) -> Result<Option<u64>, String> {
    let mut values = headers.get_all(SEQUENCE_HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let number = value.to_str().ok().and_then(number);
    match number.filter(|_| values.next().is_none()) {
        Some(number) => Ok(Some(number)),
        None => Err("the header `Memdir-Sequence` is not one number".to_owned()),
    }
}

/// Returns a number that is written in digits alone.
fn number(text: &str) -> Option<u64> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_plain)
}

/// Returns the age of an answer in whole seconds, rounded up.
pub fn stale_seconds(ended: &EndedCall) -> Option<u64> {
    let age = ended.age?;
    let begun = u64::from(age.subsec_nanos() > 0);
    Some(age.as_secs().saturating_add(begun))
}

/// Adds what an answer holds to the `_meta` of a result.
pub(super) fn tell(meta: &mut Option<MetaObject>, ended: &EndedCall) {
    let mut add = |key: &str, number: Option<u64>| {
        if let Some(number) = number {
            let value: Value = json!(number);
            meta.get_or_insert_default().insert(key.to_owned(), value);
        }
    };
    add(SEQUENCE, ended.number);
    add(STALE, stale_seconds(ended));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_digits_alone() {
        assert_eq!(number("0"), Some(0));
        assert_eq!(number("18446744073709551615"), Some(u64::MAX));
        for text in [
            "",
            "+1",
            "-1",
            "1.0",
            " 1",
            "1e3",
            "0x1",
            "18446744073709551616",
            "١",
        ] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
