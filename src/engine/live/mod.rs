//! The store as it is on the disk at this moment: what is indexed, what differs from it, how changes are
//! learnt of, and who leads.
//!
//! Promise: a snapshot in which every file is as it is on disk, and the only way to read. It writes
//! no memory, and calls no other part: what it learns of changed files, `history` fetches.

pub(in crate::engine) mod changes;
pub(in crate::engine) mod current_snapshot;
pub(in crate::engine) mod freshness;
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
pub(in crate::engine) mod shared_titles;
pub(in crate::engine) mod store;
pub(in crate::engine) mod usage;
pub(in crate::engine) mod watch_state;
pub(in crate::engine) mod watching;

pub use changes::listen;
pub use indexing::clear_remains;
pub use indexing::reindex;
pub use indexing::settle;
pub use names::resolve;
pub use names::shown_name;
pub use rows::stems;
pub use usage::records_of;
pub use usage::records_since;
pub use usage::state_of;
