//! Words of a query that were taken for users.

use std::fmt;

/// A word of a query that was taken for a user who is called otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedPerson {
    /// The word, as the query has it.
    pub word: String,
    /// The user, as the memories have it.
    pub user: String,
    /// Why it was taken so.
    pub by: NamedBy,
}

/// Reason why a word was taken for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedBy {
    /// It is the name with another letter.
    Spelling,
    /// The settings say so.
    Setting,
    /// Others address the user so.
    Vocative,
    /// The user signs so.
    Signature,
}

impl NamedBy {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            NamedBy::Spelling => "spelling",
            NamedBy::Setting => "setting",
            NamedBy::Vocative => "vocative",
            NamedBy::Signature => "signature",
        }
    }
}

impl fmt::Display for NamedPerson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let NamedPerson { word, user, by } = self;
        write!(f, "{word} = {user} ({})", by.as_str())
    }
}
