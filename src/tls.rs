//! TLS to servers: encryption, and verification of their certificates.
//!
//! Trusted are the authorities in a PEM file: one that is named, or the system's. A certificate that
//! stands in that file itself is trusted, too, also one that signs itself as an authority, which is
//! what most commands make that people know.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_rustls::TlsConnector;

/// Files of trusted authorities on common systems.
const SYSTEM: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Error of setting up TLS to a server.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("this system has no file of trusted certificates that is known: name one")]
    NoAuthorities,
    #[error("cannot read certificates from {}: {why}", path.display())]
    Authorities { path: PathBuf, why: String },
    #[error("the certificates in {} are of no use: {why}", path.display())]
    Unusable { path: PathBuf, why: String },
}

/// Reads the certificates of a PEM file; the error is the reason why there are none.
///
/// # Errors
///
/// Fails if the file cannot be read, or holds none.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    match read {
        Ok(certificates) if certificates.is_empty() => Err("it holds none".to_owned()),
        read => read.map_err(|error| error.to_string()),
    }
}

/// Returns the file of the system's trusted authorities, if there is a known one.
pub fn system_authorities() -> Option<&'static Path> {
    SYSTEM.iter().map(Path::new).find(|path| path.exists())
}

/// Creates a connector that trusts the certificates in `authorities`, else the system's. `protocol` is the one that
/// is spoken, as ALPN names it.
///
/// # Errors
///
/// Fails if there are no certificates to trust.
pub fn connector(authorities: Option<&Path>, protocol: &str) -> Result<TlsConnector, TrustError> {
    let path = match authorities {
        Some(path) => path,
        None => system_authorities().ok_or(TrustError::NoAuthorities)?,
    };
    let certificates = read_certificates(path).map_err(|why| TrustError::Authorities {
        path: path.to_owned(),
        why,
    })?;
    let unusable = |why: &dyn fmt::Display| TrustError::Unusable {
        path: path.to_owned(),
        why: why.to_string(),
    };
    let mut roots = RootCertStore::empty();
    // The system's may hold some that nobody can read.
    roots.add_parsable_certificates(certificates.iter().cloned());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let usual = usual.build().map_err(|error| unusable(&error))?;
    let verifier = Verifier {
        usual,
        certificates,
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Returns the name that the certificate of a server at `host` must have.
///
/// # Errors
///
/// Fails if it is neither a name nor an address.
pub fn name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(io::Error::other)
}

/// Certificate verifier: the usual verification, plus certificates that are trusted directly.
#[derive(Debug)]
struct Verifier {
    usual: Arc<WebPkiServerVerifier>,
    certificates: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self
            .usual
            .verify_server_cert(shown, others, name, stapled, now);
        match verified {
            // An authority that serves itself. It is of its time: that is looked at before.
            Err(rustls::Error::InvalidCertificate(CertificateError::Other(_)))
                if self.certificates.iter().any(|one| one == shown) =>
            {
                verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls12_signature(message, shown, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.usual.verify_tls13_signature(message, shown, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}
