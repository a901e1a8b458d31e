//! The facts that tell whether a file changed, without reading it.

/// Maximum number of bytes that are searched of a file that somebody else made longer than a memory
/// may be.
pub const MAX_INDEXED_BYTES: usize = 1024 * 1024;

/// Size, modification time and inode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    /// 0 where the system has none.
    pub inode: u64,
}

impl Stamp {
    /// Returns whether a part of the file is not searched: it is too large.
    pub fn is_cut(&self) -> bool {
        self.size > MAX_INDEXED_BYTES as u64
    }
}
