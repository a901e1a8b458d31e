//! Sends one request to the server, each over a connection of its own.
//!
//! A connection that is kept for the next request may be closed by the server at just that moment,
//! and nobody could tell whether the request was done. A new one costs little: on one machine a
//! request goes there and back in less than a millisecond. Promises: the token of the store's own
//! file goes to this machine only.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use ::http::HeaderMap;
use ::http::HeaderValue;
use ::http::Method;
use ::http::Request;
use ::http::Response;
use ::http::StatusCode;
use ::http::header;
use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::Full;
use http_body_util::Limited;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::CONNECTING;
use super::SILENCE;
use super::events::Messages;
use super::place::Place;
use super::place::Whereabouts;
use super::tls;
use super::trouble::Refused;
use super::trouble::Trouble;
use crate::http::tokens;

/// So much is read of an answer that is no success.
const MOST_REFUSAL: usize = 256 * 1024;

/// So much of it is shown, if it is no JSON.
const SHOWN: usize = 200;

/// Where the token comes from.
#[derive(Clone)]
pub enum Token {
    /// None is shown.
    None,
    Given(String),
    /// The store's own file, which is read for each request: a change holds at once.
    File(PathBuf),
}

/// What finds the server and speaks to it.
pub struct Wire {
    whereabouts: Whereabouts,
    token: Token,
    /// The file with the certificates that are trusted.
    authorities: Option<PathBuf>,
    tls: Mutex<Option<TlsConnector>>,
}

/// A connection; closed with the value.
pub struct Open(tokio::task::JoinHandle<()>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// An answer that is a success.
pub struct Answer {
    pub headers: HeaderMap,
    pub messages: Messages,
}

type Sender = SendRequest<Full<Bytes>>;

impl Wire {
    pub fn new(whereabouts: Whereabouts, token: Token, authorities: Option<PathBuf>) -> Wire {
        Wire {
            whereabouts,
            token,
            authorities,
            tls: Mutex::default(),
        }
    }

    /// Whether somebody takes a connection.
    pub async fn reach(&self) -> Result<Place, Trouble> {
        self.connect().await.map(|(place, ..)| place)
    }

    /// Sends a request and waits for the beginning of its answer.
    ///
    /// # Errors
    ///
    /// Fails if there is no answer, or one that is no success.
    pub async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, Trouble> {
        let (place, mut sender, open) = self.connect().await?;
        let token = self.token(&place)?;
        let showed_token = token.is_some();
        let request = request(&place, method, headers, token, body)?;
        let response = tokio::time::timeout(SILENCE, sender.send_request(request)).await;
        let response = response.map_err(|_| Trouble::Silent)?;
        let response = response.map_err(|error| Trouble::gone(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(refused(&place, showed_token, response).await);
        }
        let (parts, body) = response.into_parts();
        Ok(Answer {
            messages: Messages::of(&parts.headers, body, open),
            headers: parts.headers,
        })
    }

    fn token(&self, place: &Place) -> Result<Option<HeaderValue>, Trouble> {
        let secret = match (&self.token, place) {
            (Token::None, _) | (_, Place::Socket(_)) => None,
            (Token::Given(secret), _) => Some(secret.clone()),
            (Token::File(_), place) if !place.is_local() => None,
            (Token::File(path), _) => {
                let known = tokens::read(path).map_err(|error| Trouble::token(&error))?;
                let first = known.iter().find(|token| token.name == tokens::FIRST);
                let token = first.or(known.first());
                token.map(|token| token.secret.clone())
            }
        };
        let Some(secret) = secret else {
            return Ok(None);
        };
        let value = HeaderValue::from_str(&format!("Bearer {secret}"));
        let mut value = value.map_err(|_| {
            Trouble::Token("MEMDIR_TOKEN holds what a token cannot hold".to_owned())
        })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    async fn connect(&self) -> Result<(Place, Sender, Open), Trouble> {
        let mut trouble = Trouble::Nowhere;
        for place in self.whereabouts.places() {
            match tokio::time::timeout(CONNECTING, self.connect_to(&place)).await {
                Ok(Ok((sender, open))) => return Ok((place, sender, open)),
                Ok(Err(why)) => trouble = unreachable(&place, &why),
                Err(_) => trouble = unreachable(&place, &"it takes no connection"),
            }
        }
        Err(trouble)
    }

    async fn connect_to(&self, place: &Place) -> io::Result<(Sender, Open)> {
        match place {
            Place::Network {
                host,
                port,
                is_encrypted,
                ..
            } => {
                let bare = host.trim_start_matches('[').trim_end_matches(']');
                let stream = TcpStream::connect((bare, *port)).await?;
                let _ = stream.set_nodelay(true); // Slower without.
                if !is_encrypted {
                    return shake_hands(stream).await;
                }
                let connector = self.connector()?;
                let name = tls::name(bare)?;
                shake_hands(connector.connect(name, stream).await?).await
            }
            #[cfg(unix)]
            Place::Socket(path) => shake_hands(tokio::net::UnixStream::connect(path).await?).await,
            #[cfg(not(unix))]
            Place::Socket(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Made once: it remembers what spares a part of the next greeting.
    fn connector(&self) -> io::Result<TlsConnector> {
        let mut made = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        match made.as_ref() {
            Some(connector) => Ok(connector.clone()),
            None => {
                let connector = tls::connector(self.authorities.as_deref());
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

fn unreachable(place: &Place, why: &dyn std::fmt::Display) -> Trouble {
    Trouble::Unreachable {
        place: place.to_string(),
        why: why.to_string(),
    }
}

fn request(
    place: &Place,
    method: Method,
    headers: HeaderMap,
    token: Option<HeaderValue>,
    body: Bytes,
) -> Result<Request<Full<Bytes>>, Trouble> {
    let odd = |error: &dyn Error| Trouble::Odd(error.to_string());
    let mut request = Request::builder()
        .method(method)
        .uri(place.path())
        .body(Full::new(body))
        .map_err(|error| odd(&error))?;
    let all = request.headers_mut();
    *all = headers;
    let host = HeaderValue::try_from(place.host()).map_err(|error| odd(&error))?;
    all.insert(header::HOST, host);
    let agent = concat!("memdir/", env!("CARGO_PKG_VERSION"));
    all.insert(header::USER_AGENT, HeaderValue::from_static(agent));
    all.insert(header::CONNECTION, HeaderValue::from_static("close"));
    if let Some(token) = token {
        all.insert(header::AUTHORIZATION, token);
    }
    Ok(request)
}

async fn refused(place: &Place, showed_token: bool, response: Response<Incoming>) -> Trouble {
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
    Trouble::Refused(Box::new(Refused {
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
