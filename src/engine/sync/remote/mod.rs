//! The exchange with a remote: consent, fetching, the three-way merge, carrying it out, sending.

pub(in crate::engine::sync) mod adopt;
pub(in crate::engine::sync) mod apply;
pub(in crate::engine::sync) mod consent;
pub(in crate::engine::sync) mod exchange;
pub(in crate::engine::sync) mod exchanger;
pub(in crate::engine::sync) mod foreign_files;
pub(in crate::engine::sync) mod journals;
pub(in crate::engine::sync) mod setup;
pub(in crate::engine::sync) mod sources;
pub(in crate::engine::sync) mod state;
pub(in crate::engine::sync) mod three_way_merge;
pub(in crate::engine::sync) mod tombstones;
pub(in crate::engine::sync) mod unfinished;
