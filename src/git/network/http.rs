//! git's protocol over https, for libgit2.
//!
//! Certificates are always verified, against the authorities that browsers trust or those in the
//! file that `GIT_SSL_CAINFO` or `SSL_CERT_FILE` names. A redirect is followed on the same server
//! only. A token is sent when the server asks for one.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use git2::transport::Service;
use ureq::http::Response;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body, BodyReader, Proxy};

use crate::git::network::connection::Connection;
use crate::git::network::failure::{Failure, Kind, classify};

/// Maximum length of a request, which is buffered because a server may request a password first.
const MAX_REQUEST: usize = 256 << 20;

/// One request with its answer.
pub(in crate::git) struct Exchange {
    connection: Arc<Connection>,
    service: Service,
    request: Vec<u8>,
    response: Option<BodyReader<'static>>,
}

impl Exchange {
    /// Returns an empty request.
    pub(in crate::git) fn new(connection: Arc<Connection>, service: Service) -> Exchange {
        Exchange {
            connection,
            service,
            request: Vec::new(),
            response: None,
        }
    }

    fn send(&self) -> Result<BodyReader<'static>, Failure> {
        let agent = match self.connection.agent() {
            Some(agent) => agent,
            None => agent_for(&self.connection)?,
        };
        let stopped = |_| Failure::new(Kind::Stopped, "stopped");
        self.connection.uses_agent(&agent).map_err(stopped)?;
        // A redirect or two, and a question for a password.
        for _ in 0..5 {
            let response = self.ask(&agent)?;
            self.connection.hears();
            if !self.is_asked_again(&response)? {
                return self.checked(response);
            }
        }
        Err(Failure::other("it sends from one address to the next"))
    }

    fn ask(&self, agent: &Agent) -> Result<Response<Body>, Failure> {
        let base = self.connection.base();
        let name = self.name();
        let authorization = self.connection.authorization();
        let answered = if self.is_list() {
            let mut request = agent.get(format!("{base}/info/refs?service={name}"));
            if let Some(value) = authorization {
                request = request.header("Authorization", value);
            }
            request.header("Pragma", "no-cache").call()
        } else {
            let mut request = agent.post(format!("{base}/{name}"));
            if let Some(value) = authorization {
                request = request.header("Authorization", value);
            }
            request
                .header("Content-Type", format!("application/x-{name}-request"))
                .header("Accept", format!("application/x-{name}-result"))
                .send(self.request.as_slice())
        };
        answered.map_err(|error| failure_of(&error))
    }

    /// Prepares another try after a redirect or a request for a password; returns whether there is one.
    fn is_asked_again(&self, response: &Response<Body>) -> Result<bool, Failure> {
        let status = response.status().as_u16();
        if status == 401 {
            return Ok(self.connection.is_asked());
        }
        if !(matches!(status, 301 | 302 | 303 | 307 | 308) && self.is_list()) {
            return Ok(false);
        }
        let location = response.headers().get("location");
        let location = location.and_then(|value| value.to_str().ok()).unwrap_or("");
        let origin = self.connection.address().origin().unwrap_or_default();
        let path = match location.strip_prefix(&origin) {
            Some(path) if path.starts_with('/') => path,
            _ if location.starts_with('/') && !location.starts_with("//") => location,
            _ => return Err(Failure::other("it sends on to another server")),
        };
        let end = format!("/info/refs?service={}", self.name());
        let path = path
            .strip_suffix(&end)
            .ok_or_else(|| Failure::other("it sends on to what is no repository"))?;
        self.connection.moves_to(format!("{origin}{path}"));
        Ok(true)
    }

    fn checked(&self, response: Response<Body>) -> Result<BodyReader<'static>, Failure> {
        let status = response.status().as_u16();
        let kind = match status {
            200 => return self.body(response),
            401 | 403 | 407 => Kind::Denied,
            404 | 410 => Kind::NotFound,
            429 | 500..=599 => Kind::Offline,
            _ => Kind::Other,
        };
        Err(Failure::new(
            kind,
            format!("it answers {}", response.status()),
        ))
    }

    fn body(&self, response: Response<Body>) -> Result<BodyReader<'static>, Failure> {
        let end = if self.is_list() {
            "advertisement"
        } else {
            "result"
        };
        let expected = format!("application/x-{}-{end}", self.name());
        let kind = response.headers().get("content-type");
        if kind.and_then(|value| value.to_str().ok()) != Some(&expected) {
            return Err(Failure::other("it does not answer as a git server"));
        }
        let body = response.into_body().into_with_config();
        // `Connection` counts what comes in.
        Ok(body.limit(u64::MAX).reader())
    }

    fn is_list(&self) -> bool {
        matches!(self.service, Service::UploadPackLs | Service::ReceivePackLs)
    }

    fn name(&self) -> &'static str {
        match self.service {
            Service::UploadPackLs | Service::UploadPack => "git-upload-pack",
            Service::ReceivePackLs | Service::ReceivePack => "git-receive-pack",
        }
    }
}

