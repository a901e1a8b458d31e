//! Error of operations on a repository.

/// An error of an operation on a repository.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}: {reason}")]
pub struct GitError {
    action: String,
    reason: String,
    /// Whether another process is at work on the repository; a retry may succeed.
    pub is_busy: bool,
}

impl GitError {
    /// Returns the error of an action, with its reason.
    pub(super) fn new(action: &str, reason: impl Into<String>) -> GitError {
        GitError {
            action: action.to_owned(),
            reason: reason.into(),
            is_busy: false,
        }
    }
}

/// Conversion of other errors to [`GitError`].
pub(super) trait To<T> {
    /// Returns the error as that of `action`.
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
