//! The store's folders and what is done to the files in them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;
use std::path::PathBuf;

use super::At;
use super::FilesError;
use super::disk;
use super::list::Entry;
use super::list::Listing;
use super::list::Skipped;
use super::lock::Lock;
use super::reader::Reader;
use super::reader::Version;
use super::swap;
use super::swap::SwapName;
use super::swap::Swapped;
use crate::format::is_memory_name;

/// The two folders a memory can lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `files/`: live memories.
    Files,
    /// `archive/`: forgotten ones.
    Archive,
}

impl Place {
    fn folder(self) -> &'static str {
        match self {
            Place::Files => "files",
            Place::Archive => "archive",
        }
    }

    /// The path of a memory below the store's folder, as it is shown.
    pub fn path_of(self, name: &str) -> String {
        format!("{}/{name}", self.folder())
    }
}

/// A memory directory, at `<root>/files` and `<root>/archive`.
///
/// Names are paths below one of the two, as in [`Entry::name`]. They come from a listing or from
/// a parsed stem, never from a caller's text.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    state: PathBuf,
}

/// What became of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replaced {
    Done,
    /// Nothing was touched: the file is not the one that was seen.
    Stale,
    /// Done; and somebody else's text, written in the same moment, is kept as a conflict copy.
    KeptOther,
}

/// A temporary file whose writer is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    pub name: String,
}

/// Lock files that editing processes share; more than processes that edit at one moment.
const LOCK_SHARDS: u128 = 64;

/// Where it is noted which memories were purged.
const TOMBSTONES: &str = "tombstones";

/// The path, below the store's folder, of the word that the memory `stem` was purged.
pub fn tombstone_of(stem: &str) -> String {
    format!("{TOMBSTONES}/{stem}")
}

/// After this time a temporary file is a leftover even on a system without locks.
const TEMP_LIFETIME: std::time::Duration = std::time::Duration::from_secs(36 * 3600);

impl Store {
    /// The store at `root`, with its locks in the folder `state`. Touches nothing.
    pub fn new(root: &Path, state: &Path) -> Store {
        Store {
            root: root.to_owned(),
            state: state.to_owned(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of derived and local things.
    pub fn state(&self) -> &Path {
        &self.state
    }

    pub fn folder(&self, place: Place) -> PathBuf {
        self.root.join(place.folder())
    }

    /// The path of a memory, for messages and for editors.
    pub fn path(&self, place: Place, name: &str) -> PathBuf {
        self.folder(place).join(name)
    }

    /// Makes the memory folder if it is missing.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be made.
    pub fn create(&self) -> Result<(), FilesError> {
        let folder = self.folder(Place::Files);
        disk::create_directory(&folder).at("create", &folder)
    }

    /// Whether files can be made in the store at all: asked of the system, nothing is written.
    pub fn is_writable(&self) -> bool {
        let folder = self.folder(Place::Files);
        let folder = if folder.is_dir() {
            folder
        } else {
            self.root.clone()
        };
        #[cfg(unix)]
        {
            use rustix::fs::Access;
            rustix::fs::access(&folder, Access::WRITE_OK).is_ok() || !folder.exists()
        }
        #[cfg(not(unix))]
        {
            fs::metadata(&folder).map_or(true, |data| !data.permissions().readonly())
        }
    }

    /// Lists the memories of `place`; a folder that does not exist is empty.
    ///
    /// # Errors
    ///
    /// Fails if the folder exists and cannot be read.
    pub fn list(&self, place: Place) -> Result<Listing, FilesError> {
        self.list_after(place, &|_| ())
    }

    /// As [`Store::list`]; `before` is called with each folder before its names are read.
    ///
    /// # Errors
    ///
    /// As for [`Store::list`].
    pub fn list_after(&self, place: Place, before: &dyn Fn(&str)) -> Result<Listing, FilesError> {
        let folder = self.folder(place);
        match Listing::read(&folder, is_memory_name, before) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Listing::default()),
            other => other.at("list", &folder),
        }
    }

    /// The stems of the memories that were purged: each has a file in `tombstones/`.
    ///
    /// # Errors
    ///
    /// Fails if the folder exists and cannot be read.
    pub fn purged(&self) -> Result<BTreeSet<String>, FilesError> {
        let folder = self.root.join(TOMBSTONES);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            other => other.at("list", &folder)?,
        };
        let names = entries.map(|entry| Ok(entry?.file_name().into_string().ok()));
        let names: io::Result<Vec<Option<String>>> = names.collect();
        let is_stem = |name: &String| !name.starts_with('.');
        Ok(names
            .at("list", &folder)?
            .into_iter()
            .flatten()
            .filter(is_stem)
            .collect())
    }

