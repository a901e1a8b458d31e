//! Folders that are held open, and what is done to the names in them, without following a link.
//!
//! A path is looked up anew at each use, so whoever can rename a folder can put a symbolic link in
//! its place between two uses. A [`Folder`] is the folder itself: everything below it is reached by
//! handle, with `openat2` where the system has it and name by name elsewhere, and a name that turns
//! out to be a link is refused with an error ([`is_link`]). Nothing here waits for a named pipe.
//! On Windows there are no such handles: each name on the way is looked at before it is used.
//!
//! The path of a store's own folder may lead through links: it is the user's word. What lies below
//! it may not, nor what lies below a folder called [`STATE_FOLDER`].

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Component;
use std::path::Path;
use std::path::PathBuf;

#[cfg(not(unix))]
use self::portable as system;
#[cfg(unix)]
use self::unix as system;

/// The folder of a store that holds what is derived from its files, and what is this machine's.
pub const STATE_FOLDER: &str = ".memdir";

/// Part of the name of an entry that was set aside because it stood where a file belongs.
const SET_ASIDE: &str = ".set-aside-";
/// Maximum number of attempts to create a folder that others remove.
const MOST_TRIES: usize = 10;
/// The most entries of one name that are set aside; later ones stay where they are.
const MOST_SET_ASIDE: u32 = 100;

/// A folder that is held open.
#[derive(Debug)]
pub struct Folder {
    /// Where it was found: for messages, and for what takes nothing but a path.
    path: PathBuf,
    #[cfg(unix)]
    fd: std::os::fd::OwnedFd,
}

/// The kind of an entry in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Link,
    /// A named pipe, a socket, a device.
    Special,
}

/// Metadata of an entry. A link is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    pub kind: Kind,
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    /// Device and inode; zeros where the system has none.
    pub id: (u64, u64),
    permissions: std::fs::Permissions,
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    /// A file that is there.
    Write,
    /// Made for the user alone if it is not there.
    CreateAppend,
    /// Made for the user alone; fails if the name is taken.
    CreateNew,
    /// The same, and all that is written goes to its end. A file that somebody cuts while it is written
    /// ends up shorter than what was written, and has no hole.
    AppendNew,
    /// Made for the user alone if it is not there, else left as it is.
    Create,
}

/// How a rename treats a file that has the new name already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Replace,
    /// The renaming fails with `AlreadyExists`.
    Keep,
    /// Gets the other name; fails with `Unsupported` where the system cannot.
    Exchange,
}

