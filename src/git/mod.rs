//! Repositories: what lies in them, new commits, other machines.
//!
//! Promises: nothing is forced; no work tree is checked out, no hook or filter run, and the index
//! is only told of what was committed. Knows paths, bytes and references, not memories: what is
//! committed, and how two versions become one, is decided by others.

mod author;
mod committing;
mod id;
mod network;
mod project;
mod reading;
mod repository;
mod settings;
mod upkeep;

pub use author::Author;
pub use committing::foreign_files::OtherChange;
pub use committing::objects::NewText;
pub use committing::objects::TextOf;
pub use committing::staging::KnownFiles;
pub use committing::staging::Staged;
pub use committing::staging::Stamped;
pub use id::Id;
pub use network::address::Address;
pub use network::address::AddressError;
pub use network::address::Scheme;
pub use network::child::Limits;
pub use network::child::end_children;
pub use network::credentials::ASKPASS;
pub use network::credentials::Variables;
pub use network::credentials::askpass;
pub use network::failure::NetworkError;
pub use network::job::Pushed;
pub use network::job::RemoteBranches;
pub use network::network_settings::GitProgram;
pub use network::network_settings::NetworkSettings;
pub use network::redact::without_credentials;
pub use network::remote::Means;
pub use network::remote::Network;
pub use project::project_name;
pub use reading::history::CommitInfo;
pub use reading::inspect::LeftOut;
pub use reading::last_changes::LastChanges;
pub use reading::revisions::ComparedLine;
pub use reading::revisions::LineKind;
pub use reading::revisions::Named;
pub use reading::revisions::Places;
pub use reading::revisions::compare_texts;
pub use reading::trees::Trees;
pub use repository::locks::Taken;
pub use repository::opening::Obstacle;
pub use repository::opening::Owner;
pub use repository::opening::Repository;
pub use repository::path_change::PathChange;
pub use repository::paths::PathRejection;
pub use repository::paths::STORE_PARTS;
pub use repository::paths::untaken;
pub use repository::umask::make_private;
pub use settings::GitSetting;
pub use settings::Honoured;
pub use settings::foreign_settings;
pub use upkeep::repair::RESUME;
pub use upkeep::repair::Repaired;
pub use upkeep::rewrite::IsGone;
pub use upkeep::rewrite::Rewritten;

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