    /// Whether a file of the memory folder ends with the eight hex digits `handle`. Looks at a
    /// limited number of names: this avoids confusion, it does not exclude it.
    pub fn has_handle(&self, handle: &str) -> bool {
        const MOST: usize = 50_000;
        let ending = format!("_{handle}.md");
        super::list::any_name(&self.folder(Place::Files), MOST, |name| {
            name.ends_with(ending.as_bytes())
        })
    }

    /// Looks at the one memory `name`: what `stat` says of it, or why it is no readable memory;
    /// `None` if there is none.
    pub fn look_at(&self, place: Place, name: &str) -> Option<Result<Entry, Skipped>> {
        super::list::look_at(&self.folder(place), name)
    }

    /// `folders` with their present modification times, in nanoseconds since 1970; `None` if one
    /// of them is gone.
    pub fn folder_times(
        &self,
        place: Place,
        folders: &[(String, i64)],
    ) -> Option<Vec<(String, i64)>> {
        let top = self.folder(place);
        let time = |folder: &String| {
            let data = fs::symlink_metadata(top.join(folder)).ok()?;
            Some((folder.clone(), modified_at(&data)))
        };
        folders.iter().map(|(folder, _)| time(folder)).collect()
    }

    /// Whether a folder of an earlier listing changed: a name came, went or was replaced.
    pub fn folders_changed(&self, place: Place, folders: &[(String, i64)]) -> bool {
        let top = self.folder(place);
        if folders.is_empty() {
            return top.exists();
        }
        folders.iter().any(|(folder, modified)| {
            fs::symlink_metadata(top.join(folder))
                .map_or(true, |data| modified_at(&data) != *modified)
        })
    }