impl Folder {
    /// Opens the folder at `path`, which may lead through links.
    ///
    /// # Errors
    ///
    /// Fails if it is no folder, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Folder> {
        system::open(path)
    }

    /// Opens the folder at `path`, through links as far as the folder that holds the last
    /// [`STATE_FOLDER`] on the way, and through none from there on.
    ///
    /// # Errors
    ///
    /// As for [`Folder::below`].
    pub fn of_state(path: &Path) -> io::Result<Folder> {
        match split_at_state(path) {
            Some((root, below)) => Folder::open(root)?.below(&below),
            None => Folder::open(path),
        }
    }

    /// As [`Folder::of_state`], with the folders made that are missing from [`STATE_FOLDER`] on;
    /// elsewhere the last two of the path. What lies above is not: a store that was moved away this
    /// moment is not begun anew in its place.
    ///
    /// # Errors
    ///
    /// As for [`Folder::create_below`].
    pub fn create_of_state(path: &Path) -> io::Result<Folder> {
        match split_at_state(path) {
            Some((root, below)) => Folder::open(root)?.create_below(&below),
            None => {
                for folder in [path.parent(), Some(path)].into_iter().flatten() {
                    match system::make_folder_at(folder) {
                        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                        // The folder above is none that could be made: it is the system's root.
                        Err(_) if folder.is_dir() => {}
                        other => other?,
                    }
                }
                Folder::open(path)
            }
        }
    }

    /// Opens the folder at `path`, which may lead through links; what is missing is made, for the
    /// user alone, and synced.
    ///
    /// # Errors
    ///
    /// Fails if a folder cannot be made or opened.
    pub fn create(path: &Path) -> io::Result<Folder> {
        match Folder::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = Folder::create(parent.unwrap_or(Path::new(".")))?;
        match system::make_folder_at(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
        parent.sync()?;
        Folder::open(path)
    }

    /// The folder that holds what lies at `path`, opened as [`Folder::of_state`] opens it, and the
    /// name there.
    ///
    /// # Errors
    ///
    /// As for [`Folder::below`]; `InvalidInput` if the path has no name that is text.
    pub fn parent_of(path: &Path) -> io::Result<(Folder, &str)> {
        let (parent, name) = split_name(path)?;
        Ok((Folder::of_state(parent)?, name))
    }

    /// Where it was found, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the folder at `relative`, parts joined by `/`; itself for an empty text.
    ///
    /// # Errors
    ///
    /// Fails if there is none, and with an error that [`is_link`] knows if a part is a link.
    pub fn below(&self, relative: &str) -> io::Result<Folder> {
        check(relative)?;
        system::below(self, relative)
    }

    /// As [`Folder::below`]; what is missing is made, for the user alone, and synced.
    ///
    /// # Errors
    ///
    /// As for [`Folder::below`], or if a folder cannot be made.
    pub fn create_below(&self, relative: &str) -> io::Result<Folder> {
        match self.below(relative) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let mut folder = self.below("")?;
        for part in relative.split('/').filter(|part| !part.is_empty()) {
            folder = folder.open_or_make(part)?;
        }
        Ok(folder)
    }

    fn open_or_make(&self, name: &str) -> io::Result<Folder> {
        let mut tries = 0;
        loop {
            match self.below(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound && tries < MOST_TRIES => {}
                other => return other,
            }
            match system::make_folder(self, name) {
                // Another process made it, and may set it aside before it is opened here.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => self.sync().inspect_err(|_| {
                    // Who tries again syncs only what is not there.
                    let _ = self.remove_folder(name);
                })?,
            }
            tries += 1;
        }
    }

    /// Opens the file at `relative`. A named pipe is not waited for.
    ///
    /// # Errors
    ///
    /// As the system says; also with an error that [`is_link`] knows if a part is a link. What is
    /// opened need not be a regular file.
    pub fn open_file(&self, relative: &str, access: Access) -> io::Result<File> {
        check(relative)?;
        system::open_file(self, relative, access)
    }

    /// As [`Folder::open_file`], for a file of derived things: what has the name and is no regular
    /// file is set aside before.
    ///
    /// # Errors
    ///
    /// As for [`Folder::open_file`].
    pub fn open_derived(&self, name: &str, access: Access) -> io::Result<File> {
        let opened = self.open_file(name, access);
        let is_file = |file: &File| file.metadata().is_ok_and(|data| data.is_file());
        match opened {
            Ok(file) if is_file(&file) => Ok(file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            other => match self.set_aside(name)? {
                true => self.open_file(name, access),
                false => other,
            },
        }
    }

    /// Gives what is called `name` another name that says why, unless it is a regular file; whether
    /// it did.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be renamed.
    pub fn set_aside(&self, name: &str) -> io::Result<bool> {
        match self.facts(name) {
            Ok(facts) if facts.kind != Kind::File => self.rename_aside(name).map(|()| true),
            _ => Ok(false),
        }
    }

    fn rename_aside(&self, name: &str) -> io::Result<()> {
        for number in 1..=MOST_SET_ASIDE {
            let aside = format!("{name}{SET_ASIDE}{number}");
            match self.rename(name, self, &aside, Target::Keep) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // Another process was faster.
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Ok(()) => {
                    tracing::warn!(
                        "{} is no regular file; it is set aside as {aside}",
                        self.path.join(name).display()
                    );
                    return Ok(());
                }
                other => return other,
            }
        }
        Err(io::Error::other("too much was set aside under this name"))
    }

    /// Reads the file called `name`, of derived things.
    ///
    /// # Errors
    ///
    /// As for [`Folder::open_derived`].
    pub fn read_derived(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut self.open_derived(name, Access::Read)?, &mut bytes)?;
        Ok(bytes)
    }

    /// Puts a file of derived things in place, whole. With `synced` it is on the disk before it has
    /// its name; the folder is not synced.
    ///
    /// # Errors
    ///
    /// As the system says; then what was there is there.
    pub fn write_derived(&self, name: &str, bytes: &[u8], synced: bool) -> io::Result<()> {
        let mut temp = self.temporary(".tmp-", "")?;
        io::Write::write_all(&mut temp.file, bytes)?;
        if synced {
            temp.file.sync_data()?;
        }
        self.make_way(name)?;
        temp.rename(name, Target::Replace)
    }

    /// As [`Folder::set_aside`], before a new file is put in the place of `name`: only among derived
    /// things. Elsewhere it may be somebody's own link or folder.
    ///
    /// # Errors
    ///
    /// As for [`Folder::set_aside`].
    pub fn make_way(&self, name: &str) -> io::Result<()> {
        let mut parts = self.path.components();
        if parts.any(|part| part == Component::Normal(OsStr::new(STATE_FOLDER))) {
            self.set_aside(name)?;
        }
        Ok(())
    }

    /// Returns the metadata of `name`.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn facts(&self, name: &str) -> io::Result<Facts> {
        system::facts(self, name)
    }

    /// The names in it, with what the folder says that they are.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read. Names that are no text are left out.
    pub fn names(&self) -> io::Result<Vec<(String, Kind)>> {
        system::names(self)
    }

    /// Gives a file or folder another name.
    ///
    /// # Errors
    ///
    /// As the system says, and as [`Target`] does.
    pub fn rename(&self, from: &str, folder: &Folder, to: &str, target: Target) -> io::Result<()> {
        system::rename(self, from, folder, to, target)
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        system::remove(self, name)
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        system::remove_folder(self, name)
    }

    /// Removes a folder with all that is in it; no link in it is followed.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn remove_all(&self, name: &str) -> io::Result<()> {
        let folder = self.below(name)?;
        for (name, kind) in folder.names()? {
            match kind {
                Kind::Folder => folder.remove_all(&name)?,
                _ => folder.remove(&name)?,
            }
        }
        drop(folder);
        self.remove_folder(name)
    }

    /// Makes the names in it survive a power cut.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot promise it.
    pub fn sync(&self) -> io::Result<()> {
        system::sync(self)
    }

    /// A new file for the user alone, with a name that nobody has; removed when it is dropped.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be made.
    pub fn temporary(&self, prefix: &str, suffix: &str) -> io::Result<Temporary<'_>> {
        loop {
            let random = uuid::Uuid::new_v4().simple().to_string();
            let random = random[..RANDOM_DIGITS].to_owned();
            let name = format!("{prefix}{random}{suffix}");
            match self.open_file(&name, Access::CreateNew) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                other => {
                    return Ok(Temporary {
                        folder: self,
                        name: Some(name),
                        random,
                        file: other?,
                    });
                }
            }
        }
    }
}

