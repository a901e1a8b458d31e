//! Mutexes whose contents outlive a panic elsewhere: what they guard is only a memory of what was
//! looked at, or of what waits.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, also after a panic of another holder.
pub(in crate::engine) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
