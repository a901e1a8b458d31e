//! Verification of signatures for the library of tokens, by `ring`, which TLS uses already.

use std::sync::Once;

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind};
use ring::signature as schemes;
use ring::signature::{RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};

/// Signs nothing and knows no symmetric algorithm, so that no public key can be taken for a secret.
static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::InvalidAlgorithm.into()),
    verifier_factory: |algorithm, key| {
        Ok(Box::new(RingVerifier {
            algorithm: *algorithm,
            scheme: Scheme::of(*algorithm).ok_or(ErrorKind::InvalidAlgorithm)?,
            key: key.clone(),
        }))
    },
    // Only for making keys.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has the library of tokens verify by this module.
pub(super) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Nothing else in this program uses the library.
        let _ = PROVIDER.install_default();
    });
}

/// Returns whether tokens may be signed by `algorithm`.
pub(super) fn is_permitted(algorithm: Algorithm) -> bool {
    Scheme::of(algorithm).is_some()
}

/// A scheme of signatures.
enum Scheme {
    Rsa(&'static RsaParameters),
    Curve(&'static dyn schemes::VerificationAlgorithm),
}

impl Scheme {
    /// Returns the scheme of an asymmetric algorithm.
    fn of(algorithm: Algorithm) -> Option<Scheme> {
        Some(match algorithm {
            Algorithm::RS256 => Scheme::Rsa(&schemes::RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => Scheme::Rsa(&schemes::RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => Scheme::Rsa(&schemes::RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => Scheme::Rsa(&schemes::RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => Scheme::Rsa(&schemes::RSA_PSS_2048_8192_SHA384),
            Algorithm::PS512 => Scheme::Rsa(&schemes::RSA_PSS_2048_8192_SHA512),
            Algorithm::ES256 => Scheme::Curve(&schemes::ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => Scheme::Curve(&schemes::ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDSA => Scheme::Curve(&schemes::ED25519),
            _ => return None,
        })
    }
}

struct RingVerifier {
    algorithm: Algorithm,
    scheme: Scheme,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> Result<(), signature::Error> {
        let verified = match (&self.scheme, self.key.kind()) {
            (Scheme::Rsa(scheme), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(scheme, message, signed)
            }
            (Scheme::Curve(scheme), DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(*scheme, point).verify(message, signed)
            }
            _ => return Err(signature::Error::new()),
        };
        verified.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
