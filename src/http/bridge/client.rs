//! Sends one request to the server, each over a connection of its own.
//!
//! A connection that is kept for the next request may be closed by the server at just that moment,
//! and nobody could tell whether the request was done. A new one costs little: on one machine a
//! request goes there and back in less than a millisecond. Promises: a token is sent only to an
//! address that the user's own settings name. Anybody else has to prove that he knows it, and gets a
//! proof in return; who does not is sent nothing at all. A socket has to be this user's.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ::http::HeaderMap;
use ::http::HeaderValue;
use ::http::Method;
use ::http::Request;
use ::http::Response;
use ::http::StatusCode;
use ::http::header;
use blake3::Hash;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::address::{ServerAddress, Whereabouts};
use super::connection::Open;
use super::events::Messages;
use super::failure::{Refused, RequestFailure};
use super::timeouts::{CONNECTING, SILENCE};
use crate::http::proof::{Handshake, Key};
use crate::http::{proof, tokens};
use crate::tls;

/// Protocol of the connections, as ALPN names it.
pub(super) const PROTOCOL: &str = "http/1.1";

/// Maximum time a server may take to prove itself: it only computes, and a session waits for it.
const PROVING: Duration = Duration::from_secs(10);

/// Maximum number of bytes that are read of a proof.
const MOST_PROOF: usize = 4 * 1024;

/// Maximum number of bytes that are read of an error response.
const MOST_REFUSAL: usize = 256 * 1024;

/// Maximum number of characters of it that are shown, if it is no JSON.
const SHOWN: usize = 200;

/// Source of the token.
#[derive(Clone)]
pub enum Token {
    /// No token is sent.
    None,
    Given(String),
    /// Token file of the store, which is read for each request, so that a change takes effect at once.
    File(PathBuf),
}

/// Credentials of a request.
enum Shown {
    Nothing,
    Secret(String),
    /// A proof, once the server has given one.
    Proof {
        secret: String,
        /// Whether the request goes without, where the server gives none.
        is_optional: bool,
    },
}

/// Client of a server: connects, proves, sends.
pub struct HttpClient {
    whereabouts: Whereabouts,
    /// Whether the user's own settings name the address.
    is_trusted: bool,
    token: Token,
    /// Path of the file with trusted certificates; `None` for the system's.
    authorities: Option<PathBuf>,
    tls: Mutex<Option<TlsConnector>>,
}

/// A successful response.
pub struct SuccessResponse {
    /// Headers of the response.
    pub headers: HeaderMap,
    /// Messages in its body.
    pub messages: Messages,
}

type Sender = SendRequest<Full<Bytes>>;

/// A connection without any request yet.
struct Connected {
    place: ServerAddress,
    /// Place in a proof; `None` of a socket.
    proof_place: Option<String>,
    sender: Sender,
    open: Open,
}

impl HttpClient {
    /// Creates a client; connects to nothing yet.
    pub fn new(
        whereabouts: Whereabouts,
        is_trusted: bool,
        token: Token,
        authorities: Option<PathBuf>,
    ) -> HttpClient {
        HttpClient {
            whereabouts,
            is_trusted,
            token,
            authorities,
            tls: Mutex::default(),
        }
    }

    /// Connects once; returns the address that accepted the connection.
    pub async fn reach(&self) -> Result<ServerAddress, RequestFailure> {
        self.connect().await.map(|connected| connected.place)
    }

    /// Sends a request and waits for the beginning of its response.
    ///
    /// # Errors
    ///
    /// Fails if there is no response, or one that is no success.
    pub async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<SuccessResponse, RequestFailure> {
        let mut connected = self.connect().await?;
        let token = self.authorization(&mut connected).await?;
        let showed_token = token.is_some();
        let Connected {
            place,
            mut sender,
            open,
            ..
        } = connected;
        let mut request = request(&place, method, place.path(), headers, body)?;
        request
            .headers_mut()
            .insert(header::CONNECTION, HeaderValue::from_static("close"));
        if let Some(token) = token {
            request.headers_mut().insert(header::AUTHORIZATION, token);
        }
        let response = tokio::time::timeout(SILENCE, sender.send_request(request)).await;
        let response = response.map_err(|_| RequestFailure::Silent)?;
        let response = response.map_err(|error| RequestFailure::gone(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(&place, showed_token, response).await);
        }
        let (parts, body) = response.into_parts();
        Ok(SuccessResponse {
            messages: Messages::of(&parts.headers, body, open),
            headers: parts.headers,
        })
    }

