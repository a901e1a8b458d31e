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

    /// Returns the new value, if there is one.
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
    /// New agent; `None` keeps it.
    pub agent: Option<String>,
    /// New user; `None` keeps it.
    pub user: Option<String>,
    /// New topics, all of them; `None` keeps them.
    pub topics: Option<Vec<String>>,
    /// Change of the title.
    pub title: Patch<String>,
    /// Change of the kind.
    pub kind: Patch<Kind>,
    /// Change of the namespace.
    pub namespace: Patch<String>,
    /// Change of the scope.
    pub scope: Patch<Scope>,
    /// Change of the tier.
    pub tier: Patch<Tier>,
    /// Change of the importance.
    pub importance: Patch<u8>,
    /// Change of the confidence.
    pub confidence: Patch<f64>,
    /// Change of the source.
    pub source: Patch<String>,
    /// Change of the status.
    pub status: Patch<String>,
    /// Change of the end of life.
    pub expires: Patch<Timestamp>,
    /// Change of the list of replaced memories.
    pub supersedes: Patch<Vec<String>>,
    /// Change of the memory that replaces it.
    pub superseded_by: Patch<String>,
    /// Change of all links.
    pub links: Patch<Vec<Link>>,
    /// Change of all metadata.
    pub metadata: Patch<Vec<(String, MetaValue)>>,
    /// New content; `None` keeps it.
    pub content: Option<String>,
}
