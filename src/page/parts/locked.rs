//! Locks of values that stay whole where a thread panics.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value, also after a panic of another thread.
pub(in crate::page) fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
