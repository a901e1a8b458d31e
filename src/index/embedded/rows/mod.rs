//! Rows of a view: one for each memory, with its column values.

pub(in crate::index::embedded) mod documents;
pub(in crate::index::embedded) mod kept;
pub(in crate::index::embedded) mod mapped_table;
pub(in crate::index::embedded) mod table;
pub(in crate::index::embedded) mod touched;
