//! A credential in a text, and what it is called without telling it.

use std::ops::Range;

use super::visible;

/// A credential in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// Its kind, in words that fit into a message: `a GitHub token`.
    pub kind: &'static str,
    /// The bytes of the secret part itself: the password, without the URL around it.
    pub range: Range<usize>,
}

impl Secret {
    /// Names this secret of `text` without telling it: 16 hexadecimal digits of the BLAKE3 hash of
    /// its bytes, those of invisible characters left out. The same secret has the same name in every
    /// text.
    pub fn fingerprint(&self, text: &str) -> String {
        let written = &text[self.range.clone()];
        let hash = match written.is_ascii() {
            true => blake3::hash(written.as_bytes()),
            false => blake3::hash(visible::without_invisible(written).as_bytes()),
        };
        hash.to_hex()[..16].to_owned()
    }

    /// Returns the mark that [`super::redact`] writes in its place.
    pub fn mark(&self) -> String {
        format!("{MARK}{}]", self.kind)
    }

    /// Returns the line of `text` on which the secret begins, from 1.
    pub fn line(&self, text: &str) -> usize {
        memchr::memchr_iter(b'\n', &text.as_bytes()[..self.range.start]).count() + 1
    }
}

/// Beginning of the mark that replaces a secret.
pub(super) const MARK: &str = "[redacted: ";

/// A piece of text that has the shape of a secret.
pub(super) struct Judged {
    /// The secret, if the piece is one.
    pub secret: Option<Secret>,
    /// End of the piece.
    pub end: usize,
}
