//! Changes of files, and their results.

use std::sync::Arc;

/// A change of one file.
#[derive(Clone)]
pub(in crate::rows) struct Edit {
    pub(in crate::rows) place: &'static str,
    pub(in crate::rows) name: String,
    pub(in crate::rows) expected: Expected,
    /// New text; `None` removes the file.
    pub(in crate::rows) text: Option<Text>,
    /// Whether the former text is kept.
    pub(in crate::rows) keeps: bool,
}

/// Present state of a file for which an edit is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::rows) enum Expected {
    Absent,
    /// A text with this hash.
    Hash(u128),
}

/// A text to be written.
#[derive(Clone)]
pub(in crate::rows) struct Text {
    pub(in crate::rows) bytes: Vec<u8>,
    pub(in crate::rows) hash: u128,
    /// Time of the text in nanoseconds since 1970; `None` is the present.
    pub(in crate::rows) modified: Option<i64>,
}

impl Text {
    /// Returns the text of `bytes`, as of now.
    pub(in crate::rows) fn new(bytes: &[u8]) -> Text {
        Text {
            bytes: bytes.to_owned(),
            hash: crate::files::digest(bytes),
            modified: None,
        }
    }
}

/// Result of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::rows) enum Outcome {
    Done,
    /// The file has another text than the expected one.
    Stale,
    /// The file exists, and none was expected.
    Taken,
    /// The file does not exist.
    Missing,
}

/// A memory that is new to a workspace, with its earlier changes.
#[derive(Clone)]
pub(in crate::rows) struct NewMemory {
    /// Changes of its files, oldest first. What they leave are the present files.
    pub(in crate::rows) steps: Vec<PastStep>,
}

/// An earlier change of one file.
#[derive(Clone)]
pub(in crate::rows) struct PastStep {
    pub(in crate::rows) place: &'static str,
    pub(in crate::rows) name: String,
    /// New text; `None` removes the file.
    pub(in crate::rows) text: Option<Text>,
    /// Its change elsewhere; `None` of what is done now.
    pub(in crate::rows) origin: Option<Arc<Origin>>,
}

/// A change that was made elsewhere before, of one file or several.
pub(in crate::rows) struct Origin {
    /// Random number of the change.
    pub(in crate::rows) token: i64,
    /// Time in nanoseconds since 1970.
    pub(in crate::rows) at: i64,
    pub(in crate::rows) author: String,
    /// Empty if unknown.
    pub(in crate::rows) tool: String,
}
