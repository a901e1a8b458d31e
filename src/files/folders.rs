//! The folders of a store, and what becomes of one that is a symbolic link.

use std::path::Path;

use super::disk;
use crate::model::IN_PLACE;

/// The folder of backups, below the store's own.
pub const BACKUPS: &str = "backup";

/// The folder of journals, below the store's own.
pub const JOURNALS: &str = "journal";

/// The two folders a memory can lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `files/`: live memories.
    Files,
    /// `archive/`: forgotten ones.
    Archive,
}

impl Place {
    pub(super) fn folder(self) -> &'static str {
        match self {
            Place::Files => "files",
            Place::Archive => "archive",
        }
    }

    /// The place and the name there that `path`, below the store's folder, means; `None` for what lies
    /// beside the memories.
    pub fn of(path: &str) -> Option<(Place, &str)> {
        let places = [Place::Files, Place::Archive].into_iter();
        let mut names = places.map(|place| {
            let name = path.strip_prefix(place.folder())?.strip_prefix('/')?;
            Some((place, name))
        });
        names.find_map(|found| found)
    }

    /// The path of a memory below the store's folder, as it is shown.
    pub fn path_of(self, name: &str) -> String {
        format!("{}/{name}", self.folder())
    }
}

/// The folder of notes that the store at `root` opens in place; `None` for one with a folder `files`.
pub fn notes_around(root: &Path) -> Option<&Path> {
    root.parent().filter(|_| root.ends_with(IN_PLACE))
}

/// The policy for folders of the store that are symbolic links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LinkPolicy {
    /// Nothing behind it is listed, read or written. The path of the store itself may lead through
    /// links all the same.
    #[default]
    Refuse,
    /// It is used, as its owner made the store so. Folders inside of `files/` and the like are
    /// never links.
    Follow,
}

/// The folders of a store that are not below another of its folders.
pub(super) const TOP_FOLDERS: [&str; 6] = [
    "files",
    "archive",
    TOMBSTONES,
    JOURNALS,
    BACKUPS,
    disk::STATE_FOLDER,
];

/// The folder that notes which memories were purged.
pub(super) const TOMBSTONES: &str = "tombstones";

/// The path, below the store's folder, of the word that the memory `stem` was purged.
pub fn tombstone_of(stem: &str) -> String {
    format!("{TOMBSTONES}/{stem}")
}
