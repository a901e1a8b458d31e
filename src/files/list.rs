//! Lists the memory directory: names and stamps.

use std::io;

use rayon::prelude::*;

use crate::beneath::Folder;
use crate::model::Stamp;

/// A file with a memory's name, with its metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Path below the memory directory, parts joined by `/`.
    pub name: String,
    /// Size, modification time and inode.
    pub stamp: Stamp,
    /// Time of the last status change, in nanoseconds since 1970, which unlike the modification time cannot
    /// be set. The modification time where the system has none.
    pub changed: i64,
    /// Whether it has another hard link.
    pub has_links: bool,
}

/// An entry with a memory's name that is no readable memory.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skipped {
    /// Path below the memory directory.
    pub name: String,
    /// Reason, as a sentence.
    pub reason: String,
}

/// A listing of the memory directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// Memories, sorted by name, each once.
    pub entries: Vec<Entry>,
    /// Skipped entries, sorted by name.
    pub skipped: Vec<Skipped>,
    /// Temporary files of this program, whose writer may be gone.
    pub temps: Vec<String>,
    /// Every folder that was read, with its modification time before it was read.
    pub folders: Vec<(String, i64)>,
}

/// Number of names from which several threads sort them.
const MANY: usize = 4_096;
/// Number of names in one thread's share, and above which threads pay.
#[cfg(unix)]
const SHARE: usize = 1_024;
/// Number of names that are processed before more are read: their metadata is in memory meanwhile.
#[cfg(unix)]
const AT_ONCE: usize = 65_536;

/// Maximum depth of folders that are read.
pub(super) const MAX_DEPTH: usize = 8;

impl Listing {
    /// Returns the names of the files, in order.
    pub fn names(self) -> Vec<String> {
        self.entries.into_iter().map(|entry| entry.name).collect()
    }

    /// Reads the names in `directory` and its folders; hidden folders are left out. `before` is
    /// called with each folder before it is read.
    ///
    /// # Errors
    ///
    /// Fails if `directory` itself cannot be read; a folder inside it becomes a [`Skipped`].
    pub(super) fn read(
        directory: &Folder,
        is_memory: impl Fn(&str) -> bool,
        before: &dyn Fn(&str),
    ) -> io::Result<Listing> {
        let mut listing = Listing::default();
        before("");
        let mut pending = system::read_folder(directory, "", &is_memory, &mut listing)?;
        while let Some(folder) = pending.pop() {
            if folder.matches('/').count() >= MAX_DEPTH {
                let reason = "the folder lies too deep".to_owned();
                listing.skipped.push(Skipped {
                    name: folder,
                    reason,
                });
                continue;
            }
            before(&folder);
            match system::read_folder(directory, &folder, &is_memory, &mut listing) {
                Ok(folders) => pending.extend(folders),
                Err(error) => {
                    listing.skipped.push(Skipped {
                        name: folder,
                        reason: error.to_string(),
                    });
                }
            }
        }
        listing.entries = sorted(listing.entries);
        listing.skipped.sort_unstable();
        Ok(listing)
    }

    /// Returns whether nothing is known of the file `name`: it was skipped, or a folder above it.
    pub fn is_unknown(&self, name: &str) -> bool {
        let is_skipped = |name: &str| {
            let found = self
                .skipped
                .binary_search_by(|one| one.name.as_str().cmp(name));
            found.is_ok()
        };
        let folders = name.match_indices('/').map(|(at, _)| &name[..at]);
        !self.skipped.is_empty() && folders.chain([name]).any(is_skipped)
    }

    /// Adds the entries of another listing.
    #[cfg(unix)]
    fn add(&mut self, mut other: Listing) {
        self.entries.append(&mut other.entries);
        self.skipped.append(&mut other.skipped);
    }

    /// Adds a directory entry.
    fn take(&mut self, name: String, what: DirectoryEntry) {
        match what {
            DirectoryEntry::File {
                stamp,
                changed,
                has_links,
            } => self.entries.push(Entry {
                name,
                stamp,
                changed,
                has_links,
            }),
            DirectoryEntry::Other(reason) => self.skipped.push(Skipped { name, reason }),
        }
    }
}

