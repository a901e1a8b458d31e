//! Git's index as bytes: single entries are replaced, all others stay as they are.
//!
//! libgit2 would read, sort and hash all entries to change one, which takes five times as long, half of
//! the time of a commit (`benches/git_index.rs`). The format is `gitformat-index(5)`, versions 2 and 3;
//! the caller converts others with libgit2.

use std::collections::BTreeMap;
use std::ops::Range;

use git2::Oid;
use sha1::{Digest, Sha1};

/// Change of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    /// Expected id in the index: an entry with another one was staged by somebody, and stays.
    pub before: Option<Oid>,
    /// New entry; `None` removes it.
    pub after: Option<Entry>,
}

/// An entry of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// Id of the file's text.
    pub id: Oid,
    /// Mode of the file.
    pub mode: u32,
    /// Time of the status change, in seconds and nanoseconds; zeros, as in the next fields, if git is to
    /// read the file.
    pub changed: (u32, u32),
    /// Time of modification, in seconds and nanoseconds.
    pub modified: (u32, u32),
    /// Number of the device.
    pub device: u32,
    /// Number of the inode, cut to 32 bits.
    pub inode: u32,
    /// Owner of the file.
    pub user: u32,
    /// Group of the file.
    pub group: u32,
    /// Size in bytes, cut to 32 bits.
    pub size: u32,
}

impl Entry {
    /// Returns an entry without a stamp, so that git reads the file.
    pub fn unstamped(id: Oid, mode: u32) -> Entry {
        Entry {
            id,
            mode,
            changed: (0, 0),
            modified: (0, 0),
            device: 0,
            inode: 0,
            user: 0,
            group: 0,
            size: 0,
        }
    }
}

/// Reason why an index cannot be edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unsupported {
    /// It is of a version that libgit2 can convert.
    Version,
    /// It has an extension that must be understood.
    Extension,
    Damaged,
}

const SIGNATURE: &[u8; 4] = b"DIRC";
const HEADER: usize = 12;
/// Number of bytes before a path: ten numbers, an id, flags.
const FIXED: usize = 62;
const SUM: usize = 20;
const LENGTH_MASK: u16 = 0x0fff;
const STAGE_MASK: u16 = 0x3000;
const EXTENDED: u16 = 0x4000;
/// Bit of `git add --intent-to-add` in the first byte of the extended flags.
const INTENDED: u8 = 0x20;
/// Offset of the size in an entry.
const SIZE: usize = 36;

