//! Commits: which files changed, who changed them and how, what is held back, and what a commit says.

pub(in crate::engine::sync) mod commit;
pub(in crate::engine::sync) mod commit_message;
pub(in crate::engine::sync) mod committer;
pub(in crate::engine::sync) mod dates;
pub(in crate::engine::sync) mod deletions;
pub(in crate::engine::sync) mod message;
pub(in crate::engine::sync) mod outgoing_secrets;
pub(in crate::engine::sync) mod pending;
pub(in crate::engine::sync) mod quarantine;
pub(in crate::engine::sync) mod replaced;
pub(in crate::engine::sync) mod words;