/// Sorts entries by name. Most names differ in their first 16 bytes, which compare as one number; and
/// moving numbers is cheaper than moving entries.
fn sorted(entries: Vec<Entry>) -> Vec<Entry> {
    let beginning = |name: &str| {
        let mut bytes = [0; 16];
        let length = name.len().min(16);
        bytes[..length].copy_from_slice(&name.as_bytes()[..length]);
        u128::from_be_bytes(bytes)
    };
    let numbered = entries.iter().zip(0_u32..);
    let mut order: Vec<(u128, u32)> = numbered
        .map(|(entry, number)| (beginning(&entry.name), number))
        .collect();
    let name = |number: u32| entries[number as usize].name.as_str();
    let by_name =
        |a: &(u128, u32), b: &(u128, u32)| a.0.cmp(&b.0).then_with(|| name(a.1).cmp(name(b.1)));
    if order.len() < MANY {
        order.sort_unstable_by(by_name);
    } else {
        order.par_sort_unstable_by(by_name);
    }
    let mut entries: Vec<Option<Entry>> = entries.into_iter().map(Some).collect();
    let taken = order
        .into_iter()
        .map(|(_, number)| entries[number as usize].take());
    taken.flatten().collect()
}

/// Reads the metadata of the file `name` below `directory`; `None` if there is none.
pub(super) fn look_at(directory: &Folder, name: &str) -> Option<Result<Entry, Skipped>> {
    let name = || name.to_owned();
    Some(match system::look_at(directory, &name())? {
        DirectoryEntry::File {
            stamp,
            changed,
            has_links,
        } => Ok(Entry {
            name: name(),
            stamp,
            changed,
            has_links,
        }),
        DirectoryEntry::Other(reason) => Err(Skipped {
            name: name(),
            reason,
        }),
    })
}

/// Returns whether `fits` is true of one of the first `most` names in `directory`; false if it cannot be
/// read.
pub(super) fn any_name(directory: &Folder, most: usize, fits: impl Fn(&[u8]) -> bool) -> bool {
    // The standard library's directory stream panics if closing it fails.
    #[cfg(unix)]
    {
        let Ok(names) = rustix::fs::Dir::read_from(directory) else {
            return false;
        };
        names
            .take(most)
            .flatten()
            .any(|entry| fits(entry.file_name().to_bytes()))
    }
    #[cfg(not(unix))]
    {
        let Ok(names) = std::fs::read_dir(directory.path()) else {
            return false;
        };
        names
            .take(most)
            .flatten()
            .any(|entry| fits(entry.file_name().as_encoded_bytes()))
    }
}

/// Metadata of a name.
pub(super) enum DirectoryEntry {
    File {
        stamp: Stamp,
        changed: i64,
        has_links: bool,
    },
    Other(String),
}

impl DirectoryEntry {
    /// Returns the entry of `name`; `None` if it is no regular file.
    pub(super) fn into_entry(self, name: &str) -> Option<Entry> {
        match self {
            DirectoryEntry::File {
                stamp,
                changed,
                has_links,
            } => Some(Entry {
                name: name.to_owned(),
                stamp,
                changed,
                has_links,
            }),
            DirectoryEntry::Other(_) => None,
        }
    }
}

fn join(folder: &str, name: impl Into<String>) -> String {
    match folder {
        "" => name.into(),
        folder => format!("{folder}/{}", name.into()),
    }
}

/// Returns whether a folder of this name holds memories: hidden ones belong to other programs.
fn is_visible(name: &str) -> bool {
    !name.starts_with('.')
}

#[cfg(not(unix))]
pub(super) use self::portable as system;
#[cfg(unix)]
pub(super) use self::unix as system;

/// Reads relative to open folders, so that a folder replaced by a link is not followed.
#[cfg(unix)]
pub(super) mod unix {
    use std::ffi::CStr;
    use std::fs::File;
    use std::io;
    use std::sync::{Mutex, PoisonError};

