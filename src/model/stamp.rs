//! The facts that tell whether a file changed, without reading it.

/// What the system says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    pub size: u64,
    /// Nanoseconds since 1970.
    pub modified: i64,
    /// 0 where the system has none.
    pub inode: u64,
}
