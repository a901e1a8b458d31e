//! Gives memory that the process does not need now back to the system.

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

/// Size in bytes that the sizes of pages of all systems divide.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGEST_PAGE: usize = 64 << 10;

/// Unmaps the pages of the program's code and constants. They stay in the cache of files, and a page
/// that is used again is mapped again without reading: the first call after a rest takes 1 ms more. To be called before
/// a long rest.
pub fn give_back_program() {
    // SAFETY: the callback has the type that is asked for, and no data.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[allow(unsafe_code, reason = "only the loader knows where the program lies")]
    unsafe {
        libc::dl_iterate_phdr(Some(unmap_constant_segments), std::ptr::null_mut());
    }
}

/// Unmaps the pages of an object that are as they are in its file. Ends the walk: the program is the
/// first object.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[allow(unsafe_code, reason = "the loader tells addresses")]
unsafe extern "C" fn unmap_constant_segments(
    object: *mut libc::dl_phdr_info,
    _size: usize,
    _data: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: the loader passes an object with so many headers, which stay there during the call.
    let (object, headers) = unsafe {
        let object = &*object;
        let headers = std::slice::from_raw_parts(object.dlpi_phdr, object.dlpi_phnum.into());
        (object, headers)
    };
    for header in headers {
        // Relocations change the segments that can be written, and no others.
        if header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_W == 0 {
            let begin = object.dlpi_addr as usize + header.p_vaddr as usize;
            let start = begin.next_multiple_of(LARGEST_PAGE);
            let end = (begin + header.p_memsz as usize) / LARGEST_PAGE * LARGEST_PAGE;
            let length = end.saturating_sub(start);
            // SAFETY: the range lies in a segment of the running program, which is mapped from its
            // file and never written: a page that was unmapped is mapped again with the same bytes.
            unsafe {
                libc::madvise(start as *mut libc::c_void, length, libc::MADV_DONTNEED);
            }
        }
    }
    1
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_gave_its_pages_back_goes_on() {
        give_back_memory();
        give_back_program();
        let words: Vec<String> = (0..100).map(|number| format!("{number} words")).collect();
        assert_eq!(words.concat().len(), 790);
    }
}
