//! Files of an export: in a folder, or in a zip that is read without unpacking it.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::{fs, io};

use flate2::read::DeflateDecoder;

/// Signatures of the parts of a zip.
const END: [u8; 4] = *b"PK\x05\x06";
const END_64: [u8; 4] = *b"PK\x06\x06";
const LOCATOR_64: [u8; 4] = *b"PK\x06\x07";
const ENTRY: [u8; 4] = *b"PK\x01\x02";
const LOCAL: [u8; 4] = *b"PK\x03\x04";

/// Maximum distance of the list's end from the end of the file: its size with the longest comment.
const MAX_TAIL: u64 = 22 + 65_535;

/// Maximum size of the list of files.
const MAX_LIST: u64 = 64 << 20;

/// A folder or a zip.
pub(super) enum Archive {
    Folder(PathBuf),
    Zip { path: PathBuf, entries: Vec<Entry> },
}

/// A file in a zip.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    name: String,
    method: u16,
    is_encrypted: bool,
    crc: u32,
    compressed: u64,
    offset: u64,
}

impl Archive {
    /// Opens the folder or zip at `path`.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read, or is no zip.
    pub fn open(path: &Path) -> io::Result<Archive> {
        if path.is_dir() {
            return Ok(Archive::Folder(path.to_owned()));
        }
        Ok(Archive::Zip {
            path: path.to_owned(),
            entries: entries(&mut File::open(path)?)?,
        })
    }

    /// Returns the names of its files with `/` between folders, sorted; of a folder two levels deep.
    pub fn names(&self) -> Vec<String> {
        let mut names = match self {
            Archive::Folder(path) => {
                let mut names = Vec::new();
                for (name, is_folder) in files_in(path) {
                    match is_folder {
                        true => names.extend(
                            files_in(&path.join(&name))
                                .into_iter()
                                .filter(|(_, is_folder)| !is_folder)
                                .map(|(inner, _)| format!("{name}/{inner}")),
                        ),
                        false => names.push(name),
                    }
                }
                names
            }
            Archive::Zip { entries, .. } => {
                entries.iter().map(|entry| entry.name.clone()).collect()
            }
        };
        names.sort_unstable();
        names
    }

    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Fails if there is none of this name, if it cannot be read, is encrypted, or compressed in a way
    /// that exports do not use.
    pub fn read(&self, name: &str) -> io::Result<Box<dyn Read>> {
        match self {
            Archive::Folder(path) => Ok(Box::new(open_file(&path.join(name))?)),
            Archive::Zip { path, entries } => {
                let entry = entries.iter().find(|entry| entry.name == name);
                let entry = entry.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
                open_entry(path, entry)
            }
        }
    }
}

/// Opens a regular file: a pipe would wait for its other end.
pub(super) fn open_file(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    File::open(path)
}

/// Returns names in a folder as [`list`] does; none if it cannot be read.
pub(super) fn files_in(folder: &Path) -> Vec<(String, bool)> {
    list(folder).unwrap_or_default()
}

/// Returns names in a folder, each with whether it is a folder; no links, and nothing hidden.
///
/// # Errors
///
/// Fails if the folder cannot be read.
pub(super) fn list(folder: &Path) -> io::Result<Vec<(String, bool)>> {
    let entries = fs::read_dir(folder)?.flatten();
    let named = entries.filter_map(|entry| {
        let kind = entry.file_type().ok()?;
        let name = entry.file_name().into_string().ok()?;
        let is_meant = !name.starts_with('.') && (kind.is_file() || kind.is_dir());
        is_meant.then_some((name, kind.is_dir()))
    });
    let mut named: Vec<(String, bool)> = named.collect();
    named.sort_unstable();
    Ok(named)
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the zip is damaged: {what}"),
    )
}

