//! What the C library keeps of memory that was freed.

/// Gives memory that was freed back to the system. The C library of Linux keeps tens of megabytes
/// of a model that was let go of, for a process that may never want as much again; others give it
/// back by themselves.
pub fn give_back_memory() {
    // SAFETY: it may be called at any time, by any thread, and what is in use stays where it is.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code, reason = "there is no other way to ask for it")]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Has the C library of Linux share few pools of memory between all threads. It gives each thread
/// its own, which keeps what was freed there: a server of many threads would hold the most that each
/// of them ever needed. To be called before the threads are there.
pub fn share_memory() {
    // SAFETY: it sets a number, which later allocations go by.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code, reason = "there is no other way to ask for it")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
    }
}