/// Digits in the name of a temporary file: 64 bits.
const RANDOM_DIGITS: usize = 16;

/// A file that is being written, and is not in its place yet.
#[derive(Debug)]
pub struct Temporary<'a> {
    folder: &'a Folder,
    /// `None` once it has another.
    name: Option<String>,
    /// The random part of its name.
    pub random: String,
    pub file: File,
}

impl Temporary<'_> {
    /// Gives it the name where it stays.
    ///
    /// # Errors
    ///
    /// As for [`Folder::rename`].
    pub fn rename(&mut self, to: &str, target: Target) -> io::Result<()> {
        let from = self.name.as_deref().unwrap_or_default();
        self.folder.rename(from, self.folder, to, target)?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = self.folder.remove(name); // A clean-up finds it later.
        }
    }
}

impl Facts {
    /// Returns the metadata of an open file.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn of(file: &File) -> io::Result<Facts> {
        system::facts_of(file)
    }

    /// Its permission bits.
    pub fn permissions(&self) -> std::fs::Permissions {
        self.permissions.clone()
    }
}

/// Whether an operation was refused because a name on the way is a symbolic link.
pub fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
    }
    #[cfg(not(unix))]
    {
        error
            .get_ref()
            .is_some_and(|error| error.is::<LinkInTheWay>())
    }
}

