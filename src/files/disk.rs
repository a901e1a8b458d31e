//! Disk operations with guarantees of durability and atomicity, for each kind of system.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};
use std::{fs, io};

pub use crate::beneath::STATE_FOLDER;
use crate::beneath::{Access, Folder, Target, Temporary, sync_file};

/// Prefix of the names of temporary files; a leading dot hides them from every reader.
pub(super) const TEMP_PREFIX: &str = ".memdir-";
/// Suffix of the names of temporary files.
pub(super) const TEMP_SUFFIX: &str = ".tmp";

/// Returns whether a name is that of a temporary file of this program.
pub(super) fn is_temp_name(name: &str) -> bool {
    name.starts_with(TEMP_PREFIX) && name.ends_with(TEMP_SUFFIX)
}

/// Writes `bytes` to a temporary file in `folder` and syncs it.
///
/// Rename is atomic only within one file system, so the file lies next to its target and not in
/// the system's temporary directory. It is locked as long as it is held: a temporary file that
/// nobody locks has lost its writer.
pub(super) fn write_temp<'a>(folder: &'a Folder, bytes: &[u8]) -> io::Result<Temporary<'a>> {
    step();
    let mut temp = locked_temp(folder)?;
    step();
    temp.file.write_all(bytes)?;
    step();
    // After a failed sync the kernel may have dropped the pages: the error must reach the caller,
    // who starts anew with another file.
    sync_file(&temp.file)?;
    Ok(temp)
}

/// Makes a locked temporary file, which no clean-up removes as abandoned.
fn locked_temp(folder: &Folder) -> io::Result<Temporary<'_>> {
    loop {
        let temp = folder.temporary(TEMP_PREFIX, TEMP_SUFFIX)?;
        // A file system without locks costs only the early clean-up after a crash.
        let _ = temp.file.lock();
        // Another process may have found the file before it was locked, and removed it.
        if !is_removed(&temp.file)? {
            return Ok(temp);
        }
    }
}

#[cfg(unix)]
fn is_removed(file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    Ok(file.metadata()?.nlink() == 0)
}

#[cfg(not(unix))]
fn is_removed(_: &File) -> io::Result<bool> {
    Ok(false) // An open file cannot be removed there.
}

/// Moves `from` to `to`, which must not exist.
pub(super) fn rename_no_replace(
    folder: &Folder,
    from: &str,
    other: &Folder,
    to: &str,
) -> io::Result<()> {
    step();
    folder.rename(from, other, to, Target::Keep)
}

/// Puts the file `new` in the place of `target` and returns the name that the former file has then; `None`
/// where the system can do neither of the two ways.
///
/// The names are exchanged atomically. Where the system cannot, the former file gets the name `aside`, and
/// is renamed over: `target` is never missing, and what a program writes into the former file is kept. A
/// file that another program renames to `target` between these two steps is lost.
pub(super) fn exchange(
    folder: &Folder,
    new: &str,
    target: &str,
    aside: &str,
) -> io::Result<Option<String>> {
    step();
    match folder.rename(new, folder, target, Target::Exchange) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => {
            replace_by_link(folder, new, target, aside)
        }
        other => other.map(|()| Some(new.to_owned())),
    }
}

/// As [`exchange`], on a system that exchanges no names.
pub(super) fn replace_by_link(
    folder: &Folder,
    new: &str,
    target: &str,
    aside: &str,
) -> io::Result<Option<String>> {
    match folder.link(target, aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
        Err(_) => return Ok(None), // Not every file system has links.
        Ok(()) => {}
    }
    step();
    let replaced = folder.rename(new, folder, target, Target::Replace);
    replaced.inspect_err(|_| {
        let _ = folder.remove(aside); // It has its first name still.
    })?;
    Ok(Some(aside.to_owned()))
}

