//! Errors of the index's files: damage, or a machine that lacks a resource.

use std::any::Any;
use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::{io, panic};

use tantivy::TantivyError;
use tantivy::directory::error::{OpenDirectoryError, OpenReadError};

use crate::columns;
use crate::index::IndexError;

thread_local! {
    /// Whether this thread reads the index: [`guarded`] turns its panics into errors.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Calls `work`, and returns a panic as [`IndexError::Unusable`]: damaged files can make Tantivy panic.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    keep_panics_quiet();
    let was_guarded = IS_GUARDED.replace(true);
    // The index is dropped after a panic; nothing else is shared.
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(was_guarded);
    done.unwrap_or_else(|panic| {
        let what = message(panic.as_ref());
        Err(unusable(
            format!("reading it made the program panic: {what}").as_str(),
        ))
    })
}

/// Keeps panics over the index out of standard error: rebuilding the index reports them in one line.
fn keep_panics_quiet() {
    static ONCE: Once = Once::new();
    if std::thread::panicking() {
        return; // The hook cannot be changed now.
    }
    ONCE.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if IS_GUARDED.get() || is_thread_of_tantivy() {
                tracing::debug!("the index: {panic}");
            } else {
                loud(panic);
            }
        }));
    });
}

fn is_thread_of_tantivy() -> bool {
    let thread = std::thread::current();
    let prefixes = ["thrd-tantivy", "merge_thread", "segment_updater"];
    thread
        .name()
        .is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix)))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.and_then(|text| text.lines().next())
        .unwrap_or("without a word")
}

/// An error while reading the index.
pub(super) trait IndexFailure: std::fmt::Display {
    /// Returns whether the cause is a passing one of the machine; the index is not damaged then.
    fn will_pass(&self) -> bool;
}

impl IndexFailure for str {
    fn will_pass(&self) -> bool {
        false
    }
}

impl IndexFailure for io::Error {
    fn will_pass(&self) -> bool {
        // Errors with an added path have no OS error number, but a kind.
        let has_passing_kind = matches!(
            self.kind(),
            io::ErrorKind::OutOfMemory
                | io::ErrorKind::StorageFull
                | io::ErrorKind::QuotaExceeded
                | io::ErrorKind::FileTooLarge
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::PermissionDenied
                | io::ErrorKind::Interrupted
                | io::ErrorKind::WouldBlock
        );
        #[cfg(unix)]
        let has_passing_number = {
            use rustix::io::Errno;
            // Too many open files: there is no `ErrorKind` for it.
            let number = Errno::from_io_error(self);
            matches!(number, Some(Errno::MFILE | Errno::NFILE))
        };
        #[cfg(not(unix))]
        let has_passing_number = false;
        has_passing_kind || has_passing_number
    }
}

impl IndexFailure for OpenDirectoryError {
    fn will_pass(&self) -> bool {
        matches!(self, OpenDirectoryError::IoError { io_error, .. } if io_error.will_pass())
    }
}

impl IndexFailure for TantivyError {
    fn will_pass(&self) -> bool {
        match self {
            TantivyError::IoError(error) => error.will_pass(),
            TantivyError::OpenReadError(OpenReadError::IoError { io_error, .. }) => {
                io_error.will_pass()
            }
            TantivyError::OpenDirectoryError(error) => error.will_pass(),
            TantivyError::OpenWriteError(_) | TantivyError::LockFailure(..) => true,
            _ => false,
        }
    }
}

/// Returns the index error of a read error: `Unusable`, or `Failed` if the machine lacks a resource
/// (an index is not rebuilt for want of a descriptor).
pub(super) fn unusable(error: &(impl IndexFailure + ?Sized)) -> IndexError {
    if error.will_pass() {
        failed("read", error)
    } else {
        IndexError::Unusable {
            reason: error.to_string(),
        }
    }
}

/// Returns [`IndexError::Failed`] of an action.
pub(super) fn failed(action: &'static str, error: impl std::fmt::Display) -> IndexError {
    IndexError::Failed {
        action,
        reason: error.to_string(),
    }
}

/// Locks a mutex, poisoned or not: whatever a panic left half done is dropped where it is caught.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns an error if a file in the folder `state` that was read since `mark` was cut or written
/// after it was opened: the data read may be wrong.
pub(super) fn changed_since(state: &Path, mark: u64) -> Option<IndexError> {
    match columns::changed_in(state) {
        Some(path) => {
            let name = path.file_name().unwrap_or_default();
            Some(changed(&name.to_string_lossy()))
        }
        None => (columns::forgotten_changes(state) != mark).then(|| changed("the index")),
    }
}

/// Returns the error of a file that was changed while it was read.
pub(super) fn changed(name: &str) -> IndexError {
    IndexError::Unusable {
        reason: format!("{name} was changed while it was read"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_over_the_index_says_in_one_line_that_it_is_unusable() {
        let failed = guarded::<()>(|| panic!("no such block\nand more")).unwrap_err();
        let told = "the index is unusable: reading it made the program panic: no such block";
        assert_eq!(failed.to_string(), told);
    }
}
