//! Repositories: what lies in them, new commits, other machines.
//!
//! Promises: nothing is forced; no work tree is checked out, no hook or filter run, and the index
//! is only told of what was committed. Knows paths, bytes and references, not memories: what is
//! committed, and how two versions become one, is decided by others.

mod address;
mod author;
mod branch_update;
mod id;
mod index_file;
mod job;
mod libgit2;
mod local_commits;
mod network;
mod network_settings;
mod objects;
mod paths;
mod project;
mod reading;
mod repository;
mod settings;
mod staging;
mod upkeep;
mod wire;

pub use address::Address;
pub use address::AddressError;
pub use address::Scheme;
pub use author::Author;
pub use id::Id;
pub use job::Pushed;
pub use job::RemoteBranches;
pub use network::Means;
pub use network::Network;
pub use network_settings::GitProgram;
pub use network_settings::NetworkSettings;
pub use objects::NewText;
pub use objects::TextOf;
pub use paths::PathRejection;
pub use paths::STORE_PARTS;
pub use paths::untaken;
pub use project::project_name;
pub use reading::foreign_files::OtherChange;
pub use reading::history::CommitInfo;
pub use reading::inspect::LeftOut;
pub use reading::last_changes::LastChanges;
pub use reading::path_change::PathChange;
pub use reading::revisions::ComparedLine;
pub use reading::revisions::LineKind;
pub use reading::revisions::Named;
pub use reading::revisions::Places;
pub use reading::revisions::compare_texts;
pub use reading::trees::Trees;
pub use repository::Obstacle;
pub use repository::Owner;
pub use repository::Repository;
pub use settings::GitSetting;
pub use settings::Honoured;
pub use settings::foreign_settings;
pub use staging::KnownFiles;
pub use staging::Staged;
pub use staging::Stamped;
pub use upkeep::locks::Taken;
pub use upkeep::repair::RESUME;
pub use upkeep::repair::Repaired;
pub use upkeep::rewrite::IsGone;
pub use upkeep::rewrite::Rewritten;
pub use wire::child::Limits;
pub use wire::child::end_children;
pub use wire::credentials::ASKPASS;
pub use wire::credentials::Variables;
pub use wire::credentials::askpass;
pub use wire::failure::NetworkError;
pub use wire::redact::without_credentials;
pub use wire::umask::make_private;

/// What could not be done in a repository, and why.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {reason}")]
pub struct GitError {
    action: String,
    reason: String,
    /// Somebody else is at work on it; to be tried again in a moment.
    pub is_busy: bool,
}

impl GitError {
    fn new(action: &str, reason: impl Into<String>) -> GitError {
        GitError {
            action: action.to_owned(),
            reason: reason.into(),
            is_busy: false,
        }
    }
}

/// Attaches what was being done to an error of the library.
trait To<T> {
    fn to(self, action: &str) -> Result<T, GitError>;
}

impl<T> To<T> for Result<T, git2::Error> {
    fn to(self, action: &str) -> Result<T, GitError> {
        self.map_err(|error| GitError {
            is_busy: matches!(
                error.code(),
                git2::ErrorCode::Locked | git2::ErrorCode::Modified
            ),
            ..GitError::new(action, error.message())
        })
    }
}
