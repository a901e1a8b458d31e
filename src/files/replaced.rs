//! Replaced texts of memories, kept aside until a history holds them.
//!
//! Guarantees: a text that [`WritableStorage::replace_and_keep`] replaced is whole in the folder
//! `replaced` of the state folder when that returns; the texts of one memory keep their order. The caller
//! checks whether a history holds a text already.

use std::io;

use super::folders::{Place, split};
use super::storage::WritableStorage;
use super::store::Store;
use super::swap::SwapName;
use super::{At, FilesError, disk};
use crate::beneath::{Folder, Kind, Target};

/// A text that was replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplacedText {
    /// Folder of the memory.
    pub place: Place,
    /// Path of the memory below the place's folder.
    pub name: String,
    /// Number of the text in the order of the memory's replaced texts.
    number: u32,
    /// Beginning of its hash, and of the hash of the text that replaced it.
    seen: u64,
    new: u64,
}

/// Name of the folder of replaced texts among the derived files; it has a folder for each memory, at its
/// path below the store.
const FOLDER: &str = "replaced";
/// Maximum number of tries to make a folder that another process removes in the same moment.
const MAX_TRIES: usize = 8;
/// Maximum depth of nested folders.
const MAX_DEPTH: usize = 64;

impl ReplacedText {
    fn file(&self) -> String {
        let ReplacedText {
            number, seen, new, ..
        } = self;
        format!("{number:08x}-{seen:016x}-{new:016x}")
    }

    fn parse(place: Place, name: &str, file: &str) -> Option<ReplacedText> {
        let mut parts = file.split('-');
        let number = u32::from_str_radix(parts.next()?, 16).ok()?;
        let seen = u64::from_str_radix(parts.next()?, 16).ok()?;
        let new = u64::from_str_radix(parts.next()?, 16).ok()?;
        parts.next().is_none().then(|| ReplacedText {
            place,
            name: name.to_owned(),
            number,
            seen,
            new,
        })
    }

    /// Returns whether this program replaced `earlier` with this text.
    pub fn followed(&self, earlier: &ReplacedText) -> bool {
        self.place == earlier.place && self.name == earlier.name && self.seen == earlier.new
    }

    /// Returns the beginning of its hash.
    pub fn hash(&self) -> u64 {
        self.seen
    }

    /// Returns its name in the archive, from the memory's name and the text's hash.
    pub fn archived_name(&self) -> String {
        let name = self.name.strip_suffix(".md").unwrap_or(&self.name);
        format!("{name}.replaced-{:016x}.md", self.seen)
    }

    fn folder(&self) -> String {
        self.place.path_of(&self.name)
    }
}

/// Returns the next free number in the folder of a memory.
fn next_number(folder: &Folder) -> io::Result<u32> {
    let numbers = folder.names()?.into_iter().filter_map(|(file, _)| {
        let number = file.split('-').next()?;
        u32::from_str_radix(number, 16).ok()
    });
    Ok(numbers.max().map_or(0, |number| number.wrapping_add(1)))
}

