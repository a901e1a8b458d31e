//! Metadata of an entry in a folder, and the ways to open and to rename one.

/// The kind of an entry in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Folder,
    Link,
    /// A named pipe, a socket, a device.
    Special,
}

/// Metadata of an entry. A link is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Kind of the entry.
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since 1970.
    pub modified: i64,
    /// Device and inode; zeros where the system has none.
    pub id: (u64, u64),
    /// Permissions.
    pub(super) permissions: std::fs::Permissions,
}

/// The way to open a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    /// A file that is there.
    Write,
    /// Made for the user alone if it is not there.
    CreateAppend,
    /// Made for the user alone; fails if the name is taken.
    CreateNew,
    /// The same, and all that is written goes to its end. A file that somebody cuts while it is written
    /// ends up shorter than what was written, and has no hole.
    AppendNew,
    /// Made for the user alone if it is not there, else left as it is.
    Create,
}

/// Treatment of a file that has the new name of a rename already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Replace,
    /// The renaming fails with `AlreadyExists`.
    Keep,
    /// Gets the other name; fails with `Unsupported` where the system cannot.
    Exchange,
}

impl Facts {
    /// Its permission bits.
    pub fn permissions(&self) -> std::fs::Permissions {
        self.permissions.clone()
    }
}

/// Returns whether no letter of `name` has its accent as a character of its own.
pub fn is_composed(name: &str) -> bool {
    name.is_ascii() || unicode_normalization::is_nfc(name)
}
