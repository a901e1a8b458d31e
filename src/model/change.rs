//! A wanted change of one memory.

use super::{Kind, Link, MetaValue, Scope, Tier, Timestamp};

/// The change of one optional field.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Patch<T> {
    #[default]
    Keep,
    Set(T),
    Clear,
}

impl<T> Patch<T> {
    pub fn is_keep(&self) -> bool {
        matches!(self, Patch::Keep)
    }

    /// The new value, if there is one.
    pub fn value(self) -> Option<T> {
        match self {
            Patch::Set(value) => Some(value),
            Patch::Keep | Patch::Clear => None,
        }
    }
}

/// The fields of a memory that change, and their new values; the default changes nothing.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Change {
    pub agent: Option<String>,
    pub user: Option<String>,
    pub topics: Option<Vec<String>>,
    pub title: Patch<String>,
    pub kind: Patch<Kind>,
    pub namespace: Patch<String>,
    pub scope: Patch<Scope>,
    pub tier: Patch<Tier>,
    pub importance: Patch<u8>,
    pub confidence: Patch<f64>,
    pub source: Patch<String>,
    pub status: Patch<String>,
    pub expires: Patch<Timestamp>,
    pub supersedes: Patch<Vec<String>>,
    pub superseded_by: Patch<String>,
    pub links: Patch<Vec<Link>>,
    pub metadata: Patch<Vec<(String, MetaValue)>>,
    pub content: Option<String>,
}