impl Write for Exchange {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.connection.goes_on()?;
        self.connection.hears();
        if self.request.len() + bytes.len() > MAX_REQUEST {
            let reason = format!("more than {MAX_REQUEST} bytes would have to be sent at once");
            self.connection.fails(Failure::new(Kind::TooLarge, reason));
            return Err(io::Error::other("too large"));
        }
        self.request.extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Exchange {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.response.is_none() {
            match self.send() {
                Ok(response) => self.response = Some(response),
                Err(failure) => {
                    self.connection.fails(failure);
                    return Err(io::Error::other("refused"));
                }
            }
        }
        let response = self.response.as_mut().expect("it was just set");
        match response.read(buffer) {
            Ok(length) => {
                self.connection.receives(length)?;
                Ok(length)
            }
            Err(error) => {
                let reason = format!("it broke off: {error}");
                self.connection.fails(Failure::new(Kind::Offline, reason));
                Err(io::Error::other("broken off"))
            }
        }
    }
}

fn agent_for(connection: &Connection) -> Result<Agent, Failure> {
    let settings = connection.settings();
    let variable = |name: &str| settings.variable(name).filter(|value| !value.is_empty());
    let authorities = variable("GIT_SSL_CAINFO").or_else(|| variable("SSL_CERT_FILE"));
    let mut tls = TlsConfig::builder();
    if let Some(path) = authorities {
        let pem = fs::read(&path)
            .map_err(|error| Failure::new(Kind::HostKey, format!("cannot read {path}: {error}")))?;
        let certificates = parse_pem(&pem).filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        });
        tls = tls.root_certs(RootCerts::Specific(Arc::new(certificates.collect())));
    }
    // Plain http goes to this machine only.
    let is_https = connection.address().scheme() == crate::git::Scheme::Https;
    let proxy = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
        .iter()
        .find_map(|name| variable(name))
        .filter(|_| is_https && !is_direct(connection));
    let proxy = proxy
        .map(|text| Proxy::new(&text))
        .transpose()
        .map_err(|_| Failure::other("the address of the proxy is not valid"))?;
    let silence = Some(settings.limits.silence);
    let config = Agent::config_builder()
        .https_only(is_https)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .tls_config(tls.build())
        .proxy(proxy)
        // Some servers accept only clients whose name begins with `git/`.
        .user_agent(concat!("git/2.0 (memdir ", env!("CARGO_PKG_VERSION"), ")"))
        .timeout_resolve(Some(Duration::from_secs(20)))
        .timeout_connect(Some(Duration::from_secs(20)))
        .timeout_per_read(silence)
        .timeout_per_write(silence)
        .build();
    Ok(config.new_agent())
}

/// Returns whether `no_proxy` names this host.
fn is_direct(connection: &Connection) -> bool {
    let settings = connection.settings();
    let list = settings
        .variable("no_proxy")
        .or_else(|| settings.variable("NO_PROXY"));
    let host = connection.address().host().unwrap_or_default();
    list.unwrap_or_default()
        .split(',')
        .map(str::trim)
        .any(|entry| {
            let domain = entry.trim_start_matches(['*', '.']);
            entry == "*"
                || host.eq_ignore_ascii_case(domain)
                || (!domain.is_empty()
                    && host
                        .to_ascii_lowercase()
                        .ends_with(&format!(".{}", domain.to_ascii_lowercase())))
        })
}

fn failure_of(error: &ureq::Error) -> Failure {
    let reason = error.to_string();
    let kind = match error {
        ureq::Error::Rustls(_) | ureq::Error::Tls(_) => Kind::HostKey,
        ureq::Error::HostNotFound
        | ureq::Error::Timeout(_)
        | ureq::Error::ConnectionFailed
        | ureq::Error::Protocol(_) => Kind::Offline,
        // A refused certificate comes wrapped.
        ureq::Error::Io(_) => match classify(&reason).kind {
            Kind::HostKey => Kind::HostKey,
            _ => Kind::Offline,
        },
        _ => Kind::Other,
    };
    Failure::new(kind, reason)
}
