//! Postings of an index, as the ranking reads them.

use super::text::Calling;

/// Postings of terms, by row of the [`Collection`](super::Collection).
pub trait Postings {
    /// Error of reading the postings.
    type Error;

    /// Returns the rows whose text holds `term`, with the term frequency; each row once, in any order.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    fn text(&self, term: &str) -> Result<Vec<(u32, u32)>, Self::Error>;

    /// Returns the document frequency of `term`.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    fn frequency(&self, term: &str) -> Result<usize, Self::Error>;

    /// Returns the rows whose text calls somebody `name`, a word in lower case.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    fn called(&self, calling: Calling, name: &str) -> Result<Vec<u32>, Self::Error>;

    /// Returns the rows whose title holds `term`.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    fn title(&self, term: &str) -> Result<Vec<u32>, Self::Error>;

    /// Returns the rows whose timestamp has the calendar term `term`.
    ///
    /// # Errors
    ///
    /// Fails if the index cannot be read.
    fn date(&self, term: &str) -> Result<Vec<u32>, Self::Error>;
}
