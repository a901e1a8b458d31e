//! Directories for Tantivy's files. Unlike Tantivy's own, readers take no lock, no link is followed,
//! a file that is cut while it is read ends no process (`columns`), and no state is published that
//! was made from such a file.

use std::fs::File;
use std::io;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tantivy::directory::error::{DeleteError, LockError, OpenReadError, OpenWriteError};
use tantivy::directory::{
    AntiCallToken, Directory, DirectoryLock, FileHandle, FileSlice, Lock, META_LOCK, OwnedBytes,
    TerminatingWrite, WatchCallback, WatchHandle, WritePtr,
};

use super::checks::Written;
use super::failure::changed_since;
use crate::beneath::{Access, Folder};
use crate::columns::Bytes;

/// The file that names the segments of the newest state.
pub(super) const META: &str = "meta.json";

/// A directory without the lock that Tantivy takes while segments are opened and while unused
/// files are removed.
///
/// The process that holds it may be stopped, and others would wait without end. It keeps the files of
/// a state from being removed between the reading of `meta.json` and their opening; instead, a reader
/// that misses a file reads `meta.json` again. Open files stay readable, or cannot be removed.
#[derive(Clone, Debug)]
pub(super) struct Unlocked {
    directory: Box<dyn Directory>,
    /// For a batch: the files whose changes prevent its publication.
    read: Option<ReadSince>,
}

/// Reads in a folder of derived files since a moment. Merges and commits publish a state by writing
/// [`META`]; they may have read zeros where a file was cut, which no checksum reveals.
#[derive(Clone, Debug)]
pub(super) struct ReadSince {
    /// Path of the folder.
    pub state: PathBuf,
    /// Result of `Index::mark` at that moment.
    pub mark: u64,
}

impl Unlocked {
    /// Wraps `directory`.
    pub fn new(directory: impl Into<Box<dyn Directory>>) -> Unlocked {
        Unlocked {
            directory: directory.into(),
            read: None,
        }
    }

    /// Returns the same directory, which publishes no state once a file that was `read` has changed.
    pub fn publishing_what_is(&self, read: Option<ReadSince>) -> Unlocked {
        let directory = self.directory.clone();
        Unlocked { directory, read }
    }
}

impl Directory for Unlocked {
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if lock.filepath == META_LOCK.filepath {
            return Ok(DirectoryLock::from(Box::new(())));
        }
        self.directory.acquire_lock(lock)
    }

    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.directory.get_file_handle(path)
    }

    fn open_read(&self, path: &Path) -> Result<FileSlice, OpenReadError> {
        self.directory.open_read(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.directory.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.directory.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.directory.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.directory.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        if path == Path::new(META)
            && let Some(read) = &self.read
            && let Some(error) = changed_since(&read.state, read.mark)
        {
            return Err(io::Error::other(error));
        }
        self.directory.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.directory.sync_directory()
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.directory.watch(callback)
    }
}

/// The files of an index in an open folder.
#[derive(Clone, Debug)]
pub(super) struct OpenFolder {
    /// The open folder.
    pub folder: Arc<Folder>,
    /// Stamps of the files that are written here.
    pub written: Arc<Written>,
}

/// A file that is being written, and synced when it is complete.
struct Synced {
    file: File,
    name: String,
    bytes: u64,
    written: Arc<Written>,
}

impl Write for Synced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.file.write(bytes)?;
        self.bytes += length as u64;
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for Synced {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.file.sync_data()?;
        self.written.note(&self.name, &self.file, self.bytes)
    }
}

