//! Sessions of browsers, in memory: they end with the server, or after a week without a request.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ::http::{HeaderMap, header};

use crate::http::proof::nonce;
use crate::http::tokens::Rights;

/// Time without a request after which a session ends.
const IDLE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Maximum number of sessions of a store.
const MOST_OF_STORE: usize = 64;

/// Maximum number of sessions of all workspaces of a server.
const MOST_OF_WORKSPACES: usize = 4096;

/// Name of the cookie of workspaces, whose paths tell them apart.
const COOKIE_OF_WORKSPACES: &str = "memdir-page";

/// Page that a session opens, and who came in.
#[derive(Clone)]
pub struct Entry {
    /// Rights of whoever came in.
    pub rights: Rights,
    /// Path of the page, with a slash at both ends: the cookie is sent there alone.
    pub path: String,
    /// Name of whoever came in, among those of all pages of the server.
    pub holder: Arc<str>,
    /// Token by which the session began; `None` if it needed none, or began by a code.
    pub secret: Option<Arc<str>>,
    /// Whether the cookie is sent over TLS alone.
    pub is_secure: bool,
}

/// A session of a browser.
#[derive(Clone)]
pub struct BrowserSession {
    /// Way by which its browser logged in.
    pub entry: Entry,
    /// Token that the forms of its pages hold.
    pub form_token: String,
    used: Instant,
}

impl BrowserSession {
    /// Returns whether a form has the token of the session; compared in constant time.
    pub fn sent(&self, token: &str) -> bool {
        blake3::hash(token.as_bytes()) == blake3::hash(self.form_token.as_bytes())
    }
}

/// Sessions by the hash of the value of their cookie.
pub struct Sessions {
    cookie: String,
    most: usize,
    sessions: Mutex<HashMap<blake3::Hash, BrowserSession>>,
}

impl Sessions {
    /// Makes those of the store with the derived files in `state`. Cookies are not told apart by port: each store
    /// has one of another name.
    pub fn of_store(state: &Path) -> Sessions {
        let store = blake3::hash(state.as_os_str().as_encoded_bytes()).to_hex();
        Sessions {
            cookie: format!("memdir-{}", &store.as_str()[..12]),
            most: MOST_OF_STORE,
            sessions: Mutex::default(),
        }
    }

    /// Makes those of all workspaces of a server.
    pub fn of_workspaces() -> Sessions {
        Sessions {
            cookie: COOKIE_OF_WORKSPACES.to_owned(),
            most: MOST_OF_WORKSPACES,
            sessions: Mutex::default(),
        }
    }

    /// Begins a session, and returns the header that gives it to the browser. Where there are too many, the one of the
    /// same holder that was idle for longest goes, or that of all where the holder has none.
    ///
    /// # Errors
    ///
    /// Fails if the system gives no random bytes.
    pub fn begin(&self, entry: Entry) -> Result<String, getrandom::Error> {
        let (value, form_token) = (nonce()?, nonce()?);
        let mut sessions = self.lock();
        sessions.retain(|_, one| one.used.elapsed() < IDLE);
        while sessions.len() >= self.most {
            let oldest = sessions
                .iter()
                .min_by_key(|(_, one)| (one.entry.holder != entry.holder, one.used))
                .map(|(hash, _)| *hash);
            oldest.and_then(|hash| sessions.remove(&hash));
        }
        let header = self.header(&value, &entry.path, entry.is_secure);
        let session = BrowserSession {
            entry,
            form_token,
            used: Instant::now(),
        };
        sessions.insert(blake3::hash(value.as_bytes()), session);
        Ok(header)
    }

    /// Returns the session of a request to the page at `path`.
    pub fn of(&self, headers: &HeaderMap, path: &str) -> Option<BrowserSession> {
        let hash = self.shown(headers)?;
        let mut sessions = self.lock();
        let session = sessions
            .get_mut(&hash)
            .filter(|one| one.entry.path == path && one.used.elapsed() < IDLE)?;
        session.used = Instant::now();
        Some(session.clone())
    }

    /// Ends the session of a request to the page at `path`, and returns the header that takes the cookie away.
    pub fn end(&self, headers: &HeaderMap, path: &str) -> String {
        let mut sessions = self.lock();
        let ended = self.shown(headers).and_then(|hash| {
            let is_of_page = sessions.get(&hash)?.entry.path == path;
            is_of_page.then(|| sessions.remove(&hash))?
        });
        let is_secure = ended.is_some_and(|ended| ended.entry.is_secure);
        format!("{}; Max-Age=0", self.header("", path, is_secure))
    }

    fn header(&self, value: &str, path: &str, is_secure: bool) -> String {
        let secure = if is_secure { "; Secure" } else { "" };
        let name = &self.cookie;
        format!("{name}={value}; Path={path}; HttpOnly; SameSite=Strict{secure}")
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

#[cfg(test)]
mod tests {
    use ::http::HeaderValue;

    use super::*;

    fn entry(workspace: &str, holder: &str) -> Entry {
        Entry {
            rights: Rights::ReadOnly,
            path: format!("/w/{workspace}/"),
            holder: holder.into(),
            secret: None,
            is_secure: holder == "anna",
        }
    }

    /// The headers of a request of the browser that got `cookie`.
    fn headers(cookie: &str) -> HeaderMap {
        let value = cookie.split(';').next().unwrap();
        let value = HeaderValue::from_str(value).unwrap();
        HeaderMap::from_iter([(header::COOKIE, value)])
    }

    #[test]
    fn a_session_opens_one_page_until_it_is_ended_there() {
        let sessions = Sessions::of_workspaces();
        let cookie = sessions.begin(entry("atlas", "anna")).unwrap();
        assert!(
            cookie.ends_with("; Path=/w/atlas/; HttpOnly; SameSite=Strict; Secure"),
            "{cookie}"
        );
        let shown = headers(&cookie);
        assert!(sessions.of(&shown, "/w/beta/").is_none());
        assert!(sessions.of(&HeaderMap::new(), "/w/atlas/").is_none());
        sessions.end(&shown, "/w/beta/");
        let session = sessions.of(&shown, "/w/atlas/").unwrap();
        assert!(session.sent(&session.form_token) && !session.sent(""));
        let gone = sessions.end(&shown, "/w/atlas/");
        assert!(gone.ends_with("; Secure; Max-Age=0"), "{gone}");
        assert!(sessions.of(&shown, "/w/atlas/").is_none());
    }

    #[test]
    fn who_begins_too_many_sessions_loses_his_own() {
        let sessions = Sessions::of_store(Path::new("x"));
        let other = headers(&sessions.begin(entry("atlas", "bert")).unwrap());
        let first = headers(&sessions.begin(entry("atlas", "anna")).unwrap());
        for _ in 1..MOST_OF_STORE {
            sessions.begin(entry("atlas", "anna")).unwrap();
        }
        assert_eq!(sessions.lock().len(), MOST_OF_STORE);
        assert!(sessions.of(&first, "/w/atlas/").is_none());
        assert!(sessions.of(&other, "/w/atlas/").is_some());
    }
}