    /// Those of `folders` that changed: a name came, went or was replaced.
    pub fn changed_folders<'a>(
        &self,
        place: Place,
        folders: &'a [(String, i64)],
    ) -> impl Iterator<Item = &'a str> {
        let top = self.folder(place);
        let is_changed = move |(folder, modified): &&'a (String, i64)| {
            fs::symlink_metadata(top.join(folder))
                .map_or(true, |data| modified_at(&data) != *modified)
        };
        let changed = folders.iter().filter(is_changed);
        changed.map(|(folder, _)| folder.as_str())
    }

    /// A reader of many files of `place`.
    pub fn reader(&self, place: Place) -> Reader {
        Reader::of(self.folder(place))
    }

    /// A reader of what lies beside the folders of memories.
    pub fn beside(&self) -> Reader {
        Reader::of(self.root.clone())
    }

    /// Puts a new memory in place; acknowledged when this returns.
    ///
    /// Order: temporary file, sync, rename without replacing, sync of the folder.
    ///
    /// # Errors
    ///
    /// [`FilesError::Taken`] if the name exists; any failed step fails the whole.
    pub fn add(&self, place: Place, name: &str, bytes: &[u8]) -> Result<(), FilesError> {
        let target = self.path(place, name);
        let folder = target.parent().expect("a memory lies in a folder");
        disk::create_directory_below(&self.root, folder).at("create", folder)?;
        let temp = disk::uninterrupted(|| disk::write_temp(folder, bytes)).at("write", &target)?;
        // The file stays open, and so locked, until it has its name: no clean-up may take it.
        let (_locked, temp) = temp.into_parts();
        let moved = disk::uninterrupted(|| disk::rename_no_replace(&temp, &target));
        match moved {
            Ok(()) => {
                // The temporary name is gone; nothing is left to delete.
                let _ = temp.keep();
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(FilesError::Taken { path: target });
            }
            Err(error) => return Err(error).at("write", &target),
        }
        disk::uninterrupted(|| disk::sync_directory(folder))
            .inspect_err(|_| {
                // Not acknowledged, so it must not be there either; a retry would write it twice.
                let _ = fs::remove_file(&target);
            })
            .at("sync", folder)
    }

    /// Replaces the text of a memory that was read as `seen`.
    ///
    /// The names are exchanged in one step, then the text that was swapped out is looked at: if
    /// it is not the one that was seen, it is kept as a conflict copy beside the memory. Mode
    /// bits stay.
    ///
    /// # Errors
    ///
    /// Fails if the file is gone, or if its lock cannot be had within two seconds.
    pub fn replace(
        &self,
        place: Place,
        name: &str,
        seen: &Version,
        bytes: &[u8],
    ) -> Result<Replaced, FilesError> {
        let _lock = self.lock(name)?;
        let current = self.reader(place).read(name, u64::MAX)?;
        if current.hash != seen.hash {
            return Ok(Replaced::Stale);
        }
        let swap_name = SwapName::new(name, shard_of(name), seen.hash, content_hash(bytes));
        Ok(
            match swap::swap(&self.path(place, name), &swap_name, bytes)? {
                Swapped::Done => Replaced::Done,
                Swapped::KeptOther => Replaced::KeptOther,
            },
        )
    }

    /// Takes a memory away that was read as `seen` and is kept elsewhere, as in a history.
    ///
    /// # Errors
    ///
    /// As for [`Store::replace`].
    pub fn remove(&self, place: Place, name: &str, seen: &Version) -> Result<Replaced, FilesError> {
        let _lock = self.lock(name)?;
        let current = self.reader(place).read(name, u64::MAX)?;
        if current.hash != seen.hash {
            return Ok(Replaced::Stale);
        }
        let swap_name = SwapName::new(name, shard_of(name), seen.hash, seen.hash);
        Ok(
            match swap::take_away(&self.path(place, name), &swap_name)? {
                Swapped::Done => Replaced::Done,
                Swapped::KeptOther => Replaced::KeptOther,
            },
        )
    }

    /// Writes, replaces or removes a file beside the folders of memories, such as the settings,
    /// that was read as `seen`. A text that somebody writes in the same moment may be lost: such
    /// files are small, and in the history.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn put_beside(
        &self,
        path: &str,
        seen: Option<&Version>,
        bytes: Option<&[u8]>,
    ) -> Result<Replaced, FilesError> {
        let _lock = self.lock(path)?;
        let target = self.root.join(path);
        let folder = target.parent().expect("it lies in the store");
        let current = match self.beside().read(path, u64::MAX) {
            Err(FilesError::Missing { .. }) => None,
            other => Some(other?.hash),
        };
        if current != seen.map(|seen| seen.hash) {
            return Ok(Replaced::Stale);
        }
        match bytes {
            None if current.is_none() => return Ok(Replaced::Done),
            None => disk::uninterrupted(|| disk::remove(&target)).at("remove", &target)?,
            Some(bytes) => {
                disk::create_directory_below(&self.root, folder).at("create", folder)?;
                let temp = disk::uninterrupted(|| disk::write_temp(folder, bytes));
                let temp = temp.at("write", &target)?;
                if let Ok(data) = fs::symlink_metadata(&target) {
                    let permissions = temp.as_file().set_permissions(data.permissions());
                    permissions.at("write", &target)?;
                }
                match current {
                    None => temp.persist_noclobber(&target).map_err(|error| error.error),
                    Some(_) => temp.persist(&target).map_err(|error| error.error),
                }
                .at("write", &target)?;
            }
        }
        disk::uninterrupted(|| disk::sync_directory(folder)).at("sync", folder)?;
        Ok(Replaced::Done)
    }

    /// Writes `bytes` beside the memory `name` as a conflict copy; returns the copy's name.
    ///
    /// # Errors
    ///
    /// As for [`Store::add`].
    pub fn add_copy(&self, name: &str, bytes: &[u8]) -> Result<String, FilesError> {
        let stem = name.strip_suffix(".md").unwrap_or(name);
        let mut number = content_hash(bytes) as u64;
        loop {
            let copy = swap::copy_name(stem, number);
            match self.add(Place::Files, &copy, bytes) {
                Err(FilesError::Taken { path }) => {
                    // The same text was kept before, unless somebody has changed the copy since.
                    if disk::read(&path).is_ok_and(|kept| kept == bytes) {
                        return Ok(copy);
                    }
                    number = number.wrapping_add(1);
                }
                other => return other.map(|()| copy),
            }
        }
    }

    /// Moves a memory to the other folder, under the same name.
    ///
    /// # Errors
    ///
    /// [`FilesError::Missing`] or [`FilesError::Taken`]; nothing is ever replaced.
    pub fn relocate(&self, name: &str, from: Place, to: Place) -> Result<(), FilesError> {
        self.rename((from, name), (to, name))?;
        let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
        // The new name first: a power cut in between leaves two names, never none.
        self.sync_folder(to, folder)?;
        self.sync_folder(from, folder)
    }

    /// Gives a memory another name or place. It survives a power cut once both folders are synced.
    ///
    /// # Errors
    ///
    /// As for [`Store::relocate`].
    pub fn rename(&self, from: (Place, &str), to: (Place, &str)) -> Result<(), FilesError> {
        let (source, target) = (self.path(from.0, from.1), self.path(to.0, to.1));
        let folder = target.parent().expect("a memory lies in a folder");
        disk::create_directory_below(&self.root, folder).at("create", folder)?;
        let _lock = self.lock(from.1)?;
        match disk::uninterrupted(|| disk::rename_no_replace(&source, &target)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(FilesError::Missing { path: source })
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(FilesError::Taken { path: target })
            }
            other => other.at("move", &source),
        }
    }

    /// Makes the names in `folder`, a path below the place's own, survive a power cut.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot promise it.
    pub fn sync_folder(&self, place: Place, folder: &str) -> Result<(), FilesError> {
        let folder = self.folder(place).join(folder);
        disk::uninterrupted(|| disk::sync_directory(&folder)).at("sync", &folder)
    }

    /// Removes a folder below the place's own if nothing is left in it.
    pub fn remove_if_empty(&self, place: Place, folder: &str) {
        if !folder.is_empty() {
            // One that holds anything stays, as the system sees to it.
            let _ = fs::remove_dir(self.folder(place).join(folder));
        }
    }

    /// The lock of one memory, for changing it.
    fn lock(&self, name: &str) -> Result<Lock, FilesError> {
        Lock::take(&self.lock_path(shard_of(name)), name)
    }

    fn lock_path(&self, shard: u8) -> PathBuf {
        self.state.join("locks").join(format!("{shard:02x}.lock"))
    }

    /// Which of the temporary files hold a text that nobody has seen: left by a change that was
    /// interrupted just when somebody else wrote. Those whose writer is at work do not count.
    pub fn unseen_texts(&self, place: Place, temps: &[String]) -> Vec<String> {
        let reader = self.reader(place);
        let is_unseen = |name: &&String| {
            SwapName::parse(name).is_some_and(|swap_name| {
                let is_abandoned = reader
                    .open_regular(name)
                    .is_ok_and(|file| file.try_lock_shared().is_ok());
                let text = reader.read(name, 0);
                is_abandoned && text.is_ok_and(|version| !swap_name.has_seen(version.hash))
            })
        };
        temps.iter().filter(is_unseen).cloned().collect()
    }

    /// Clears the temporary files whose writer is gone; returns what was cleared. One that holds
    /// a text nobody has seen becomes a conflict copy.
    pub fn remove_leftovers(&self, place: Place, temps: &[String]) -> Vec<Leftover> {
        let reader = self.reader(place);
        let cleared = |name: &str| match SwapName::parse(name) {
            Some(swap_name) => match Lock::try_take(&self.lock_path(swap_name.shard)) {
                Ok(Some(_lock)) => swap::resolve(&self.path(place, name), &swap_name).is_ok(),
                _ => false,
            },
            None => {
                // The lock is held until the file is gone: its writer then makes another one.
                let Ok(file) = reader.open_regular(name) else {
                    return false;
                };
                let old = file
                    .metadata()
                    .and_then(|data| data.modified())
                    .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > TEMP_LIFETIME));
                (file.try_lock().is_ok() || old) && disk::remove(&self.path(place, name)).is_ok()
            }
        };
        temps
            .iter()
            .filter(|name| cleared(name))
            .map(|name| Leftover { name: name.clone() })
            .collect()
    }
}

/// Which of the locks is a memory's.
fn shard_of(name: &str) -> u8 {
    (content_hash(name.as_bytes()) % LOCK_SHARDS) as u8
}

#[cfg(unix)]
pub(super) fn modified_at(data: &fs::Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    data.mtime()
        .saturating_mul(1_000_000_000)
        .saturating_add(data.mtime_nsec())
}

#[cfg(not(unix))]
pub(super) fn modified_at(data: &fs::Metadata) -> i64 {
    super::list::portable_modified(data)
}

/// A digest of some bytes, for names that follow from them.
pub fn digest(bytes: &[u8]) -> u128 {
    content_hash(bytes)
}

/// The hash that tells whether two texts are the same.
pub(super) fn content_hash(bytes: &[u8]) -> u128 {
    short_hash(&blake3::hash(bytes))
}

pub(super) fn short_hash(hash: &blake3::Hash) -> u128 {
    u128::from_le_bytes(
        hash.as_bytes()[..16]
            .try_into()
            .expect("a hash has 32 bytes"),
    )
}
