//! One operation on a remote, as the git program and libgit2 get it, and how it ends.

use std::path::Path;

use crate::git::network::address::Address;
use crate::git::network::failure::Failure;
use crate::git::network::network_settings::NetworkSettings;
use crate::git::network::quarantine::Quarantine;

/// The outcome of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    Done,
    /// The remote has something that is not here. Nothing was changed there.
    Rejected,
}

/// The branches of a remote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemoteBranches {
    /// The branch that the remote offers first. `None` where there is none, as in an empty one.
    pub head: Option<String>,
    /// Branches, and the ids of their commits, by name.
    pub branches: Vec<(String, String)>,
}

/// One operation, as both means see it.
pub(in crate::git) struct Job<'a> {
    pub(in crate::git) settings: &'a NetworkSettings,
    pub(in crate::git) address: &'a Address,
    /// The folder that git itself works in, not the one above it.
    pub(in crate::git) repository: Option<&'a Path>,
    pub(in crate::git) stop: &'a dyn Fn() -> bool,
}

impl Job<'_> {
    /// The folder that the git program works in; `None` without a repository.
    pub(in crate::git) fn quarantine(&self) -> Result<Option<Quarantine>, Failure> {
        self.repository.map(Quarantine::of).transpose()
    }
}
