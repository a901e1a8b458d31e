//! The result of an exchange with a remote.

use crate::git::LeftOut;

/// Result of an attempt to come into step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exchanged {
    /// Both hold the same.
    InStep(Transfer),
    /// There is nothing to come into step with.
    NoRemote,
    /// Another process is at it.
    Busy,
    /// This store is not committed.
    Off,
    /// Why nothing is exchanged before somebody has looked at it.
    Paused(String),
}

/// Conditions that pause an exchange, and that the caller accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accept {
    /// That more than a fifth of the memories was deleted, or all of them.
    pub deletions: bool,
    /// That the remote's history is another one than before, or has nothing in common with ours.
    pub other_history: bool,
    /// That a history which was rewritten counts, and what was taken out of it is not sent again.
    pub rewritten: bool,
}

/// The changes that went from one side to the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transfer {
    /// Files that changed here.
    pub pulled: usize,
    /// Commits that were sent.
    pub pushed: usize,
    /// Memories that both sides changed in ways that exclude each other: each is two now.
    pub conflicts: Vec<String>,
    /// Other files of the repository that both sides changed: they stay as they were here.
    pub kept: Vec<String>,
    /// Files of the remote that this machine cannot or must not have.
    pub left_out: Vec<LeftOut>,
    /// Number of further such files.
    pub unnamed: usize,
}
