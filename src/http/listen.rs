//! Binds the addresses of a server: network addresses, with or without TLS, and sockets that only their owner can open.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::{fmt, io};

use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::tls::read_certificates;

/// An address to listen at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A host and a port; 0 is any that is free.
    Network(SocketAddr),
    /// Path of a socket; connections need no token, since only the owner can open it.
    Socket(PathBuf),
}

/// Error for a text that is no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no address: give HOST:PORT with a number as host or `localhost`, such as 127.0.0.1:9077"
)]
pub struct BadAddress(String);

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Address, BadAddress> {
        let numbers = text.replacen("localhost:", "127.0.0.1:", 1);
        let address = numbers.parse().map_err(|_| BadAddress(text.to_owned()))?;
        Ok(Address::Network(address))
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Network(address) => write!(f, "{address}"),
            Address::Socket(path) => write!(f, "{}", path.display()),
        }
    }
}

impl Address {
    /// Returns whether it is unreachable from other machines, and a socket also for other users.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Network(address) => address.ip().is_loopback(),
            Address::Socket(_) => true,
        }
    }
}

/// A bound listener.
pub enum Listener {
    Network(TcpListener),
    #[cfg(unix)]
    Socket(tokio::net::UnixListener, PathBuf),
}

/// Binds a listener.
pub async fn listen(address: &Address) -> io::Result<Listener> {
    match address {
        Address::Network(address) => {
            let mut addresses = address.to_socket_addrs()?;
            let address = addresses.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
            Ok(Listener::Network(TcpListener::bind(address).await?))
        }
        #[cfg(unix)]
        Address::Socket(path) => {
            use std::os::unix::fs::PermissionsExt;
            remove_dead(path).await?;
            let listener = tokio::net::UnixListener::bind(path)?;
            std::fs::set_permissions(path, PermissionsExt::from_mode(0o600))?;
            Ok(Listener::Socket(listener, path.clone()))
        }
        #[cfg(not(unix))]
        Address::Socket(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Removes the socket of a server that was killed; anything else stays.
#[cfg(unix)]
async fn remove_dead(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::FileTypeExt;
    let Ok(meta) = std::fs::symlink_metadata(path) else {
        return Ok(());
    };
    let is_answered = tokio::net::UnixStream::connect(path).await.is_ok();
    match meta.file_type().is_socket() && !is_answered {
        true => crate::files::remove_derived(path),
        false => Err(io::ErrorKind::AddrInUse.into()),
    }
}

impl Listener {
    /// Returns the address as clients use it.
    pub fn name(&self, has_tls: bool) -> io::Result<String> {
        match self {
            Listener::Network(listener) => {
                let scheme = if has_tls { "https" } else { "http" };
                Ok(format!("{scheme}://{}", listener.local_addr()?))
            }
            #[cfg(unix)]
            Listener::Socket(_, path) => Ok(format!("unix:{}", path.display())),
        }
    }

    /// Returns the network address it listens at, with the actual port; `None` of a socket.
    pub fn port(&self) -> Option<SocketAddr> {
        match self {
            Listener::Network(listener) => listener.local_addr().ok(),
            #[cfg(unix)]
            Listener::Socket(..) => None,
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Listener::Socket(_, path) = self {
            let _ = crate::files::remove_derived(path); // Then the next server does.
        }
    }
}

/// Error of setting up TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("cannot read a certificate from {}: {why}", path.display())]
    Certificate { path: PathBuf, why: String },
    #[error("cannot read a private key from {}: {why}", path.display())]
    Key { path: PathBuf, why: String },
    #[error("certificate and key do not serve: {0}")]
    Pair(#[from] rustls::Error),
}

/// Reads certificates and key from two PEM files for connections over TLS.
pub fn tls(certificates: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let chain = read_certificates(certificates).map_err(|why| TlsError::Certificate {
        path: certificates.to_owned(),
        why,
    })?;
    let secret = PrivateKeyDer::from_pem_file(key);
    let secret = secret.map_err(|error| TlsError::Key {
        path: key.to_owned(),
        why: error.to_string(),
    })?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, secret)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
