//! Asks a host in JSON.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Body;
use ureq::http::{HeaderValue, Response};

use super::address::Url;
use super::client::{FetchClient, broken, refusal};
use super::error::FetchError;
use super::retry::{AttemptFailure, Tries};

/// A secret that a host knows somebody by. It is never shown.
#[derive(Clone)]
pub struct ApiKey(String);

impl ApiKey {
    pub fn new(text: impl Into<String>) -> ApiKey {
        ApiKey(text.into().trim().to_owned())
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// A question to a host.
#[derive(Debug)]
pub struct Post<'a> {
    pub address: &'a Url,
    pub key: Option<&'a ApiKey>,
    pub body: &'a Value,
    /// For all tries together.
    pub deadline: Duration,
    /// A longer answer is none.
    pub max_answer_bytes: u64,
}

/// Maximum number of characters that are kept of a host's words about a refusal.
const MAX_SAID: usize = 300;

impl FetchClient {
    /// Posts a request, with retries where those may help, and returns the response. It goes to its address only:
    /// a redirect is refused.
    ///
    /// # Errors
    ///
    /// Fails if the host cannot be reached in time or refuses, or answers with anything but JSON.
    pub fn ask(&self, post: &Post<'_>) -> Result<Value, FetchError> {
        let authorization = post.key.map(|key| bearer(key, post.address)).transpose()?;
        let body = post.body.to_string();
        self.repeat(post.address, post.deadline, |left| {
            self.post(post.address, authorization.clone(), &body, left)
                .and_then(|response| {
                    answer(post.address, post.key, post.max_answer_bytes, response)
                })
        })
    }

    /// Asks for the JSON at `address` within `deadline`, as [`FetchClient::ask`]; an answer of more than
    /// `max_answer_bytes` is none.
    ///
    /// # Errors
    ///
    /// As for [`FetchClient::ask`].
    #[cfg(feature = "team")]
    pub fn get_json(
        &self,
        address: &Url,
        deadline: Duration,
        max_answer_bytes: u64,
    ) -> Result<Value, FetchError> {
        self.repeat(address, deadline, |left| {
            self.get_once(address, left)
                .and_then(|response| answer(address, None, max_answer_bytes, response))
        })
    }

    /// Makes attempts, each with the time that is left, until one succeeds.
    fn repeat(
        &self,
        address: &Url,
        deadline: Duration,
        attempt: impl Fn(Duration) -> Result<Value, AttemptFailure>,
    ) -> Result<Value, FetchError> {
        let end = Instant::now() + deadline;
        let mut tries = Tries::new(&self.limits);
        loop {
            let trouble = match attempt(end.saturating_duration_since(Instant::now())) {
                Ok(answer) => return Ok(answer),
                Err(trouble) => trouble,
            };
            let last = match &trouble {
                AttemptFailure::Passing { error, .. } => error.in_one_line(),
                AttemptFailure::Final(_) => String::new(),
            };
            let pause = tries.next(trouble)?;
            if Instant::now() + pause >= end {
                let why = format!("there was no time for another try after {last}");
                return Err(FetchError::broken(address, why));
            }
            std::thread::sleep(pause);
        }
    }
}

fn bearer(key: &ApiKey, address: &Url) -> Result<HeaderValue, FetchError> {
    let value = HeaderValue::try_from(format!("Bearer {}", key.0));
    let mut value =
        value.map_err(|_| FetchError::distrusted(address, "the key holds what no key may hold"))?;
    value.set_sensitive(true);
    Ok(value)
}

fn answer(
    address: &Url,
    key: Option<&ApiKey>,
    max_answer_bytes: u64,
    mut response: Response<Body>,
) -> Result<Value, AttemptFailure> {
    let body = response.body_mut().with_config();
    let text = body.limit(max_answer_bytes).read_to_vec();
    match response.status().as_u16() {
        200..=299 => {}
        301..=308 => {
            let error = FetchError::distrusted(address, "it sends on to another address");
            return Err(AttemptFailure::Final(error));
        }
        // Such an answer may repeat a part of the key.
        401 | 403 => return Err(refusal(address, &response, String::new())),
        _ => {
            let said = text.map_or_else(|_| String::new(), |text| said(&text, key));
            return Err(refusal(address, &response, said));
        }
    }
    let text = match text {
        Ok(text) => text,
        Err(ureq::Error::BodyExceedsLimit(limit)) => {
            let error = FetchError::wrong_bytes(address, format!("more than {limit} bytes"));
            return Err(AttemptFailure::Final(error));
        }
        Err(error) => return Err(broken(address, format!("it broke off: {error}"))),
    };
    // An answer that broke off is no JSON either.
    serde_json::from_slice(&text).map_err(|error| {
        let what = format!("it does not answer in JSON, or broke off: {error}");
        broken(address, what)
    })
}

/// Returns a host's words about a refusal, in one line without the key.
fn said(text: &[u8], key: Option<&ApiKey>) -> String {
    let Ok(value) = serde_json::from_slice::<Value>(text) else {
        return String::new();
    };
    let places = ["/error/message", "/detail", "/message", "/error"];
    let said = places
        .iter()
        .find_map(|place| value.pointer(place)?.as_str());
    let said: String = said
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let said = match key {
        Some(key) if !key.0.is_empty() => said.replace(&key.0, "[the key]"),
        _ => said,
    };
    said.chars().take(MAX_SAID).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = ApiKey::new(" abc-secret\n");
        assert_eq!(format!("{key:?}"), "Key(…)");
        let text = br#"{"error": {"message": "no\nsuch abc-secret"}}"#;
        assert_eq!(said(text, Some(&key)), "no such [the key]");
        let address = Url::parse("https://api.example/").unwrap();
        let value = bearer(&key, &address).unwrap();
        assert_eq!(value.to_str().unwrap(), "Bearer abc-secret");
        assert!(!format!("{value:?}").contains("abc"));
        let bad = bearer(&ApiKey::new("abc\u{7f}secret"), &address).unwrap_err();
        assert!(!bad.in_one_line().contains("abc"));
    }
}
