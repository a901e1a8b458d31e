//! Errors of services.

use std::io;
use std::path::PathBuf;

/// Error of installing or removing a service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("services are set up on Linux and macOS only")]
    Unsupported,
    #[error("the home folder is not known")]
    NoHome,
    #[error("the service manager of this user does not answer: {0}")]
    NoManager(String),
    #[error("{} is not memdir's: it was written by hand or by another program", .0.display())]
    Foreign(PathBuf),
    #[error(
        "a path or a variable of the service holds a line break or another control character: {0:?}"
    )]
    ControlCharacter(String),
    #[error("cannot {action} {}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("`{command}` failed: {message}")]
    Command { command: String, message: String },
}
