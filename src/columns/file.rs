//! The file: a head, then each column at a multiple of 16 bytes, then the checksum.

use std::fs::File;
use std::io;
use std::io::{BufWriter, Seek as _, Write};
use std::ops::Range;
use std::path::Path;

use zerocopy::{FromBytes as _, IntoBytes as _};

use super::{Bytes, Column, Plain, Storage};
use crate::beneath::{Access, Folder, Target};

/// Says what the file is, and in which order its numbers have their bytes.
const MAGIC: u64 = u64::from_ne_bytes(*b"mdcolum1");
/// Columns begin at a multiple of it: what any of their values wants.
const ALIGNMENT: usize = 16;
/// Maximum number of columns of a file; the head has a fixed size.
const MOST: usize = 62;
/// The head: what the file is, how many columns it holds, and where each lies.
const HEAD_BYTES: usize = 16 + MOST * 16;
/// Number of single values that are buffered before a write.
const AT_ONCE: usize = 4096;
/// Beginning of a file's name until it is whole.
const PART: &str = "part-";
/// The end of Tantivy's footers, which the program that proves its files knows.
const FOOTER_MAGIC: u32 = 1337;

/// A file of columns, mapped.
pub struct Columns {
    map: Bytes,
    ranges: Vec<Range<usize>>,
}

impl Columns {
    /// Maps the file at `path`; `None` if it is not whole, or none that this machine can read.
    ///
    /// # Errors
    ///
    /// Fails if there is none, or it cannot be mapped.
    pub fn open(path: &Path) -> io::Result<Option<Columns>> {
        let map = Bytes::open_at(path)?;
        if map.len() < HEAD_BYTES {
            return Ok(None);
        }
        let numbers = <[u64]>::ref_from_bytes(&map[..HEAD_BYTES]).unwrap_or_default();
        let [magic, count, places @ ..] = numbers else {
            return Ok(None);
        };
        if *magic != MAGIC || *count > MOST as u64 {
            return Ok(None);
        }
        let range = |place: &[u64]| {
            let start = usize::try_from(place[0]).ok()?;
            let end = start.checked_add(usize::try_from(place[1]).ok()?)?;
            (start % ALIGNMENT == 0 && end <= map.len()).then_some(start..end)
        };
        let places = places.chunks_exact(2).take(*count as usize);
        let Some(ranges) = places.map(range).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        Ok(Some(Columns { map, ranges }))
    }

    /// Returns the column of this number; `None` if there is none, or it does not hold such values.
    pub fn column<T: Plain>(&self, number: usize) -> Option<Column<T>> {
        let range = self.ranges.get(number)?.clone();
        <[T]>::ref_from_bytes(&self.map[range.clone()]).ok()?;
        Some(Column(Storage::File(self.map.clone(), range)))
    }

    /// Returns the bytes of the column of this number.
    pub fn bytes(&self, number: usize) -> Option<&[u8]> {
        self.map.get(self.ranges.get(number)?.clone())
    }

    /// Returns the number of columns.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
}

/// Writes a file of columns, one after the other, beside the place where it is put in the end. One that
/// is given up before leaves nothing behind.
pub struct ColumnWriter {
    folder: Folder,
    name: String,
    /// `None` once the file is in its place.
    temporary: Option<String>,
    file: BufWriter<File>,
    sum: crc32fast::Hasher,
    at: usize,
    ranges: Vec<[u64; 2]>,
}

impl ColumnWriter {
    /// Begins the file that is to lie at `path`.
    ///
    /// # Errors
    ///
    /// Fails if nothing can be written there.
    pub fn begin(path: &Path) -> io::Result<ColumnWriter> {
        let (folder, name) = Folder::parent_of(path)?;
        remove_abandoned(&folder, name);
        let random = uuid::Uuid::new_v4().simple().to_string();
        let temporary = format!("{name}.{PART}{random}");
        let file = folder.open_file(&temporary, Access::CreateNew)?;
        // Says that somebody is at work; it ends with the process.
        file.try_lock()?;
        let mut file = BufWriter::with_capacity(1 << 20, file);
        // The head is written last, when it is known.
        file.write_all(&[0; HEAD_BYTES])?;
        Ok(ColumnWriter {
            name: name.to_owned(),
            folder,
            temporary: Some(temporary),
            file,
            sum: crc32fast::Hasher::new(),
            at: HEAD_BYTES,
            ranges: Vec::new(),
        })
    }

