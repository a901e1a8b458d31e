//! Two stores on one machine come into step: a stick, a folder of a sync service.

pub(in crate::engine) mod journal_copies;
pub(in crate::engine) mod keep;
pub(in crate::engine) mod record;
pub(in crate::engine) mod report;
pub(in crate::engine) mod side;
pub(in crate::engine) mod sources;
pub(in crate::engine) mod two_stores;
