//! Rolls back the creation of a store that failed.

use std::path::{Path, PathBuf};

use super::disk::STATE_FOLDER;
use super::folders::JOURNALS;
use crate::beneath::{Folder, Kind};

/// Entries that did not exist before the creation of a store.
#[derive(Debug)]
pub struct UnfinishedInit {
    folder: PathBuf,
    /// Topmost folder that did not exist either.
    new_above: Option<PathBuf>,
    parts: Vec<&'static str>,
}

/// Entries that the creation of a store makes, the memories first.
const PARTS: [&str; 8] = [
    "files",
    "archive",
    JOURNALS,
    "tombstones",
    "memdir.toml",
    ".git",
    ".gitignore",
    STATE_FOLDER,
];

impl UnfinishedInit {
    /// Records the missing entries of `folder` before the creation.
    pub fn at(folder: &Path) -> UnfinishedInit {
        let is_missing = |path: &&Path| path.symlink_metadata().is_err();
        let missing = folder.ancestors().take_while(is_missing);
        let parts = PARTS.into_iter();
        UnfinishedInit {
            folder: folder.to_owned(),
            new_above: missing.last().map(Path::to_owned),
            parts: parts
                .filter(|part| folder.join(part).symlink_metadata().is_err())
                .collect(),
        }
    }

    /// Removes the entries that were made since, unless memories were added meanwhile; returns whether they
    /// are gone.
    pub fn take_back(self) -> bool {
        let Ok(folder) = Folder::open(&self.folder) else {
            return false;
        };
        let memories = ["files", "archive"].into_iter();
        let mut memories = memories.filter(|part| self.parts.contains(part));
        if memories.any(|part| holds_files(&folder, part)) {
            return false;
        }
        let mut is_gone = true;
        for part in self.parts {
            let removed = match folder.facts(part).map(|facts| facts.kind) {
                Err(_) => continue,
                Ok(Kind::Folder) => folder.remove_all(part),
                Ok(_) => folder.remove(part),
            };
            is_gone &= removed.is_ok();
        }
        drop(folder);
        let Some(new_above) = self.new_above else {
            return is_gone;
        };
        for path in self.folder.ancestors() {
            // One that holds anything stays, as the system sees to it.
            let parted =
                Folder::parent_of(path).and_then(|(above, name)| above.remove_folder(name));
            is_gone &= parted.is_ok();
            if path == new_above || !is_gone {
                break;
            }
        }
        is_gone
    }
}

fn holds_files(folder: &Folder, part: &str) -> bool {
    let names = folder.below(part).and_then(|folder| folder.names());
    names.is_ok_and(|names| !names.is_empty())
}
