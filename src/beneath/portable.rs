//! Folders by their paths, where the system has no descriptors of them: each name on the way is looked
//! at before it is used.
//!
//! On Windows a file that another program holds open may be neither opened, nor renamed, nor replaced, nor
//! removed. Editors, scanners and other processes of memdir hold one briefly: each of these operations is
//! tried again for a time, then its error is the system's. Names that Windows keeps for devices, and such as
//! would lead elsewhere (`C:x`, `a\b`), are refused.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};
use std::{fs, io, thread};

use super::entry::{Access, Facts, Kind, Target};

/// A folder that is held open.
#[derive(Debug)]
pub struct Folder {
    /// Its path: for messages, and for functions that take nothing but a path.
    pub(super) path: PathBuf,
}

impl Folder {
    /// Opens the folder at `path`, which may lead through links.
    ///
    /// # Errors
    ///
    /// Fails if it is no folder, or cannot be opened.
    pub fn open(path: &Path) -> io::Result<Folder> {
        match fs::metadata(path)?.is_dir() {
            true => Ok(Folder {
                path: path.to_owned(),
            }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Returns the metadata of `name`.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn facts(&self, name: &str) -> io::Result<Facts> {
        Ok(facts_in(&fs::symlink_metadata(self.path.join(name))?))
    }

    /// Returns the names in it, with what the folder says that they are.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be read. Names that are no text are left out.
    pub fn names(&self) -> io::Result<Vec<(String, Kind)>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if let Ok(name) = entry.file_name().into_string() {
                names.push((name, kind(entry.file_type()?)));
            }
        }
        Ok(names)
    }

    /// Gives a file or folder another name.
    ///
    /// # Errors
    ///
    /// As the system says, and as [`Target`] does.
    pub fn rename(&self, from: &str, folder: &Folder, to: &str, target: Target) -> io::Result<()> {
        let (from, to) = (path_of(self, from)?, path_below(folder, to)?);
        match target {
            Target::Exchange => Err(io::ErrorKind::Unsupported.into()),
            Target::Replace => patiently(|| fs::rename(&from, &to)),
            Target::Keep => rename_no_replace(&from, &to),
        }
    }

    /// Gives a file another name beside its own.
    ///
    /// # Errors
    ///
    /// As the system says; `AlreadyExists` if the name is taken.
    pub fn link(&self, from: &str, to: &str) -> io::Result<()> {
        let (from, to) = (path_below(self, from)?, path_below(self, to)?);
        patiently(|| fs::hard_link(&from, &to))
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        let path = path_of(self, name)?;
        patiently(|| fs::remove_file(&path))
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        let path = path_of(self, name)?;
        patiently(|| fs::remove_dir(&path))
    }

    /// Makes the names in it survive a power cut.
    ///
    /// # Errors
    ///
    /// Fails if the system cannot promise it.
    pub fn sync(&self) -> io::Result<()> {
        Ok(()) // Names are synced with the file, and folders cannot be opened for it.
    }

    pub(super) fn make_folder(&self, name: &str) -> io::Result<()> {
        fs::create_dir(path_of(self, name)?)
    }

    pub(super) fn make_folder_at(path: &Path) -> io::Result<()> {
        fs::create_dir(path)
    }

    /// As [`Folder::below`], of a path that leads nowhere above.
    pub(super) fn below_checked(&self, relative: &str) -> io::Result<Folder> {
        Folder::open(&path_below(self, relative)?)
    }

    /// As [`Folder::open_file`], of a path that leads nowhere above.
    pub(super) fn open_file_checked(&self, relative: &str, access: Access) -> io::Result<File> {
        let path = path_below(self, relative)?;
        let mut options = File::options();
        match access {
            Access::Read => options.read(true),
            Access::Write => options.write(true),
            Access::CreateAppend => options.read(true).append(true).create(true),
            Access::CreateNew => options.read(true).write(true).create_new(true),
            Access::AppendNew => options.read(true).append(true).create_new(true),
            Access::Create => options.write(true).create(true).truncate(false),
        };
        patiently(|| options.open(&path))
    }
}

/// Returns the path of what lies at `relative`, with no link on the way, and none there.
fn path_below(folder: &Folder, relative: &str) -> io::Result<PathBuf> {
    let path = path_of(folder, relative)?;
    match relative.is_empty() || !is_link_at(&path) {
        true => Ok(path),
        false => Err(io::Error::other(LinkInTheWay)),
    }
}

/// Returns the path of what lies at `relative`, which may be a link; there is none on the way.
fn path_of(folder: &Folder, relative: &str) -> io::Result<PathBuf> {
    let mut path = folder.path.clone();
    let mut parts = relative
        .split('/')
        .filter(|part| !part.is_empty())
        .peekable();
    while let Some(part) = parts.next() {
        if cfg!(windows) && !is_windows_name(part) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, NoName));
        }
        path.push(part);
        if parts.peek().is_some() && is_link_at(&path) {
            return Err(io::Error::other(LinkInTheWay));
        }
    }
    Ok(path)
}

