//! Published keys of an issuer, and tokens that are verified by them.

use std::time::Duration;

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::signature::{install, is_permitted};

/// Error of the clocks that is forgiven, at both ends of a token's time.
pub const LEEWAY: Duration = Duration::from_secs(30);

/// Maximum number of keys of an issuer that are kept.
const MAX_KEYS: usize = 64;

/// Types of tokens that may be shown; one without a type may be, too. Others have another purpose, such as proofs and
/// notices of logouts.
const TYPES: [&str; 3] = ["at+jwt", "application/at+jwt", "jwt"];

/// Keys of an issuer that verify signatures.
#[derive(Debug, Default)]
pub(super) struct KeySet(Vec<PublishedKey>);

#[derive(Debug)]
struct PublishedKey {
    id: Option<String>,
    /// The only algorithm that it is for, where the issuer says so.
    algorithm: Option<String>,
    key: DecodingKey,
}

/// Result of verifying a token.
#[derive(Debug)]
pub(super) enum Verified {
    /// Signed by the issuer for an audience, and within its time: its claims, and the time that is left.
    Valid(Map<String, Value>, Duration),
    /// It names a key that is not in the set.
    UnknownKey,
    Invalid,
}

impl KeySet {
    /// Returns the keys of a JWK set that can verify signatures; `None` if it is no such set. Keys of unknown kinds are
    /// left out.
    pub(super) fn parse(set: &Value) -> Option<KeySet> {
        let keys = set.get("keys")?.as_array()?;
        let known = keys.iter().filter_map(published).take(MAX_KEYS);
        Some(KeySet(known.collect()))
    }

    /// Verifies a token of `issuer` for one of `audiences`.
    pub(super) fn verify(&self, token: &str, issuer: &str, audiences: &[String]) -> Verified {
        install();
        let Ok(header) = decode_header(token) else {
            return Verified::Invalid;
        };
        let kind = header.typ.as_deref().map(str::to_ascii_lowercase);
        let is_for_us = kind.is_none_or(|kind| TYPES.contains(&kind.as_str()));
        // What is critical there is something that is not known here.
        if !is_permitted(header.alg) || !is_for_us || header.crit.is_some() {
            return Verified::Invalid;
        }
        let is_named = |key: &&PublishedKey| header.kid.is_none() || key.id == header.kid;
        let mut named = self.0.iter().filter(is_named).peekable();
        if named.peek().is_none() {
            return Verified::UnknownKey;
        }
        let validation = validation(header.alg, issuer, audiences);
        let mut fitting = named.filter(|key| key.fits(header.alg));
        let verified = fitting.find_map(|key| {
            decode::<Map<String, Value>>(token, &key.key, &validation)
                .inspect_err(|why| tracing::debug!("a token of the issuer is refused: {why}"))
                .ok()
        });
        let Some(claims) = verified.map(|verified| verified.claims) else {
            return Verified::Invalid;
        };
        // The library takes a list of issuers, too. A token that is bound to a key needs a proof, which nobody shows here.
        let is_of_issuer = claims.get("iss").and_then(Value::as_str) == Some(issuer);
        if !is_of_issuer || claims.contains_key("cnf") {
            return Verified::Invalid;
        }
        let left = claims.get("exp").and_then(Value::as_f64).map(left_until);
        left.map_or(Verified::Invalid, |left| Verified::Valid(claims, left))
    }
}

impl PublishedKey {
    fn fits(&self, algorithm: Algorithm) -> bool {
        // Their names are those of the specification.
        let is_meant = |name: &String| *name == format!("{algorithm:?}");
        self.key.family() == algorithm.family() && self.algorithm.as_ref().is_none_or(is_meant)
    }
}

/// Returns a key of a JWK set, if it verifies signatures by an asymmetric algorithm.
fn published(value: &Value) -> Option<PublishedKey> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let is_public = matches!(text("kty"), Some("RSA" | "EC" | "OKP"));
    if !is_public || text("use").is_some_and(|purpose| purpose != "sig") {
        return None;
    }
    let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
    Some(PublishedKey {
        id: text("kid").map(str::to_owned),
        algorithm: text("alg").map(str::to_owned),
        key: DecodingKey::from_jwk(&jwk).ok()?,
    })
}

