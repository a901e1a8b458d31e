//! Opened repositories: configuration, references, paths of the store, lock files and packs.

pub(in crate::git) mod locks;
pub(in crate::git) mod lookup;
mod loose_file;
pub(in crate::git) mod loose_objects;
pub(in crate::git) mod loose_write;
pub(in crate::git) mod opening;
pub(in crate::git) mod packs;
pub(in crate::git) mod path_change;
pub(in crate::git) mod paths;
pub(in crate::git) mod processes;
pub(in crate::git) mod umask;
