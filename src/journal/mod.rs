//! Journals: uses of memories, and a record of every change.
//!
//! A folder of append-only files, one for each copy of the store, named by a random id that the copy
//! keeps among its derived files; so two machines never change the same file, and git syncs all of them.
//! Guarantees: a line is added in one write under a lock; a torn or foreign line is skipped; the result
//! does not depend on the order of the lines, on their files, or on summing. Losing a journal loses
//! counts, never a memory. A long journal is left for a new one, and the uses in the left ones become
//! one sum (`sums`); records of changes stay as they are. `lifecycle` evaluates uses.

mod copying;
mod error;
mod journals;
mod line;
mod line_journal;
mod own;
mod reading;
mod record;
mod storage;
mod sums;
mod uses;

pub use self::uses::Uses;
pub use copying::{copy_to_folder, copy_to_lines};
pub use error::JournalError;
pub use journals::JournalFolder;
pub use line_journal::{LineJournal, LineStore, NumberedLine};
pub use record::{DATE, DECAY, RESTORE, Record, SESSION, TIER, UNDO_DECAY};
pub use storage::Journal;