fn validation(algorithm: Algorithm, issuer: &str, audiences: &[String]) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.leeway = LEEWAY.as_secs();
    validation.validate_nbf = true;
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.set_issuer(&[issuer]);
    validation.set_audience(audiences);
    validation
}

/// Returns the time until a token with the end `expires`, in seconds since 1970, counts no more.
fn left_until(expires: f64) -> Duration {
    let now = jsonwebtoken::get_current_timestamp() as f64;
    let left = expires + LEEWAY.as_secs_f64() - now;
    Duration::try_from_secs_f64(left.max(0.0)).unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
    use serde_json::json;

    use super::*;

    const ISSUER: &str = "https://id.example";
    const AUDIENCE: &str = "https://team.example/w/atlas/mcp";

    fn now() -> u64 {
        jsonwebtoken::get_current_timestamp()
    }

    fn claims() -> Value {
        json!({"iss": ISSUER, "sub": "anna", "aud": AUDIENCE, "exp": now() + 60})
    }

    fn with(name: &str, value: Value) -> Value {
        let mut claims = claims();
        claims[name] = value;
        claims
    }

    /// Key of an issuer, and its public half.
    fn key() -> (EcdsaKeyPair, Value) {
        let (scheme, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let key = EcdsaKeyPair::generate_pkcs8(scheme, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(scheme, key.as_ref(), &random).unwrap();
        let point = key.public_key().as_ref();
        let jwk = json!({
            "kty": "EC", "crv": "P-256", "kid": "one", "use": "sig", "alg": "ES256",
            "x": BASE64.encode(&point[1..33]), "y": BASE64.encode(&point[33..]),
        });
        (key, jwk)
    }

    fn body(header: &Value, claims: &Value) -> String {
        let part = |value: &Value| BASE64.encode(value.to_string());
        format!("{}.{}", part(header), part(claims))
    }

    fn signed(key: &EcdsaKeyPair, header: &Value, claims: &Value) -> String {
        let body = body(header, claims);
        let signature = key.sign(&SystemRandom::new(), body.as_bytes()).unwrap();
        format!("{body}.{}", BASE64.encode(signature))
    }

    fn usual() -> Value {
        json!({"alg": "ES256", "kid": "one", "typ": "at+jwt"})
    }

    fn verify(keys: &KeySet, token: &str) -> Verified {
        keys.verify(token, ISSUER, &[AUDIENCE.to_owned()])
    }

    #[test]
    fn a_token_of_the_issuer_for_the_audience_within_its_time_is_valid() {
        let (key, jwk) = key();
        let keys = KeySet::parse(&json!({"keys": [jwk]})).unwrap();
        for (header, claims) in [
            (usual(), claims()),
            (json!({"alg": "ES256"}), claims()),
            (
                json!({"alg": "ES256", "kid": "one", "typ": "JWT"}),
                claims(),
            ),
            (usual(), with("aud", json!(["other", AUDIENCE]))),
            (usual(), with("nbf", json!(now() + 20))),
            (usual(), with("exp", json!(now() - 20))),
        ] {
            let verified = verify(&keys, &signed(&key, &header, &claims));
            let Verified::Valid(found, left) = verified else {
                panic!("{header} {claims}: {verified:?}");
            };
            assert_eq!(found["sub"], "anna");
            assert!(left <= Duration::from_secs(90), "{left:?}");
        }
    }

    #[test]
    fn any_other_token_is_not() {
        let (key, jwk) = key();
        let keys = KeySet::parse(&json!({"keys": [jwk]})).unwrap();
        let mut lacking = claims();
        lacking.as_object_mut().unwrap().remove("exp");
        for claims in [
            lacking,
            with("exp", json!(now() - 40)),
            with("exp", json!("never")),
            with("nbf", json!(now() + 40)),
            with("nbf", json!("soon")),
            with("iss", json!("https://other.example")),
            with("iss", json!([ISSUER])),
            with("aud", json!("https://team.example/w/beta/mcp")),
            with("aud", json!([])),
            with("aud", Value::Null),
            with("sub", Value::Null),
            with("cnf", json!({"jkt": "x"})),
        ] {
            let verified = verify(&keys, &signed(&key, &usual(), &claims));
            assert!(
                matches!(verified, Verified::Invalid),
                "{claims}: {verified:?}"
            );
        }
        for header in [
            json!({"alg": "ES384", "kid": "one"}),
            json!({"alg": "EdDSA", "kid": "one"}),
            json!({"alg": "HS256", "kid": "one"}),
            json!({"alg": "none", "kid": "one"}),
            json!({"alg": "ES256", "kid": "one", "typ": "dpop+jwt"}),
            json!({"alg": "ES256", "kid": "one", "crit": ["b64"], "b64": false}),
            json!({"kid": "one"}),
        ] {
            let verified = verify(&keys, &signed(&key, &header, &claims()));
            assert!(
                matches!(verified, Verified::Invalid),
                "{header}: {verified:?}"
            );
        }
        let (foreign, _) = self::key();
        let good = signed(&key, &usual(), &claims());
        let (body, signature) = good.rsplit_once('.').unwrap();
        let other = body_of_other();
        for token in [
            signed(&foreign, &usual(), &claims()),
            format!("{body}."),
            body.to_owned(),
            format!("{other}.{signature}"),
            format!("{good}.{signature}"),
            String::new(),
            "..".to_owned(),
        ] {
            let verified = verify(&keys, &token);
            assert!(
                matches!(verified, Verified::Invalid),
                "{token}: {verified:?}"
            );
        }
    }

    fn body_of_other() -> String {
        body(&usual(), &with("sub", json!("eve")))
    }

    #[test]
    fn a_public_key_is_no_secret() {
        let (_, jwk) = key();
        let point = BASE64.decode(jwk["x"].as_str().unwrap()).unwrap();
        let keys = json!({"keys": [jwk, {"kty": "oct", "kid": "one", "k": BASE64.encode(&point)}]});
        let keys = KeySet::parse(&keys).unwrap();
        assert_eq!(keys.0.len(), 1, "a symmetric key is left out");
        let body = body(&json!({"alg": "HS256", "kid": "one"}), &claims());
        let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &point);
        let tag = ring::hmac::sign(&secret, body.as_bytes());
        let token = format!("{body}.{}", BASE64.encode(tag));
        assert!(matches!(verify(&keys, &token), Verified::Invalid));
    }

    #[test]
    fn a_key_is_known_by_its_id_and_used_for_its_purpose() {
        let (key, jwk) = key();
        let token = signed(&key, &usual(), &claims());
        let verified = |name: &str, value: Value| {
            let mut jwk = jwk.clone();
            jwk[name] = value;
            let keys = KeySet::parse(&json!({"keys": [{"kty": "new"}, jwk]})).unwrap();
            verify(&keys, &token)
        };
        assert!(matches!(verified("kty", json!("EC")), Verified::Valid(..)));
        assert!(matches!(
            verified("kid", json!("two")),
            Verified::UnknownKey
        ));
        assert!(matches!(
            verified("use", json!("enc")),
            Verified::UnknownKey
        ));
        assert!(matches!(verified("alg", json!("ES384")), Verified::Invalid));
        assert!(KeySet::parse(&json!({"keys": {}})).is_none());
        assert!(KeySet::parse(&json!([])).is_none());
    }

    #[test]
    fn tokens_are_signed_over_edwards_curves_too() {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        let key = Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap();
        let jwk = json!({
            "kty": "OKP", "crv": "Ed25519", "kid": "one", "x": BASE64.encode(key.public_key()),
        });
        let keys = KeySet::parse(&json!({"keys": [jwk]})).unwrap();
        let body = body(&json!({"alg": "EdDSA", "kid": "one"}), &claims());
        let token = format!("{body}.{}", BASE64.encode(key.sign(body.as_bytes())));
        assert!(matches!(verify(&keys, &token), Verified::Valid(..)));
    }
}
