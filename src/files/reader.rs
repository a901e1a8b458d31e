//! Reads files of the store, each with its hash.
//!
//! Guarantees: no link is followed, only regular files are opened, and nothing blocks; the hash is that
//! of the bytes that were read.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folders::LinkPolicy;
use super::hash::{content_hash, short_hash};
use super::list::{Entry, system};
use super::storage::{Reader, Version};
use super::{FilesError, disk};
use crate::beneath::{Access, Folder, is_link};

/// Reader of files of one folder, which follows no links and opens only regular files.
#[derive(Debug, Clone)]
pub(super) struct FolderReader {
    root: PathBuf,
    /// Folder below the root; empty for the root.
    top: &'static str,
    links: LinkPolicy,
    held: Option<Arc<Folder>>,
}

impl FolderReader {
    /// Returns a reader of the folder `top` below `root`.
    pub(super) fn of(root: PathBuf, top: &'static str, links: LinkPolicy) -> FolderReader {
        FolderReader {
            root,
            top,
            links,
            held: None,
        }
    }

    fn folder(&self) -> io::Result<Folder> {
        open_top(&self.root, self.top, self.links)
    }

    /// Opens a regular file, without following links or waiting for a pipe.
    pub(super) fn open_regular(&self, name: &str) -> Result<File, FilesError> {
        Ok(self.open_with_entry(name)?.0)
    }

    /// Opens as [`FolderReader::open_regular`], and returns the file's metadata.
    fn open_with_entry(&self, name: &str) -> Result<(File, Entry), FilesError> {
        disk::step();
        let path = || self.root.join(self.top).join(name);
        let file = match disk::uninterrupted(|| self.open(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(FilesError::Missing { path: path() });
            }
            Err(error) if is_link(&error) && self.is_linked() => {
                let path = self.root.join(self.top);
                return Err(FilesError::Link { path });
            }
            Err(error) if is_link_refusal(&error) => {
                return Err(FilesError::NotRegular { path: path() });
            }
            Err(error) => return Err(self.cannot_read(name, error)),
            Ok(file) => file,
        };
        let seen = system::look_into(&file).map_err(|error| self.cannot_read(name, error))?;
        match seen.into_entry(name) {
            Some(entry) => Ok((file, entry)),
            None => Err(FilesError::NotRegular { path: path() }),
        }
    }

    fn cannot_read(&self, name: &str, source: io::Error) -> FilesError {
        FilesError::Io {
            action: "read",
            path: self.root.join(self.top).join(name),
            source,
        }
    }

    /// Returns whether the folder itself is a link that is not followed.
    fn is_linked(&self) -> bool {
        self.held.is_none() && self.folder().is_err_and(|error| is_link(&error))
    }

    fn open(&self, name: &str) -> io::Result<File> {
        // A FIFO must not make us wait, a link must not lead us out.
        match (&self.held, self.top, self.links) {
            (Some(held), ..) => held.open_file(name, Access::Read),
            (None, "", _) => Folder::open(&self.root)?.open_file(name, Access::Read),
            (None, top, LinkPolicy::Refuse) => {
                Folder::open(&self.root)?.open_file(&format!("{top}/{name}"), Access::Read)
            }
            (None, ..) => self.folder()?.open_file(name, Access::Read),
        }
    }
}

impl Reader for FolderReader {
    fn held(self: Box<Self>) -> Box<dyn Reader> {
        // Why the folder cannot be opened is reported with the first file.
        let held = self.folder().ok().map(Arc::new);
        Box::new(FolderReader { held, ..*self })
    }

    fn read(&self, name: &str, limit: u64) -> Result<Version, FilesError> {
        let (mut file, entry) = self.open_with_entry(name)?;
        let (bytes, hash) = read_and_hash(&mut file, entry.stamp.size, limit)
            .map_err(|error| self.cannot_read(name, error))?;
        Ok(Version { entry, bytes, hash })
    }

    fn look(&self, name: &str) -> Option<Entry> {
        disk::step();
        let seen = match &self.held {
            Some(held) => system::look_at(held, name)?,
            None => system::look_at(&disk::uninterrupted(|| self.folder()).ok()?, name)?,
        };
        seen.into_entry(name)
    }
}

/// Opens a folder of the store at `root`.
pub(super) fn open_top(root: &Path, top: &str, links: LinkPolicy) -> io::Result<Folder> {
    match links {
        LinkPolicy::Refuse => Folder::open(root)?.below(top),
        LinkPolicy::Follow => Folder::open(&root.join(top)),
    }
}

/// Maximum size of a file that is read with one call, in bytes.
const AT_ONCE: u64 = 64 << 10;

/// Reads at most `limit` bytes of a file of `size` bytes, and hashes all of it.
fn read_and_hash(file: &mut File, size: u64, limit: u64) -> io::Result<(Vec<u8>, u128)> {
    let mut bytes = Vec::new();
    if size < limit && size <= AT_ONCE {
        // Room for one more: where that stays free, the file has ended and need not be asked.
        let whole = size as usize;
        bytes.resize(whole + 1, 0);
        let read = disk::uninterrupted(|| file.read(&mut bytes))?;
        bytes.truncate(read);
        if read == whole {
            let hash = content_hash(&bytes);
            return Ok((bytes, hash));
        }
    } else {
        bytes.reserve_exact(usize::try_from(size.min(limit)).unwrap_or(0) + 1);
    }
    file.take(limit - bytes.len() as u64)
        .read_to_end(&mut bytes)?;
    let hash = if (bytes.len() as u64) < limit {
        content_hash(&bytes)
    } else {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes);
        hasher.update_reader(file)?;
        short_hash(&hasher.finalize())
    };
    Ok((bytes, hash))
}

fn is_link_refusal(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        let error = Errno::from_io_error(error);
        matches!(error, Some(Errno::LOOP | Errno::NXIO | Errno::NOTDIR))
    }
    #[cfg(not(unix))]
    {
        is_link(error)
    }
}