fn is_link_at(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_symlink())
}

/// Renames without replacing: by a second name, which the system refuses where one is taken. What can
/// have none, a folder or a file where the disk has no links, is looked for and renamed, with a gap between.
fn rename_no_replace(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => patiently(|| fs::remove_file(from)).inspect_err(|_| {
            let _ = fs::remove_file(to); // It has its first name still.
        }),
        Err(error) if is_final(&error) => Err(error),
        Err(_) => patiently(|| match to.try_exists()? {
            true => Err(io::ErrorKind::AlreadyExists.into()),
            false => fs::rename(from, to),
        }),
    }
}

fn is_final(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound
    )
}

/// Time for which an operation is tried again while another program holds the file: longer than a scanner
/// looks at a file of this size, shorter than anyone waits.
const PATIENCE: Duration = Duration::from_secs(2);
/// The same where the refusal may also be final: that of a name without rights.
const SHORT_PATIENCE: Duration = Duration::from_millis(300);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Repeats an operation that was refused because another program holds the file. The system has no event
/// for its release.
fn patiently<T>(mut operation: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let started = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        match operation() {
            Err(error) if started.elapsed() < patience_for(&error) => thread::sleep(pause),
            other => return other,
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// Returns the time for which an operation with this error is repeated.
fn patience_for(error: &io::Error) -> Duration {
    /// A file that is open and not to be replaced, or removed and not closed yet; or rights that are missing.
    const ACCESS_DENIED: i32 = 5;
    const SHARING_VIOLATION: i32 = 32;
    const LOCK_VIOLATION: i32 = 33;
    match error.raw_os_error() {
        Some(SHARING_VIOLATION | LOCK_VIOLATION) if cfg!(windows) => PATIENCE,
        Some(ACCESS_DENIED) if cfg!(windows) => SHORT_PATIENCE,
        _ => Duration::ZERO,
    }
}

/// Returns whether Windows has files of this name: device names are reserved in every folder, and blanks
/// and dots at the end are dropped.
fn is_windows_name(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end();
    let is_device = ["con", "prn", "aux", "nul", "conin$", "conout$"]
        .iter()
        .any(|name| stem.eq_ignore_ascii_case(name));
    let is_port = ["com", "lpt"].iter().any(|port| {
        let number = stem.get(..3).filter(|name| name.eq_ignore_ascii_case(port));
        number.is_some()
            && stem[3..].chars().count() == 1
            && stem[3..].chars().all(char::is_numeric)
    });
    let is_bad = |c: char| c.is_control() || "<>:\"|?*\\".contains(c);
    !is_device && !is_port && !part.ends_with(['.', ' ']) && !part.contains(is_bad)
}

impl Facts {
    /// Returns the metadata of an open file.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn of(file: &File) -> io::Result<Facts> {
        Ok(facts_in(&file.metadata()?))
    }
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

/// The error for a symbolic link on the way.
#[derive(Debug, thiserror::Error)]
#[error("it is a symbolic link")]
struct LinkInTheWay;

/// The error for a name that Windows has no file of.
#[derive(Debug, thiserror::Error)]
#[error("the system keeps this name for itself, or a character of it")]
struct NoName;

/// Makes the bytes of a file survive a power cut.
///
/// # Errors
///
/// Fails if the system cannot promise it.
pub fn sync_file(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Returns whether an operation was refused because a name on the way is a symbolic link.
pub fn is_link(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|error| error.is::<LinkInTheWay>())
}
