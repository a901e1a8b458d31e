//! Plans of maintenance: what would be done, doing it, and taking it back.

pub(in crate::engine) mod perform;
pub(in crate::engine) mod propose;
pub(in crate::engine) mod proposed;
pub(in crate::engine) mod purged;
pub(in crate::engine) mod record;
