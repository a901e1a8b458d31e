//! Repositories: what lies in them, new commits, other machines.
//!
//! Promises: nothing is forced; no work tree is checked out, no hook or filter run, and the index
//! is only told of what was committed. Knows paths, bytes and references, not memories: what is
//! committed, and how two versions become one, is decided by others.

mod address;
mod branch_update;
mod child;
mod connection;
mod credentials;
mod failure;
mod foreign_files;
mod history;
mod http;
mod index_file;
mod inspect;
mod last_changes;
mod libgit2;
mod local_commits;
mod locks;
mod loose_objects;
mod network;
mod objects;
mod packing;
mod paths;
mod program;
mod project;
mod quarantine;
mod redact;
mod repair;
mod repair_packs;
mod repair_references;
mod repository;
mod revisions;
mod rewrite;
mod settings;
mod ssh;
mod staging;
mod transport;
mod trees;
mod umask;

pub use address::Address;
pub use address::AddressError;
pub use address::Scheme;
pub use child::Limits;
pub use child::end_children;
pub use credentials::ASKPASS;
pub use credentials::Variables;
pub use credentials::askpass;
pub use failure::NetworkError;
pub use foreign_files::OtherChange;
pub use history::CommitInfo;
pub use history::PathChange;
pub use inspect::LeftOut;
pub use last_changes::LastChanges;
pub use locks::Taken;
pub use network::GitProgram;
pub use network::Means;
pub use network::Network;
pub use network::NetworkSettings;
pub use network::Pushed;
pub use network::RemoteBranches;
pub use objects::Author;
pub use objects::Id;
pub use objects::NewText;
pub use objects::TextOf;
pub use paths::PathRejection;
pub use paths::STORE_PARTS;
pub use paths::untaken;
pub use project::project_name;
pub use redact::without_credentials;
pub use repair::RESUME;
pub use repair::Repaired;
pub use repository::Obstacle;
pub use repository::Owner;
pub use repository::Repository;
pub use revisions::ComparedLine;
pub use revisions::LineKind;
pub use revisions::Named;
pub use revisions::Places;
pub use revisions::compare_texts;
pub use rewrite::IsGone;
pub use rewrite::Rewritten;
pub use settings::GitSetting;
pub use settings::Honoured;
pub use settings::foreign_settings;
pub use staging::KnownFiles;
pub use staging::Staged;
pub use staging::Stamped;
pub use trees::Trees;
pub use umask::make_private;

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