    /// Returns the credentials for the server at `place`.
    fn shown(&self, place: &ServerAddress) -> Result<Shown, RequestFailure> {
        Ok(match (&self.token, place) {
            (Token::None, _) | (_, ServerAddress::Socket(_)) => Shown::Nothing,
            (Token::Given(secret), _) if self.is_trusted => Shown::Secret(secret.clone()),
            (Token::Given(secret), _) => Shown::Proof {
                secret: secret.clone(),
                is_optional: false,
            },
            (Token::File(_), place) if !place.is_local() => self.unproven()?,
            (Token::File(path), _) => {
                let known = tokens::read(path).map_err(|error| RequestFailure::token(&error))?;
                let first = known.iter().find(|token| token.name == tokens::FIRST);
                match first.or(known.first()) {
                    Some(token) => Shown::Proof {
                        secret: token.secret.clone(),
                        is_optional: self.is_trusted,
                    },
                    None => self.unproven()?,
                }
            }
        })
    }

    /// Returns the credentials where there are none: a server that the user's own settings name, or whose store says
    /// that it runs, is asked without.
    fn unproven(&self) -> Result<Shown, RequestFailure> {
        match &self.whereabouts {
            Whereabouts::At(place) if !self.is_trusted => Err(RequestFailure::Token(format!(
                "there is no token by which the server at {place} could prove itself, so it was sent nothing: set MEMDIR_TOKEN, or name the address in your own settings, as MEMDIR_CONNECT",
            ))),
            Whereabouts::At(_) | Whereabouts::Noted(_) => Ok(Shown::Nothing),
        }
    }

    /// Returns the value of `Authorization`, after the server's proof if one is needed.
    async fn authorization(
        &self,
        connected: &mut Connected,
    ) -> Result<Option<HeaderValue>, RequestFailure> {
        let value = match self.shown(&connected.place)? {
            Shown::Nothing => return Ok(None),
            Shown::Secret(secret) => format!("Bearer {secret}"),
            Shown::Proof {
                secret,
                is_optional,
            } => match prove(connected, &Key::of(&secret)).await {
                Ok(proof) => format!("{} {proof}", proof::SCHEME),
                Err(_) if is_optional => {
                    // Whatever was said on this connection is said.
                    *connected = self.connect().await?;
                    return Ok(None);
                }
                Err(failure) => return Err(failure),
            },
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            RequestFailure::Token("MEMDIR_TOKEN holds what a token cannot hold".to_owned())
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    async fn connect(&self) -> Result<Connected, RequestFailure> {
        let mut failure = RequestFailure::Nowhere;
        for place in self.whereabouts.places() {
            match tokio::time::timeout(CONNECTING, self.connect_to(&place)).await {
                Ok(Ok(connected)) => return Ok(connected),
                Ok(Err(why)) => failure = unreachable(&place, &why),
                Err(_) => failure = unreachable(&place, &"it takes no connection"),
            }
        }
        Err(failure)
    }

    async fn connect_to(&self, place: &ServerAddress) -> io::Result<Connected> {
        let (proof_place, (sender, open)) = match place {
            ServerAddress::Network {
                host,
                port,
                is_encrypted,
                ..
            } => {
                let bare = host.trim_start_matches('[').trim_end_matches(']');
                let stream = TcpStream::connect((bare, *port)).await?;
                let _ = stream.set_nodelay(true); // Slower without.
                if *is_encrypted {
                    let connector = self.connector()?;
                    let name = tls::name(bare)?;
                    let stream = connector.connect(name, stream).await?;
                    let proof_place = proof::tls_place(&place.host());
                    (Some(proof_place), shake_hands(stream).await?)
                } else {
                    let proof_place = proof::network_place(stream.peer_addr()?);
                    (Some(proof_place), shake_hands(stream).await?)
                }
            }
            #[cfg(unix)]
            ServerAddress::Socket(path) => {
                let stream = tokio::net::UnixStream::connect(path).await?;
                // Others may make sockets in a folder that they can write.
                if !self.is_trusted && !crate::http::client::is_own(&stream) {
                    return Err(io::Error::other(
                        "it is another user's, and was sent nothing; if it is the right one, name it in your own settings: MEMDIR_CONNECT",
                    ));
                }
                (None, shake_hands(stream).await?)
            }
            #[cfg(not(unix))]
            ServerAddress::Socket(_) => return Err(io::ErrorKind::Unsupported.into()),
        };
        Ok(Connected {
            place: place.clone(),
            proof_place,
            sender,
            open,
        })
    }

    /// Returns the TLS connector, created once, so that sessions can be resumed.
    fn connector(&self) -> io::Result<TlsConnector> {
        let mut made = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        match made.as_ref() {
            Some(connector) => Ok(connector.clone()),
            None => {
                let connector = tls::connector(self.authorities.as_deref(), PROTOCOL);
                Ok(made.insert(connector.map_err(io::Error::other)?).clone())
            }
        }
    }
}

async fn shake_hands<S>(stream: S) -> io::Result<(Sender, Open)>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let shaken = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = shaken.map_err(io::Error::other)?;
    let speaking = tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!("a connection to the server ended: {error}");
        }
    });
    Ok((sender, Open(speaking)))
}