/// Sets aside what stands where a file of derived things belongs and is none, and what stands where
/// a folder of them belongs and is none, in the folder `state` and the folders that it has.
///
/// # Errors
///
/// Fails if the folder cannot be read, or something cannot be renamed.
pub fn set_strangers_aside(state: &Path) -> io::Result<()> {
    let state = Folder::of_state(state)?;
    for (name, kind) in state.names()? {
        // What we know nothing of is none of ours.
        let is_stranger = match kind {
            _ if name.contains(SET_ASIDE) => false,
            Kind::File => holds_files_only(&name),
            Kind::Folder => is_called_as_a_file(&name),
            Kind::Link | Kind::Special => is_called_as_a_file(&name) || holds_files_only(&name),
        };
        if is_stranger {
            state.rename_aside(&name)?;
        } else if kind == Kind::Folder && holds_files_only(&name) {
            let folder = state.below(&name)?;
            for (name, kind) in folder.names()? {
                if kind != Kind::File && !name.contains(SET_ASIDE) {
                    folder.rename_aside(&name)?;
                }
            }
        }
    }
    Ok(())
}

/// Names of files among the derived things, beside those with an ending.
const FILES: [&str; 8] = [
    ".gitignore",
    "heartbeat",
    "journal-id",
    "serving",
    "sync-state",
    "tokens",
    "tools.log",
    "tools.taken",
];

fn is_called_as_a_file(name: &str) -> bool {
    FILES.contains(&name) || name.ends_with(".lock") || name.ends_with("-at-work")
}

/// Whether a folder of this name among the derived things holds files and nothing else.
fn holds_files_only(name: &str) -> bool {
    let is_index = name.starts_with("index-v") || name.starts_with("vectors-v");
    is_index || name == "locks" || name == "plans"
}

/// Cuts a path before its last [`STATE_FOLDER`].
fn split_at_state(path: &Path) -> Option<(&Path, String)> {
    let parts: Vec<Component<'_>> = path.components().collect();
    let is_state = |part: &Component<'_>| *part == Component::Normal(OsStr::new(STATE_FOLDER));
    let at = parts.iter().rposition(is_state)?;
    let below: Option<Vec<&str>> = parts[at..]
        .iter()
        .map(|part| part.as_os_str().to_str())
        .collect();
    let root = path.ancestors().nth(parts.len() - at)?;
    let root = if root.as_os_str().is_empty() {
        Path::new(".")
    } else {
        root
    };
    Some((root, below?.join("/")))
}

/// The folder and the name of what lies at `path`.
fn split_name(path: &Path) -> io::Result<(&Path, &str)> {
    let name = path.file_name().and_then(OsStr::to_str);
    let name = name.ok_or(io::ErrorKind::InvalidInput)?;
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    Ok((parent.unwrap_or(Path::new(".")), name))
}

