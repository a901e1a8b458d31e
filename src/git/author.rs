//! The author of a commit.

/// The author of a commit, with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
    /// In seconds since 1970.
    pub at: i64,
}
