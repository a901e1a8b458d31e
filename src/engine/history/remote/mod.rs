//! Exchange with a remote: consent, fetch, three-way merge, applying it, push.

pub(in crate::engine) mod adopt;
pub(in crate::engine) mod apply;
pub(in crate::engine) mod background;
pub(in crate::engine) mod exchange;
pub(in crate::engine) mod exchanged;
pub(in crate::engine) mod exchanger;
pub(in crate::engine) mod foreign_files;
pub(in crate::engine) mod journal_union;
pub(in crate::engine) mod setup;
pub(in crate::engine) mod sources;
pub(in crate::engine) mod state;
pub(in crate::engine) mod three_way_merge;
