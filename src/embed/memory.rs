//! Gives freed memory that the C library keeps back to the system.

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

/// From this size on, memory is had from the system for itself and goes back when it is freed: below
/// the pages of 1 MiB that an index writer takes, above what a call usually needs.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const OWN_MAPPING_BYTES: i32 = 256 << 10;

/// Keeps the C library of Linux from holding on to memory that was freed. To be called before there
/// are threads.
///
/// - It gives each thread a pool of its own, and each keeps the most that its thread ever needed: all
///   threads share two.
/// - It raises the size from which on memory gets a mapping of its own, up to 32 MiB, to the largest
///   that was freed so far. The pages of index writers then lie in the pools between small things that
///   stay, and the pools grow with every commit: a server with 3 MB of memories held 247 MB after
///   15,000 calls. A size that was set is not raised.
pub fn limit_kept_memory() {
    // SAFETY: they set numbers, which later allocations go by.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code, reason = "there is no other way to ask for it")]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 2);
        libc::mallopt(libc::M_MMAP_THRESHOLD, OWN_MAPPING_BYTES);
    }
}
