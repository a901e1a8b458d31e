//! Proves on one connection that both sides have a token, without sending it.
//!
//! The client sends a nonce and which token it means; the server answers with a nonce of its own and a
//! proof that it knows the token; then the client's next request on the same connection carries a
//! proof instead of the token. A proof is a keyed hash of both nonces and of the place that was
//! connected to, as each side sees it for itself.
//!
//! Promises: who does not know the token learns nothing of it. A program that listens elsewhere and
//! passes on what is said between the two is noticed before any request is sent, as the two sides
//! see different places. What one sees that has taken the very place of the server, such as the
//! machine's administrator, are the requests and answers that pass; the token is not among them.

use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};

use blake3::{Hash, Hasher};

/// Path where a client asks a server for its proof.
pub const PATH: &str = "/proof";

/// Header with the client's nonce.
pub const NONCE: &str = "memdir-nonce";
/// Header with the [identifier](Key::id) of the token that the client has.
pub const TOKEN: &str = "memdir-token";

/// Scheme of an `Authorization` header that holds a proof.
pub const SCHEME: &str = "Memdir";

/// Error code of a server that does not have the token.
pub const UNKNOWN: &str = "UNKNOWN_TOKEN";

const CONTEXT: &str = "memdir 2026-11-23 proof of a token of `memdir serve`";
const NONCE_BYTES: usize = 32;

/// Key of proofs, derived from a token.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

/// Nonces and place of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Handshake {
    /// Place that was connected to: see [`network_place`] and [`tls_place`].
    pub place: String,
    /// Nonce of the client.
    pub client_nonce: String,
    /// Nonce of the server.
    pub server_nonce: String,
}

impl Key {
    /// Derives the key from a token's secret.
    pub fn of(secret: &str) -> Key {
        Key(blake3::derive_key(CONTEXT, secret.as_bytes()))
    }

    /// Returns an identifier of the token that reveals nothing of its secret.
    pub fn id(&self) -> String {
        let mut id = blake3::keyed_hash(&self.0, b"id").to_hex().to_string();
        id.truncate(32);
        id
    }

    /// Returns the server's proof.
    pub fn of_server(&self, handshake: &Handshake) -> Hash {
        self.proof("server", handshake)
    }

    /// Returns the client's proof.
    pub fn of_client(&self, handshake: &Handshake) -> Hash {
        self.proof("client", handshake)
    }

    fn proof(&self, side: &str, handshake: &Handshake) -> Hash {
        let Handshake {
            place,
            client_nonce,
            server_nonce,
        } = handshake;
        let mut hasher = Hasher::new_keyed(&self.0);
        for part in [side, place, client_nonce, server_nonce] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        hasher.finalize()
    }
}

/// Returns a random nonce in hexadecimal.
///
/// # Errors
///
/// Fails if the system gives no random bytes.
pub fn nonce() -> Result<String, getrandom::Error> {
    let mut bytes = [0; NONCE_BYTES];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns whether a text has the form of a nonce.
pub fn is_nonce(text: &str) -> bool {
    text.len() == 2 * NONCE_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the place of a connection without TLS: the address at the server's end.
pub fn network_place(address: SocketAddr) -> String {
    let ip = address.ip().to_canonical();
    SocketAddr::new(ip, address.port()).to_string()
}

/// Returns the place of a connection with TLS: the name that its certificate was verified for.
pub fn tls_place(host: &str) -> String {
    format!("tls {}", host.to_ascii_lowercase())
}

/// State of the proof on one connection of a server.
pub struct ConnectionProof {
    /// Server's own address; `None` of a socket.
    address: Option<SocketAddr>,
    has_tls: bool,
    /// Identifier of the client's token, and the handshake; valid for one request.
    begun: Mutex<Option<(String, Handshake)>>,
}

impl ConnectionProof {
    /// Creates the state of a new connection.
    pub fn new(address: Option<SocketAddr>, has_tls: bool) -> ConnectionProof {
        ConnectionProof {
            address,
            has_tls,
            begun: Mutex::default(),
        }
    }

    /// Returns the place that a client connected to, if its name of this server is `host`; `None` of a socket.
    pub fn place(&self, host: &str) -> Option<String> {
        match self.has_tls {
            true => Some(tls_place(host)),
            false => self.address.map(network_place),
        }
    }

    /// Stores the handshake for the next request.
    pub fn begin(&self, token: String, handshake: Handshake) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some((token, handshake));
    }

    /// Returns the handshake that was begun, once.
    pub fn take(&self) -> Option<(String, Handshake)> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(place: &str) -> Handshake {
        Handshake {
            place: place.to_owned(),
            client_nonce: "a".repeat(64),
            server_nonce: "b".repeat(64),
        }
    }

    #[test]
    fn a_proof_is_of_one_token_one_side_and_one_place() {
        let key = Key::of("memdir_1");
        let here = handshake("127.0.0.1:9077");
        let proof = key.of_server(&here);
        assert_eq!(proof, Key::of("memdir_1").of_server(&here));
        assert_ne!(proof, Key::of("memdir_2").of_server(&here));
        assert_ne!(proof, key.of_client(&here));
        assert_ne!(proof, key.of_server(&handshake("127.0.0.1:9078")));
        let swapped = Handshake {
            client_nonce: here.server_nonce.clone(),
            server_nonce: here.client_nonce.clone(),
            ..here
        };
        assert_ne!(proof, key.of_server(&swapped));
        assert_ne!(key.id(), Key::of("memdir_2").id());
    }

    #[test]
    fn both_ends_see_one_place_and_a_relay_another() {
        let place = |text: &str| network_place(text.parse().unwrap());
        assert_eq!(place("127.0.0.1:9077"), place("[::ffff:127.0.0.1]:9077"));
        assert_ne!(place("127.0.0.1:9077"), place("127.0.0.2:9077"));
        assert_ne!(place("127.0.0.1:9077"), place("[::1]:9077"));
        assert_eq!(tls_place("Notes.lan:9077"), tls_place("notes.lan:9077"));
        assert_ne!(tls_place("127.0.0.1:9077"), place("127.0.0.1:9077"));
    }

    #[test]
    fn a_handshake_serves_once() {
        let link = ConnectionProof::new(None, false);
        link.begin("id".to_owned(), handshake("x"));
        assert!(link.take().is_some() && link.take().is_none());
        assert_eq!(link.place("localhost"), None);
        let (one, other) = (nonce().unwrap(), nonce().unwrap());
        assert!(one != other && is_nonce(&one) && !is_nonce("") && !is_nonce(&"g".repeat(64)));
    }
}