/// Reads a whole file.
pub(super) fn read(folder: &Folder, name: &str) -> io::Result<Vec<u8>> {
    step();
    let mut file = folder.open_file(name, Access::Read)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Removes a file.
pub(super) fn remove(folder: &Folder, name: &str) -> io::Result<()> {
    step();
    folder.remove(name)
}

/// Marks a point at which another process may act, or this one end. Tests try many schedules of them.
#[inline]
pub(super) fn step() {
    #[cfg(test)]
    {
        super::tests::schedules::step();
        super::tests::crash::step();
    }
}

/// Repeats an operation that a signal interrupted, that found no free descriptor, or on Windows a part of
/// the file locked: others hold these briefly, and there is no event for their release. After some waits in vain
/// no thread waits again before an operation succeeds, so that waits do not add up over many files.
pub(super) fn uninterrupted<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    const TRIES: usize = 50;
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(1);
    const MOST_IN_VAIN: usize = 20;
    static IN_VAIN: AtomicUsize = AtomicUsize::new(0);
    let mut tries = 0;
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if is_of_a_moment(&error) => {
                let is_hopeless = IN_VAIN.load(Ordering::Relaxed) >= MOST_IN_VAIN;
                if tries == TRIES || is_hopeless {
                    IN_VAIN.fetch_add(usize::from(!is_hopeless), Ordering::Relaxed);
                    return Err(error);
                }
                tries += 1;
                std::thread::sleep(PAUSE);
            }
            other => {
                if other.is_ok() && IN_VAIN.load(Ordering::Relaxed) > 0 {
                    IN_VAIN.store(0, Ordering::Relaxed);
                }
                return other;
            }
        }
    }
}

fn is_of_a_moment(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error())
    }
    #[cfg(not(unix))]
    {
        /// Bytes that another handle has locked; a writer locks its file until it is in place.
        const LOCK_VIOLATION: i32 = 33;
        error.raw_os_error() == Some(LOCK_VIOLATION)
    }
}

/// Returns the bytes of all files in a folder and its folders, without links; 0 if it cannot be read.
pub fn folder_bytes(folder: &Path) -> u64 {
    if folder.is_symlink() {
        return 0;
    }
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(data) if data.is_dir() => folder_bytes(&entry.path()),
            Ok(data) => data.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Moves a folder away, which takes a moment, so that [`remove_moved_folder`] may take its time.
///
/// # Errors
///
/// Fails as the system says.
pub fn move_folder(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// Removes a folder of derived files that was moved away, with all that is in it; none is no error.
///
/// # Errors
///
/// Fails as the system says.
pub fn remove_moved_folder(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Makes a folder for the user alone, with its missing parents. The folder of derived files is made only
/// in an existing store, so that one that was just moved away is not begun again in its place.
///
/// # Errors
///
/// Fails as the system says, and if the folder of derived files, or one in it, is a link.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    let is_state = |folder: &Path| {
        folder
            .components()
            .any(|part| part.as_os_str() == STATE_FOLDER)
    };
    match is_state(folder) {
        true => Folder::create_of_state(folder).map(drop),
        // In a place that the user chose, through links or not.
        false => Folder::create(folder).map(drop),
    }
}

/// Makes an empty folder among the system's temporary ones, for the user alone; removed when dropped.
///
/// # Errors
///
/// Fails as the system says.
pub fn scratch_folder() -> io::Result<ScratchFolder> {
    tempfile::Builder::new().prefix("memdir-").tempdir()
}

/// A folder for a while, removed when dropped.
pub type ScratchFolder = tempfile::TempDir;

/// Makes a new file in such a folder, with the folders that lead to it; returns its path, too.
///
/// # Errors
///
/// Fails as the system says, if there is a file at that path, and if the path leads out of the folder.
pub fn scratch_file(folder: &ScratchFolder, path: &Path) -> io::Result<(PathBuf, File)> {
    let mut parts = path.components();
    if !parts.all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let path = folder.path().join(path);
    fs::create_dir_all(path.parent().unwrap_or(folder.path()))?;
    let file = File::create_new(&path)?;
    Ok((path, file))
}

/// Writes or replaces a file of the user's, whole and synced, with the permissions of the old one.
///
/// # Errors
///
/// Fails as the system says; the old file is unchanged then.
pub fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (folder, name) = Folder::parent_of(path)?;
    let mut temp = write_temp(&folder, bytes)?;
    if let Ok(old) = fs::metadata(path) {
        temp.file.set_permissions(old.permissions())?;
    }
    folder.make_way(name)?;
    step();
    temp.rename(name, Target::Replace)?;
    folder.sync()
}

/// Device and inode of a file or folder, on Windows its volume and index: no other one has both while it is there.
pub type FileId = (u64, u64);

