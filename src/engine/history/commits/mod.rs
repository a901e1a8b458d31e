//! Commits: which files changed, who changed them and how, what is held back, and what a commit says.

pub(in crate::engine) mod commit;
pub(in crate::engine) mod commit_message;
pub(in crate::engine) mod committer;
pub(in crate::engine) mod compare;
pub(in crate::engine) mod dates;
pub(in crate::engine) mod deletions;
pub(in crate::engine) mod message;
pub(in crate::engine) mod outgoing_secrets;
pub(in crate::engine) mod quarantine;
pub(in crate::engine) mod replaced;
pub(in crate::engine) mod take_over;
