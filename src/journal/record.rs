//! One change as the journal holds it, and the words for what was done.

use chrono::{DateTime, Utc};

/// One change, for whoever asks later what happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub at: DateTime<Utc>,
    /// The tool or command that made the change, such as `remember` or `forget`.
    pub did: String,
    /// The stems of the memories that it was done to.
    pub of: Vec<String>,
    /// The program that asked for it; empty if it did not say what it is.
    pub client: String,
    pub why: Option<String>,
}

/// What is done to a memory that comes back from the archive: it counts for its life.
pub const RESTORE: &str = "restore";

/// The word for confidence that was written into the file as of then.
pub const DECAY: &str = "decay";

/// The word for taking that back.
pub const UNDO_DECAY: &str = "undo decay";

/// The word for the beginning of a session. Where it names memories, it was told by the source that
/// these were imported from.
pub const SESSION: &str = "session";

/// The word for a note that states no time and is older than the commit that first holds its text:
/// of the file that the record names, the text whose id is its reason is as old as the record.
pub const DATE: &str = "date";

/// The word for a change that states another tier: uses up to then earn no longer life.
pub const TIER: &str = "tier";
