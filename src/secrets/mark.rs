//! A word in a text that announces a credential.

use super::formats::Format;
use super::nouns::Noun;

/// The kind of credential that a word in a text announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// The prefix of a token, or the beginning of a private key: written exactly so.
    Token,
    /// A noun for a credential in a sentence; in letters of either case.
    Noun(Noun),
    /// A program, a file or a header that holds credentials in its own way; in letters of either
    /// case.
    Format(Format),
    /// A keyword of a published rule, by its place in the table; in letters of either case.
    Published(u16),
}

/// A word of the table in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub sign: Sign,
    pub start: usize,
    pub end: usize,
}
