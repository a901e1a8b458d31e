//! Copies of an index for other machines: the files of a state, and the contract of a place that keeps copies.
//!
//! A copy is derived, as the index is: where there is none, or an old one, more memories are read, and the answers are
//! the same. So whoever cannot write or read one goes on without it.

use std::fs::File;
use std::io;

/// Open files of a committed state. They stay readable when they are removed.
pub struct StateFiles {
    /// Name of the state, as of [`Snapshot::state`](super::Snapshot::state).
    pub state: String,
    /// Names and files, in the order in which a copy is written.
    pub files: Vec<(String, File)>,
}

/// An index that is being put in place, file by file. One that is dropped before its end leaves nothing behind.
pub trait IncomingIndex {
    /// Adds `bytes` to the end of the file `name`. The parts of a file come one after another, and at least one.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written, or if the name is no name of a file.
    fn add(&mut self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Puts the index in place, once its files are on the disk.
    ///
    /// # Errors
    ///
    /// Fails if that cannot be done; there is no index then.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The newest copy of an index, without its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CopyState {
    /// Number of the last change that it holds; `None` if there is no copy.
    pub number: Option<u64>,
    /// Number of the last change that erased texts: no copy may hold words that were deleted before it; 0 if none did.
    pub erased: u64,
}

/// A place that keeps copies of the indexes of one store, by their names.
pub trait IndexCopies: Send + Sync {
    /// Returns the state of the newest copy of the index `name`.
    ///
    /// # Errors
    ///
    /// Fails if the place cannot be read.
    fn state(&self, name: &str) -> io::Result<CopyState>;

    /// Writes the files of the newest copy of the index `name` to `into`; returns the number of its last change, or
    /// `None` if there is no copy.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read, or written, or if a part of it is damaged.
    fn fetch(&self, name: &str, into: &mut dyn IncomingIndex) -> io::Result<Option<u64>>;

    /// Keeps `files` as the newest copy of the index `name`, with all changes up to `number`. Returns whether it did: not
    /// if another process is about to, or if texts were erased after that change.
    ///
    /// # Errors
    ///
    /// Fails if a file cannot be read, or the place cannot be written; the last copy stays then.
    fn publish(&self, name: &str, number: u64, files: &[(String, File)]) -> io::Result<bool>;
}
