//! The store as a directory: operations on its files.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use super::disk::STATE_FOLDER;
use super::folders::{LinkPolicy, Place, TOP_FOLDERS, notes_around, split};
use super::hash::content_hash;
use super::list::MAX_DEPTH;
use super::lock::Lock;
use super::reader::{FolderReader, open_top};
use super::storage::{Reader, Replaced, Version};
use super::swap::{SwapName, Swapped};
use super::{At, FilesError, disk, note, swap};
use crate::beneath::{Folder, Kind, Target, is_link};
use crate::format::is_memory_name;
use crate::model::IN_PLACE;

/// A memory directory, at `<root>/files` and `<root>/archive`; or, of a folder that is called
/// [`IN_PLACE`], among the notes around it.
///
/// Names are paths below one of the two, as in [`Entry::name`]. They come from a listing or from
/// a parsed stem, never from a caller's text.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    state: PathBuf,
    links: LinkPolicy,
    notes_written: bool,
}

/// Number of lock files, which editing processes share.
const LOCK_SHARDS: u128 = 64;

/// Name of the file with the hashes of texts that this program wrote.
const WRITTEN: &str = "written.log";
/// Maximum size of that file: some 15,000 texts.
const MOST_WRITTEN_BYTES: u64 = 256 << 10;

/// Age from which a temporary file is a leftover even on a system without locks.
const TEMP_LIFETIME: std::time::Duration = std::time::Duration::from_secs(36 * 3600);

impl Store {
    /// Returns the store at `root`, with its locks in the folder `state`, unopened.
    pub fn new(root: &Path, state: &Path) -> Store {
        Store {
            root: root.to_owned(),
            state: state.to_owned(),
            links: LinkPolicy::Refuse,
            notes_written: false,
        }
    }

    /// Returns the store at `root` with its locks below it, for a store that this process has not opened.
    pub fn at(root: &Path) -> Store {
        Store::new(root, &root.join(STATE_FOLDER))
    }

    /// Returns the same store; `notes_written` is whether it records the texts that it writes, to
    /// distinguish them from those of people where there is no history.
    pub fn noting_written(self, notes_written: bool) -> Store {
        Store {
            notes_written,
            ..self
        }
    }

    /// Whether the store's folders may be links.
    pub fn follows_links(&self) -> bool {
        matches!(self.links, LinkPolicy::Follow)
    }

    /// Returns the same store, with another policy for links.
    pub fn with_links(self, links: LinkPolicy) -> Store {
        Store { links, ..self }
    }

