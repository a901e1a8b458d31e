//! Files that were touched and not changed, since the table file was written.
//!
//! A copy, a clone or an archive gives a file another modification time and inode, and the same bytes. Its
//! document stays as it is in the segments; the stamp stands in a small file beside the table (`kept`) until
//! the table is written the next time. Every entry says which bytes it is about. One that is lost, damaged
//! or out of date costs another read of the file, and never hides a change: it is a stamp that these bytes had.

use std::collections::BTreeMap;
use std::path::Path;

use rustc_hash::FxHashMap;

use crate::beneath::Folder;
use crate::index::Indexed;
use crate::index::embedded::rows::documents::version;
use crate::index::embedded::rows::mapped_table::MappedTable;
use crate::model::Stamp;

/// The file's name in the index folder.
pub(in crate::index::embedded) const NAME: &str = "touched";

/// First line of the file: the version of the format.
const TITLE: &str = "touched 1";

/// Touched files by name, with the hashes of their bytes and their stamps.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(in crate::index::embedded) struct Touched(BTreeMap<String, (u128, Stamp)>);

impl Touched {
    /// Adds a file with its present version. A name of several lines is left out.
    pub fn insert(&mut self, name: &str, indexed: Indexed) {
        if !name.contains(['\n', '\r']) {
            self.0
                .insert(name.to_owned(), (indexed.hash, indexed.stamp));
        }
    }

    /// Adds all of `new`, in place of entries of the same names.
    pub fn extend(&mut self, new: Touched) {
        self.0.extend(new.0);
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the present stamp of the file `name`, if it was touched since it was indexed in this version.
    pub fn stamp(&self, name: &str, indexed: Indexed) -> Option<Stamp> {
        let (hash, stamp) = self.0.get(name)?;
        let is_same = (*hash, stamp.size) == (indexed.hash, indexed.stamp.size);
        is_same.then_some(*stamp)
    }

    /// Returns the present stamps by the rows of a mapped table.
    pub fn by_row(&self, flat: &MappedTable) -> FxHashMap<u32, Stamp> {
        let rows = self.0.keys().filter_map(|name| {
            let row = flat.row(name)?;
            Some((
                row,
                self.stamp(name, version(flat.versions[row as usize], 0))?,
            ))
        });
        rows.collect()
    }

    /// Reads the file in `folder`; empty if there is none that can be read. Lines that cannot be read are
    /// left out.
    pub fn read(folder: &Path) -> Touched {
        let text = Folder::of_state(folder).and_then(|folder| folder.read_derived(NAME));
        let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
        let mut lines = text.lines();
        match lines.next() {
            Some(TITLE) => Touched(lines.filter_map(entry).collect()),
            _ => Touched::default(),
        }
    }

    /// Writes the file in `folder`.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn write(&self, folder: &Path) -> std::io::Result<()> {
        let lines = self.0.iter().map(|(name, (hash, stamp))| {
            let Stamp {
                size,
                modified,
                inode,
            } = stamp;
            format!("{hash:032x} {size} {modified} {inode} {name}\n")
        });
        let text = format!("{TITLE}\n{}", lines.collect::<String>());
        Folder::of_state(folder)?.write_derived(NAME, text.as_bytes(), false)
    }

    /// Removes the file in `folder`, if there is one.
    pub fn remove(folder: &Path) {
        // One that stays is out of date, which costs time only.
        let _ = Folder::of_state(folder).and_then(|folder| folder.remove(NAME));
    }
}

/// Parses one line.
fn entry(line: &str) -> Option<(String, (u128, Stamp))> {
    let mut fields = line.splitn(5, ' ');
    let hash = u128::from_str_radix(fields.next()?, 16).ok()?;
    let stamp = Stamp {
        size: fields.next()?.parse().ok()?,
        modified: fields.next()?.parse().ok()?,
        inode: fields.next()?.parse().ok()?,
    };
    Some((fields.next()?.to_owned(), (hash, stamp)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn indexed(number: u64) -> Indexed {
        Indexed {
            stamp: Stamp {
                size: 10,
                modified: -5,
                inode: number,
            },
            hash: u128::MAX - u128::from(number),
            racy: false,
        }
    }

    #[test]
    fn entries_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Touched::read(folder.path()).is_empty());
        let mut touched = Touched::default();
        touched.insert("2026/a name with blanks.md", indexed(1));
        touched.insert("b.md", indexed(2));
        touched.insert("two\nlines.md", indexed(3));
        touched.write(folder.path()).unwrap();
        let read = Touched::read(folder.path());
        assert_eq!((read.len(), &read), (2, &touched));
        Touched::remove(folder.path());
        assert!(Touched::read(folder.path()).is_empty());
    }

    #[test]
    fn an_entry_about_other_bytes_has_no_effect() {
        let mut touched = Touched::default();
        touched.insert("a.md", indexed(1));
        let hash = indexed(1).hash;
        let halves = [(hash >> 64) as u64, hash as u64];
        let [high, low] = halves;
        assert_eq!(
            touched.stamp("a.md", version([10, 1, 2, high, low], 0)),
            Some(indexed(1).stamp)
        );
        assert_eq!(
            touched.stamp("a.md", version([11, 1, 2, high, low], 0)),
            None
        );
        assert_eq!(
            touched.stamp("a.md", version([10, 1, 2, high, low ^ 1], 0)),
            None
        );
        assert_eq!(
            touched.stamp("b.md", version([10, 1, 2, high, low], 0)),
            None
        );
    }

    #[test]
    fn lines_that_cannot_be_read_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let text = "touched 1\n0f 1 2 3 a.md\n0f 1 2\nzz 1 2 3 b.md\n";
        std::fs::write(&path, text).unwrap();
        assert_eq!(Touched::read(folder.path()).len(), 1);
        std::fs::write(&path, "touched 2\n0f 1 2 3 a.md\n").unwrap();
        assert!(Touched::read(folder.path()).is_empty());
    }
}
