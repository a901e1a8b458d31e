//! The issuer of tokens: its configuration, and its keys as they are kept and fetched again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::identity::{Identity, groups_of, name_of};
use super::keys::{KeySet, Verified};
use crate::fetch::{FetchClient, FetchError, Url};

/// Age of keys at which they are fetched again in the background. An issuer that rotates its keys publishes the new
/// ones before it uses them, and takes the former ones away when their tokens have ended.
const REFRESH: Duration = Duration::from_secs(600);

/// Maximum age of keys: so long those of an issuer are relied on that is away.
pub const MAX_AGE_AWAY: Duration = Duration::from_secs(24 * 3600);

/// Minimum time between two fetches: tokens with made-up keys must not become requests to the issuer.
const PAUSE: Duration = Duration::from_secs(5);

/// Maximum time of a fetch, for which requests with an unknown key wait.
const DEADLINE: Duration = Duration::from_secs(5);

/// Maximum number of bytes of the issuer's configuration, or of its keys.
const MAX_BYTES: u64 = 1 << 20;

/// Addresses of the configuration below that of the issuer, in the order in which they are asked: of OpenID Connect,
/// at the end of the path, and of OAuth (RFC 8414), before it.
const OPENID: &str = ".well-known/openid-configuration";
const OAUTH: &str = ".well-known/oauth-authorization-server";

/// Error of asking an issuer.
#[derive(Debug, thiserror::Error)]
pub enum OpenIdError {
    /// It cannot be asked.
    #[error("the issuer {issuer} cannot be asked for its {what}")]
    Unreachable {
        issuer: String,
        what: &'static str,
        source: FetchError,
    },
    /// It answers, and not as an issuer.
    #[error("the issuer {issuer} cannot be used: {why}")]
    Unusable { issuer: String, why: String },
    /// It is no address of an issuer.
    #[error(
        "`{0}` is no issuer: it is an https:// address without a query, or http:// of this machine"
    )]
    Address(String),
    /// It could not be asked a moment ago.
    #[error("the issuer {0} did not answer just now, and is not asked again yet")]
    Away(String),
}

impl OpenIdError {
    /// Returns the whole chain of reasons in one line.
    pub fn in_one_line(&self) -> String {
        match self {
            OpenIdError::Unreachable { source, .. } => format!("{self}: {}", source.in_one_line()),
            error => error.to_string(),
        }
    }
}

/// An issuer of tokens.
pub struct Issuer {
    /// As its tokens name it.
    name: String,
    address: Url,
    groups_claim: String,
    client: FetchClient,
    kept: Mutex<Option<KeptKeys>>,
    /// Held by who fetches.
    last_fetch: Mutex<Option<LastFetch>>,
}

#[derive(Clone)]
struct KeptKeys {
    keys: Arc<KeySet>,
    at: Instant,
}

struct LastFetch {
    ended: Instant,
    has_succeeded: bool,
}

impl Issuer {
    /// Returns the issuer at the address `name`, whose tokens tell groups in `groups_claim`, without asking it.
    ///
    /// # Errors
    ///
    /// Fails if `name` is no address of an issuer.
    pub fn new(name: &str, groups_claim: &str, client: FetchClient) -> Result<Issuer, OpenIdError> {
        let bad = || OpenIdError::Address(name.to_owned());
        let address = Url::parse(name).map_err(|_| bad())?;
        // Whoever could change an answer on the way could sign tokens.
        let is_safe = address.is_encrypted() || address.is_loopback();
        if name.contains(['?', '#', ' ']) || !is_safe {
            return Err(bad());
        }
        Ok(Issuer {
            name: name.to_owned(),
            address,
            groups_claim: groups_claim.to_owned(),
            client,
            kept: Mutex::default(),
            last_fetch: Mutex::default(),
        })
    }

    /// Returns the name of the issuer, which is its address.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the holder of `token`, which was made for one of `audiences`; `None` if it is no valid token of this
    /// issuer. Waits for the issuer if the token names a key that is not known.
    ///
    /// # Errors
    ///
    /// Fails if the issuer must be asked and does not answer.
    pub fn identity(
        self: &Arc<Self>,
        token: &str,
        audiences: &[String],
    ) -> Result<Option<Identity>, OpenIdError> {
        let kept = match self.kept() {
            Some(kept) => kept,
            None => self.fetch_after(Instant::now())?,
        };
        if kept.at.elapsed() >= REFRESH {
            self.fetch_in_background();
        }
        let verified = match kept.keys.verify(token, &self.name, audiences) {
            Verified::UnknownKey => {
                let newer = self.fetch_after(kept.at)?;
                newer.keys.verify(token, &self.name, audiences)
            }
            verified => verified,
        };
        let Verified::Valid(claims, left) = verified else {
            return Ok(None);
        };
        let name = name_of(&claims, &self.name);
        Ok(name.map(|name| Identity {
            name,
            groups: groups_of(&claims, &self.groups_claim),
            left,
        }))
    }

