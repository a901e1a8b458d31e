//! The error of operations on a repository.

/// An error of an operation on a repository.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {reason}")]
pub struct GitError {
    action: String,
    reason: String,
    /// Somebody else is at work on it; to be tried again in a moment.
    pub is_busy: bool,
}

impl GitError {
    pub(super) fn new(action: &str, reason: impl Into<String>) -> GitError {
        GitError {
            action: action.to_owned(),
            reason: reason.into(),
            is_busy: false,
        }
    }
}

/// Attaches what was being done to an error of the library.
pub(super) trait To<T> {
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

impl<T> To<T> for std::io::Result<T> {
    fn to(self, action: &str) -> Result<T, GitError> {
        self.map_err(|error| GitError::new(action, error.to_string()))
    }
}
