//! Relations between memories: links, succession, contradictions, equal titles.

pub(in crate::engine) mod contender;
pub(in crate::engine) mod graph;
pub(in crate::engine) mod links;
pub(in crate::engine) mod neighbours;
pub(in crate::engine) mod relating;
pub(in crate::engine) mod succession;
pub(in crate::engine) mod titles;