    /// Writes the next column.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn add<T: Plain>(&mut self, values: &[T]) -> io::Result<()> {
        self.add_slices([values])
    }

    /// Writes the next column, slice by slice.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn add_slices<'a, T: Plain + 'a>(
        &mut self,
        slices: impl IntoIterator<Item = &'a [T]>,
    ) -> io::Result<()> {
        let start = self.at;
        for slice in slices {
            self.write(slice.as_bytes())?;
        }
        self.end_column(start)
    }

    /// Writes the next column, value by value.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn add_values<T: Plain>(&mut self, values: impl Iterator<Item = T>) -> io::Result<()> {
        let start = self.at;
        let mut values = values.peekable();
        let mut some = Vec::with_capacity(AT_ONCE);
        while values.peek().is_some() {
            some.clear();
            some.extend(values.by_ref().take(AT_ONCE));
            self.write(some.as_bytes())?;
        }
        self.end_column(start)
    }

    /// Writes down where the column lies that began at `start`, and fills up behind it.
    fn end_column(&mut self, start: usize) -> io::Result<()> {
        let length = self.at - start;
        self.ranges.push([start as u64, length as u64]);
        self.write(&[0; ALIGNMENT][..self.at.next_multiple_of(ALIGNMENT) - self.at])
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.update(bytes);
        self.at += bytes.len();
        self.file.write_all(bytes)
    }

    /// Puts the file in its place, whole and safe on disk.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written, or holds too many columns.
    pub fn finish(mut self) -> io::Result<()> {
        if self.ranges.len() > MOST {
            return Err(io::Error::other("a file holds no so many columns"));
        }
        let mut head = vec![MAGIC, self.ranges.len() as u64];
        head.extend(self.ranges.iter().flatten());
        head.resize(HEAD_BYTES / 8, 0);
        // The checksum is that of the head and of the columns behind it.
        let mut sum = crc32fast::Hasher::new();
        sum.update(head.as_bytes());
        sum.combine(&self.sum);
        let footer = format!("{{\"crc\":{}}}", sum.finalize());
        self.file.write_all(footer.as_bytes())?;
        self.file.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.file.write_all(&FOOTER_MAGIC.to_le_bytes())?;
        self.file.flush()?;
        let file = self.file.get_mut();
        file.rewind()?;
        file.write_all(head.as_bytes())?;
        file.sync_data()?;
        self.folder.make_way(&self.name)?;
        let temporary = self.temporary.as_deref().unwrap_or_default();
        self.folder
            .rename(temporary, &self.folder, &self.name, Target::Replace)?;
        self.temporary = None;
        Ok(())
    }
}

impl Drop for ColumnWriter {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            let _ = self.folder.remove(temporary);
        }
    }
}

/// Removes the file of columns at `path`; who has it mapped keeps what is in it.
///
/// # Errors
///
/// Fails if there is none, or it cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    let (folder, name) = Folder::parent_of(path)?;
    folder.remove(name)
}

/// Removes what processes left that were killed while they wrote the file `name`.
fn remove_abandoned(folder: &Folder, name: &str) {
    let part = format!("{name}.{PART}");
    for (name, _) in folder.names().unwrap_or_default() {
        let is_abandoned = |file: File| file.try_lock().is_ok();
        if name.starts_with(&part)
            && folder
                .open_file(&name, Access::Read)
                .is_ok_and(is_abandoned)
        {
            // Whoever was about to lock it finds it gone, and gives up.
            let _ = folder.remove(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_was_written_is_read_and_a_cut_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        fs::write(folder.path().join("table.part-of-a-killed-process"), "x").unwrap();
        let mut writer = ColumnWriter::begin(&path).unwrap();
        let _at_the_same_time = ColumnWriter::begin(&path).unwrap();
        writer.add(&[1_u8, 2, 3]).unwrap();
        writer.add(&[[7_u64, 8], [9, 10]]).unwrap();
        writer.add::<f32>(&[]).unwrap();
        let many = 0..3 * AT_ONCE as u64 + 7;
        writer.add_values(many.clone()).unwrap();
        writer.add_slices([&[1_u8][..], &[], &[2, 3]]).unwrap();
        writer.finish().unwrap();
        let names = fs::read_dir(folder.path()).unwrap();
        assert_eq!(names.count(), 2, "the file, and what the other one writes");

        let columns = Columns::open(&path).unwrap().unwrap();
        assert_eq!(columns.len(), 5);
        assert!(columns.column::<u64>(3).unwrap().iter().copied().eq(many));
        assert_eq!(columns.bytes(4).unwrap(), [1, 2, 3]);
        assert_eq!(&*columns.column::<u8>(0).unwrap(), [1, 2, 3]);
        assert_eq!(&*columns.column::<[u64; 2]>(1).unwrap(), [[7, 8], [9, 10]]);
        assert!(columns.column::<f32>(2).unwrap().is_empty());
        assert!(columns.column::<u64>(0).is_none(), "three bytes hold none");
        assert!(columns.column::<u8>(5).is_none());

        let whole = fs::read(&path).unwrap();
        for length in [0, 8, HEAD_BYTES, HEAD_BYTES + 2] {
            let cut = folder.path().join(format!("cut{length}"));
            fs::write(&cut, &whole[..length]).unwrap();
            let columns = Columns::open(&cut).unwrap();
            assert!(columns.is_none(), "of {length} bytes");
        }
        let mut other = whole;
        other[0] ^= 1;
        // Windows lets nobody cut a file that is mapped.
        drop(columns);
        fs::write(&path, other).unwrap();
        assert!(Columns::open(&path).unwrap().is_none());
    }
}
