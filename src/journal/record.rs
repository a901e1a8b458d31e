//! Records of changes in the journal, and the words for the kinds of changes.

use chrono::{DateTime, Utc};

/// Record of one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Moment of the change.
    pub at: DateTime<Utc>,
    /// Tool or command that made the change, such as `remember` or `forget`.
    pub did: String,
    /// Stems of the changed memories.
    pub of: Vec<String>,
    /// Name of the client; empty if unknown.
    pub client: String,
    /// Reason, if there is one.
    pub why: Option<String>,
}

/// Word for restoring a memory from the archive, which has an effect on its life.
pub const RESTORE: &str = "restore";

/// Word for writing the present confidence into the file.
pub const DECAY: &str = "decay";

/// Word for undoing that.
pub const UNDO_DECAY: &str = "undo decay";

/// Word for the beginning of a session. With memories, it is from the source that these were imported
/// from.
pub const SESSION: &str = "session";

/// Word for the time of a note that states none and is older than the commit that first holds its text:
/// the text whose id is the reason, of the file that the record names, is as old as the record.
pub const DATE: &str = "date";

/// Word for a change of the tier: earlier uses do not extend the life.
pub const TIER: &str = "tier";
