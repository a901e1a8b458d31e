//! One operation on a remote, as the git program and libgit2 get it, and how it ends.

use std::path::Path;

use super::address::Address;
use super::network_settings::NetworkSettings;
use crate::git::upkeep::quarantine::Quarantine;
use crate::git::wire::failure::Failure;

/// How a push ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    Done,
    /// The remote has something that is not here. Nothing was changed there.
    Rejected,
}

/// What a remote has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemoteBranches {
    /// The branch that the remote offers first. `None` where there is none, as in an empty one.
    pub head: Option<String>,
    /// Branches, and the ids of their commits, by name.
    pub branches: Vec<(String, String)>,
}

/// One operation, as both means see it.
pub(super) struct Job<'a> {
    pub(super) settings: &'a NetworkSettings,
    pub(super) address: &'a Address,
    /// The folder that git itself works in, not the one above it.
    pub(super) repository: Option<&'a Path>,
    pub(super) stop: &'a dyn Fn() -> bool,
}

impl Job<'_> {
    /// What the git program works in; `None` without a repository.
    pub(super) fn quarantine(&self) -> Result<Option<Quarantine>, Failure> {
        self.repository.map(Quarantine::of).transpose()
    }
}
