//! Where Tantivy keeps its files: as it would itself, but that no reader waits for anybody.

use std::io;
use std::path::Path;
use std::sync::Arc;

use tantivy::directory::Directory;
use tantivy::directory::DirectoryLock;
use tantivy::directory::FileHandle;
use tantivy::directory::FileSlice;
use tantivy::directory::Lock;
use tantivy::directory::META_LOCK;
use tantivy::directory::WatchCallback;
use tantivy::directory::WatchHandle;
use tantivy::directory::WritePtr;
use tantivy::directory::error::DeleteError;
use tantivy::directory::error::LockError;
use tantivy::directory::error::OpenReadError;
use tantivy::directory::error::OpenWriteError;

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