fn unreachable(place: &ServerAddress, why: &dyn std::fmt::Display) -> RequestFailure {
    RequestFailure::Unreachable {
        place: place.to_string(),
        why: why.to_string(),
    }
}

/// Requests the server's proof that it has the token of `key`; returns the client's proof.
async fn prove(connected: &mut Connected, key: &Key) -> Result<String, RequestFailure> {
    let place = &connected.place;
    let unproven = || RequestFailure::Unproven(place.to_string());
    let proof_place = connected.proof_place.clone().ok_or_else(unproven)?;
    let no_nonce =
        |error| RequestFailure::Token(format!("this system gives no random bytes: {error}"));
    let client_nonce = proof::nonce().map_err(no_nonce)?;
    let mut headers = HeaderMap::new();
    for (name, value) in [(proof::NONCE, &client_nonce), (proof::TOKEN, &key.id())] {
        let value = HeaderValue::from_str(value);
        headers.insert(
            name,
            value.map_err(|error| RequestFailure::Odd(error.to_string()))?,
        );
    }
    let request = request(place, Method::GET, proof::PATH, headers, Bytes::new())?;
    let sent = tokio::time::timeout(PROVING, connected.sender.send_request(request)).await;
    let response = sent.ok().and_then(Result::ok).ok_or_else(unproven)?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MOST_PROOF).collect();
    let body = tokio::time::timeout(PROVING, body).await.ok();
    let body = body.and_then(Result::ok).ok_or_else(unproven)?;
    let said: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
    if status == StatusCode::UNAUTHORIZED && said["code"] == proof::UNKNOWN {
        return Err(RequestFailure::Refused(Box::new(Refused {
            place: place.to_string(),
            status,
            retry_after: None,
            showed_token: true,
            said: None,
            text: String::new(),
        })));
    }
    let server_nonce = said["nonce"]
        .as_str()
        .filter(|nonce| proof::is_nonce(nonce));
    let shown = said["proof"]
        .as_str()
        .and_then(|hex| Hash::from_hex(hex).ok());
    let (Some(server_nonce), Some(shown)) = (server_nonce, shown) else {
        return Err(unproven());
    };
    let handshake = Handshake {
        place: proof_place,
        client_nonce,
        server_nonce: server_nonce.to_owned(),
    };
    if key.of_server(&handshake) != shown {
        return Err(unproven());
    }
    let ready = connected.sender.ready().await;
    ready.map_err(|error| RequestFailure::gone(&error))?;
    Ok(key.of_client(&handshake).to_hex().to_string())
}

fn request(
    place: &ServerAddress,
    method: Method,
    path: &str,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, RequestFailure> {
    let odd = |error: &dyn Error| RequestFailure::Odd(error.to_string());
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .body(Full::new(body))
        .map_err(|error| odd(&error))?;
    let all = request.headers_mut();
    *all = headers;
    let host = HeaderValue::try_from(place.host()).map_err(|error| odd(&error))?;
    all.insert(header::HOST, host);
    let agent = concat!("memdir/", env!("CARGO_PKG_VERSION"));
    all.insert(header::USER_AGENT, HeaderValue::from_static(agent));
    Ok(request)
}

async fn refused(
    place: &ServerAddress,
    showed_token: bool,
    response: Response<Incoming>,
) -> RequestFailure {
    let status = response.status();
    let retry_after = response.headers().get(header::RETRY_AFTER);
    let retry_after = retry_after.and_then(|value| value.to_str().ok());
    let retry_after = retry_after.map(str::to_owned);
    let body = Limited::new(response.into_body(), MOST_REFUSAL).collect();
    let body = match tokio::time::timeout(SILENCE, body).await {
        Ok(Ok(body)) => body.to_bytes(),
        // What the status says is enough.
        Ok(Err(_)) | Err(_) => Bytes::new(),
    };
    let text = String::from_utf8_lossy(&body);
    let text = text.trim().chars().filter(|c| !c.is_control());
    RequestFailure::Refused(Box::new(Refused {
        place: place.to_string(),
        status,
        retry_after,
        showed_token,
        said: serde_json::from_slice(&body).ok(),
        text: match status {
            StatusCode::UNAUTHORIZED => String::new(),
            _ => text.take(SHOWN).collect(),
        },
    }))
}
