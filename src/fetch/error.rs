//! Errors of fetching.

use std::path::PathBuf;
use std::{fmt, io};

/// Returns whether a response with this status is worth a retry.
pub(super) fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504)
}

/// Error of fetching an address.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error("{address} is no address to fetch from")]
    BadAddress { address: String, source: Why },
    /// No connection, or one that broke off; it may be better later.
    #[error("cannot fetch {address}")]
    Broken { address: String, source: Why },
    /// It cannot be told who answers, or the way there is not permitted.
    #[error("cannot fetch {address}")]
    Distrusted { address: String, source: Why },
    #[error("{address} answers {status}")]
    Refused {
        address: String,
        status: u16,
        source: Why,
    },
    #[error("{address} sends other bytes than those that are expected")]
    WrongBytes { address: String, source: Why },
    #[error("cannot {action} {}", path.display())]
    File {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
}

/// A reason in words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Why(pub String);

impl FetchError {
    /// The connection to `address` broke off, or never was.
    pub(super) fn broken(address: &impl fmt::Display, why: impl Into<String>) -> FetchError {
        FetchError::Broken {
            address: address.to_string(),
            source: Why(why.into()),
        }
    }

    /// It cannot be told who answers at `address`, or the way there is not permitted.
    pub(super) fn distrusted(address: &impl fmt::Display, why: impl Into<String>) -> FetchError {
        FetchError::Distrusted {
            address: address.to_string(),
            source: Why(why.into()),
        }
    }

    /// Other bytes came from `address` than were asked for.
    pub(super) fn wrong_bytes(address: &impl fmt::Display, why: impl Into<String>) -> FetchError {
        FetchError::WrongBytes {
            address: address.to_string(),
            source: Why(why.into()),
        }
    }

    /// Returns a hint for the user.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            FetchError::BadAddress { .. } => "Give an address such as https://host/path.",
            FetchError::Broken { .. } => {
                "Try again later: a download goes on where it stopped. A proxy is named by HTTPS_PROXY."
            }
            FetchError::Distrusted { .. } => {
                "Name the certificates of a proxy or mirror that you trust with SSL_CERT_FILE."
            }
            FetchError::Refused { status, .. } => match status {
                401 | 403 => "It may need a key or permission that is missing.",
                404 | 410 => "Look at the address: a mirror may not have it.",
                429 => "Wait, then try again.",
                _ => "Try again later.",
            },
            FetchError::WrongBytes { .. } => {
                "The file was not kept. Try again, or another mirror; do not use these bytes."
            }
            FetchError::File { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge => {
                    "Make room and try again: what is there is not fetched twice."
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "Choose a folder that you may write to."
                }
                _ => return None,
            },
        };
        Some(hint.to_owned())
    }

    /// Returns whether the same may succeed later without a change.
    pub fn is_passing(&self) -> bool {
        match self {
            FetchError::Broken { .. } => true,
            FetchError::Refused { status, .. } => is_passing(*status),
            _ => false,
        }
    }

    /// Returns the whole chain of reasons in one line.
    pub fn in_one_line(&self) -> String {
        match std::error::Error::source(self) {
            Some(source) if !source.to_string().is_empty() => format!("{self}: {source}"),
            _ => self.to_string(),
        }
    }
}
