//! The folder of an index as a whole: its removal when it is unused, and its copies.

pub(in crate::index::embedded) mod copying;
pub(in crate::index::embedded) mod unused;
