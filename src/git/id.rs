//! The id of an object: the hash of its content.

use git2::{ObjectType, Oid};

/// The id of an object: the hash of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub(super) Oid);

impl Id {
    /// Parses forty hex digits.
    pub fn parse(text: &str) -> Option<Id> {
        (text.len() == 40).then_some(())?;
        Oid::from_str(text).ok().map(Id)
    }

    /// Returns the id of a text, whether such an object exists or not.
    pub fn of_text(bytes: &[u8]) -> Id {
        Id(Oid::hash_object(ObjectType::Blob, bytes).expect("hashing bytes in memory"))
    }

    /// Returns the first ten digits, for people.
    pub fn short(&self) -> String {
        self.0.to_string()[..10].to_owned()
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
