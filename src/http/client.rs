//! The sender of a request, as far as the request shows it.

use std::net::SocketAddr;
use std::sync::Arc;

use super::tokens::Rights;

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Network(SocketAddr),
    /// A socket that only the owner of the store can open.
    Socket,
}

/// Whether the other end of a socket is a process of this user, or of the machine's administrator.
#[cfg(unix)]
pub fn is_own(stream: &tokio::net::UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}

/// The sender of a request, with a rate and sessions of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The name of its token, or where it comes from.
    pub name: Arc<str>,
    pub rights: Rights,
    /// Whether it showed the store's own token, or none where none is required.
    pub is_owner: bool,
}

impl Client {
    /// The client of a request without a token, where none is required.
    pub fn unnamed(peer: Peer) -> Client {
        let name = match peer {
            Peer::Network(address) => address.ip().to_string().into(),
            Peer::Socket => "socket".into(),
        };
        Client {
            name,
            rights: Rights::ReadWrite,
            is_owner: true,
        }
    }

    pub fn may_write(&self) -> bool {
        self.rights == Rights::ReadWrite
    }
}
