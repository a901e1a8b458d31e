//! Which paths of a repository are the store's, and which no machine takes from another one.

use super::Repository;

/// What of a store is in its history, by name below the store's folder. Whatever else lies in the
/// repository is somebody's own.
pub const STORE_PARTS: [&str; 4] = ["files", "archive", "memdir.toml", "tombstones"];

/// The one of [`STORE_PARTS`] that is a file.
const SETTINGS: &str = "memdir.toml";

impl Repository {
    /// The path below the store of what lies at `path` below the work folder, if it is the
    /// store's.
    pub(super) fn below_store<'a>(&self, path: &'a str) -> Option<&'a str> {
        let below = path.strip_prefix(&self.prefix)?;
        let is_in = |part: &&str| match below.strip_prefix(*part) {
            Some("") => **part == *SETTINGS,
            Some(rest) => rest.starts_with('/') && **part != *SETTINGS,
            None => false,
        };
        STORE_PARTS.iter().any(|part| is_in(&part)).then_some(below)
    }

    /// Whether the entry at `path` below the work folder is one of [`STORE_PARTS`], whatever it is.
    pub(super) fn is_store_part(&self, path: &str) -> bool {
        path.strip_prefix(&self.prefix)
            .is_some_and(|below| STORE_PARTS.contains(&below))
    }

    /// Whether the entry at `path` below the work folder is the store's, or a folder above it.
    pub(super) fn leads_to_store(&self, path: &str) -> bool {
        let is_above = self
            .prefix
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('/'));
        is_above || self.is_store_part(path) || self.below_store(path).is_some()
    }
}
