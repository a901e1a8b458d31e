//! Entries of a folder as git stores them: `MODE NAME\0ID`, one after the other, in git's order.

use git2::Oid;

/// Number of bytes of an id.
pub(in crate::git) const ID_BYTES: usize = 20;

/// A parsed entry of a tree.
#[derive(Debug, Clone, Copy)]
pub(in crate::git) struct TreeEntry<'a> {
    /// Kind of the entry.
    pub kind: EntryKind,
    /// Name of the entry.
    pub name: &'a [u8],
    /// Id of the object.
    pub id: Oid,
    /// All bytes of the entry.
    pub bytes: &'a [u8],
}

/// The kind of an entry in a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::git) enum EntryKind {
    File,
    Folder,
    /// A symbolic link or a submodule.
    Other,
}

impl<'a> TreeEntry<'a> {
    /// Parses the first entry of `bytes`; `None` at their end, or where they are damaged.
    pub fn first(bytes: &'a [u8]) -> Option<TreeEntry<'a>> {
        let name_end = memchr::memchr(0, bytes)?;
        let blank = memchr::memchr(b' ', &bytes[..name_end])?;
        let end = name_end + 1 + ID_BYTES;
        let id = bytes.get(name_end + 1..end)?;
        let kind = match &bytes[..blank] {
            b"100644" | b"100755" | b"100664" => EntryKind::File,
            b"40000" => EntryKind::Folder,
            _ => EntryKind::Other,
        };
        Some(TreeEntry {
            kind,
            name: &bytes[blank + 1..name_end],
            id: Oid::from_bytes(id).ok()?,
            bytes: &bytes[..end],
        })
    }

    /// Returns the entries of a tree's bytes, up to the first that is damaged.
    pub fn all(mut bytes: &'a [u8]) -> impl Iterator<Item = TreeEntry<'a>> {
        std::iter::from_fn(move || {
            let entry = TreeEntry::first(bytes)?;
            bytes = &bytes[entry.bytes.len()..];
            Some(entry)
        })
    }

    /// Returns whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.kind == EntryKind::Folder
    }

    /// Returns its name, if it is UTF-8: the store has no other names.
    pub fn name(&self) -> Option<&'a str> {
        std::str::from_utf8(self.name).ok()
    }

    /// Returns its sort key in git's order.
    pub fn key(&self) -> Vec<u8> {
        key(self.name, self.is_folder())
    }
}

/// Returns the sort key of an entry in git's order: its name, with a slash at the end of a folder's.
pub(in crate::git) fn key(name: &[u8], is_folder: bool) -> Vec<u8> {
    let mut key = name.to_vec();
    if is_folder {
        key.push(b'/');
    }
    key
}

/// Returns the bytes of an entry.
pub(in crate::git) fn entry_bytes(mode: &str, name: &[u8], id: Oid) -> Vec<u8> {
    let mut bytes = format!("{mode} ").into_bytes();
    bytes.extend_from_slice(name);
    bytes.push(0);
    bytes.extend_from_slice(id.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_of_a_damaged_folder_end_where_they_cannot_be_read() {
        let mut bytes = b"100644 a.md\0".to_vec();
        bytes.extend([7; 20]);
        bytes.extend(b"40000 sub\0short");
        let names: Vec<&[u8]> = TreeEntry::all(&bytes).map(|entry| entry.name).collect();
        assert_eq!(names, [b"a.md"]);
    }
}