/// No part of a relative path may lead up, and none begins at the system's root.
fn check(relative: &str) -> io::Result<()> {
    let leads_out = relative.starts_with('/') || relative.split('/').any(|part| part == "..");
    match leads_out {
        true => Err(io::ErrorKind::InvalidInput.into()),
        false => Ok(()),
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Folder {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.fd)
    }
}

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use rustix::fs::AtFlags;
    use rustix::fs::Dir;
    use rustix::fs::FileType;
    use rustix::fs::Mode;
    use rustix::fs::OFlags;
    use rustix::io::Errno;

    use super::Access;
    use super::Facts;
    use super::Folder;
    use super::Kind;
    use super::Target;

    const FOLDER: OFlags = OFlags::RDONLY
        .union(OFlags::DIRECTORY)
        .union(OFlags::CLOEXEC);

    pub(super) fn open(path: &Path) -> io::Result<Folder> {
        let fd = uninterrupted(|| rustix::fs::open(path, FOLDER, Mode::empty()))?;
        Ok(Folder {
            path: path.to_owned(),
            fd,
        })
    }

    pub(super) fn below(folder: &Folder, relative: &str) -> io::Result<Folder> {
        let path = match relative {
            "" => folder.path.clone(),
            relative => folder.path.join(relative),
        };
        let fd = open_below(&folder.fd, relative, FOLDER, Mode::empty())?;
        Ok(Folder { path, fd })
    }

    pub(super) fn open_file(folder: &Folder, relative: &str, access: Access) -> io::Result<File> {
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
        Ok(open_below(&folder.fd, relative, flags, mode)?.into())
    }

    /// Opens what lies at `relative`, with no link on the way.
    fn open_below(fd: &OwnedFd, relative: &str, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
        let relative = if relative.is_empty() { "." } else { relative };
        let flags = flags | OFlags::NOFOLLOW;
        #[cfg(target_os = "linux")]
        {
            use std::sync::atomic::AtomicBool;
            use std::sync::atomic::Ordering;

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

    /// A link where a folder is asked for is called no folder by some systems.
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

    pub(super) fn make_folder(folder: &Folder, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&folder.fd, name, Mode::RWXU)?)
    }

    pub(super) fn make_folder_at(path: &Path) -> io::Result<()> {
        Ok(rustix::fs::mkdir(path, Mode::RWXU)?)
    }

    pub(super) fn facts(folder: &Folder, name: &str) -> io::Result<Facts> {
        let stat =
            uninterrupted(|| rustix::fs::statat(&folder.fd, name, AtFlags::SYMLINK_NOFOLLOW))?;
        Ok(facts_in(&stat))
    }

    pub(super) fn facts_of(file: &File) -> io::Result<Facts> {
        Ok(facts_in(&rustix::fs::fstat(file)?))
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

    pub(super) fn names(folder: &Folder) -> io::Result<Vec<(String, Kind)>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&folder.fd)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            if name == "." || name == ".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => match facts(folder, name) {
                    Ok(facts) => facts.kind,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                    Err(error) => return Err(error),
                },
                known => kind(known),
            };
            names.push((name.to_owned(), kind));
        }
        Ok(names)
    }

    pub(super) fn rename(
        folder: &Folder,
        from: &str,
        other: &Folder,
        to: &str,
        target: Target,
    ) -> io::Result<()> {
        if target == Target::Replace {
            return Ok(rustix::fs::renameat(&folder.fd, from, &other.fd, to)?);
        }
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::fs::RenameFlags;
            let flags = match target {
                Target::Exchange => RenameFlags::EXCHANGE,
                _ => RenameFlags::NOREPLACE,
            };
            match rustix::fs::renameat_with(&folder.fd, from, &other.fd, to, flags) {
                // A file system without the flag: fall through to links.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                other => return Ok(other?),
            }
        }
        if target == Target::Exchange {
            return Err(io::ErrorKind::Unsupported.into());
        }
        rustix::fs::linkat(&folder.fd, from, &other.fd, to, AtFlags::empty())?;
        remove(folder, from)
    }

    pub(super) fn remove(folder: &Folder, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&folder.fd, name, AtFlags::empty())?)
    }

    pub(super) fn remove_folder(folder: &Folder, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&folder.fd, name, AtFlags::REMOVEDIR)?)
    }

    pub(super) fn sync(folder: &Folder) -> io::Result<()> {
        Ok(uninterrupted(|| rustix::fs::fsync(&folder.fd))?)
    }

    /// Repeats a call that a signal interrupted.
    fn uninterrupted<T>(call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
        rustix::io::retry_on_intr(call)
    }
}

/// On the way lies a link.
#[cfg(not(unix))]
#[derive(Debug, thiserror::Error)]
#[error("it is a symbolic link")]
struct LinkInTheWay;

#[cfg(not(unix))]
mod portable {
    use std::fs;
    use std::fs::File;
    use std::io;
    use std::path::Path;
    use std::path::PathBuf;
    use std::time::UNIX_EPOCH;

    use super::Access;
    use super::Facts;
    use super::Folder;
    use super::Kind;
    use super::LinkInTheWay;
    use super::Target;

