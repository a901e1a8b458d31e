//! Opens a repository: its configuration, its references, which paths of it are the store's, and the
//! locks and packs on its disk.

pub(in crate::git) mod locks;
pub(in crate::git) mod lookup;
mod loose_file;
pub(in crate::git) mod loose_objects;
pub(in crate::git) mod opening;
pub(in crate::git) mod packs;
pub(in crate::git) mod path_change;
pub(in crate::git) mod paths;
pub(in crate::git) mod processes;
pub(in crate::git) mod umask;
