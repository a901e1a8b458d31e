//! Result of an exchange with a remote.

use crate::git::LeftOut;

/// Result of a synchronization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exchanged {
    /// Both hold the same commits.
    InStep(Transfer),
    /// The store has no remote.
    NoRemote,
    /// Another process is synchronizing.
    Busy,
    /// Commits are off for this store.
    Off,
    /// Reason why nothing is exchanged before the user decides.
    Paused(String),
}

/// Conditions that pause an exchange, and that the caller accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accept {
    /// More than a fifth of the memories was deleted, or all of them.
    pub deletions: bool,
    /// The remote's history is another one than before, or has no commit in common with this one.
    pub other_history: bool,
    /// The remote's rewritten history counts, and commits removed from it are not sent again.
    pub rewritten: bool,
}

/// Changes exchanged in both directions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transfer {
    /// Number of files that changed here.
    pub pulled: usize,
    /// Number of commits that were sent.
    pub pushed: usize,
    /// Stems of memories that both sides changed in conflicting ways: each is two now.
    pub conflicts: Vec<String>,
    /// Paths of other files of the repository that both sides changed: they stay as they were here.
    pub kept: Vec<String>,
    /// Files of the remote that this machine cannot or must not have.
    pub left_out: Vec<LeftOut>,
    /// Number of further such files.
    pub unnamed: usize,
}