/// Returns the id of an open file.
///
/// # Errors
///
/// Fails as the system says.
pub fn file_id(file: &File) -> io::Result<FileId> {
    #[cfg(unix)]
    return Ok(id_in(&file.metadata()?));
    #[cfg(not(unix))]
    id_of_handle(file)
}

/// Returns the id of the file or folder at `path`, whose metadata is `data`.
///
/// # Errors
///
/// Fails if it cannot be opened, where the metadata does not hold the id.
pub fn file_id_at(path: &Path, data: &fs::Metadata) -> io::Result<FileId> {
    #[cfg(unix)]
    let id = {
        let _ = path;
        Ok(id_in(data))
    };
    #[cfg(not(unix))]
    let id = {
        use std::os::windows::prelude::*;
        const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
        const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
        let itself = match data.is_symlink() {
            true => FILE_FLAG_OPEN_REPARSE_POINT,
            false => 0,
        };
        // Without rights to its bytes: it may be held by a program that shares it with nobody.
        let handle = File::options()
            .access_mode(0)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | itself)
            .open(path);
        handle.and_then(|handle| file_id(&handle))
    };
    id
}

#[cfg(unix)]
fn id_in(data: &fs::Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    (data.dev(), data.ino())
}

#[cfg(not(unix))]
fn id_of_handle(handle: impl winapi_util::AsHandleRef) -> io::Result<FileId> {
    let data = winapi_util::file::information(handle)?;
    Ok((data.volume_serial_number(), data.file_index()))
}

/// Returns the number by which a folder is told from a copy of it and from another one in its place: its inode, on Windows
/// its index and that of its volume together, or where it has no index, such as on some shares, when it was made.
///
/// # Errors
///
/// Fails as [`file_id_at`].
pub fn folder_number(folder: &Path, data: &fs::Metadata) -> io::Result<u64> {
    Ok(match file_id_at(folder, data)? {
        (_, number) if cfg!(unix) => number,
        (_, 0) => created(data).map_or(0, |since| since.as_nanos() as u64),
        (volume, index) => volume.rotate_left(32) ^ index,
    })
}

/// Returns when a folder was made, since 1970, where only that tells it from an earlier one with its number: an inode is
/// given again, and an index of NTFS counts how often it was.
pub fn birth(data: &fs::Metadata) -> Option<Duration> {
    created(data).filter(|_| cfg!(unix))
}

fn created(data: &fs::Metadata) -> Option<Duration> {
    let made = data.created().ok()?;
    made.duration_since(SystemTime::UNIX_EPOCH).ok()
}

/// Returns a text that identifies a folder, and differs for a copy of it: its path and inode.
///
/// # Errors
///
/// Fails if its metadata cannot be read.
pub fn place_of(folder: &Path) -> io::Result<String> {
    let number = folder_number(folder, &fs::metadata(folder)?)?;
    Ok(format!("{number}:{}", folder.canonicalize()?.display()))
}

/// Removes a file that is no memory, if it is there.
///
/// # Errors
///
/// Fails as the system says.
pub fn remove_derived(path: &Path) -> io::Result<()> {
    step();
    let removed = Folder::parent_of(path).and_then(|(folder, name)| folder.remove(name));
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Writes a small file that can be made again at any time: whole, but not synced.
///
/// # Errors
///
/// Fails as the system says.
pub fn write_derived(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let (folder, name) = Folder::parent_of(path)?;
    step();
    folder.write_derived(name, bytes, false)
}

/// Reads a small derived file. A link, a named pipe or a folder with its name is set aside, without
/// waiting for it.
///
/// # Errors
///
/// Fails as the system says, and if there is none.
pub fn read_derived(path: &Path) -> io::Result<Vec<u8>> {
    let (folder, name) = Folder::parent_of(path)?;
    folder.read_derived(name)
}

/// Reads a small derived file and removes it. Of several callers at once one gets it.
///
/// # Errors
///
/// Fails as the system says, and if there is none.
pub fn take_derived(path: &Path) -> io::Result<Vec<u8>> {
    let (folder, name) = Folder::parent_of(path)?;
    let bytes = folder.read_derived(name)?;
    step();
    folder.remove(name)?;
    Ok(bytes)
}

/// Returns the names in a folder of derived files, or in another that holds no folders of the user's.
///
/// # Errors
///
/// Fails as the system says, and if there is none.
pub fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let names = Folder::of_state(folder)?.names()?;
    Ok(names.into_iter().map(|(name, _)| name).collect())
}
