//! The sender of a request, as far as the request shows it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::tokens::Rights;

/// Other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Network(SocketAddr),
    /// A socket that only the owner of the store can open.
    Socket,
}

/// Returns whether the other end of a socket is a process of this user, or of the machine's administrator.
#[cfg(unix)]
pub fn is_own(stream: &tokio::net::UnixStream) -> bool {
    let own = rustix::process::geteuid().as_raw();
    stream
        .peer_cred()
        .is_ok_and(|peer| peer.uid() == own || peer.uid() == 0)
}

/// Sender of a request, with a rate limit and sessions of its own.
#[derive(Debug, Clone)]
pub struct Client {
    /// Name of its token; without a token its IP address or `socket`.
    pub name: Arc<str>,
    /// Rights of its token.
    pub rights: Rights,
    /// Whether it sent the store's own token, or none where none is required.
    pub is_owner: bool,
    /// Quota of the workspace that it calls; `None` if that has none.
    pub quota: Option<CallQuota>,
}

/// Limit of the calls of a workspace.
#[derive(Clone)]
pub struct CallQuota {
    /// Name of the workspace.
    pub workspace: Arc<str>,
    /// Number of calls that are admitted in a minute.
    pub calls_a_minute: u64,
    /// Source of calls for all servers of the workspace.
    pub leases: Arc<dyn CallLeases>,
}

impl fmt::Debug for CallQuota {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} calls a minute of {}",
            self.calls_a_minute, self.workspace
        )
    }
}

/// Gives servers parts of the calls that a workspace has in a minute.
pub trait CallLeases: Send + Sync {
    /// Takes at most `wanted` further calls of the workspace `name`, which has `calls_a_minute` of them. Waits for an
    /// answer; `None` if there is none.
    fn lease(&self, name: &str, calls_a_minute: u64, wanted: u64) -> Option<CallLease>;
}

/// Calls that a server may admit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallLease {
    /// Number of calls; 0 if the quota is used up.
    pub calls: u64,
    /// Time until the minute ends, and the lease with it.
    pub left: Duration,
}

impl Client {
    /// Returns the client of a request without a token, where none is required.
    pub fn unnamed(peer: Peer) -> Client {
        let name = match peer {
            Peer::Network(address) => address.ip().to_string().into(),
            Peer::Socket => "socket".into(),
        };
        Client {
            name,
            rights: Rights::ReadWrite,
            is_owner: true,
            quota: None,
        }
    }

    /// Returns whether it may write.
    pub fn may_write(&self) -> bool {
        self.rights == Rights::ReadWrite
    }
}
