//! Mutexes that stay usable after a panic elsewhere: their contents are only caches of
//! files, or lists of pending work.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, also after a panic of another holder.
pub(in crate::engine) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