    pub(super) fn open(path: &Path) -> io::Result<Folder> {
        match fs::metadata(path)?.is_dir() {
            true => Ok(Folder {
                path: path.to_owned(),
            }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The path of what lies at `relative`, with no link on the way.
    fn path_below(folder: &Folder, relative: &str) -> io::Result<PathBuf> {
        let mut path = folder.path.clone();
        for part in relative.split('/').filter(|part| !part.is_empty()) {
            path.push(part);
            if fs::symlink_metadata(&path).is_ok_and(|data| data.is_symlink()) {
                return Err(io::Error::other(LinkInTheWay));
            }
        }
        Ok(path)
    }

    pub(super) fn below(folder: &Folder, relative: &str) -> io::Result<Folder> {
        open(&path_below(folder, relative)?)
    }

    pub(super) fn open_file(folder: &Folder, relative: &str, access: Access) -> io::Result<File> {
        let path = path_below(folder, relative)?;
        let mut options = File::options();
        match access {
            Access::Read => options.read(true),
            Access::Write => options.write(true),
            Access::CreateAppend => options.read(true).append(true).create(true),
            Access::CreateNew => options.read(true).write(true).create_new(true),
            Access::AppendNew => options.read(true).append(true).create_new(true),
            Access::Create => options.write(true).create(true).truncate(false),
        };
        options.open(path)
    }

    pub(super) fn make_folder(folder: &Folder, name: &str) -> io::Result<()> {
        fs::create_dir(folder.path.join(name))
    }

    pub(super) fn make_folder_at(path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    pub(super) fn facts(folder: &Folder, name: &str) -> io::Result<Facts> {
        Ok(facts_in(&fs::symlink_metadata(folder.path.join(name))?))
    }

    pub(super) fn facts_of(file: &File) -> io::Result<Facts> {
        Ok(facts_in(&file.metadata()?))
    }

    fn facts_in(data: &fs::Metadata) -> Facts {
        let modified = data.modified().ok();
        let since = modified.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        Facts {
            kind: kind(data.file_type()),
            size: data.len(),
            modified: since.map_or(0, |since| since.as_nanos() as i64),
            id: (0, 0),
            permissions: data.permissions(),
        }
    }

    fn kind(kind: fs::FileType) -> Kind {
        match kind {
            kind if kind.is_symlink() => Kind::Link,
            kind if kind.is_dir() => Kind::Folder,
            kind if kind.is_file() => Kind::File,
            _ => Kind::Special,
        }
    }

    pub(super) fn names(folder: &Folder) -> io::Result<Vec<(String, Kind)>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder.path)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                names.push((name, kind(entry.file_type()?)));
            }
        }
        Ok(names)
    }

    pub(super) fn rename(
        folder: &Folder,
        from: &str,
        other: &Folder,
        to: &str,
        target: Target,
    ) -> io::Result<()> {
        let to = path_below(other, to)?;
        match target {
            Target::Exchange => return Err(io::ErrorKind::Unsupported.into()),
            Target::Keep if to.try_exists()? => return Err(io::ErrorKind::AlreadyExists.into()),
            Target::Keep | Target::Replace => {}
        }
        fs::rename(folder.path.join(from), to)
    }

    pub(super) fn remove(folder: &Folder, name: &str) -> io::Result<()> {
        fs::remove_file(folder.path.join(name))
    }

    pub(super) fn remove_folder(folder: &Folder, name: &str) -> io::Result<()> {
        fs::remove_dir(folder.path.join(name))
    }