/// Reads the list at the end of a zip.
fn entries(file: &mut File) -> io::Result<Vec<Entry>> {
    let size = file.seek(SeekFrom::End(0))?;
    let start = size.saturating_sub(MAX_TAIL);
    let tail = bytes_at(file, start, size - start)?;
    let end = tail.windows(4).rposition(|bytes| bytes == END);
    let end = end.ok_or_else(|| damaged("it has no list of files"))?;
    let record = Fields(
        tail.get(end..end + 22)
            .ok_or_else(|| damaged("its end is cut off"))?,
    );
    let (mut count, mut length, mut offset) = (
        u64::from(record.u16(10)),
        u64::from(record.u32(12)),
        u64::from(record.u32(16)),
    );
    let locator = end.checked_sub(20).map(|at| Fields(&tail[at..end]));
    if let Some(locator) = locator.filter(|locator| locator.0.starts_with(&LOCATOR_64)) {
        let bytes = bytes_at(file, locator.u64(8), 56)?;
        let record = Fields(&bytes);
        if !bytes.starts_with(&END_64) {
            return Err(damaged("its list is not where it says"));
        }
        (count, length, offset) = (record.u64(32), record.u64(40), record.u64(48));
    }
    if length > MAX_LIST || offset.saturating_add(length) > size {
        return Err(damaged("its list has an impossible size"));
    }
    let list = bytes_at(file, offset, length)?;
    let (mut entries, mut at) = (Vec::new(), 0);
    for _ in 0..count {
        let head = list
            .get(at..at + 46)
            .filter(|head| head.starts_with(&ENTRY));
        let head = Fields(head.ok_or_else(|| damaged("its list is cut off"))?);
        let lengths = [28, 30, 32].map(|field| usize::from(head.u16(field)));
        let rest = list.get(at + 46..at + 46 + lengths.iter().sum::<usize>());
        let rest = rest.ok_or_else(|| damaged("its list is cut off"))?;
        let (name, extra) = rest.split_at(lengths[0]);
        let mut entry = Entry {
            name: String::from_utf8_lossy(name).into_owned(),
            method: head.u16(10),
            is_encrypted: head.u16(8) & 1 == 1,
            crc: head.u32(16),
            compressed: u64::from(head.u32(20)),
            offset: u64::from(head.u32(42)),
        };
        let is_long = u64::from(head.u32(24)) == u64::from(u32::MAX);
        read_long_fields(&mut entry, is_long, &extra[..lengths[1]]);
        if !entry.name.ends_with('/') {
            entries.push(entry);
        }
        at += 46 + lengths.iter().sum::<usize>();
    }
    Ok(entries)
}

/// Reads sizes and places of more than 4 GiB.
fn read_long_fields(entry: &mut Entry, is_long: bool, mut extra: &[u8]) {
    while extra.len() >= 4 {
        let (head, rest) = extra.split_at(4);
        let length = usize::from(Fields(head).u16(2)).min(rest.len());
        if Fields(head).u16(0) == 1 {
            let mut fields = rest[..length]
                .chunks_exact(8)
                .map(|bytes| Fields(bytes).u64(0));
            if is_long {
                fields.next();
            }
            for field in [&mut entry.compressed, &mut entry.offset] {
                if *field == u64::from(u32::MAX) {
                    *field = fields.next().unwrap_or(*field);
                }
            }
        }
        extra = &rest[length..];
    }
}

fn open_entry(path: &Path, entry: &Entry) -> io::Result<Box<dyn Read>> {
    if entry.is_encrypted {
        return Err(io::Error::other("it is encrypted"));
    }
    let mut file = File::open(path)?;
    let head = bytes_at(&mut file, entry.offset, 30)?;
    if !head.starts_with(&LOCAL) {
        return Err(damaged("a file is not where its list says"));
    }
    let skipped = u64::from(Fields(&head).u16(26)) + u64::from(Fields(&head).u16(28));
    file.seek(SeekFrom::Start(entry.offset + 30 + skipped))?;
    let bytes = BufReader::with_capacity(64 << 10, file.take(entry.compressed));
    let from: Box<dyn Read> = match entry.method {
        0 => Box::new(bytes),
        8 => Box::new(DeflateDecoder::new(bytes)),
        method => {
            let what = format!("it is compressed by method {method}, which exports do not use");
            return Err(io::Error::other(what));
        }
    };
    Ok(Box::new(Checked {
        from,
        sum: crc32fast::Hasher::new(),
        expected: entry.crc,
    }))
}

/// Fails at the end of a file whose sum is another than its list says.
struct Checked {
    from: Box<dyn Read>,
    sum: crc32fast::Hasher,
    expected: u32,
}

impl Read for Checked {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(out)?;
        self.sum.update(&out[..count]);
        if count == 0 && !out.is_empty() && self.sum.clone().finalize() != self.expected {
            return Err(damaged("a file has another sum than its list says"));
        }
        Ok(count)
    }
}

fn bytes_at(file: &mut File, at: u64, count: u64) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let mut bytes = Vec::new();
    file.take(count).read_to_end(&mut bytes)?;
    match bytes.len() as u64 == count {
        true => Ok(bytes),
        false => Err(damaged("it is cut off")),
    }
}

/// Numbers in a record, at byte offsets.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn number(&self, at: usize, bytes: usize) -> u64 {
        let bytes = self.0[at..at + bytes].iter().rev();
        bytes.fold(0, |number, byte| number << 8 | u64::from(*byte))
    }
    fn u16(&self, at: usize) -> u16 {
        self.number(at, 2) as u16
    }
    fn u32(&self, at: usize) -> u32 {
        self.number(at, 4) as u32
    }
    fn u64(&self, at: usize) -> u64 {
        self.number(at, 8)
    }
}
