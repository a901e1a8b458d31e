//! Where Tantivy keeps its files: as it would itself, but that no reader waits for anybody, that no
//! link is followed, and that a file which is cut while it is read ends no process (`columns`).

use std::fs::File;
use std::io;
use std::io::BufWriter;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use tantivy::directory::AntiCallToken;
use tantivy::directory::Directory;
use tantivy::directory::DirectoryLock;
use tantivy::directory::FileHandle;
use tantivy::directory::FileSlice;
use tantivy::directory::Lock;
use tantivy::directory::META_LOCK;
use tantivy::directory::OwnedBytes;
use tantivy::directory::TerminatingWrite;
use tantivy::directory::WatchCallback;
use tantivy::directory::WatchHandle;
use tantivy::directory::WritePtr;
use tantivy::directory::error::DeleteError;
use tantivy::directory::error::LockError;
use tantivy::directory::error::OpenReadError;
use tantivy::directory::error::OpenWriteError;

use crate::beneath::Access;
use crate::beneath::Folder;
use crate::columns::Bytes;

/// A directory without the lock that Tantivy takes while segments are opened and while unused
/// files are removed.
///
/// Its holder may be stopped, and whoever waits for it waits without end. It keeps the files of a
/// state from being removed between the reading of `meta.json` and their opening; instead, whoever
/// misses a file looks at `meta.json` again. Files that are open stay readable, or cannot be
/// removed.
#[derive(Clone, Debug)]
pub(super) struct Unlocked<D>(pub D);

impl<D: Directory + Clone> Directory for Unlocked<D> {
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        if lock.filepath == META_LOCK.filepath {
            return Ok(DirectoryLock::from(Box::new(())));
        }
        self.0.acquire_lock(lock)
    }

    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        self.0.get_file_handle(path)
    }

    fn open_read(&self, path: &Path) -> Result<FileSlice, OpenReadError> {
        self.0.open_read(path)
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        self.0.delete(path)
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        self.0.exists(path)
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        self.0.open_write(path)
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        self.0.atomic_read(path)
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.0.atomic_write(path, data)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.0.sync_directory()
    }

    fn watch(&self, callback: WatchCallback) -> tantivy::Result<WatchHandle> {
        self.0.watch(callback)
    }
}

/// The files of an index in an open folder.
#[derive(Clone, Debug)]
pub(super) struct OpenFolder(pub Arc<Folder>);

/// A file that is being written, synced at its end.
struct Synced(File);

impl Write for Synced {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TerminatingWrite for Synced {
    fn terminate_ref(&mut self, _: AntiCallToken) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// The name of one of the index's files; they lie in no folders of their own.
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

impl Directory for OpenFolder {
    fn acquire_lock(&self, lock: &Lock) -> Result<DirectoryLock, LockError> {
        let take = || -> io::Result<Option<File>> {
            let file = self.0.open_derived(name(&lock.filepath)?, Access::Create)?;
            match lock.is_blocking {
                true => file.lock()?,
                false if file.try_lock().is_err() => return Ok(None),
                false => {}
            }
            Ok(Some(file))
        };
        let file = take().map_err(LockError::wrap_io_error)?;
        let file = file.ok_or(LockError::LockBusy)?;
        Ok(DirectoryLock::from(Box::new(file)))
    }

    fn get_file_handle(&self, path: &Path) -> Result<Arc<dyn FileHandle>, OpenReadError> {
        let bytes = name(path).and_then(|name| Bytes::open(&self.0, name));
        let bytes = bytes.map_err(|error| OpenFolder::cannot_read(path, error))?;
        Ok(Arc::new(OwnedBytes::new(bytes)))
    }

    fn delete(&self, path: &Path) -> Result<(), DeleteError> {
        let removed = name(path).and_then(|name| self.0.remove(name));
        removed.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => DeleteError::FileDoesNotExist(path.to_owned()),
            _ => DeleteError::IoError {
                io_error: Arc::new(error),
                filepath: path.to_owned(),
            },
        })
    }

    fn exists(&self, path: &Path) -> Result<bool, OpenReadError> {
        match name(path).and_then(|name| self.0.facts(name)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(OpenFolder::cannot_read(path, error)),
        }
    }

    fn open_write(&self, path: &Path) -> Result<WritePtr, OpenWriteError> {
        let open = || name(path).and_then(|name| self.0.open_file(name, Access::CreateNew));
        let file = match open() {
            // Its name has the number of a commit, and no file is written for one that is there: a
            // process was killed in the middle of it, and the next commit has the same number.
            Err(error)
                if error.kind() == io::ErrorKind::AlreadyExists
                    && path.extension().is_some_and(|end| end == "del") =>
            {
                name(path)
                    .and_then(|name| self.0.remove(name))
                    .and_then(|()| open())
            }
            file => file,
        };
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => OpenWriteError::FileAlreadyExists(path.to_owned()),
            _ => OpenWriteError::wrap_io_error(error, path.to_owned()),
        })?;
        Ok(BufWriter::new(Box::new(Synced(file))))
    }

    fn atomic_read(&self, path: &Path) -> Result<Vec<u8>, OpenReadError> {
        let bytes = name(path).and_then(|name| self.0.read_derived(name));
        bytes.map_err(|error| OpenFolder::cannot_read(path, error))
    }

    fn atomic_write(&self, path: &Path, data: &[u8]) -> io::Result<()> {
        self.0.write_derived(name(path)?, data, true)
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.0.sync()
    }

    /// Nobody here asks to be told.
    fn watch(&self, _: WatchCallback) -> tantivy::Result<WatchHandle> {
        Ok(WatchHandle::empty())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_a_killed_commit_left_does_not_stop_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let directory = OpenFolder(Arc::new(Folder::open(folder.path()).unwrap()));
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
