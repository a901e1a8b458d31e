//! Folders by their paths, where the system has no descriptors of them: each name on the way is looked
//! at before it is used.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;
use std::{fs, io};

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
        let to = path_below(folder, to)?;
        match target {
            Target::Exchange => return Err(io::ErrorKind::Unsupported.into()),
            Target::Keep if to.try_exists()? => return Err(io::ErrorKind::AlreadyExists.into()),
            Target::Keep | Target::Replace => {}
        }
        fs::rename(self.path.join(from), to)
    }

    /// Removes a file.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    /// Removes an empty folder.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        fs::remove_dir(self.path.join(name))
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
        fs::create_dir(self.path.join(name))
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
        options.open(path)
    }
}

/// Returns the path of what lies at `relative`, with no link on the way.
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

/// Returns whether an operation was refused because a name on the way is a symbolic link.
pub fn is_link(error: &io::Error) -> bool {
    error
        .get_ref()
        .is_some_and(|error| error.is::<LinkInTheWay>())
}
