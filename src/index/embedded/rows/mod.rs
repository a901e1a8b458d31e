//! The rows of a view: one for each memory, with what the columns of the index say of it.

pub(in crate::index::embedded) mod documents;
pub(in crate::index::embedded) mod kept;
pub(in crate::index::embedded) mod mapped_table;
pub(in crate::index::embedded) mod table;