    /// Names are synced with the file, and folders cannot be opened for it.
    pub(super) fn sync(_: &Folder) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_is_cut_before_the_last_folder_of_derived_things() {
        let cut = |path| split_at_state(Path::new(path));
        let root = |root, below: &str| Some((Path::new(root), below.to_owned()));
        assert_eq!(
            cut("/s/.memdir/locks/a.lock"),
            root("/s", ".memdir/locks/a.lock")
        );
        assert_eq!(
            cut("/s/.memdir/.memdir/x/"),
            root("/s/.memdir", ".memdir/x")
        );
        assert_eq!(cut(".memdir"), root(".", ".memdir"));
        assert_eq!(cut("/cache/store-1/writer.lock"), None);
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_followed_below_by_either_way() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("root");
        fs::create_dir_all(inside.join("real/deep")).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        fs::write(folder.path().join("outside/file"), "theirs").unwrap();
        std::os::unix::fs::symlink("../outside", inside.join("link")).unwrap();
        std::os::unix::fs::symlink("real", inside.join("inner")).unwrap();
        let root = Folder::open(&inside).unwrap();
        assert!(root.below("real/deep").is_ok());
        for way in ["link", "inner", "inner/deep", "link/file"] {
            assert!(is_link(&root.below(way).unwrap_err()), "{way}");
            let (flags, mode) = (rustix::fs::OFlags::DIRECTORY, rustix::fs::Mode::empty());
            let flags = flags | rustix::fs::OFlags::NOFOLLOW;
            let stepped = unix::step_by_step(&root.fd, way, flags, mode);
            assert!(is_link(&stepped.unwrap_err()), "{way}");
        }
        assert!(is_link(
            &root.open_file("link/file", Access::Read).unwrap_err()
        ));
        assert!(is_link(&root.create_below("link/new").unwrap_err()));
        assert!(root.below("../outside").is_err());
        assert!(root.below("real/../../outside").is_err());
        assert_eq!(
            fs::read_dir(folder.path().join("outside")).unwrap().count(),
            1
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_folder_stays_the_same_when_a_link_takes_its_place() {
        let scene = tempfile::tempdir().unwrap();
        let path = |name: &str| scene.path().join(name);
        fs::create_dir(path("held")).unwrap();
        fs::create_dir(path("foreign")).unwrap();
        let held = Folder::open(scene.path()).unwrap().below("held").unwrap();
        fs::rename(path("held"), path("moved")).unwrap();
        std::os::unix::fs::symlink("foreign", path("held")).unwrap();
        let mut temp = held.temporary("t-", "").unwrap();
        temp.rename("new", Target::Keep).unwrap();
        assert!(path("moved/new").exists());
        assert_eq!(fs::read_dir(path("foreign")).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_set_aside_and_not_waited_for() {
        let scene = tempfile::tempdir().unwrap();
        let scene_path = scene.path().join(STATE_FOLDER);
        let folder = Folder::create_of_state(&scene_path).unwrap();
        let pipe = |name: &str| {
            let mode = rustix::fs::Mode::RWXU;
            rustix::fs::mknodat(&folder, name, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        };
        for access in [
            Access::Read,
            Access::Write,
            Access::CreateAppend,
            Access::Create,
        ] {
            pipe("name");
            let opened = folder.open_derived("name", access);
            let creates = matches!(access, Access::CreateAppend | Access::Create);
            assert_eq!(opened.is_ok(), creates, "{access:?}");
            let _ = folder.remove("name");
            fs::create_dir(scene_path.join("name")).unwrap();
            folder.write_derived("name", b"whole", false).unwrap();
            assert_eq!(folder.read_derived("name").unwrap(), b"whole");
            folder.remove("name").unwrap();
        }
        let names = folder.names().unwrap();
        assert!(
            names
                .iter()
                .all(|(name, _)| name.starts_with("name.set-aside-"))
        );
        assert_eq!(names.len(), 8);
    }

    #[cfg(unix)]
    #[test]
    fn strangers_among_the_derived_things_are_set_aside() {
        let scene = tempfile::tempdir().unwrap();
        let state = scene.path().join(STATE_FOLDER);
        fs::create_dir_all(state.join("index-v9-english/meta.json")).unwrap();
        fs::create_dir_all(state.join("writer.lock")).unwrap();
        fs::create_dir_all(state.join("broken-git/1")).unwrap();
        fs::write(state.join("locks"), "").unwrap();
        fs::write(state.join("serving"), "").unwrap();
        std::os::unix::fs::symlink("/etc/hosts", state.join("anything")).unwrap();
        std::os::unix::fs::symlink("/etc/hosts", state.join("heartbeat")).unwrap();
        set_strangers_aside(&state).unwrap();
        set_strangers_aside(&state).unwrap();
        let mut names = Folder::of_state(&state).unwrap().names().unwrap();
        names.sort_by(|a, b| a.0.cmp(&b.0));
        let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "anything",
            "broken-git",
            "heartbeat.set-aside-1",
            "index-v9-english",
            "locks.set-aside-1",
            "serving",
            "writer.lock.set-aside-1",
        ];
        assert_eq!(names, expected);
        assert!(
            state
                .join("index-v9-english/meta.json.set-aside-1")
                .is_dir()
        );
    }
}
