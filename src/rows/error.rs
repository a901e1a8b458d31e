//! Errors of the database, and their form as errors of files.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::error::SqlState;

use crate::files::FilesError;

/// Maximum time until the database has answered: more than its statements may take. A commit has no limit of its own, and
/// waits for a standby without end.
pub(super) const ANSWER: Duration = Duration::from_secs(35);

/// Error of an operation on the database.
#[derive(Debug, thiserror::Error)]
pub enum RowsError {
    #[error("`{0}` is no address of a PostgreSQL database")]
    Address(String),
    #[error("the database cannot be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("no connection to the database is free")]
    Busy(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the server of the database is away")]
    Away(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("the database has not answered for {} s", ANSWER.as_secs())]
    Silent,
    #[error("the database refused a statement")]
    Failed(#[source] tokio_postgres::Error),
    #[error("the database cannot be reached over TLS")]
    Trust(#[from] crate::tls::TrustError),
    #[error("the threads of the database cannot be started")]
    NotStarted(#[source] io::Error),
    #[error("the connection broke during the commit, and whether it was written is unknown")]
    UnknownOutcome(#[source] Box<RowsError>),
    #[error("the database has schema {there}, and this program knows schemas up to {known}")]
    NewerSchema { there: i32, known: i32 },
    #[error("the database has schema {there}, and this program needs schema {known}")]
    OlderSchema { there: i32, known: i32 },
    #[error("there is no workspace `{0}`")]
    NoWorkspace(String),
    #[error("there is a workspace `{0}` already")]
    WorkspaceExists(String),
    #[error(
        "`{0}` is no name of a workspace: it has 1 to 63 small letters, digits and hyphens, and begins with no hyphen"
    )]
    WorkspaceName(String),
    #[error(
        "the workspace would hold {would} {what}, and its quota is {limit}: forget some, or ask its operator for more"
    )]
    OverQuota {
        what: &'static str,
        would: i64,
        limit: i64,
    },
    #[error("a valid token is called `{0}` already")]
    TokenExists(String),
    #[error("no valid token is called `{0}`")]
    NoToken(String),
    #[error(
        "`{0}` is no name of a token: it has 1 to 64 letters, digits, dots, hyphens and underscores"
    )]
    TokenName(String),
    #[error("`{0}` is no name of a server: it has 1 to 255 visible characters of ASCII")]
    ServerName(String),
    #[error("the group `{0}` has no role in the workspace")]
    NoGroup(String),
    #[error("a group has a name of 1 to 256 characters, none of them a control character")]
    GroupName,
    #[error("the database has the role `{0}`, and this program does not know it")]
    UnknownRole(String),
}

impl RowsError {
    /// Returns advice for the user, as a sentence.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            RowsError::Address(_) => Some("Write postgres://USER:PASSWORD@HOST:PORT/DATABASE."),
            RowsError::NewerSchema { .. } => Some("Use a newer memdir with this database."),
            RowsError::OlderSchema { .. } => Some("Run `memdir team migrate`."),
            RowsError::NoWorkspace(_) => Some("`memdir team create NAME` makes one."),
            RowsError::TokenExists(_) => {
                Some("`memdir team grant --rotate` gives it another secret.")
            }
            RowsError::NoToken(_) => Some("`memdir team tokens WORKSPACE` lists them."),
            RowsError::NoGroup(_) => Some("`memdir team groups WORKSPACE` lists them."),
            RowsError::UnknownOutcome(_) => Some("Read the memory before you write it again."),
            _ => None,
        }
    }

    /// Returns whether the connection is gone, so that another one may succeed.
    pub(super) fn is_disconnected(&self) -> bool {
        match self {
            RowsError::Unreachable(_) | RowsError::Busy(_) | RowsError::Away(_) => true,
            RowsError::Failed(error) => is_disconnection(error),
            _ => false,
        }
    }

    /// Returns whether the database undid the transaction for the sake of another one, so that a repetition may succeed.
    pub(super) fn is_deadlock(&self) -> bool {
        let RowsError::Failed(error) = self else {
            return false;
        };
        error.code() == Some(&SqlState::T_R_DEADLOCK_DETECTED)
    }

    /// Returns whether the connection is gone, or the database silent.
    pub(super) fn is_unanswered(&self) -> bool {
        self.is_disconnected() || matches!(self, RowsError::Silent)
    }

    /// Returns whether the server is away, so that nobody knows whether something changed.
    pub(super) fn is_away(&self) -> bool {
        matches!(self, RowsError::Away(_))
    }

    /// Returns whether the server is away, or has no connection to spare for now.
    pub(super) fn is_away_or_busy(&self) -> bool {
        matches!(self, RowsError::Away(_) | RowsError::Busy(_))
    }

    /// Returns whether the database gave no answer to a question, be it for want of a connection or of time.
    pub(super) fn is_lack(&self) -> bool {
        matches!(
            self,
            RowsError::Unreachable(_)
                | RowsError::Busy(_)
                | RowsError::Away(_)
                | RowsError::Silent
                | RowsError::Failed(_)
        )
    }

    /// Returns whether the database refused a statement for its values, as it always will.
    pub(super) fn is_of_values(&self) -> bool {
        let RowsError::Failed(error) = self else {
            return false;
        };
        let class = error.code().map(|code| &code.code()[..2]);
        matches!(class, Some("22" | "23"))
    }

    fn kind(&self) -> io::ErrorKind {
        if matches!(
            self,
            RowsError::Away(_) | RowsError::Busy(_) | RowsError::Unreachable(_) | RowsError::Silent
        ) {
            return io::ErrorKind::NotConnected;
        }
        let code = match self {
            RowsError::OverQuota { .. } => return io::ErrorKind::QuotaExceeded,
            RowsError::Failed(error) => error.code(),
            _ => None,
        };
        match code {
            Some(code) if *code == SqlState::DISK_FULL => io::ErrorKind::StorageFull,
            Some(code) if *code == SqlState::READ_ONLY_SQL_TRANSACTION => {
                io::ErrorKind::ReadOnlyFilesystem
            }
            Some(code)
                if *code == SqlState::QUERY_CANCELED || *code == SqlState::LOCK_NOT_AVAILABLE =>
            {
                io::ErrorKind::TimedOut
            }
            _ => io::ErrorKind::Other,
        }
    }

    /// Returns the error as one of input or output.
    pub(super) fn into_io(self) -> io::Error {
        io::Error::new(self.kind(), self)
    }

    /// Returns the error as one of the action on the file at `path`.
    pub(super) fn at(self, action: &'static str, path: impl Into<PathBuf>) -> FilesError {
        FilesError::Io {
            action,
            path: path.into(),
            source: self.into_io(),
        }
    }
}

/// Returns whether an error says that the connection or its server ended.
pub(super) fn is_disconnection(error: &tokio_postgres::Error) -> bool {
    match error.code() {
        None => true,
        Some(code) => {
            // A pooler tells the end of its connection to the server as one of these.
            let is_of_connections = code.code().starts_with("08");
            is_of_connections
                || *code == SqlState::IDLE_SESSION_TIMEOUT
                || *code == SqlState::ADMIN_SHUTDOWN
                || *code == SqlState::CRASH_SHUTDOWN
                || *code == SqlState::CANNOT_CONNECT_NOW
        }
    }
}

impl From<tokio_postgres::Error> for RowsError {
    fn from(error: tokio_postgres::Error) -> RowsError {
        RowsError::Failed(error)
    }
}

/// Returns the text of an error with those of its causes.
pub(super) fn told(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}
