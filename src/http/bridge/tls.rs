//! TLS to a server: encryption, and verification of its certificate.
//!
//! Trusted are the authorities in a PEM file: one that is named, or the system's. A certificate that
//! stands in that file itself is trusted, too, also one that signs itself as an authority, which is
//! what most commands make that people know.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use tokio_rustls::TlsConnector;

use crate::http::listen::read_certificates;

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
    #[error(
        "this system has no file of trusted certificates that is known: give --connect-ca FILE"
    )]
    NoAuthorities,
    #[error("cannot read certificates from {}: {why}", path.display())]
    Authorities { path: PathBuf, why: String },
    #[error("the certificates in {} are of no use: {why}", path.display())]
    Unusable { path: PathBuf, why: String },
}

/// Creates a connector that trusts the certificates in `authorities`, else the system's.
pub fn connector(authorities: Option<&Path>) -> Result<TlsConnector, TrustError> {
    let system = || SYSTEM.iter().map(Path::new).find(|path| path.exists());
    let path = authorities
        .or_else(system)
        .ok_or(TrustError::NoAuthorities)?;
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
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Returns the name that the certificate of a server at `host` must have.
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
