//! Journals: uses of memories, and a record of every change.
//!
//! A folder of files that only grow, one for each copy of the store, called by a random id that
//! the copy keeps among its derived things; so two machines never change the same file, and git
//! carries all of them. Promises: a line is added in one write under a lock; a torn or foreign line
//! is passed over; what the lines come to does not depend on their order, on the files they stand
//! in, or on whether they were summed up. Losing a journal loses counts, never a memory. A journal
//! that has become long is left for a new one, and the uses in those that were left become one sum
//! (`sums`); records of changes stay as they are. What follows from uses is left to `lifecycle`.

mod error;
mod journals;
mod line;
mod own;
mod reading;
mod record;
mod storage;
mod sums;
mod uses;

pub use self::uses::Uses;
pub use error::JournalError;
pub use journals::JournalFolder;
pub use record::{DATE, DECAY, RESTORE, Record, SESSION, TIER, UNDO_DECAY};
pub use storage::Journal;
