//! Connections, and one exchange over them.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ureq::http::{HeaderValue, Response};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, Proxy};

use super::address::Url;
use super::error::{FetchError, Why, is_passing};
use super::limits::RequestLimits;
use super::proxy::Proxies;
use super::retry::{AttemptFailure, retry_after};

/// Speaks to hosts. Shared between threads; connections are kept for the next request.
pub struct FetchClient {
    pub(super) limits: RequestLimits,
    proxies: Proxies,
    authorities: Option<PathBuf>,
    /// One for each proxy.
    agents: Mutex<HashMap<Option<String>, Agent>>,
}

/// Redirects of one request. The hubs of models need two.
const MAX_REDIRECTS: usize = 6;

impl FetchClient {
    /// Returns a client with the proxies and authorities that `variables` name; connects to nothing yet.
    pub fn new(variables: &HashMap<String, String>, limits: RequestLimits) -> FetchClient {
        let authorities = variables
            .get("SSL_CERT_FILE")
            .filter(|path| !path.is_empty());
        FetchClient {
            limits,
            proxies: Proxies::new(variables),
            authorities: authorities.map(PathBuf::from),
            agents: Mutex::default(),
        }
    }

    /// Asks for what lies at `address`, and follows it where it is sent on. Answers that tell of
    /// no success are answers, too.
    pub(super) fn get(
        &self,
        address: &Url,
        headers: &[(&str, String)],
    ) -> Result<Response<Body>, AttemptFailure> {
        let mut at = address.clone();
        for _ in 0..=MAX_REDIRECTS {
            let mut request = self.agent(&at)?.get(at.uri());
            for (name, value) in headers {
                request = request.header(*name, value);
            }
            let response = request.call().map_err(|error| trouble(&error, address))?;
            match next_of(&at, &response)? {
                Some(next) => at = next,
                None => return Ok(response),
            }
        }
        let why = "it sends from one address to the next";
        Err(AttemptFailure::Final(FetchError::distrusted(address, why)))
    }

    /// Asks `address` once where it sends on to, and does not go there. `None` where it answers itself.
    ///
    /// # Errors
    ///
    /// Fails if the host cannot be reached, refuses, or sends on to what is not permitted.
    pub fn redirect_of(&self, address: &Url) -> Result<Option<Url>, FetchError> {
        let asked = || {
            let request = self.agent(address)?.get(address.uri());
            let response = request.call().map_err(|error| trouble(&error, address))?;
            let next = next_of(address, &response)?;
            match next.is_none() && !response.status().is_success() {
                true => Err(refusal(address, &response, String::new())),
                false => Ok(next),
            }
        };
        asked().map_err(|failure| match failure {
            AttemptFailure::Final(error) | AttemptFailure::Passing { error, .. } => error,
        })
    }

    /// Sends JSON to `address` and nowhere else, and waits for the answer.
    pub(super) fn post(
        &self,
        address: &Url,
        authorization: Option<HeaderValue>,
        body: &str,
        deadline: Duration,
    ) -> Result<Response<Body>, AttemptFailure> {
        let request = self.agent(address)?.post(address.uri());
        let mut request = request.header("Content-Type", "application/json");
        if let Some(value) = authorization {
            request = request.header("Authorization", value);
        }
        let request = request.config().timeout_global(Some(deadline)).build();
        request.send(body).map_err(|error| trouble(&error, address))
    }

    /// Asks `address` and no other, and waits for the answer.
    #[cfg(feature = "team")]
    pub(super) fn get_once(
        &self,
        address: &Url,
        deadline: Duration,
    ) -> Result<Response<Body>, AttemptFailure> {
        let request = self.agent(address)?.get(address.uri());
        let request = request.header("Accept", "application/json");
        let request = request.config().timeout_global(Some(deadline)).build();
        request.call().map_err(|error| trouble(&error, address))
    }

    fn agent(&self, address: &Url) -> Result<Agent, FetchError> {
        let proxy = self.proxies.to(address);
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = agents.get(&proxy.map(str::to_owned)) {
            return Ok(agent.clone());
        }
        let agent = self.new_agent(address, proxy)?;
        agents.insert(proxy.map(str::to_owned), agent.clone());
        Ok(agent)
    }

    fn new_agent(&self, address: &Url, proxy: Option<&str>) -> Result<Agent, FetchError> {
        let mut tls = TlsConfig::builder();
        if let Some(path) = &self.authorities {
            let pem = fs::read(path).map_err(|source| FetchError::File {
                action: "read the certificates in",
                path: path.clone(),
                source,
            })?;
            let certificates = parse_pem(&pem).filter_map(|item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            });
            tls = tls.root_certs(RootCerts::Specific(Arc::new(certificates.collect())));
        }
        let proxy = proxy.map(Proxy::new).transpose().map_err(|_| {
            // It may hold a password.
            let why = "the address of the proxy is not valid: see HTTPS_PROXY and ALL_PROXY";
            FetchError::distrusted(address, why)
        })?;
        let limits = &self.limits;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // They are followed here, so that each is looked at.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(tls.build())
            .proxy(proxy)
            .user_agent(concat!("memdir/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(Some(limits.connect))
            .timeout_connect(Some(limits.connect))
            .timeout_per_read(Some(limits.silence))
            .timeout_per_write(Some(limits.silence))
            .build();
        Ok(config.new_agent())
    }
}

/// Returns the address that the answer of `at` sends on to.
fn next_of(at: &Url, response: &Response<Body>) -> Result<Option<Url>, FetchError> {
    if !matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let location = response.headers().get("location");
    let location = location.and_then(|value| value.to_str().ok());
    at.follow(location.unwrap_or_default()).map(Some)
}

/// Returns the error that an answer without success stands for.
pub(super) fn refusal(address: &Url, response: &Response<Body>, said: String) -> AttemptFailure {
    let status = response.status();
    let error = FetchError::Refused {
        address: address.to_string(),
        status: status.as_u16(),
        source: Why(match said.is_empty() {
            true => status.canonical_reason().unwrap_or("no reason").to_owned(),
            false => said,
        }),
    };
    match is_passing(status.as_u16()) {
        true => AttemptFailure::Passing {
            error,
            wait: retry_after(response.headers()),
        },
        false => AttemptFailure::Final(error),
    }
}

/// Returns a connection that broke off, or never was.
pub(super) fn broken(address: &Url, why: impl Into<String>) -> AttemptFailure {
    AttemptFailure::Passing {
        error: FetchError::broken(address, why),
        wait: None,
    }
}

fn trouble(error: &ureq::Error, address: &Url) -> AttemptFailure {
    let why = error.to_string();
    // A refused certificate may come wrapped.
    let is_about_trust = matches!(error, ureq::Error::Rustls(_) | ureq::Error::Tls(_))
        || (matches!(error, ureq::Error::Io(_)) && why.contains("certificate"));
    match error {
        _ if is_about_trust => AttemptFailure::Final(FetchError::distrusted(address, why)),
        ureq::Error::HostNotFound => broken(address, "there is no such host, or no connection"),
        ureq::Error::Timeout(_) => broken(address, "it does not answer in time"),
        ureq::Error::ConnectProxyFailed(_) => broken(address, "the proxy refuses"),
        ureq::Error::Io(error) => broken(address, error.to_string()),
        _ => broken(address, why),
    }
}