/// Returns the name of an index file; the path has no folders.
fn name(path: &Path) -> io::Result<&str> {
    path.to_str()
        .ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

impl OpenFolder {
    fn cannot_read(path: &Path, error: io::Error) -> OpenReadError {
        match error.kind() {
            io::ErrorKind::NotFound => OpenReadError::FileDoesNotExist(path.to_owned()),
            _ => OpenReadError::wrap_io_error(error, path.to_owned()),
        }
    }
}

/// A locked file. It is unlocked before it is closed: a child process that another thread is just
/// making holds the open file until it runs its program.
struct Held(File);

impl Drop for Held {
    fn drop(&mut self) {
        // Closing does it, if only later.
        let _ = self.0.unlock();
    }
}

impl Directory for OpenFolder {
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let take = || -> io::Result<Option<File>> {
            let file = self
                .folder
                .open_derived(name(&lock.filepath)?, Access::Create)?;
            match lock.is_blocking {
                true => file.lock()?,
                false if file.try_lock().is_err() => return Ok(None),
                false => {}
            }
            Ok(Some(file))
        };
        let file = take().map_err(LockError::wrap_io_error)?;
        let file = file.ok_or(LockError::LockBusy)?;
        Ok(DirectoryLock::from(Box::new(Held(file))))
    }

    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let bytes = name(path).and_then(|name| Bytes::open(&self.folder, name));
        let bytes = bytes.map_err(|error| OpenFolder::cannot_read(path, error))?;
        Ok(Arc::new(OwnedBytes::new(bytes)))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let removed = name(path).and_then(|name| self.folder.remove(name));
        removed.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => DeleteError::FileDoesNotExist(path.to_owned()),
            _ => DeleteError::IoError {
                io_error: Arc::new(error),
                filepath: path.to_owned(),
            },
        })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        match name(path).and_then(|name| self.folder.facts(name)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(OpenFolder::cannot_read(path, error)),
        }
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let open = || name(path).and_then(|name| self.folder.open_file(name, Access::AppendNew));
        let file = match open() {
            // Its name has the number of a commit. A process was killed during that commit, and the
            // next commit has the same number: the old file belongs to no state.
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && path.extension().is_some_and(|end| end == "del") =>
            {
                name(path)
                    .and_then(|name| self.folder.remove(name))
                    .and_then(|()| open())
            }
            file => file,
        };
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        Ok(BufWriter::new(Box::new(Synced {
            file,
            name: name(path).unwrap_or_default().to_owned(),
            bytes: 0,
            written: Arc::clone(&self.written),
        })))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = name(path).and_then(|name| self.folder.read_derived(name));
        bytes.map_err(|error| OpenFolder::cannot_read(path, error))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.folder.write_derived(name(path)?, data, true)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.folder.sync()
    }

    /// Returns an empty handle: nothing here watches the directory.
    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_file_that_is_cut_while_it_is_written_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let directory = OpenFolder {
            folder: Arc::new(Folder::open(folder.path()).unwrap()),
            written: Arc::default(),
        };
        for (name, cut) in [("whole", None), ("cut", Some(10)), ("emptied", Some(0))] {
            let mut file = directory.open_write(Path::new(name)).unwrap();
            file.write_all(&[7; 100]).unwrap();
            file.flush().unwrap();
            if let Some(cut) = cut {
                let path = File::options().write(true).open(folder.path().join(name));
                path.unwrap().set_len(cut).unwrap();
            }
            file.write_all(&[8; 100]).unwrap();
            assert_eq!(file.terminate().is_ok(), cut.is_none(), "{name}");
        }
        let noted = directory.written.take();
        assert!(noted.into_keys().eq(["whole"]));
    }

    #[cfg(unix)]
    #[test]
    fn no_state_is_published_once_a_file_was_cut_that_was_read() {
        const LARGE: usize = 300_000;
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("index");
        let directory = Unlocked::new(OpenFolder {
            folder: Arc::new(Folder::create_of_state(&folder).unwrap()),
            written: Arc::default(),
        });
        std::fs::write(folder.join("one"), vec![7; LARGE]).unwrap();
        let read = ReadSince {
            state: state.path().to_owned(),
            mark: 0,
        };
        let directory = directory.publishing_what_is(Some(read));
        let meta = Path::new(META);
        let merged = directory.get_file_handle(Path::new("one")).unwrap();
        directory.atomic_write(meta, b"before").unwrap();
        let file = File::options().write(true).open(folder.join("one"));
        file.unwrap().set_len(LARGE as u64 / 2).unwrap();
        assert_eq!(
            merged.read_bytes(LARGE - 3..LARGE).unwrap().as_slice(),
            [0; 3]
        );
        // Whoever merged it gives it back and removes it, and the state is written after that.
        drop(merged);
        directory.delete(Path::new("one")).unwrap();
        assert!(directory.atomic_write(meta, b"after").is_err());
        directory.atomic_write(Path::new("other"), b"").unwrap();
        assert_eq!(directory.atomic_read(meta).unwrap(), b"before");
    }

    #[test]
    fn what_a_killed_commit_left_does_not_stop_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let directory = OpenFolder {
            folder: Arc::new(Folder::open(folder.path()).unwrap()),
            written: Arc::default(),
        };
        let write = |name: &str, text: &[u8]| {
            let mut file = directory.open_write(Path::new(name))?;
            file.write_all(text).unwrap();
            file.flush().unwrap();
            Ok::<_, OpenWriteError>(())
        };
        write("a1.17.del", b"half").unwrap();
        write("a1.17.del", b"whole").unwrap();
        let text = std::fs::read(folder.path().join("a1.17.del")).unwrap();
        assert_eq!(text, b"whole");
        // Other names are never given twice: whoever finds one there is wrong.
        write("a1.idx", b"x").unwrap();
        assert!(write("a1.idx", b"y").is_err());
    }
}
