//! The address of a database, and TLS to it.
//!
//! Promises: a connection to another machine is encrypted, and the name in the server's certificate is verified,
//! unless the address says `sslmode=disable`. Connections to this machine are not encrypted unless it says so.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::error::RowsError;
use crate::tls;

/// Protocol of the connections, as ALPN names it.
const PROTOCOL: &str = "postgresql";

/// A parsed address of a database.
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) encryption: Encryption,
}

impl Address {
    /// Parses an address. Beside the parameters of the client library it may have `sslmode=verify-full`, which is
    /// what `require` does, and `sslrootcert`, a file of trusted certificates.
    pub(super) fn parse(address: &str) -> Result<Address, RowsError> {
        let bad = || RowsError::Address(without_password(address));
        let (plain, query) = address.split_once('?').unwrap_or((address, ""));
        let (mut kept, mut mode, mut authorities) = (Vec::new(), None, None);
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            match parameter.split_once('=') {
                Some(("sslmode", "disable")) => mode = Some(SslMode::Disable),
                Some(("sslmode", "require" | "verify-full")) => mode = Some(SslMode::Require),
                // The others encrypt without knowing to whom.
                Some(("sslmode", _)) => return Err(bad()),
                Some(("sslrootcert", path)) => {
                    let path = percent_encoding::percent_decode_str(path);
                    let path = path.decode_utf8().map_err(|_| bad())?;
                    authorities = Some(PathBuf::from(path.into_owned()));
                }
                _ => kept.push(parameter),
            }
        }
        let rest = match kept.is_empty() {
            true => plain.to_owned(),
            false => format!("{plain}?{}", kept.join("&")),
        };
        let mut config: Config = rest.parse().map_err(|_| bad())?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(bad());
        }
        // Where an address stands beside a host, the connection goes to the address.
        let are_local = config.get_hostaddrs().iter().all(IpAddr::is_loopback)
            && config.get_hosts().iter().all(is_local);
        let usual = match are_local {
            true => SslMode::Disable,
            false => SslMode::Require,
        };
        let mode = mode.unwrap_or(usual);
        config.ssl_mode(mode);
        let connector = match mode {
            SslMode::Disable => None,
            _ => Some(tls::connector(authorities.as_deref(), PROTOCOL)?),
        };
        Ok(Address {
            config,
            encryption: Encryption(connector),
        })
    }
}

/// Returns whether a host is this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            let address = name.parse::<IpAddr>();
            name == "localhost" || address.is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// Returns an address without its password.
fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else {
        return "the address".to_owned();
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://…@{host}"),
        None => address.to_owned(),
    }
}

/// Encryption of connections; without a connector there is none.
#[derive(Clone)]
pub(super) struct Encryption(Option<TlsConnector>);

/// Encryption of one connection, to the server of this name.
pub(super) struct ToServer {
    connector: Option<TlsConnector>,
    name: String,
}

/// An encrypted connection.
pub(super) struct Encrypted<S>(tokio_rustls::client::TlsStream<S>);

impl<S> MakeTlsConnect<S> for Encryption
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type TlsConnect = ToServer;
    type Error = io::Error;

    fn make_tls_connect(&mut self, name: &str) -> io::Result<ToServer> {
        Ok(ToServer {
            connector: self.0.clone(),
            name: name.to_owned(),
        })
    }
}

impl<S> TlsConnect<S> for ToServer
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Encrypted<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let connector = self.connector.ok_or(io::ErrorKind::Unsupported)?;
            let name = tls::name(&self.name)?;
            Ok(Encrypted(connector.connect(name, stream).await?))
        })
    }
}

impl<S> TlsStream for Encrypted<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn mode(address: &str) -> SslMode {
        Address::parse(address).unwrap().config.get_ssl_mode()
    }

    #[test]
    fn another_machine_is_reached_over_tls_unless_the_address_says_otherwise() {
        for here in ["localhost", "127.0.0.1", "[::1]", "%2Frun%2Fpostgresql"] {
            let address = format!("postgres://me@{here}/x");
            assert_eq!(mode(&address), SslMode::Disable, "{address}");
        }
        // A missing file of certificates shows that TLS is set up.
        for there in [
            "postgres:///x?hostaddr=192.0.2.5",
            "postgres://localhost/x?hostaddr=192.0.2.5",
            "postgres://db.example/x",
        ] {
            let sign = if there.contains('?') { '&' } else { '?' };
            let error = Address::parse(&format!("{there}{sign}sslrootcert=%2Fno%2Fsuch.pem"));
            assert!(matches!(error.err(), Some(RowsError::Trust(_))), "{there}");
        }
        let there = "postgres://me@db.example/x?sslmode=disable&application_name=y";
        assert_eq!(mode(there), SslMode::Disable);
        // Certificates are looked for only where there is TLS.
        let missing = "postgres://me@db.example/x?sslrootcert=%2Fno%2Fsuch.pem";
        let error = Address::parse(missing).err().unwrap();
        assert!(matches!(error, RowsError::Trust(_)), "{error}");
    }

    #[test]
    fn an_address_that_promises_less_than_is_done_is_refused() {
        for address in [
            "postgres://me@db.example/x?sslmode=prefer",
            "postgres://me@db.example/x?sslmode=allow",
            "postgres:///x",
            "db.example",
            "",
        ] {
            let error = Address::parse(address).err();
            assert!(matches!(error, Some(RowsError::Address(_))), "{address}");
        }
    }
}
