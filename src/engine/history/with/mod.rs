//! Two stores on one machine come into step: a stick, a folder of a sync service.
//!
//! Both folders are looked at (`side`), and what differs from what was in common (`record`) goes
//! into the same plan as two histories (`three_way_merge`). It is carried out here, noted, then
//! there, noted in both. Texts that were merged are noted before they are written, because a run
//! that was killed would merge them again. A file that one side holds no more goes to the archive
//! of the other one (`keep`), with the reason in the journal: it may be lost as well as deleted.
//! Only a tombstone takes a text away.

pub(in crate::engine) mod journal_copies;
pub(in crate::engine) mod keep;
pub(in crate::engine) mod record;
pub(in crate::engine) mod report;
pub(in crate::engine) mod side;
pub(in crate::engine) mod sources;
pub(in crate::engine) mod two_stores;
