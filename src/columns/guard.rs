//! Catches the fault that reading a cut file raises, in maps that are registered here.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering, fence};
use std::sync::{Mutex, Once, PoisonError};

use memmap2::Mmap;

/// A map that is registered, until dropped. Must be dropped before the map is.
pub(super) struct Guard(&'static Slot);

/// One map. The handler reads it while others are registered, and so takes no lock: it is right
/// if `version` is even and the same before and after.
struct Slot {
    version: AtomicUsize,
    /// 0: it is free.
    start: AtomicUsize,
    length: AtomicUsize,
    is_cut: AtomicBool,
}

/// Slots are made as they are wanted, and never given back: the handler may read them at any
/// moment.
struct Chunk {
    slots: [Slot; SLOTS],
    next: AtomicPtr<Chunk>,
}

const SLOTS: usize = 128;

static FIRST: Chunk = Chunk::new();
/// Held by who registers and unregisters.
static CHANGING: Mutex<()> = Mutex::new(());

impl Chunk {
    const fn new() -> Chunk {
        Chunk {
            slots: [const { Slot::new() }; SLOTS],
            next: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    fn next(&self) -> Option<&'static Chunk> {
        let next = self.next.load(Ordering::Acquire);
        // SAFETY: it is null, or a chunk that was leaked when it was made.
        #[allow(unsafe_code, reason = "the handler can take no lock")]
        unsafe {
            next.as_ref()
        }
    }
}

impl Slot {
    const fn new() -> Slot {
        Slot {
            version: AtomicUsize::new(0),
            start: AtomicUsize::new(0),
            length: AtomicUsize::new(0),
            is_cut: AtomicBool::new(false),
        }
    }

    fn set(&self, start: usize, length: usize) {
        self.version.fetch_add(1, Ordering::AcqRel);
        fence(Ordering::SeqCst);
        self.start.store(start, Ordering::Relaxed);
        self.length.store(length, Ordering::Relaxed);
        self.is_cut.store(false, Ordering::Relaxed);
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Returns the end of the map, if `address` lies in it.
    fn end_around(&self, address: usize) -> Option<usize> {
        let version = self.version.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Relaxed);
        let end = start.wrapping_add(self.length.load(Ordering::Relaxed));
        fence(Ordering::SeqCst);
        let is_whole = version.is_multiple_of(2) && version == self.version.load(Ordering::Relaxed);
        (is_whole && start != 0 && (start..end).contains(&address)).then_some(end)
    }
}

impl Guard {
    pub fn of(map: &Mmap) -> Guard {
        static ONCE: Once = Once::new();
        ONCE.call_once(install);
        let _changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut chunk = &FIRST;
        loop {
            let is_free = |slot: &&Slot| slot.start.load(Ordering::Relaxed) == 0;
            if let Some(slot) = chunk.slots.iter().find(is_free) {
                let length = map.len().next_multiple_of(page_bytes());
                slot.set(map.as_ptr() as usize, length);
                return Guard(slot);
            }
            chunk = chunk.next().unwrap_or_else(|| {
                let next: &'static mut Chunk = Box::leak(Box::new(Chunk::new()));
                let pointer: *mut Chunk = next;
                chunk.next.store(pointer, Ordering::Release);
                chunk.next().expect("it was just stored")
            });
        }
    }

    pub fn is_cut(&self) -> bool {
        self.0.is_cut.load(Ordering::Acquire)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _changing = CHANGING.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.set(0, 0);
    }
}

/// The handler of the signal that was there before.
struct Former(UnsafeCell<MaybeUninit<libc::sigaction>>);

// SAFETY: it is written once, before the handler is there, and only read from then on.
#[allow(unsafe_code, reason = "a signal handler reads it")]
unsafe impl Sync for Former {}

static FORMER: Former = Former(UnsafeCell::new(MaybeUninit::zeroed()));
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(0);

fn page_bytes() -> usize {
    PAGE_BYTES.load(Ordering::Relaxed)
}

fn install() {
    // SAFETY: the structure is made as the system wants it, all zeros being a valid one; the
    // handler calls only what may be called in one. `FORMER` is written here and nowhere else,
    // first, so that it is whole when the handler can run.
    #[allow(unsafe_code, reason = "no safe interface may handle this signal")]
    unsafe {
        let page_bytes = libc::sysconf(libc::_SC_PAGESIZE);
        PAGE_BYTES.store(page_bytes as usize, Ordering::Relaxed);
        libc::sigaction(libc::SIGBUS, std::ptr::null(), FORMER.0.get().cast());
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) = handle;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut action.sa_mask);
        libc::sigaction(libc::SIGBUS, &raw const action, std::ptr::null_mut());
    }
}

/// Called by the system when a thread reads what cannot be read. Takes no lock and no memory.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the system hands over a valid structure; for this signal it holds the address.
    #[allow(unsafe_code, reason = "the address is told by the system")]
    let address = unsafe { (*info).si_addr() } as usize;
    let mut chunk = Some(&FIRST);
    while let Some(here) = chunk {
        for slot in &here.slots {
            if let Some(end) = slot.end_around(address) {
                // First: other threads read the zeros as soon as they are there.
                slot.is_cut.store(true, Ordering::Release);
                if fill_with_zeros(address, end) {
                    return;
                }
            }
        }
        chunk = here.next();
    }
    pass_on(signal, info, context);
}

/// Puts zeros in the place of the pages from `address` to the end of its map.
fn fill_with_zeros(address: usize, end: usize) -> bool {
    let start = address - address % page_bytes();
    // SAFETY: these pages belong to a map that is registered, is read only through shared
    // references to bytes, and cannot be given back while a thread reads it, as the one does
    // that brought us here. They stay mapped and readable. `errno` is left as it was.
    #[allow(unsafe_code, reason = "mapping over a map cannot be said safely")]
    unsafe {
        let errno = errno_location();
        let before = *errno;
        let mapped = libc::mmap(
            start as *mut libc::c_void,
            end - start,
            libc::PROT_READ,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED,
            -1,
            0,
        );
        *errno = before;
        mapped != libc::MAP_FAILED
    }
}

#[allow(unsafe_code, reason = "each system calls it differently")]
unsafe fn errno_location() -> *mut libc::c_int {
    // SAFETY: it has no conditions, and its result is this thread's as long as it lives.
    unsafe {
        #[cfg(any(target_os = "linux", target_os = "emscripten"))]
        return libc::__errno_location();
        #[cfg(target_os = "android")]
        return libc::__errno();
        #[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
        return libc::__error();
        #[cfg(any(target_os = "netbsd", target_os = "openbsd"))]
        return libc::__errno();
    }
}

/// Leaves a fault that is none of ours to whoever handled it before.
fn pass_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: `FORMER` was written before this handler was there. It holds what the system
    // gave: one of the two special values, or a function of the kind that its flags say.
    #[allow(unsafe_code, reason = "another handler is called")]
    unsafe {
        let former = (*FORMER.0.get()).assume_init_ref();
        match former.sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                // The read is tried again, and ends the process as it would have.
                libc::signal(signal, libc::SIG_DFL);
            }
            function if former.sa_flags & libc::SA_SIGINFO != 0 => {
                let function: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                    std::mem::transmute(function);
                function(signal, info, context);
            }
            function => {
                let function: extern "C" fn(libc::c_int) = std::mem::transmute(function);
                function(signal);
            }
        }
    }
}
