//! Account of the calls of clients: how new the answer must be, whether it is as of an earlier time, whether something is
//! missing, and whether something may have been written.
//!
//! A call runs on one thread, which asks the database. Questions on threads of `rayon`, which read texts for a call,
//! are counted for all calls that run then.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// State of the call on a thread.
#[derive(Debug, Clone, Copy, Default)]
struct Call {
    /// Time of which the answer may be; `None` of now, as outside of calls.
    as_of: Option<Instant>,
    /// Whether that is earlier than the call.
    may_be_late: bool,
    /// Whether the feed could not be asked for the newest changes.
    is_as_known: bool,
    /// Number of the last change that was told and indexed then; the lowest one.
    known: Option<i64>,
    /// Whether something else could not be read or written, as its server is away.
    lacks_something: bool,
    /// Whether that was so when the changes were asked for last.
    lacked_before: bool,
    /// Whether a file was changed, or may have been.
    may_have_written: bool,
    /// Value of [`ELSEWHERE`] when the call began.
    elsewhere: u64,
}

/// Properties of the answer of a call.
pub(super) struct Ended {
    /// Whether it is answered from what was known.
    pub is_as_known: bool,
    /// Number of the last change that it holds then, if that was noted.
    pub known: Option<i64>,
    /// Whether it lacks something.
    pub lacks_something: bool,
    /// Whether a file was changed, or may have been.
    pub may_have_written: bool,
}

thread_local! {
    static CALL: Cell<Call> = const { Cell::new(Call {
        as_of: None,
        may_be_late: false,
        is_as_known: false,
        known: None,
        lacks_something: false,
        lacked_before: false,
        may_have_written: false,
        elsewhere: 0,
    }) };
}

/// Number of questions that failed on threads that read for calls.
static ELSEWHERE: AtomicU64 = AtomicU64::new(0);

/// Begins a call on this thread, whose answer has everything until `age` before it.
pub(super) fn begin(age: Duration) {
    let now = Instant::now();
    CALL.set(Call {
        as_of: Some(now.checked_sub(age).unwrap_or(now)),
        may_be_late: !age.is_zero(),
        elsewhere: ELSEWHERE.load(Ordering::Relaxed),
        ..Call::default()
    });
}

/// Returns the time of which the answer of the call on this thread may be; `None` of now.
pub(super) fn as_of() -> Option<Instant> {
    CALL.get().as_of
}

/// Returns whether the answer of the call on this thread may be of a time before it.
pub(super) fn may_be_late() -> bool {
    CALL.get().may_be_late
}

/// Notes that the newest changes are unknown, and that the answer holds the change `known`.
pub(super) fn note_as_known(known: Option<i64>) {
    let call = CALL.get();
    CALL.set(Call {
        is_as_known: true,
        known: call.known.into_iter().chain(known).min(),
        ..call
    });
}

/// Notes that something could not be read or written.
pub(super) fn note_lack() {
    if rayon::current_thread_index().is_some() {
        ELSEWHERE.fetch_add(1, Ordering::Relaxed);
        return;
    }
    CALL.set(Call {
        lacks_something: true,
        ..CALL.get()
    });
}

/// Notes that the changes are asked for.
pub(super) fn begin_to_ask() {
    let call = CALL.get();
    CALL.set(Call {
        lacked_before: call.lacks_something,
        ..call
    });
}

/// Notes that what failed since the changes were asked for is made up for by what was known before, which holds the change
/// `known`.
pub(super) fn answer_as_known(known: Option<i64>) {
    note_as_known(Some(known.unwrap_or(0)));
    let call = CALL.get();
    CALL.set(Call {
        lacks_something: call.lacked_before,
        ..call
    });
}

/// Notes that a file was changed, or that nobody knows whether it was.
pub(super) fn note_written() {
    CALL.set(Call {
        may_have_written: true,
        ..CALL.get()
    });
}

/// Ends the call on this thread.
pub(super) fn end() -> Ended {
    let call = CALL.take();
    let elsewhere = ELSEWHERE.load(Ordering::Relaxed) != call.elsewhere;
    Ended {
        is_as_known: call.is_as_known,
        known: call.known,
        lacks_something: call.lacks_something || elsewhere,
        may_have_written: call.may_have_written,
    }
}
