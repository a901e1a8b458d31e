//! Who commits, and when.

/// Who commits, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub name: String,
    pub email: String,
    /// In seconds since 1970.
    pub at: i64,
}
