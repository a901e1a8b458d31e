//! Vectors that several processes make together: the contract of a place that keeps them.
//!
//! They are derived, as all vectors are. So whoever cannot read or write that place makes them itself.

use std::collections::HashSet;
use std::io;

use super::{VectorEntry, VectorKey};

/// Answer to a request for vectors.
#[derive(Debug, Clone, Default)]
pub struct SharedAnswer {
    /// Vectors that are there.
    pub made: Vec<VectorEntry>,
    /// Keys of vectors that the caller is to make, and nobody else for some minutes.
    pub claimed: Vec<VectorKey>,
}

/// A place that keeps the vectors of one store, by their model and key.
pub trait SharedVectors: Send + Sync {
    /// Returns the vectors of `model` by `keys` that are there, and those keys that nobody makes the vectors of, which
    /// are claimed for the caller. The vectors of all other keys are being made elsewhere.
    ///
    /// # Errors
    ///
    /// Fails if the place cannot be read or written.
    fn fetch_or_claim(&self, model: &str, keys: &[VectorKey]) -> io::Result<SharedAnswer>;

    /// Keeps vectors whose keys were claimed. Those whose texts were erased meanwhile are left out.
    ///
    /// # Errors
    ///
    /// Fails if the place cannot be written; they may be claimed again later.
    fn keep(&self, model: &str, entries: &[VectorEntry]) -> io::Result<()>;

    /// Removes vectors of `model` that are older than a day and not `wanted`, and those of other models that nobody
    /// asked to make for a month.
    ///
    /// # Errors
    ///
    /// Fails if the place cannot be written.
    fn tidy(&self, model: &str, wanted: &HashSet<VectorKey>) -> io::Result<()>;
}
