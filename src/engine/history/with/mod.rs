//! Synchronizes two stores on one machine, such as a USB stick or a folder of a sync service.
//!
//! Both folders are read (`side`), and the differences from the last common state (`record`) are
//! planned (`plan`) as those of two histories (`three_way_merge`). The plan is carried out (`carry_out`) and
//! recorded here, then there, recorded in both. Merged texts are recorded before they are written, because a run
//! after a kill would merge them again. A file that is missing on one side moves to the archive
//! of the other one (`keep`), with the reason in the journal: it may be lost as well as deleted.
//! Only a tombstone removes a text.

pub(in crate::engine) mod carry_out;
pub(in crate::engine) mod exchange;
pub(in crate::engine) mod hosted;
pub(in crate::engine) mod joined;
pub(in crate::engine) mod journal_copies;
pub(in crate::engine) mod keep;
pub(in crate::engine) mod plan;
pub(in crate::engine) mod questions;
pub(in crate::engine) mod record;
pub(in crate::engine) mod report;
pub(in crate::engine) mod side;
pub(in crate::engine) mod sources;
pub(in crate::engine) mod two_stores;
pub(in crate::engine) mod workspace;
pub(in crate::engine) mod workspace_note;
