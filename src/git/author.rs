//! The author of a commit.

/// The author of a commit, with its time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// Name of the author.
    pub name: String,
    /// Mail address of the author.
    pub email: String,
    /// Time of the commit, in seconds since 1970.
    pub at: i64,
}
