//! The store as it is on the disk at this moment: what is indexed, what differs from it, how changes are
//! learnt of, and who leads. Every answer begins here.

pub(in crate::engine) mod changes;
pub(in crate::engine) mod current_snapshot;
pub(in crate::engine) mod freshness;
pub(in crate::engine) mod index_recovery;
pub(in crate::engine) mod indexing;
pub(in crate::engine) mod leader;
pub(in crate::engine) mod read_cache;
pub(in crate::engine) mod reading;
pub(in crate::engine) mod reconcile;
pub(in crate::engine) mod watching;
