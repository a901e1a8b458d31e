//! Folders by descriptors of the system: `openat2` where it is there, else name by name.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use unicode_normalization::UnicodeNormalization;

use super::entry::{Access, Facts, Kind, Target, is_composed};

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);

/// A folder that is held open.
#[derive(Debug)]
pub struct Folder {
    /// Its path: for messages, and for functions that take nothing but a path.
    pub(super) path: PathBuf,
    pub(super) fd: OwnedFd,
}

impl Folder {
    /// Opens the folder at `path`, which may lead through links.
    ///
    /// # Errors
    ///
    /// Fails if it is no folder, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Folder> {
        let fd = uninterrupted(|| rustix::fs::open(path, FOLDER, Mode::empty()))?;
        Ok(Folder {
            path: path.to_owned(),
            fd,
        })
    }

    /// Returns the metadata of `name`.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn facts(&self, name: &str) -> io::Result<Facts> {
        let stat = uninterrupted(|| rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW))?;
        Ok(facts_in(&stat))
    }

    /// Returns the names in it, with what the folder says that they are.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read. Names that are no text are left out.
    pub fn names(&self) -> io::Result<Vec<(String, Kind)>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match self.facts(name) {
                    Ok(facts) => facts.kind,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                },
                known => kind(known),
            };
            names.push((self.stored_name(name).into_owned(), kind));
        }
        Ok(names)
    }

    /// Gives a file or folder another name.
    ///
    /// # Errors
    ///
    /// As the system says, and as [`Target`] does.
    pub fn rename(&self, from: &str, folder: &Folder, to: &str, target: Target) -> io::Result<()> {
        if target == Target::Replace {
            return Ok(rustix::fs::renameat(&self.fd, from, &folder.fd, to)?);
        }
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::fs::RenameFlags;
            let flags = match target {
                Target::Exchange => RenameFlags::EXCHANGE,
                _ => RenameFlags::NOREPLACE,
            };
            match rustix::fs::renameat_with(&self.fd, from, &folder.fd, to, flags) {
                // A file system without the flag: fall through to links.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                other => return Ok(other?),
            }
        }
        if target == Target::Exchange {
            return Err(io::ErrorKind::Unsupported.into());
        }
        rustix::fs::linkat(&self.fd, from, &folder.fd, to, AtFlags::empty())?;
        self.remove(from)
    }

    /// Gives a file another name beside its own.
    ///
    /// # Errors
    ///
    /// As the system says; `AlreadyExists` if the name is taken.
    pub fn link(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::linkat(
            &self.fd,
            from,
            &self.fd,
            to,
            AtFlags::empty(),
        )?)
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Makes the names in it survive a power cut.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot promise it.
    pub fn sync(&self) -> io::Result<()> {
        Ok(synced(self.fd.as_fd())?)
    }

    /// Returns the name that the file or folder which the system calls `name` has in a store.
    ///
    /// On macOS it has letters composed (NFC), as git has them there and everybody elsewhere, though programs
    /// of Apple make names with accents as characters of their own (NFD), and the system finds either.
    pub fn stored_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        match cfg!(target_vendor = "apple") {
            true => self.composed(name),
            false => Cow::Borrowed(name),
        }
    }

    /// Returns `name` with composed letters, if that leads to the same file: not on every disk.
    pub(super) fn composed<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if is_composed(name) {
            return Cow::Borrowed(name);
        }
        let composed: String = name.nfc().collect();
        match (self.facts(name), self.facts(&composed)) {
            (Ok(one), Ok(other)) if one.id == other.id => Cow::Owned(composed),
            _ => Cow::Borrowed(name),
        }
    }

    pub(super) fn make_folder(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.fd, name, Mode::RWXU)?)
    }

    pub(super) fn make_folder_at(path: &Path) -> io::Result<()> {
        Ok(rustix::fs::mkdir(path, Mode::RWXU)?)
    }

    /// As [`Folder::below`], of a path that leads nowhere above.
    pub(super) fn below_checked(&self, relative: &str) -> io::Result<Folder> {
        let path = match relative {
            "" => self.path.clone(),
            relative => self.path.join(relative),
        };
        let fd = open_below(&self.fd, relative, FOLDER, Mode::empty())?;
        Ok(Folder { path, fd })
    }

    /// As [`Folder::open_file`], of a path that leads nowhere above.
    pub(super) fn open_file_checked(&self, relative: &str, access: Access) -> io::Result<File> {
        let how = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::WRONLY,
            Access::CreateAppend => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE,
            Access::CreateNew => OFlags::RDWR | OFlags::CREATE | OFlags::EXCL,
            Access::AppendNew => OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL,
            Access::Create => OFlags::WRONLY | OFlags::CREATE,
        };
        let flags = how | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = match how.contains(OFlags::CREATE) {
            true => Mode::RUSR | Mode::WUSR,
            false => Mode::empty(),
        };
        Ok(open_below(&self.fd, relative, flags, mode)?.into())
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Opens what lies at `relative`, with no link on the way.
fn open_below(fd: &OwnedFd, relative: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let relative = if relative.is_empty() { "." } else { relative };
    let flags = flags | OFlags::NOFOLLOW;
    #[cfg(target_os = "linux")]
    {
        use std::sync::atomic::{AtomicBool, Ordering};

        use rustix::fs::ResolveFlags;
        /// The kernel is older, or a filter of system calls keeps it from us.
        static IS_MISSING: AtomicBool = AtomicBool::new(false);
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        while !IS_MISSING.load(Ordering::Relaxed) {
            match rustix::fs::openat2(fd, relative, flags, mode, resolve) {
                Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => {
                    // Refused for another reason: then the other way is refused as well.
                    let asks = rustix::fs::openat2(fd, ".", FOLDER, Mode::empty(), resolve);
                    if asks.is_ok() {
                        break;
                    }
                    IS_MISSING.store(true, Ordering::Relaxed);
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                other => return other.map_err(|error| as_link(fd, relative, error)),
            }
        }
    }
    step_by_step(fd, relative, flags, mode)
}

/// As [`open_below`], for systems without `openat2`.
pub(super) fn step_by_step(
    fd: &OwnedFd,
    relative: &str,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    let mut held: Option<OwnedFd> = None;
    let mut parts = relative
        .split('/')
        .filter(|part| !part.is_empty())
        .peekable();
    while let Some(part) = parts.next() {
        let at = held.as_ref().unwrap_or(fd);
        let is_last = parts.peek().is_none();
        let (flags, mode) = match is_last {
            true => (flags, mode),
            false => (FOLDER | OFlags::NOFOLLOW, Mode::empty()),
        };
        let next = uninterrupted(|| rustix::fs::openat(at, part, flags, mode))
            .map_err(|error| as_link(at, part, error))?;
        held = Some(next);
    }
    held.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Returns a link where a folder is asked for is called no folder by some systems.
fn as_link(at: &OwnedFd, name: &str, error: Errno) -> io::Error {
    let is_link = || {
        let stat = rustix::fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    };
    match error {
        Errno::NOTDIR | Errno::MLINK if is_link() => Errno::LOOP.into(),
        error => error.into(),
    }
}

impl Facts {
    /// Returns the metadata of an open file.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn of(file: &File) -> io::Result<Facts> {
        Ok(facts_in(&rustix::fs::fstat(file)?))
    }
}

#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_cast,
    reason = "the widths differ between systems"
)]
fn facts_in(stat: &rustix::fs::Stat) -> Facts {
    Facts {
        kind: kind(FileType::from_raw_mode(stat.st_mode)),
        size: stat.st_size.unsigned_abs(),
        modified: i64::from(stat.st_mtime)
            .saturating_mul(1_000_000_000)
            .saturating_add(stat.st_mtime_nsec as i64),
        id: (stat.st_dev as u64, stat.st_ino as u64),
        permissions: std::fs::Permissions::from_mode(u32::from(stat.st_mode) & 0o7777),
    }
}

fn kind(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Folder,
        FileType::Symlink => Kind::Link,
        _ => Kind::Special,
    }
}

/// Repeats a call that a signal interrupted.
fn uninterrupted<T>(call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    rustix::io::retry_on_intr(call)
}

/// Makes the bytes of a file survive a power cut.
///
/// # Errors
///
/// Fails if the system cannot promise it.
pub fn sync_file(file: &File) -> io::Result<()> {
    Ok(synced(file.as_fd())?)
}

/// On macOS `fsync` leaves bytes in the memory of the drive. Another call does not, which is not known to
/// all that can be mounted there; the standard library fails then.
fn synced(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    #[cfg(target_vendor = "apple")]
    match uninterrupted(|| rustix::fs::fcntl_fullfsync(fd)) {
        Err(Errno::NOTSUP | Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL) => {}
        other => return other,
    }
    uninterrupted(|| rustix::fs::fsync(fd))
}

/// Returns whether an operation was refused because a name on the way is a symbolic link.
pub fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(Errno::LOOP.raw_os_error())
}
