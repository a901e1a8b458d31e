//! Sessions of browsers, in memory: they end with the server, or after a week without a request.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::http::{HeaderMap, header};

use crate::http::proof::nonce;
use crate::http::tokens::Rights;

/// Time without a request after which a session ends.
const IDLE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Maximum number of sessions; the one that was idle for longest goes.
const MOST: usize = 64;

/// A session of a browser.
#[derive(Debug, Clone)]
pub struct BrowserSession {
    /// Rights of the code by which it began.
    pub rights: Rights,
    /// Token that the forms of its pages hold.
    pub form_token: String,
    used: Instant,
}

/// Sessions by the hash of the value of their cookie.
pub struct Sessions {
    cookie: String,
    is_secure: bool,
    sessions: Mutex<HashMap<blake3::Hash, BrowserSession>>,
}

impl Sessions {
    /// Makes those of the store with the derived files in `state`. Cookies are not told apart by port: each store
    /// has one of another name.
    pub fn new(state: &Path, is_secure: bool) -> Sessions {
        let store = blake3::hash(state.as_os_str().as_encoded_bytes()).to_hex();
        Sessions {
            cookie: format!("memdir-{}", &store.as_str()[..12]),
            is_secure,
            sessions: Mutex::default(),
        }
    }

    /// Begins a session, and returns the header that gives it to the browser.
    ///
    /// # Errors
    ///
    /// Fails if the system gives no random bytes.
    pub fn begin(&self, rights: Rights) -> Result<String, getrandom::Error> {
        let (value, form_token) = (nonce()?, nonce()?);
        let mut sessions = self.lock();
        sessions.retain(|_, one| one.used.elapsed() < IDLE);
        while sessions.len() >= MOST {
            let oldest = sessions
                .iter()
                .min_by_key(|(_, one)| one.used)
                .map(|(hash, _)| *hash);
            oldest.and_then(|hash| sessions.remove(&hash));
        }
        let session = BrowserSession {
            rights,
            form_token,
            used: Instant::now(),
        };
        sessions.insert(blake3::hash(value.as_bytes()), session);
        Ok(self.header(&value, ""))
    }

    /// Returns the session of a request.
    pub fn of(&self, headers: &HeaderMap) -> Option<BrowserSession> {
        let hash = self.shown(headers)?;
        let mut sessions = self.lock();
        let session = sessions
            .get_mut(&hash)
            .filter(|one| one.used.elapsed() < IDLE)?;
        session.used = Instant::now();
        Some(session.clone())
    }

    /// Ends the session of a request, and returns the header that takes the cookie away.
    pub fn end(&self, headers: &HeaderMap) -> String {
        if let Some(hash) = self.shown(headers) {
            self.lock().remove(&hash);
        }
        self.header("", "; Max-Age=0")
    }

    fn header(&self, value: &str, more: &str) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let name = &self.cookie;
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}")
    }

    /// Returns the hash of the value that a request shows: the map holds nothing that opens a session.
    fn shown(&self, headers: &HeaderMap) -> Option<blake3::Hash> {
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut cookies = cookies
            .filter_map(|cookies| cookies.to_str().ok())
            .flat_map(|cookies| cookies.split(';'));
        let value = cookies.find_map(|cookie| {
            let (name, value) = cookie.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        })?;
        Some(blake3::hash(value.as_bytes()))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<blake3::Hash, BrowserSession>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
