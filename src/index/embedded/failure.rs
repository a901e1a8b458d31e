//! What went wrong with the index's files: damage, or a machine that is short of something.

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
    /// This thread reads the index: a panic is told by [`guarded`], and nowhere else.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Does `work` with the index's files; damaged ones can make Tantivy panic, which is one more way
/// to be unusable.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, IndexError>) -> Result<T, IndexError> {
    keep_panics_quiet();
    let was_guarded = IS_GUARDED.replace(true);
    // What a panic leaves half done is dropped with the index: nothing else is shared.
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(was_guarded);
    done.unwrap_or_else(|panic| {
        let what = message(panic.as_ref());
        Err(unusable(
            format!("reading it made the program panic: {what}").as_str(),
        ))
    })
}

/// Leaves panics over the index out of the program's error output: what becomes of them is told in
/// one line by whoever makes the index anew.
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
    /// The cause lies with the machine and will pass; the index is no worse for it.
    fn will_pass(&self) -> bool;
}

impl IndexFailure for str {
    fn will_pass(&self) -> bool {
        false
    }
}

impl IndexFailure for io::Error {
    fn will_pass(&self) -> bool {
        // Errors that were given a path have lost their number, not their kind.
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
            // No kind is theirs alone.
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

/// What an error while reading says of the index: that it is damaged, unless the machine is short
/// of something. An index is not thrown away for want of a descriptor.
pub(super) fn unusable(error: &(impl IndexFailure + ?Sized)) -> IndexError {
    if error.will_pass() {
        failed("read", error)
    } else {
        IndexError::Unusable {
            reason: error.to_string(),
        }
    }
}

pub(super) fn failed(action: &'static str, error: impl std::fmt::Display) -> IndexError {
    IndexError::Failed {
        action,
        reason: error.to_string(),
    }
}

/// What a panic left half done is thrown away by whoever caught it; the lock is as good as before.
pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why what was read of the files in the folder `state` since `mark` may be wrong, if one of them was
/// cut or written after it was opened.
pub(super) fn changed_since(state: &Path, mark: u64) -> Option<IndexError> {
    match columns::changed_in(state) {
        Some(path) => {
            let name = path.file_name().unwrap_or_default();
            Some(changed(&name.to_string_lossy()))
        }
        None => (columns::forgotten_changes(state) != mark).then(|| changed("the index")),
    }
}

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
