//! Present state of the store: index, differing files, detection of
//! changes, and the leader.
//!
//! Promise: a snapshot in which every file is as it is on disk, and the only way to read. It writes
//! no memory, and calls no other part: `history` fetches the names of changed files.
//!
//! # Several processes on one store
//!
//! Every MCP client starts a server of its own, people use the command line beside it, and editors,
//! git and sync services write files. No process may fail because another one runs.
//!
//! - Writing a memory takes no lock: names are unique, and files are put in place whole. Changing a
//!   memory takes one of 64 locks, for at most 2 s.
//! - One long-running process leads (`leader`). It indexes what waits. `.memdir/writer.lock` is
//!   held only while a batch is committed, so that a command can index as well, and a stopped
//!   leader (no heartbeat for 3 s) keeps nobody from it.
//! - A process sees its own writes at once. On Linux it sees the writes of others with the first
//!   search after they were acknowledged: the kernel puts the event of a change into the queue of
//!   every watch before the call that made the change returns, and each search reads that queue
//!   itself (`ChangeFeed::take`). `tests/faults/everywhere.py` counts what is missed. Elsewhere, and
//!   where nothing can be watched, the modification times of the folders show a change.
//! - A watch is checked. A folder whose time changed without an event, and a comparison of
//!   everything five minutes after the last one, lead back to looking. A queue that ran over means
//!   looking at everything. No free watches, a replaced folder and network mounts mean looking
//!   instead of watching, with a new attempt every 5 s.
//! - No event reports a change through a hard link elsewhere (a store with hard links is swept
//!   every second, and its leader does not confirm that the index is complete) or through a memory
//!   map before the file is closed. A command that relies on the leader may be faster than the
//!   event of an edit in place: by less than 1 ms, by up to 100 ms on a busy machine.
//! - A store folder that is gone is not created again: operations fail until it is back.
//! - On a network mount, in a folder of a sync service, and where the store cannot be written,
//!   index and locks lie in the user's cache folder, or in memory.

pub(in crate::engine) mod changes;
pub(in crate::engine) mod current_snapshot;
pub(in crate::engine) mod freshness;
pub(in crate::engine) mod index_copies;
pub(in crate::engine) mod index_recovery;
pub(in crate::engine) mod indexing;
pub(in crate::engine) mod leader;
pub(in crate::engine) mod listeners;
pub(in crate::engine) mod names;
pub(in crate::engine) mod pending;
pub(in crate::engine) mod read_cache;
pub(in crate::engine) mod reading;
pub(in crate::engine) mod reconcile;
pub(in crate::engine) mod rows;
pub(in crate::engine) mod store;
pub(in crate::engine) mod turns;
pub(in crate::engine) mod usage;
pub(in crate::engine) mod watch_state;
pub(in crate::engine) mod watching;

pub use changes::{is_past, listen, state_number};
pub use indexing::{clear_remains, reindex, reindex_unless_led, settle};
pub use names::{resolve, shown_name};
pub use rows::stems;
pub use usage::{UsesOfAll, records_of, records_since, state_of};
pub use watching::{check_caught_up, follow_events, indexed_count, is_indexed};
