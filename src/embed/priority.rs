//! Lets texts be embedded beside the work of people and other programs, on all cores.

use std::cell::Cell;
use std::panic::resume_unwind;
use std::thread;

/// Priority of a thread among all threads of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    Usual,
    /// All others go first. Where the system knows no such priority, it is the usual one.
    Low,
}

thread_local! {
    static PRIORITY: Cell<Priority> = const { Cell::new(Priority::Usual) };
}

impl Priority {
    /// Whether the system knows [`Priority::Low`].
    pub const HAS_LOW: bool = cfg!(any(target_os = "linux", target_vendor = "apple"));

    /// Does `work` at this priority, and so does whatever embeds for it; waits until it is done.
    pub fn run<T: Send>(self, work: impl FnOnce() -> T + Send) -> T {
        match self {
            Priority::Usual => work(),
            // A thread that lowered its priority may not raise it again.
            Priority::Low => thread::scope(|scope| {
                let thread = scope.spawn(|| {
                    lower();
                    work()
                });
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            }),
        }
    }

    /// Returns the priority of the calling thread.
    pub(super) fn of_this_thread() -> Priority {
        PRIORITY.get()
    }

    /// Gives this priority to the calling thread, which is new.
    pub(super) fn begin(self) {
        if self == Priority::Low {
            lower();
        }
    }
}

fn lower() {
    PRIORITY.set(Priority::Low);
    // As `nice` does without a number: a tenth of what another thread has on a busy core. Linux
    // takes "this process" for the calling thread, other systems do not. One that is lower stays so.
    #[cfg(target_os = "linux")]
    if !rustix::process::getpriority_process(None).is_ok_and(|nice| nice >= 10)
        && let Err(error) = rustix::process::setpriority_process(None, 10)
    {
        tracing::debug!("a thread keeps its priority: {error}");
    }
    // SAFETY: it sets a number of the calling thread.
    #[cfg(target_vendor = "apple")]
    #[allow(unsafe_code, reason = "there is no other way to ask for it")]
    unsafe {
        libc::pthread_set_qos_class_self_np(libc::qos_class_t::QOS_CLASS_UTILITY, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_priority_is_lowered_for_the_work_alone() {
        assert_eq!(
            Priority::Usual.run(Priority::of_this_thread),
            Priority::Usual
        );
        assert_eq!(Priority::Low.run(Priority::of_this_thread), Priority::Low);
        assert_eq!(Priority::of_this_thread(), Priority::Usual);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_is_told() {
        let nice = || rustix::process::getpriority_process(None).unwrap();
        let before = nice();
        assert_eq!(Priority::Low.run(nice), before.max(10));
        assert_eq!(nice(), before);
    }
}
