//! Folders that are held open, and what is done to the names in them, without following a link.
//!
//! A path is looked up anew at each use, so whoever can rename a folder can put a symbolic link in
//! its place between two uses. A [`Folder`] is the folder itself: everything below it is reached by
//! handle, with `openat2` where the system has it and name by name elsewhere, and a name that turns
//! out to be a link is refused with an error ([`is_link`]). Nothing here waits for a named pipe.
//! On Windows there are no such handles (`portable`): each name on the way is looked at before it is
//! used.
//!
//! The path of a store's own folder may lead through links: it is the user's word. What lies below
//! it may not, nor what lies below a folder called [`STATE_FOLDER`].

mod entry;
mod folder;
#[cfg(not(unix))]
mod portable;
mod strangers;
#[cfg(unix)]
mod unix;

#[cfg(not(unix))]
use portable as system;
#[cfg(unix)]
use unix as system;

pub use entry::{Access, Facts, Kind, Target, is_composed};
pub use folder::{STATE_FOLDER, Temporary};
pub use strangers::set_strangers_aside;
pub use system::{Folder, is_link, sync_file};