    use rustix::fs::{AtFlags, Dir, FileType, Stat};
    use rustix::path::Arg;

    use super::{AT_ONCE, DirectoryEntry, Listing, SHARE, Skipped, Stamp, is_visible, join};
    use crate::beneath::Folder;
    use crate::files::disk::{is_temp_name, uninterrupted};
    use crate::files::folders::split;

    /// Reads one folder into `listing` and returns the folders in it.
    pub(super) fn read_folder(
        directory: &Folder,
        folder: &str,
        is_memory: &impl Fn(&str) -> bool,
        listing: &mut Listing,
    ) -> io::Result<Vec<String>> {
        let fd = directory.below(folder)?;
        // Before the names are read: a change while reading then shows as a newer time.
        listing
            .folders
            .push((folder.to_owned(), modified(&rustix::fs::fstat(&fd)?)));
        let mut names = Names {
            folder,
            fd: &fd,
            names: Dir::read_from(&fd)?,
            folders: Vec::new(),
        };
        let first = names.some(is_memory, listing)?;
        if first.len() < SHARE {
            listing.add(look_through(&fd, folder, first));
            return Ok(names.folders);
        }
        let look = |files: Vec<Named>| match directory.below(folder) {
            // Through one descriptor they would wait for each other in the kernel.
            Ok(own) if is_same(&fd, &own) => look_through(&own, folder, files),
            _ => look_through(&fd, folder, files),
        };
        let mut first = Some(first);
        let mut is_over = false;
        while !is_over {
            let looked = Mutex::new(Vec::new());
            // The others look at files while this thread reads more names.
            rayon::in_place_scope(|scope| -> io::Result<()> {
                for _ in 0..AT_ONCE / SHARE {
                    let files = match first.take() {
                        Some(files) => files,
                        None => names.some(is_memory, listing)?,
                    };
                    is_over = files.is_empty();
                    if is_over {
                        break;
                    }
                    let (look, looked) = (&look, &looked);
                    scope.spawn(move |_| {
                        let seen = look(files);
                        let mut looked = looked.lock().unwrap_or_else(PoisonError::into_inner);
                        looked.push(seen);
                    });
                }
                Ok(())
            })?;
            for seen in looked.into_inner().unwrap_or_else(PoisonError::into_inner) {
                listing.add(seen);
            }
        }
        Ok(names.folders)
    }

    /// A file's name, and its type in the folder's entry.
    type Named = (String, FileType);

