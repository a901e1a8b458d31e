//! Tokens of an OpenID Connect issuer: who holds one, and of which groups.
//!
//! Guarantees: a token counts only if the issuer signed it with an asymmetric key that it publishes now, or published
//! when it was last reached, at most [`MAX_AGE_AWAY`] ago; if it was made for one of the audiences that are asked for;
//! and within its time, with an error of [`LEEWAY`]. Keys are fetched again when a token names an unknown one, and
//! regularly. What a group may do is left to others, and so is logging in: this is the side of a resource server.

mod identity;
mod issuer;
mod keys;
mod signature;

pub use identity::Identity;
pub use issuer::{Issuer, MAX_AGE_AWAY, OpenIdError};
pub use keys::LEEWAY;