    /// Returns the store's folders that are links and so not followed.
    pub fn refused_links(&self) -> Vec<&'static str> {
        let root = match self.links {
            LinkPolicy::Refuse => Folder::open(&self.root).ok(),
            LinkPolicy::Follow => None,
        };
        let Some(root) = root else {
            return Vec::new();
        };
        let is_link = |name: &&str| root.facts(name).is_ok_and(|facts| facts.kind == Kind::Link);
        TOP_FOLDERS.into_iter().filter(is_link).collect()
    }

    /// Opens a folder of the store.
    pub(super) fn top(&self, top: &'static str) -> io::Result<Folder> {
        match self.notes().filter(|_| top == Place::Files.folder()) {
            Some(notes) => Folder::open(notes),
            None => open_top(&self.root, top, self.links),
        }
    }

    /// Returns the folder of notes that is opened in place, if there is one.
    pub fn notes(&self) -> Option<&Path> {
        notes_around(&self.root)
    }

    /// Returns the path `path`, such as `files/x.md`, for display: below the folder of notes where one is
    /// opened in place, else below the store's.
    pub fn shown<'a>(&self, path: &'a str) -> Cow<'a, str> {
        match (self.notes(), path.strip_prefix("files/")) {
            (None, _) => Cow::Borrowed(path),
            (Some(_), Some(name)) => Cow::Borrowed(name),
            (Some(_), None) => Cow::Owned(format!("{IN_PLACE}/{path}")),
        }
    }

    /// Opens the folder `folder`, parts joined by `/`, of a place; makes it if it is missing.
    pub(super) fn open_or_create(
        &self,
        top: &'static str,
        folder: &str,
    ) -> Result<Folder, FilesError> {
        let open = || match self.top(top) {
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && (top != Place::Files.folder() || self.notes().is_none()) =>
            {
                Folder::open(&self.root)?.create_below(&format!("{top}/{folder}"))
            }
            other => other?.create_below(folder),
        };
        let shown = || self.root.join(top).join(folder);
        open().map_err(|error| self.refused(top, "create", &shown(), error))
    }

    /// Opens the folder that holds the memory `name` of a place, and returns the file's name in it.
    fn holder<'a>(&self, place: Place, name: &'a str) -> Result<(Folder, &'a str), FilesError> {
        let (folder, file) = split(name);
        let opened = self.top(place.folder()).and_then(|top| top.below(folder));
        match opened {
            Ok(folder) => Ok((folder, file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(FilesError::Missing {
                path: self.path(place, name),
            }),
            Err(error) => {
                let path = self.folder(place).join(folder);
                Err(self.refused(place.folder(), "open", &path, error))
            }
        }
    }

    /// Returns the error of an operation below a folder of the store: [`FilesError::Link`] if that is a link.
    pub(super) fn refused(
        &self,
        top: &'static str,
        action: &'static str,
        path: &Path,
        source: io::Error,
    ) -> FilesError {
        if is_link(&source) {
            let is_top = self.refused_links().contains(&top);
            let link = if is_top { &self.root.join(top) } else { path };
            return FilesError::Link {
                path: link.to_owned(),
            };
        }
        FilesError::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// Checks that `name` is that of a note if it would lie among somebody's notes: hidden folders there
    /// belong to other programs.
    fn check_note(&self, place: Place, name: &str) -> Result<(), FilesError> {
        let mut parts = name.rsplit('/');
        let is_note = parts.next().is_some_and(is_memory_name)
            && parts.all(|folder| !folder.starts_with('.'));
        match is_note || place != Place::Files || self.notes().is_none() {
            true => Ok(()),
            false => Err(FilesError::NotRegular {
                path: self.path(place, name),
            }),
        }
    }

    /// Returns the store's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of derived and local files.
    pub fn state(&self) -> &Path {
        &self.state
    }

    /// Returns the folder of a place.
    pub fn folder(&self, place: Place) -> PathBuf {
        match self.notes().filter(|_| place == Place::Files) {
            Some(notes) => notes.to_owned(),
            None => self.root.join(place.folder()),
        }
    }

    /// Returns the path of a memory, for messages and editors.
    pub fn path(&self, place: Place, name: &str) -> PathBuf {
        self.folder(place).join(name)
    }

    /// Returns whether the system allows this process to write in the store; nothing is written.
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

    /// Returns the other files beside the memories, such as images, as paths below the folder of memories,
    /// without hidden folders.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be read.
    pub fn attachments(&self) -> Result<Vec<String>, FilesError> {
        let top = disk::uninterrupted(|| self.top(Place::Files.folder()));
        let folder = top.at("list", &self.folder(Place::Files))?;
        let (mut files, mut pending) = (Vec::new(), vec![String::new()]);
        while let Some(below) = pending.pop() {
            let names = folder.below(&below).and_then(|folder| folder.names());
            // One that cannot be read is reported with the memories.
            for (name, kind) in names.unwrap_or_default() {
                let path = match below.as_str() {
                    "" => name.clone(),
                    below => format!("{below}/{name}"),
                };
                match kind {
                    _ if name.starts_with('.') => {}
                    Kind::Folder if path.matches('/').count() < MAX_DEPTH => pending.push(path),
                    Kind::File if !is_memory_name(&name) => files.push(path),
                    _ => {}
                }
            }
        }
        Ok(files)
    }

    /// Returns the modification time of a folder. It may be that of a link in its place; files are opened by
    /// handle.
    fn folder_time(&self, place: Place, folder: &str) -> Option<i64> {
        let top = self.folder(place);
        let path = match folder {
            "" => top,
            folder => top.join(folder),
        };
        let data = match self.links {
            LinkPolicy::Refuse => fs::symlink_metadata(path),
            LinkPolicy::Follow => fs::metadata(path),
        };
        Some(modified_at(&data.ok()?))
    }

    /// Returns a reader of many files of `place`.
    pub(super) fn folder_reader(&self, place: Place) -> FolderReader {
        match self.notes().filter(|_| place == Place::Files) {
            Some(notes) => FolderReader::of(notes.to_owned(), "", self.links),
            None => FolderReader::of(self.root.clone(), place.folder(), self.links),
        }
    }

    /// Returns a reader of what lies beside the folders of memories.
    pub(super) fn folder_beside(&self) -> FolderReader {
        FolderReader::of(self.root.clone(), "", self.links)
    }

    /// Adds as [`WritableStorage::add`], but the file survives a power cut only once the returned folder,
    /// below the place's own, is synced.
    ///
    /// # Errors
    ///
    /// As for [`WritableStorage::add`].
    pub fn add_unsynced(
        &self,
        place: Place,
        name: &str,
        bytes: &[u8],
    ) -> Result<String, FilesError> {
        self.put_new(place, name, bytes)?;
        Ok(folder_of(name).to_owned())
    }

    /// Syncs the folders of the files that were written without error, each once; where that fails, the
    /// results become errors, and `undo` is called with the names.
    fn sync_folders_of<'a, T: 'a>(
        &self,
        place: Place,
        written: impl Iterator<Item = (&'a str, &'a mut Result<T, FilesError>)>,
        undo: impl Fn(&str),
    ) {
        let mut synced: BTreeMap<&str, Option<(io::ErrorKind, String)>> = BTreeMap::new();
        for (name, done) in written.filter(|(_, done)| done.is_ok()) {
            let folder = folder_of(name);
            let failed = synced.entry(folder).or_insert_with(|| {
                let failed = self.sync_folder(place, folder).err()?;
                let kind = match &failed {
                    FilesError::Io { source, .. } => source.kind(),
                    _ => io::ErrorKind::Other,
                };
                Some((kind, failed.to_string()))
            });
            if let Some((kind, reason)) = failed {
                undo(name);
                *done = Err(FilesError::Io {
                    action: "sync",
                    path: self.folder(place).join(folder),
                    source: io::Error::new(*kind, reason.clone()),
                });
            }
        }
    }

    /// Adds a new memory, which survives a power cut once the returned folder is synced.
    fn put_new(&self, place: Place, name: &str, bytes: &[u8]) -> Result<Folder, FilesError> {
        self.check_note(place, name)?;
        let target = self.path(place, name);
        let (below, file) = (folder_of(name), file_of(name));
        let folder = self.open_or_create(place.folder(), below)?;
        self.note_written(bytes);
        let temp = disk::uninterrupted(|| disk::write_temp(&folder, bytes));
        let mut temp = temp.at("write", &target)?;
        disk::step();
        // The file stays open, and so locked, until it has its name: no clean-up may take it.
        match disk::uninterrupted(|| temp.rename(file, Target::Keep)) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(FilesError::Taken { path: target });
            }
            Err(error) => return Err(error).at("write", &target),
        }
        drop(temp);
        Ok(folder)
    }

    fn replace_as(
        &self,
        place: Place,
        name: &str,
        seen: &Version,
        bytes: &[u8],
        swap_name: &SwapName,
    ) -> Result<Replaced, FilesError> {
        let (replaced, folder) = self.replace_unsynced(place, name, seen, bytes, swap_name)?;
        if let Some(folder) = folder {
            disk::uninterrupted(|| folder.sync()).at("sync", folder.path())?;
        }
        Ok(replaced)
    }

    /// Exchanges the names atomically, then checks the former text: if it is not the one that was read, it is
    /// kept as a conflict copy beside the memory. The change survives a power cut once the folder is synced,
    /// which is returned if anything was done.
    fn replace_unsynced(
        &self,
        place: Place,
        name: &str,
        seen: &Version,
        bytes: &[u8],
        swap_name: &SwapName,
    ) -> Result<(Replaced, Option<Folder>), FilesError> {
        self.check_note(place, name)?;
        let _lock = self.lock(name)?;
        let current = self.folder_reader(place).read(name, u64::MAX)?;
        if current.hash != seen.hash {
            return Ok((Replaced::Stale, None));
        }
        let (folder, file) = self.holder(place, name)?;
        self.note_written(bytes);
        let keep =
            |folder: &Folder, beside: &str| self.keep_aside(place, name, folder, beside, swap_name);
        let keep_copy = || self.keep_copy_aside(place, name, &current.bytes, swap_name);
        let swapped = swap::swap(&folder, file, swap_name, bytes, &keep, &keep_copy)?;
        let replaced = match swapped {
            Swapped::Done => Replaced::Done,
            Swapped::KeptOther => Replaced::KeptOther,
        };
        Ok((replaced, Some(folder)))
    }

    /// Records the hash of `bytes` as written by this program, if the store does so.
    fn note_written(&self, bytes: &[u8]) {
        if !self.notes_written {
            return;
        }
        let notes = self.state.join(WRITTEN);
        let is_long = fs::metadata(&notes).is_ok_and(|data| data.len() > MOST_WRITTEN_BYTES);
        if is_long {
            // Texts of long ago are then taken for somebody's own, and kept.
            let lines = note::lines_at(&notes);
            let _ = note::begin_lines(&notes, &lines[lines.len() / 2..].join("\n"));
        }
        let _ = note::leave_line(&notes, &format!("{:016x}", content_hash(bytes) as u64));
    }

    /// Returns the beginnings of the hashes of recorded texts.
    pub fn written(&self) -> HashSet<u64> {
        let lines = note::lines_at(&self.state.join(WRITTEN)).into_iter();
        lines
            .filter_map(|line| u64::from_str_radix(&line, 16).ok())
            .collect()
    }

    /// Sets the modification time of a memory's file that was read as `seen`, in nanoseconds since 1970. Does
    /// nothing to a file that changed meanwhile.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened, or if the system refuses.
    pub fn set_modified(&self, place: Place, seen: &Version, at: i64) -> Result<(), FilesError> {
        let name = &seen.entry.name;
        let _lock = self.lock(name)?;
        let reader = self.folder_reader(place);
        if reader.read(name, u64::MAX)?.hash != seen.hash {
            return Ok(());
        }
        let at = SystemTime::from(chrono::DateTime::from_timestamp_nanos(at));
        let set = reader.open_regular(name)?.set_modified(at);
        set.map_err(|source| FilesError::Io {
            action: "set the time of",
            path: self.path(place, name),
            source,
        })
    }

    /// Copies the permissions of one memory's file to another's.
    ///
    /// # Errors
    ///
    /// Fails if one of them cannot be opened, or if the system refuses.
    pub fn copy_mode(&self, from: (Place, &str), to: (Place, &str)) -> Result<(), FilesError> {
        let open = |(place, name): (Place, &str)| self.folder_reader(place).open_regular(name);
        let (from, file) = (open(from)?, open(to)?);
        let set = from
            .metadata()
            .and_then(|data| file.set_permissions(data.permissions()));
        set.map_err(|source| FilesError::Io {
            action: "set the permissions of",
            path: self.path(to.0, to.1),
            source,
        })
    }

    /// Renames or moves a memory. It survives a power cut once both folders are synced.
    ///
    /// # Errors
    ///
    /// As for [`WritableStorage::relocate`].
    pub fn rename_unsynced(
        &self,
        from: (Place, &str),
        to: (Place, &str),
    ) -> Result<(), FilesError> {
        self.check_note(to.0, to.1)?;
        let (source, target) = (self.path(from.0, from.1), self.path(to.0, to.1));
        let (below, file) = split(to.1);
        let new_folder = self.open_or_create(to.0.folder(), below)?;
        let _lock = self.lock(from.1)?;
        let (folder, old_file) = self.holder(from.0, from.1)?;
        let moved =
            disk::uninterrupted(|| disk::rename_no_replace(&folder, old_file, &new_folder, file));
        match moved {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(FilesError::Missing { path: source })
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(FilesError::Taken { path: target })
            }
            other => other.at("move", &source),
        }
    }

    /// Syncs `folder`, a path below the place's own, so that its names survive a power cut.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be synced.
    pub fn sync_folder(&self, place: Place, folder: &str) -> Result<(), FilesError> {
        let opened = self.top(place.folder()).and_then(|top| top.below(folder));
        let path = self.folder(place).join(folder);
        let opened = opened.map_err(|error| self.refused(place.folder(), "sync", &path, error))?;
        disk::uninterrupted(|| opened.sync()).at("sync", &path)
    }

    /// Removes a folder below the place's own if it is empty.
    pub fn remove_if_empty(&self, place: Place, folder: &str) {
        let (above, name) = split(folder);
        if !folder.is_empty()
            && let Ok(above) = self.top(place.folder()).and_then(|top| top.below(above))
        {
            // One that holds anything stays, as the system sees to it.
            let _ = above.remove_folder(name);
        }
    }

    /// Takes the lock of one memory.
    fn lock(&self, name: &str) -> Result<Lock, FilesError> {
        Lock::take(&self.lock_path(shard_of(name)), name)
    }

    fn lock_path(&self, shard: u8) -> PathBuf {
        self.state.join("locks").join(format!("{shard:02x}.lock"))
    }

    /// Returns the temporary files with an unseen text, left by a change that was interrupted while another
    /// process wrote, without those whose writer is at work.
    pub fn unseen_texts(&self, place: Place, temps: &[String]) -> Vec<String> {
        let reader = self.folder_reader(place);
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
}

/// Returns the folder of the file `name`, below its place's own.
fn folder_of(name: &str) -> &str {
    split(name).0
}

/// Returns the name of the file `name` in its folder.
fn file_of(name: &str) -> &str {
    split(name).1
}

/// Returns the number of a memory's lock.
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

mod contract;
pub(super) mod listed;
#[cfg(test)]
#[cfg(unix)]
mod tests;
