//! Git: every change of a memory becomes a commit, and is sent to the other machines.
//!
//! Promises: writing a memory waits for none of it; only paths of the store are committed;
//! nothing is forced, and what somebody else has staged, begun or not pushed stays as it is. A
//! merge writes files as any edit does, so that they are indexed as such.

pub(in crate::engine) mod change_writer;
pub(in crate::engine) mod commits;
pub(in crate::engine) mod committer;
pub(in crate::engine) mod consent;
pub(in crate::engine) mod earlier_changes;
pub(in crate::engine) mod git_work;
pub(in crate::engine) mod merge_plan;
pub(in crate::engine) mod past_commits;
pub(in crate::engine) mod remote;
pub(in crate::engine) mod repair;
pub(in crate::engine) mod tidy;
pub(in crate::engine) mod turn;
pub(in crate::engine) mod warn_once;
pub(in crate::engine) mod with;

pub use change_writer::{GitWriter, Withheld};
pub use commits::commit::{commit_everything, commit_if_alone, commit_what_was_there};
pub use commits::quarantine::{held_back, last_held_back};
pub use consent::{forgotten_remote, repository, unfollowed_settings};
pub use earlier_changes::GitChanges;
pub use remote::setup::{come_into_step, remote_address, set_up_remote, unagreed_remote};
pub use remote::state::{git_status, look_at_remote};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
pub use tidy::tidy_repository;
pub use with::hosted::{change_workspace, workspace_listing, workspace_state, workspace_texts};
pub use with::joined::{
    join_workspace, joined_workspace, leave_workspace, look_at_workspace, sync_with_joined,
    sync_with_workspace, workspace_status,
};
pub use with::two_stores::sync_with;

use crate::engine::error::Quarantined;
use crate::engine::live::store::LiveStore;
use crate::engine::options::{GitOptions, WorkspaceOptions};
use crate::engine::write::writer::Writer;
use crate::git::Id;
use crate::model::PrivateRules;
use crate::trust::Consent;

/// Repository of one store, if it has one, and its remote.
pub struct History {
    /// The store.
    pub(in crate::engine) live: Arc<LiveStore>,
    /// Writer of the store's files.
    pub(in crate::engine) writer: Arc<Writer>,
    /// Settings of commits; `None` if nothing is committed.
    pub(in crate::engine) git: Option<GitOptions>,
    /// The user's consent to the repository and its remote.
    pub(in crate::engine) consent: Consent,
    /// Memories that never leave for a team's server.
    pub(in crate::engine) private: PrivateRules,
    /// Exchange with a workspace; `None` if there is none.
    pub(in crate::engine) workspace: Option<WorkspaceOptions>,
    /// Commit that a server made or saw last.
    pub(in crate::engine::history) committed_to: Mutex<Option<Id>>,
    /// Memories that the last commit held back.
    pub(in crate::engine::history) held: Mutex<BTreeSet<Quarantined>>,
}

impl History {
    /// Creates the history; opens no repository yet.
    pub fn new(
        writer: Arc<Writer>,
        git: Option<GitOptions>,
        consent: Consent,
        private: PrivateRules,
        workspace: Option<WorkspaceOptions>,
    ) -> History {
        History {
            live: Arc::clone(&writer.live),
            writer,
            git,
            consent,
            private,
            workspace,
            committed_to: Mutex::default(),
            held: Mutex::default(),
        }
    }

    /// Returns whether changes of this store are to be committed.
    pub fn is_on(&self) -> bool {
        self.git.is_some()
    }
}