    /// The names in a folder that is being read.
    struct Names<'a> {
        folder: &'a str,
        fd: &'a Folder,
        names: Dir,
        /// Folders that were found.
        folders: Vec<String>,
    }

    impl Names<'_> {
        /// Returns the next memories, at most [`SHARE`]; none when all were read. Other entries are added to
        /// `listing`.
        fn some(
            &mut self,
            is_memory: &impl Fn(&str) -> bool,
            listing: &mut Listing,
        ) -> io::Result<Vec<Named>> {
            let mut files = Vec::new();
            while files.len() < SHARE
                && let Some(entry) = self.names.read()
            {
                let entry = entry?;
                let raw = entry.file_name();
                let Ok(name) = raw.to_str() else {
                    let is_folder = entry.file_type() == FileType::Directory;
                    if is_folder || raw.to_bytes().ends_with(b".md") {
                        let name = join(self.folder, raw.to_string_lossy());
                        let reason = "the name is not UTF-8".to_owned();
                        listing.skipped.push(Skipped { name, reason });
                    }
                    continue;
                };
                if name == "." || name == ".." {
                    continue;
                }
                if is_temp_name(name) {
                    listing.temps.push(join(self.folder, name));
                    continue;
                }
                let mut kind = entry.file_type();
                if kind == FileType::Unknown {
                    kind = FileType::from_raw_mode(stat(self.fd, raw)?.st_mode);
                }
                let stored = self.fd.stored_name(name);
                let name = &*stored;
                if is_memory(name) {
                    files.push((stored.into_owned(), kind));
                } else if kind == FileType::Directory && is_visible(name) {
                    self.folders.push(join(self.folder, name));
                } else if kind == FileType::Symlink
                    && is_visible(name)
                    && leads_to_folder(self.fd, raw)
                {
                    // Somebody may take it for a folder of memories.
                    let name = join(self.folder, name);
                    let reason = "it is a symbolic link".to_owned();
                    listing.skipped.push(Skipped { name, reason });
                }
            }
            Ok(files)
        }
    }

    /// Returns whether a link leads to a folder, which is not read.
    fn leads_to_folder(fd: &Folder, name: &CStr) -> bool {
        let stat = rustix::fs::statat(fd, name, AtFlags::empty());
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }

    /// Reads the metadata of the names `files` in a folder.
    fn look_through(fd: &Folder, folder: &str, files: Vec<Named>) -> Listing {
        let mut listing = Listing::default();
        listing.entries.reserve(files.len());
        for (name, kind) in files {
            if let Some(seen) = look(fd, &name, kind) {
                listing.take(join(folder, name), seen);
            }
        }
        listing
    }

    /// Returns whether both are the same folder, by device and inode.
    fn is_same(one: &Folder, other: &Folder) -> bool {
        let place = |fd: &Folder| rustix::fs::fstat(fd).map(|stat| (stat.st_dev, stat.st_ino));
        matches!((place(one), place(other)), (Ok(one), Ok(other)) if one == other)
    }

    /// Reads the metadata of a file; `None` if it is gone.
    fn look(fd: &Folder, name: &str, kind: FileType) -> Option<DirectoryEntry> {
        if kind != FileType::RegularFile {
            return Some(other(kind));
        }
        match stat(fd, name) {
            Ok(stat) => Some(seen(&stat)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => Some(DirectoryEntry::Other(error.to_string())),
        }
    }

    /// Reads the metadata of one name below `directory`, following no link on the way.
    pub(in crate::files) fn look_at(directory: &Folder, name: &str) -> Option<DirectoryEntry> {
        found(uninterrupted(|| {
            let (folder, file) = split(name);
            let below = (!folder.is_empty()).then(|| directory.below(folder));
            let below = below.transpose()?;
            let holder = below.as_ref().unwrap_or(directory);
            Ok(rustix::fs::statat(holder, file, AtFlags::SYMLINK_NOFOLLOW)?)
        }))
    }

    fn found(stat: io::Result<Stat>) -> Option<DirectoryEntry> {
        match stat {
            Ok(stat) => Some(seen(&stat)),
            // What lies behind a folder that is a link now is not gone.
            Err(error) if crate::beneath::is_link(&error) => {
                Some(DirectoryEntry::Other("it lies behind a link".to_owned()))
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                None
            }
            Err(error) => Some(DirectoryEntry::Other(error.to_string())),
        }
    }

    /// Looks at an open file.
    pub(in crate::files) fn look_into(file: &File) -> io::Result<DirectoryEntry> {
        Ok(seen(&rustix::fs::fstat(file)?))
    }

    fn seen(stat: &Stat) -> DirectoryEntry {
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => DirectoryEntry::File {
                stamp: Stamp {
                    size: stat.st_size.unsigned_abs(),
                    modified: modified(stat),
                    inode: stat.st_ino,
                },
                changed: changed(stat),
                has_links: stat.st_nlink > 1,
            },
            kind => other(kind),
        }
    }

    fn other(kind: FileType) -> DirectoryEntry {
        let what = match kind {
            FileType::Symlink => "it is a symbolic link",
            FileType::Directory => "it is a folder",
            FileType::Fifo => "it is a named pipe",
            FileType::Socket => "it is a socket",
            _ => "it is a device",
        };
        DirectoryEntry::Other(what.to_owned())
    }

    fn stat(fd: &Folder, name: impl Arg + Copy) -> io::Result<Stat> {
        Ok(rustix::fs::statat(fd, name, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Nanoseconds since 1970.
    pub(in crate::files) fn modified(stat: &Stat) -> i64 {
        #[allow(
            clippy::useless_conversion,
            reason = "the width differs between systems"
        )]
        let (seconds, nanos) = (i64::from(stat.st_mtime), stat.st_mtime_nsec as i64);
        seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
    }

    /// Nanoseconds since 1970.
    pub(in crate::files) fn changed(stat: &Stat) -> i64 {
        #[allow(
            clippy::useless_conversion,
            reason = "the width differs between systems"
        )]
        let (seconds, nanos) = (i64::from(stat.st_ctime), stat.st_ctime_nsec as i64);
        seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
    }
}