/// Returns an index without entries.
pub(super) fn empty() -> Vec<u8> {
    let mut bytes = [&SIGNATURE[..], &2_u32.to_be_bytes(), &0_u32.to_be_bytes()].concat();
    let sum = Sha1::digest(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

/// Returns whether `bytes` end with the right checksum, or with zeros, which git writes with
/// `index.skipHash`.
pub(super) fn has_own_sum(bytes: &[u8]) -> bool {
    let Some((content, sum)) = bytes.split_last_chunk::<SUM>() else {
        return false;
    };
    *sum == [0; SUM] || *sum == *Sha1::digest(content)
}

/// A parsed entry of an index.
struct Found<'a> {
    path: &'a [u8],
    id: Oid,
    is_staged_in_conflict: bool,
    /// Whether it is from `git add --intent-to-add`.
    is_intended: bool,
    /// Modification time of the file, in seconds.
    modified: u32,
    end: usize,
}

/// Returns the index `bytes` with `edits`, by path. It was written in the second at which `written`
/// begins, and counts as written in the second at which that ends.
///
/// A file that was modified in the second in which the index was written may have been modified again.
/// Git compares the two times, and reads the file; in an index that is written later, the entry's size
/// is cleared for that.
pub(super) fn edited(
    bytes: &[u8],
    written: &Range<u32>,
    edits: &BTreeMap<Vec<u8>, Edit>,
) -> Result<Vec<u8>, Unsupported> {
    let number = |at: usize| -> Result<u32, Unsupported> {
        let four = bytes.get(at..at + 4).ok_or(Unsupported::Damaged)?;
        Ok(u32::from_be_bytes(four.try_into().expect("four bytes")))
    };
    if bytes.len() < HEADER + SUM || !bytes.starts_with(SIGNATURE) {
        return Err(Unsupported::Damaged);
    }
    let version = number(4)?;
    if !(2..=3).contains(&version) {
        return Err(Unsupported::Version);
    }
    if !has_own_sum(bytes) {
        return Err(Unsupported::Damaged);
    }
    let mut out = Vec::with_capacity(bytes.len() + 128 * edits.len());
    out.extend_from_slice(&bytes[..HEADER]);
    let before = number(8)?;
    let mut count = before;
    let mut waiting = edits.iter().peekable();
    let (mut at, mut copied) = (HEADER, HEADER);
    for _ in 0..before {
        let found = entry_at(bytes, at, version)?;
        while let Some((path, edit)) = waiting.next_if(|(path, _)| path.as_slice() < found.path) {
            out.extend_from_slice(&bytes[copied..at]);
            copied = at;
            count += insert(&mut out, path, edit);
        }
        // A path in conflict has several entries, which the user resolves.
        if let Some((path, edit)) = waiting.next_if(|(path, _)| path.as_slice() == found.path)
            && !found.is_staged_in_conflict
            && is_as_told(&found, edit)
        {
            out.extend_from_slice(&bytes[copied..at]);
            copied = found.end;
            match &edit.after {
                Some(entry) => push(&mut out, path, entry),
                None => count -= 1,
            }
        } else if written.contains(&found.modified) {
            // Without a size, git reads the file.
            out.extend_from_slice(&bytes[copied..at + SIZE]);
            out.extend_from_slice(&[0; 4]);
            copied = at + SIZE + 4;
        }
        at = found.end;
    }
    check_extensions(bytes, at)?;
    out.extend_from_slice(&bytes[copied..at]);
    for (path, edit) in waiting {
        count += insert(&mut out, path, edit);
    }
    out[8..HEADER].copy_from_slice(&count.to_be_bytes());
    let sum = Sha1::digest(&out);
    out.extend_from_slice(&sum);
    Ok(out)
}

fn is_as_told(found: &Found<'_>, edit: &Edit) -> bool {
    match &edit.after {
        Some(after) => found.is_intended || edit.before == Some(found.id) || after.id == found.id,
        None => edit.before == Some(found.id),
    }
}

/// Adds an entry that the index does not have; returns the number of added entries.
fn insert(out: &mut Vec<u8>, path: &[u8], edit: &Edit) -> u32 {
    match (&edit.before, &edit.after) {
        (None, Some(entry)) => {
            push(out, path, entry);
            1
        }
        _ => 0, // Somebody took it out.
    }
}

fn entry_at(bytes: &[u8], at: usize, version: u32) -> Result<Found<'_>, Unsupported> {
    let limit = bytes.len() - SUM;
    let damaged = Unsupported::Damaged;
    let fixed = bytes.get(at..at + FIXED).ok_or(damaged)?;
    let flags = u16::from_be_bytes([fixed[60], fixed[61]]);
    let is_extended = version >= 3 && flags & EXTENDED != 0;
    let start = at + FIXED + if is_extended { 2 } else { 0 };
    let length = match flags & LENGTH_MASK {
        LENGTH_MASK => {
            let rest = bytes.get(start..limit).ok_or(damaged)?;
            memchr::memchr(0, rest).ok_or(damaged)?
        }
        length => usize::from(length),
    };
    let end = at + padded(start + length - at);
    if end > limit {
        return Err(damaged);
    }
    Ok(Found {
        path: &bytes[start..start + length],
        id: Oid::from_bytes(&fixed[40..60]).map_err(|_| damaged)?,
        is_staged_in_conflict: flags & STAGE_MASK != 0,
        is_intended: is_extended && bytes[at + FIXED] & INTENDED != 0,
        modified: u32::from_be_bytes(fixed[8..12].try_into().expect("four bytes")),
        end,
    })
}

/// Returns the length of an entry with its one to eight zeros at the end, a multiple of eight.
fn padded(length: usize) -> usize {
    (length + 8) & !7
}

fn push(out: &mut Vec<u8>, path: &[u8], entry: &Entry) {
    let start = out.len();
    for number in [
        entry.changed.0,
        entry.changed.1,
        entry.modified.0,
        entry.modified.1,
        entry.device,
        entry.inode,
        entry.mode,
        entry.user,
        entry.group,
        entry.size,
    ] {
        out.extend_from_slice(&number.to_be_bytes());
    }
    out.extend_from_slice(entry.id.as_bytes());
    let length = u16::try_from(path.len()).map_or(LENGTH_MASK, |length| length.min(LENGTH_MASK));
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(path);
    out.resize(start + padded(out.len() - start), 0);
}

