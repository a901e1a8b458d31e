//! Lets a test end what it does at one of its disk operations, as a kill does, and so try them all.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

thread_local! {
    /// Number of operations that are still done.
    static LEFT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Payload of the panic that ends the work.
struct Died;

/// A disk operation is about to be done.
pub(in crate::files) fn step() {
    match LEFT.get() {
        None => {}
        Some(0) => {
            LEFT.set(None);
            resume_unwind(Box::new(Died));
        }
        Some(left) => LEFT.set(Some(left - 1)),
    }
}

/// Does `work`, which dies before its disk operation number `last`, counted from 0; `None` if it
/// did, its result if it needs fewer operations. Only operations of this thread count.
pub(crate) fn dying_at<T>(last: u64, work: impl FnOnce() -> T) -> Option<T> {
    LEFT.set(Some(last));
    let done = catch_unwind(AssertUnwindSafe(work));
    LEFT.set(None);
    match done {
        Ok(done) => Some(done),
        Err(reason) if reason.is::<Died>() => None,
        Err(reason) => resume_unwind(reason),
    }
}
