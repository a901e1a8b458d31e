//! The few disk operations that safety rests on, for each kind of system.

use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::io;
use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

/// The folder of a store that holds what is derived from its files, and what is this machine's.
pub const STATE_FOLDER: &str = ".memdir";

/// What the names of temporary files begin with; a leading dot hides them from every reader.
pub(super) const TEMP_PREFIX: &str = ".memdir-";
pub(super) const TEMP_SUFFIX: &str = ".tmp";

/// Whether a directory entry is a temporary file of ours.
pub(super) fn is_temp_name(name: &str) -> bool {
    name.starts_with(TEMP_PREFIX) && name.ends_with(TEMP_SUFFIX)
}

/// What keeps a temporary file's name apart from others.
pub(super) fn random_part(temp: &Path) -> &str {
    let name = temp.file_name().and_then(|name| name.to_str());
    let random = name.and_then(|name| name.strip_prefix(TEMP_PREFIX)?.strip_suffix(TEMP_SUFFIX));
    random.expect("temporary files are named here")
}

/// Writes `bytes` to a temporary file in `directory` and syncs it.
///
/// Rename is atomic only within one file system, so the file lies next to its target and not in
/// the system's temporary directory. It is locked as long as it is held: a temporary file that
/// nobody locks has lost its writer.
pub(super) fn write_temp(directory: &Path, bytes: &[u8]) -> io::Result<NamedTempFile> {
    step();
    let mut temp = locked_temp(directory)?;
    step();
    temp.write_all(bytes)?;
    step();
    // After a failed sync the kernel may have dropped the pages: the error must reach the caller,
    // who starts anew with another file.
    temp.as_file().sync_all()?;
    Ok(temp)
}

/// A temporary file that no clean-up takes for an abandoned one.
fn locked_temp(directory: &Path) -> io::Result<NamedTempFile> {
    loop {
        let temp = tempfile::Builder::new()
            .prefix(TEMP_PREFIX)
            .suffix(TEMP_SUFFIX)
            .rand_bytes(12)
            .tempfile_in(directory)?;
        // A file system without locks costs only the early clean-up after a crash.
        let _ = temp.as_file().lock();
        // Another process may have found the file before it was locked, and removed it.
        if !is_removed(temp.as_file())? {
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

/// Makes the names in `directory` durable.
pub(super) fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(windows) {
        return Ok(()); // Windows syncs names with the file and cannot open directories for it.
    }
    File::open(directory)?.sync_all()
}

/// Creates `directory` and its missing parents for the user alone, and syncs each new name. The
/// folder of derived things is made only in a store that is there: one that was moved away this
/// moment is not begun anew in its place.
pub(super) fn create_directory(directory: &Path) -> io::Result<()> {
    create_directories(directory, |folder| {
        folder
            .parent()
            .filter(|_| folder.file_name() != Some(OsStr::new(STATE_FOLDER)))
    })
}

/// As [`create_directory`], for a directory in the store at `root`, which must be there.
pub(super) fn create_directory_below(root: &Path, directory: &Path) -> io::Result<()> {
    create_directories(directory, |folder| {
        folder.parent().filter(|parent| *parent != root)
    })
}

/// Creates `directory`, after the one that `above` names if it is missing, and so on.
fn create_directories(
    directory: &Path,
    above: impl Copy + Fn(&Path) -> Option<&Path>,
) -> io::Result<()> {
    if directory.is_dir() {
        return Ok(());
    }
    let is_named = |folder: &&Path| !folder.as_os_str().is_empty();
    if let Some(folder) = above(directory).filter(is_named) {
        create_directories(folder, above)?;
    }
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
        other => other?,
    }
    let parent = directory.parent().filter(is_named);
    sync_directory(parent.unwrap_or(Path::new("."))).inspect_err(|_| {
        // Who tries again must sync it again, and does so only for what is not there.
        let _ = fs::remove_dir(directory);
    })
}

/// Moves `from` to `to`, which must not exist.
pub(super) fn rename_no_replace(from: &Path, to: &Path) -> io::Result<()> {
    step();
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::CWD;
        use rustix::fs::RenameFlags;
        use rustix::io::Errno;
        match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            // A file system without the flag: fall through to links.
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if cfg!(windows) {
        if to.try_exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        return fs::rename(from, to);
    }
    fs::hard_link(from, to)?;
    fs::remove_file(from)
}

/// Swaps two names in one step; `Ok(false)` where the system cannot.
pub(super) fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    step();
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::CWD;
        use rustix::fs::RenameFlags;
        use rustix::io::Errno;
        match rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
            Ok(()) => return Ok(true),
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let _ = (one, other);
    Ok(false)
}

/// Reads a whole file.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    step();
    fs::read(path)
}

/// Removes a file.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    step();
    fs::remove_file(path)
}

/// A moment at which another process may act, or this one end. Tests try many orders of them.
#[inline]
pub(super) fn step() {
    #[cfg(test)]
    {
        super::schedules::step();
        super::dying::step();
    }
}

/// Repeats an operation that a signal interrupted.
pub(super) fn uninterrupted<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match operation() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Makes a folder for the user alone, with its missing parents.
///
/// # Errors
///
/// Fails as the system says.
pub fn create_private_folder(folder: &Path) -> io::Result<()> {
    create_directory(folder)
}

/// An empty folder among the system's temporary ones, the user's alone; gone when it is dropped.
///
/// # Errors
///
/// Fails as the system says.
pub fn scratch_folder() -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new().prefix("memdir-").tempdir()
}

/// Writes a file of the user's, new or in place of the one that is there: whole and synced, and
/// readable by whom the old one was.
///
/// # Errors
///
/// Fails as the system says; then what was there is there.
pub fn write_synced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let temp = write_temp(folder, bytes)?;
    if let Ok(old) = fs::metadata(path) {
        temp.as_file().set_permissions(old.permissions())?;
    }
    step();
    temp.persist(path)?;
    sync_directory(folder)
}

/// What tells a folder from every other one, also from a copy of it: its place, and which one it is
/// there.
///
/// # Errors
///
/// Fails if it cannot be looked at.
pub fn place_of(folder: &Path) -> io::Result<String> {
    let data = fs::metadata(folder)?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&data);
    #[cfg(not(unix))]
    let number = {
        let made = data.created().ok();
        let since = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
        since.map_or(0, |since| since.as_nanos() as u64)
    };
    Ok(format!("{number}:{}", folder.canonicalize()?.display()))
}

/// Removes a file that is no memory, if it is there.
///
/// # Errors
///
/// Fails as the system says.
pub fn remove_derived(path: &Path) -> io::Result<()> {
    step();
    match fs::remove_file(path) {
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
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temp = NamedTempFile::new_in(folder)?;
    temp.write_all(bytes)?;
    step();
    temp.persist(path)?;
    Ok(())
}
