//! One operation on a remote, for the git program or libgit2, and its results.

use std::path::Path;

use crate::git::network::address::Address;
use crate::git::network::failure::Failure;
use crate::git::network::network_settings::NetworkSettings;
use crate::git::network::quarantine::Quarantine;

/// The outcome of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    Done,
    /// The remote has commits that are not here. Nothing was changed there.
    Rejected,
}

/// The branches of a remote.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RemoteBranches {
    /// Default branch of the remote; `None` where there is none, as in an empty one.
    pub head: Option<String>,
    /// Names of the branches, sorted, with the ids of their commits.
    pub branches: Vec<(String, String)>,
}

/// One operation on a remote.
pub(in crate::git) struct Job<'a> {
    /// Settings for remotes.
    pub(in crate::git) settings: &'a NetworkSettings,
    /// Address of the remote.
    pub(in crate::git) address: &'a Address,
    /// Path of the repository's `.git`, if there is one.
    pub(in crate::git) repository: Option<&'a Path>,
    /// Whether the caller wants to stop.
    pub(in crate::git) stop: &'a dyn Fn() -> bool,
}

impl Job<'_> {
    /// Makes the folder that the git program works in; `None` without a repository.
    pub(in crate::git) fn quarantine(&self) -> Result<Option<Quarantine>, Failure> {
        self.repository.map(Quarantine::of).transpose()
    }
}
