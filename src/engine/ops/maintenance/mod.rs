//! Plans of maintenance: proposing, performing and reverting them.

pub(in crate::engine) mod perform;
pub(in crate::engine) mod propose;
pub(in crate::engine) mod proposed;
pub(in crate::engine) mod purged;
pub(in crate::engine) mod record;
