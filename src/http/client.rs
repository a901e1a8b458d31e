//! Who sends a request, as far as it was shown.

use std::net::SocketAddr;
use std::sync::Arc;

use super::tokens::Rights;

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Network(SocketAddr),
    /// A socket that only the owner of the store can open.
    Socket,
}

/// Whoever sent a request. Its rate and its sessions are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The name of its token, or where it comes from.
    pub name: Arc<str>,
    pub rights: Rights,
}

impl Client {
    /// Who shows no token, where none is asked for.
    pub fn unnamed(peer: Peer) -> Client {
        let name = match peer {
            Peer::Network(address) => address.ip().to_string().into(),
            Peer::Socket => "socket".into(),
        };
        Client {
            name,
            rights: Rights::ReadWrite,
        }
    }

    pub fn may_write(&self) -> bool {
        self.rights == Rights::ReadWrite
    }
}