#[cfg(not(unix))]
pub(super) mod portable {
    use std::fs::File;
    use std::time::UNIX_EPOCH;
    use std::{fs, io};

    use super::{DirectoryEntry, Listing, Skipped, Stamp, is_visible, join};
    use crate::beneath::Folder;
    use crate::files::disk::is_temp_name;

    pub(super) fn read_folder(
        directory: &Folder,
        folder: &str,
        is_memory: &impl Fn(&str) -> bool,
        listing: &mut Listing,
    ) -> io::Result<Vec<String>> {
        let path = directory.below(folder)?;
        listing
            .folders
            .push((folder.to_owned(), modified(&fs::metadata(path.path())?)));
        let mut folders = Vec::new();
        for entry in fs::read_dir(path.path())? {
            let entry = entry?;
            let raw = entry.file_name();
            let Some(name) = raw.to_str() else {
                if raw.to_string_lossy().ends_with(".md") {
                    let name = join(folder, raw.to_string_lossy());
                    let reason = "the name is not Unicode".to_owned();
                    listing.skipped.push(Skipped { name, reason });
                }
                continue;
            };
            let kind = entry.file_type()?;
            if is_temp_name(name) {
                listing.temps.push(join(folder, name));
            } else if kind.is_dir() && !is_memory(name) {
                if is_visible(name) {
                    folders.push(join(folder, name));
                }
            } else if is_memory(name) {
                if let Some(seen) = look_at(&path, name) {
                    listing.take(join(folder, name), seen);
                }
            }
        }
        Ok(folders)
    }

    pub(in crate::files) fn look_at(directory: &Folder, name: &str) -> Option<DirectoryEntry> {
        Some(match fs::symlink_metadata(directory.path().join(name)) {
            Ok(data) => seen(&data),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => DirectoryEntry::Other(error.to_string()),
        })
    }

    /// Looks at an open file.
    pub(in crate::files) fn look_into(file: &File) -> io::Result<DirectoryEntry> {
        Ok(seen(&file.metadata()?))
    }

    fn seen(data: &fs::Metadata) -> DirectoryEntry {
        if data.is_file() {
            return DirectoryEntry::File {
                stamp: Stamp {
                    size: data.len(),
                    modified: modified(data),
                    inode: 0,
                },
                changed: modified(data),
                has_links: false,
            };
        }
        let what = match data.is_dir() {
            true => "it is a folder",
            false => "it is a symbolic link",
        };
        DirectoryEntry::Other(what.to_owned())
    }

    pub(in crate::files) fn modified(data: &fs::Metadata) -> i64 {
        let since = data
            .modified()
            .ok()
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        since.map_or(0, |since| {
            i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
        })
    }
}

#[cfg(not(unix))]
pub(super) use self::portable::modified as portable_modified;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn entries_are_in_the_order_of_their_names(
            mut names in prop::collection::vec("[a-c/é]{0,20}", 0..40),
        ) {
            let entry = |name: &String| Entry {
                name: name.clone(),
                stamp: Stamp { size: 0, modified: 0, inode: 0 },
                changed: 0,
                has_links: false,
            };
            let found = sorted(names.iter().map(entry).collect());
            names.sort_unstable();
            let found: Vec<&str> = found.iter().map(|entry| entry.name.as_str()).collect();
            prop_assert_eq!(found, names);
        }
    }
}
