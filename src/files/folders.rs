//! The folders of a store, and the policy for symbolic links.

use std::path::Path;

use super::disk;
use crate::model::IN_PLACE;

/// Name of the folder of backups, below the store's own.
pub const BACKUPS: &str = "backup";

/// Name of the folder of journals, below the store's own.
pub const JOURNALS: &str = "journal";

/// Name of the folder of proposals, below the store's own.
pub const PROPOSALS: &str = "proposals";

/// Folder of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `files/`: live memories.
    Files,
    /// `archive/`: forgotten ones.
    Archive,
}

impl Place {
    /// Returns the folder's name.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Place::Files => "files",
            Place::Archive => "archive",
        }
    }

    /// Splits `path`, below the store's folder, into place and name; `None` for a path beside the memories.
    pub fn of(path: &str) -> Option<(Place, &str)> {
        let places = [Place::Files, Place::Archive].into_iter();
        let mut names = places.map(|place| {
            let name = path.strip_prefix(place.folder())?.strip_prefix('/')?;
            Some((place, name))
        });
        names.find_map(|found| found)
    }

    /// Returns the path of a memory below the store's folder, for display.
    pub fn path_of(self, name: &str) -> String {
        format!("{}/{name}", self.folder())
    }
}

/// Returns the folder of notes that the store at `root` opens in place; `None` of a store with a folder
/// `files`.
pub fn notes_around(root: &Path) -> Option<&Path> {
    root.parent().filter(|_| root.ends_with(IN_PLACE))
}

/// Policy for folders of the store that are symbolic links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkPolicy {
    /// Links are not followed. The path of the store itself may still lead through links.
    #[default]
    Refuse,
    /// Links are followed, as the owner set the store up. Folders inside of `files/` and the like are never
    /// links.
    Follow,
}

/// Top-level folders of a store.
pub(super) const TOP_FOLDERS: [&str; 7] = [
    "files",
    "archive",
    TOMBSTONES,
    JOURNALS,
    BACKUPS,
    PROPOSALS,
    disk::STATE_FOLDER,
];

/// Name of the folder with a file for each purged memory.
pub const TOMBSTONES: &str = "tombstones";

/// Returns the path, below the store's folder, of the tombstone of the memory `stem`.
pub fn tombstone_of(stem: &str) -> String {
    format!("{TOMBSTONES}/{stem}")
}

/// Returns the folder of the file `name`, below that of its place, and its name in that folder.
pub(super) fn split(name: &str) -> (&str, &str) {
    match memchr::memrchr(b'/', name.as_bytes()) {
        Some(at) => (&name[..at], &name[at + 1..]),
        None => ("", name),
    }
}
