//! What reading a source finds, and whom it is told.

use std::ops::ControlFlow;
use std::path::PathBuf;

use chrono::{DateTime, Utc};

use super::{Format, Session, part};

/// One file or folder that holds sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its format.
    pub format: Format,
    /// Path of the file, the zip or the folder.
    pub path: PathBuf,
    /// Name of the project, where its place says that.
    pub project: Option<String>,
    /// Size of the file or of what the folder holds, in bytes.
    pub bytes: u64,
    /// Time of its last change.
    pub modified: Option<DateTime<Utc>>,
}

/// What reading a source finds.
#[derive(Debug)]
pub enum Found {
    /// A session with at least one message.
    Session(Box<Session>),
    /// A record or file that cannot be read.
    Damaged {
        /// Its place: a file, and where it is in it.
        place: String,
        /// Reason in words.
        reason: String,
    },
    /// Number of further bytes that were read.
    Bytes(u64),
}

/// Receiver of what is found; it may end the reading.
pub(super) type Each<'a> = dyn FnMut(Found) -> ControlFlow<()> + 'a;

/// Tells `each` of what cannot be read.
pub(super) fn report(
    each: &mut Each<'_>,
    name: &str,
    place: &str,
    reason: &str,
) -> ControlFlow<()> {
    let place = match place {
        "" => name.to_owned(),
        place => format!("{name}, {place}"),
    };
    each(Found::Damaged {
        place,
        reason: reason.to_owned(),
    })
}

/// Returns the session with an id, made of its first message if its source has none; `None` if nothing was
/// said in it.
pub(super) fn identified(mut session: Session) -> Option<Session> {
    let first = session.messages.first()?;
    if session.id.trim().is_empty() {
        session.id = part::fingerprint(std::slice::from_ref(first));
    }
    Some(session)
}
