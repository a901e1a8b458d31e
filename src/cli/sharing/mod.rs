//! Commands that bring memories to other places and back: sync, import, export.

pub mod export_folder;
pub mod git_state;
pub mod import_export;
pub mod mine;
mod suggest;
pub mod sync;
pub mod with;
pub mod workspace;