    /// Fetches the keys.
    ///
    /// # Errors
    ///
    /// Fails if the issuer cannot be asked, or answers as none.
    pub fn fetch(&self) -> Result<(), OpenIdError> {
        let mut last = lock(&self.last_fetch);
        self.fetch_as(&mut last).map(drop)
    }

    /// Returns the keys, unless they are too old.
    fn kept(&self) -> Option<KeptKeys> {
        let kept = lock(&self.kept);
        kept.clone().filter(|kept| kept.at.elapsed() < MAX_AGE_AWAY)
    }

    /// Returns keys that were fetched after `known`, if it is time to fetch some; else those that are there.
    fn fetch_after(&self, known: Instant) -> Result<KeptKeys, OpenIdError> {
        // Others wait here for the keys that one fetches.
        let mut last = lock(&self.last_fetch);
        let kept = self.kept();
        if let Some(kept) = kept.as_ref().filter(|kept| kept.at > known) {
            return Ok(kept.clone());
        }
        match &*last {
            Some(last) if last.ended.elapsed() < PAUSE => {
                let kept = kept.filter(|_| last.has_succeeded);
                kept.ok_or_else(|| OpenIdError::Away(self.name.clone()))
            }
            _ => self.fetch_as(&mut last),
        }
    }

    /// Fetches the keys on a thread of its own, if nobody does and it is time.
    fn fetch_in_background(self: &Arc<Self>) {
        let issuer = Arc::clone(self);
        let is_due = |last: &Option<LastFetch>| {
            last.as_ref()
                .is_none_or(|last| last.ended.elapsed() >= PAUSE)
        };
        if !self.last_fetch.try_lock().is_ok_and(|last| is_due(&last)) {
            return;
        }
        let fetch = move || {
            let mut last = lock(&issuer.last_fetch);
            if is_due(&last)
                && let Err(error) = issuer.fetch_as(&mut last)
            {
                tracing::warn!(
                    "the keys of the issuer are not renewed: {}",
                    error.in_one_line()
                );
            }
        };
        let begun = std::thread::Builder::new()
            .name("openid".to_owned())
            .spawn(fetch);
        if let Err(error) = begun {
            tracing::warn!("the keys of the issuer are not renewed: {error}");
        }
    }

    fn fetch_as(&self, last: &mut Option<LastFetch>) -> Result<KeptKeys, OpenIdError> {
        let begun = Instant::now();
        let fetched = self.ask();
        *last = Some(LastFetch {
            ended: Instant::now(),
            has_succeeded: fetched.is_ok(),
        });
        let kept = KeptKeys {
            keys: Arc::new(fetched?),
            at: begun,
        };
        *lock(&self.kept) = Some(kept.clone());
        Ok(kept)
    }

    /// Asks the issuer for its configuration and its keys.
    fn ask(&self) -> Result<KeySet, OpenIdError> {
        let end = Instant::now() + DEADLINE;
        let unusable = |why: String| OpenIdError::Unusable {
            issuer: self.name.clone(),
            why,
        };
        let get = |address: &Url, what: &'static str| {
            let left = end.saturating_duration_since(Instant::now());
            let answered = self.client.get_json(address, left, MAX_BYTES);
            answered.map_err(|source| OpenIdError::Unreachable {
                issuer: self.name.clone(),
                what,
                source,
            })
        };
        let address = |text: &str| Url::parse(text).map_err(|error| unusable(error.to_string()));
        let base = self.name.trim_end_matches('/');
        let path = self.address.path().trim_end_matches('/');
        let configuration = get(&address(&format!("{base}/{OPENID}"))?, "configuration");
        let configuration = match configuration {
            Err(OpenIdError::Unreachable {
                source: FetchError::Refused { .. },
                ..
            }) => {
                let origin = self.address.origin();
                get(
                    &address(&format!("{origin}/{OAUTH}{path}"))?,
                    "configuration",
                )?
            }
            configuration => configuration?,
        };
        let text = |name: &str| configuration.get(name).and_then(Value::as_str);
        match text("issuer") {
            Some(issuer) if issuer == self.name => {}
            Some(other) => {
                return Err(unusable(format!("it calls itself `{other}`: name it so")));
            }
            None => return Err(unusable("its configuration names no issuer".to_owned())),
        }
        let keys = text("jwks_uri");
        let keys = keys.ok_or_else(|| unusable("it has no `jwks_uri`".to_owned()))?;
        let keys = address(keys)?;
        if !keys.is_encrypted() && (self.address.is_encrypted() || !keys.is_loopback()) {
            return Err(unusable(format!(
                "its keys are at {keys}, without encryption"
            )));
        }
        let keys = KeySet::parse(&get(&keys, "keys")?);
        keys.ok_or_else(|| unusable("what is at its `jwks_uri` is no set of keys".to_owned()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