/// Checks that all extensions are optional. They only speed git up, are outdated after an edit, and are
/// left out; one whose name begins with a small letter must be understood.
fn check_extensions(bytes: &[u8], mut at: usize) -> Result<(), Unsupported> {
    let limit = bytes.len() - SUM;
    while at < limit {
        let head = bytes.get(at..at + 8).ok_or(Unsupported::Damaged)?;
        if !head[0].is_ascii_uppercase() {
            return Err(Unsupported::Extension);
        }
        let length = u32::from_be_bytes(head[4..].try_into().expect("four bytes"));
        at += 8 + length as usize;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Range<u32> = 0..0;

    fn id(digit: u8) -> Oid {
        Oid::from_bytes(&[digit; 20]).unwrap()
    }

    fn entry(digit: u8) -> Entry {
        Entry {
            id: id(digit),
            mode: 0o100_644,
            changed: (1, 2),
            modified: (3, 4),
            device: 5,
            inode: 6,
            user: 7,
            group: 8,
            size: 9,
        }
    }

    fn edits(edits: &[(&str, Option<u8>, Option<u8>)]) -> BTreeMap<Vec<u8>, Edit> {
        let edit = |(path, before, after): &(&str, Option<u8>, Option<u8>)| {
            let edit = Edit {
                before: before.map(id),
                after: after.map(entry),
            };
            (path.as_bytes().to_vec(), edit)
        };
        edits.iter().map(edit).collect()
    }

    /// Returns the paths and ids that the library reads from an index.
    fn read(bytes: &[u8]) -> Vec<(String, Oid)> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index");
        std::fs::write(&path, bytes).unwrap();
        let index = git2::Index::open(&path).unwrap();
        let entry = |entry: git2::IndexEntry| (String::from_utf8(entry.path).unwrap(), entry.id);
        index.iter().map(entry).collect()
    }

    fn paths(bytes: &[u8]) -> Vec<String> {
        read(bytes).into_iter().map(|(path, _)| path).collect()
    }

    #[test]
    fn entries_come_change_and_go_and_the_library_reads_the_rest_as_before() {
        let long = "x".repeat(5_000);
        let first = edited(
            &empty(),
            &NEVER,
            &edits(&[
                ("b", None, Some(1)),
                ("d", None, Some(2)),
                (&long, None, Some(3)),
            ]),
        )
        .unwrap();
        assert_eq!(paths(&first), ["b", "d", &long]);
        let second = edited(
            &first,
            &NEVER,
            &edits(&[
                ("a", None, Some(4)),
                ("b", Some(1), None),
                ("c/c", None, Some(5)),
                ("d", Some(2), Some(6)),
                ("z", None, Some(7)),
            ]),
        )
        .unwrap();
        assert_eq!(
            read(&second),
            [("a", 4), ("c/c", 5), ("d", 6), (long.as_str(), 3), ("z", 7)]
                .map(|(path, digit)| (path.to_owned(), id(digit)))
        );
    }

    #[test]
    fn what_somebody_staged_stays() {
        let staged = edited(
            &empty(),
            &NEVER,
            &edits(&[("a", None, Some(1)), ("b", None, Some(2))]),
        )
        .unwrap();
        let told = edits(&[
            // Another text, one that was taken out, and the same text.
            ("a", Some(3), Some(4)),
            ("b", Some(3), None),
            ("c", Some(3), Some(4)),
        ]);
        assert_eq!(edited(&staged, &NEVER, &told).unwrap(), staged);
        let same = edits(&[("a", Some(3), Some(1))]);
        assert_eq!(paths(&edited(&staged, &NEVER, &same).unwrap()), ["a", "b"]);
    }

    #[test]
    fn what_is_not_understood_is_left_to_others() {
        assert_eq!(
            edited(b"", &NEVER, &BTreeMap::new()),
            Err(Unsupported::Damaged)
        );
        let mut four = empty();
        four[7] = 4;
        assert_eq!(
            edited(&four, &NEVER, &BTreeMap::new()),
            Err(Unsupported::Version)
        );
        let with = |extension: &[u8; 4]| {
            let mut bytes = empty();
            bytes.truncate(HEADER);
            bytes.extend_from_slice(extension);
            bytes.extend_from_slice(&3_u32.to_be_bytes());
            bytes.extend_from_slice(b"abc");
            bytes.extend_from_slice(&[0; SUM]);
            bytes
        };
        assert_eq!(
            edited(&with(b"TREE"), &NEVER, &BTreeMap::new()),
            Ok(empty())
        );
        assert_eq!(
            edited(&with(b"link"), &NEVER, &BTreeMap::new()),
            Err(Unsupported::Extension)
        );
        let mut cut = edited(&empty(), &NEVER, &edits(&[("a", None, Some(1))])).unwrap();
        cut[11] = 9;
        assert_eq!(
            edited(&cut, &NEVER, &BTreeMap::new()),
            Err(Unsupported::Damaged)
        );
    }

    #[test]
    fn what_may_have_changed_while_the_index_was_written_is_looked_at() {
        let index = edited(&empty(), &NEVER, &edits(&[("a", None, Some(1))])).unwrap();
        let sizes = |written: u32| {
            let bytes = edited(&index, &(written..9), &edits(&[("b", None, Some(2))])).unwrap();
            let first = bytes[HEADER + SIZE..HEADER + SIZE + 4].to_vec();
            assert_eq!(paths(&bytes), ["a", "b"]);
            u32::from_be_bytes(first.try_into().unwrap())
        };
        // The file was modified in the third second.
        assert_eq!((sizes(4), sizes(3), sizes(2)), (9, 0, 0));
    }
}
