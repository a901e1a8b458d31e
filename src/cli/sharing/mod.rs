//! Commands that bring memories to other places and back: sync, import, export.

pub(in crate::cli) mod exchange;
pub(in crate::cli) mod export_folder;
pub(in crate::cli) mod sync;
pub(in crate::cli) mod with;