impl Store {
    /// Keeps the file `beside` in `folder`, which holds the text of the memory `name` that was
    /// replaced. The caller holds the memory's lock.
    pub(super) fn keep_aside(
        &self,
        place: Place,
        name: &str,
        folder: &Folder,
        beside: &str,
        swap_name: &SwapName,
    ) -> Result<(), FilesError> {
        self.in_aside(place, name, swap_name, |aside, file| {
            disk::step();
            match folder.rename(beside, aside, file, Target::Keep) {
                // The state folder may be a mount of its own.
                Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                    let bytes = disk::read(folder, beside)?;
                    aside.write_derived(file, &bytes, true)?;
                    disk::remove(folder, beside)
                }
                other => other,
            }
        })
    }

    /// Keeps a copy of `bytes`, the text of the memory `name` that is to be replaced. The caller
    /// holds the memory's lock.
    pub(super) fn keep_copy_aside(
        &self,
        place: Place,
        name: &str,
        bytes: &[u8],
        swap_name: &SwapName,
    ) -> Result<(), FilesError> {
        self.in_aside(place, name, swap_name, |aside, file| {
            aside.write_derived(file, bytes, true)
        })
    }

    fn in_aside(
        &self,
        place: Place,
        name: &str,
        swap_name: &SwapName,
        put: impl Fn(&Folder, &str) -> io::Result<()>,
    ) -> Result<(), FilesError> {
        let (seen, new) = swap_name.hashes();
        let mut text = ReplacedText {
            place,
            name: name.to_owned(),
            number: 0,
            seen,
            new,
        };
        let top = self.state().join(FOLDER);
        let mut kept = Ok(());
        for _ in 0..MAX_TRIES {
            let mut keep = || {
                let aside = Folder::create_of_state(&top)?.create_below(&text.folder())?;
                text.number = next_number(&aside)?;
                put(&aside, &text.file())?;
                aside.sync()
            };
            kept = disk::uninterrupted(&mut keep);
            match &kept {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                _ => break,
            }
        }
        kept.at("keep the former text in", &top)
    }

    /// Returns the replaced texts that are kept aside; those of one memory in their order.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be listed.
    pub fn replaced(&self) -> Result<Vec<ReplacedText>, FilesError> {
        let mut texts = Vec::new();
        let top = self.state().join(FOLDER);
        let folder = match Folder::of_state(&top) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(texts),
            other => other.at("list", &top)?,
        };
        for place in [Place::Files, Place::Archive] {
            if let Ok(folder) = folder.below(place.folder()) {
                collect(place, "", &folder, 0, &mut texts);
            }
        }
        texts.sort_by_key(|one| (one.folder(), one.number));
        Ok(texts)
    }

    /// Reads a text that is kept aside; `None` if another process has taken it.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    pub fn replaced_bytes(&self, text: &ReplacedText) -> Result<Option<Vec<u8>>, FilesError> {
        let top = self.state().join(FOLDER);
        let read = || {
            let folder = Folder::of_state(&top)?.below(&text.folder())?;
            disk::read(&folder, &text.file())
        };
        match disk::uninterrupted(read) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            other => other.map(Some).at("read", &top.join(text.folder())),
        }
    }

    /// Moves a text that was kept aside, `bytes`, into the archive.
    ///
    /// # Errors
    ///
    /// As for [`WritableStorage::add`].
    pub fn archive_replaced(&self, text: &ReplacedText, bytes: &[u8]) -> Result<(), FilesError> {
        let name = text.archived_name();
        let (below, file) = split(&name);
        let target = self.open_or_create(Place::Archive.folder(), below)?;
        let top = self.state().join(FOLDER);
        let moved = disk::uninterrupted(|| {
            let aside = Folder::of_state(&top)?.below(&text.folder())?;
            aside.rename(&text.file(), &target, file, Target::Keep)
        });
        match moved {
            Ok(()) => disk::uninterrupted(|| target.sync()).at("sync", target.path()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(FilesError::Taken {
                path: self.path(Place::Archive, &name),
            }),
            // The state folder may be a mount of its own.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                self.add(Place::Archive, &name, bytes)
            }
            Err(error) => Err(error).at("archive", &top.join(text.folder())),
        }
    }

    /// Removes a text that was kept aside.
    pub fn release_replaced(&self, text: &ReplacedText) {
        let top = self.state().join(FOLDER);
        let Ok(top) = Folder::of_state(&top) else {
            return;
        };
        let folder = text.folder();
        let removed = top
            .below(&folder)
            .and_then(|folder| disk::remove(&folder, &text.file()));
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        if removed.is_err_and(|error| !is_gone(&error)) {
            return; // The next one looks at it again.
        }
        // Folders go with their last text; one that holds anything stays, as the system sees to it.
        let mut empty = folder.as_str();
        while let Some((above, name)) = empty.rsplit_once('/') {
            if top
                .below(above)
                .and_then(|above| above.remove_folder(name))
                .is_err()
            {
                return;
            }
            empty = above;
        }
    }
}

fn collect(place: Place, name: &str, folder: &Folder, depth: usize, texts: &mut Vec<ReplacedText>) {
    let Ok(names) = folder.names() else {
        return; // Removed in this moment, as empty.
    };
    for (file, kind) in names {
        match kind {
            Kind::File => texts.extend(ReplacedText::parse(place, name, &file)),
            Kind::Folder if depth < MAX_DEPTH => {
                if let Ok(below) = folder.below(&file) {
                    let name = match name {
                        "" => file,
                        name => format!("{name}/{file}"),
                    };
                    collect(place, &name, &below, depth + 1, texts);
                }
            }
            _ => {}
        }
    }
}
