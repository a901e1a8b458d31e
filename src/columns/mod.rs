//! Numbers in columns: in memory, or in a file that is mapped.
//!
//! Data that is read whole each time a program starts, is large, and changes seldom, is kept as it
//! lies in memory: a file of columns that is mapped costs a start nothing, and all processes share
//! its pages. Promises: a file is put in place whole, and never changed afterwards; one that was
//! cut short, or made on another kind of machine, is not taken; one that is cut while it is mapped
//! ends no process ([`changed_in`]). Whether each byte is as it was written is left to the caller:
//! the file ends with a checksum, in the form of Tantivy's footers.

mod file;
#[cfg(unix)]
mod guard;
mod mapped;
mod scratch;

use std::fmt;
use std::ops::{Deref, Range};

use zerocopy::{FromBytes, Immutable, IntoBytes};

pub use file::{ColumnWriter, Columns, remove};
pub use mapped::{Bytes, changed_in, forget_changed_in, forgotten_changes, give_back_pages};
pub use scratch::{Scratch, free_scratch};

/// A value that a column may hold: one of which every pattern of bits is valid.
pub trait Plain: FromBytes + IntoBytes + Immutable + Copy {}

impl<T: FromBytes + IntoBytes + Immutable + Copy> Plain for T {}

/// A list of values that does not change.
pub struct Column<T>(Storage<T>);

enum Storage<T> {
    Memory(Vec<T>),
    File(Bytes, Range<usize>),
}

impl<T: Plain> Deref for Column<T> {
    type Target = [T];

    /// Costs a few nanoseconds: whoever reads many values takes the slice once.
    fn deref(&self) -> &[T] {
        match &self.0 {
            Storage::Memory(values) => values,
            // Length and alignment were looked at when the file was opened.
            Storage::File(map, range) => {
                <[T]>::ref_from_bytes(&map[range.clone()]).unwrap_or_default()
            }
        }
    }
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(values: Vec<T>) -> Column<T> {
        Column(Storage::Memory(values))
    }
}

impl<T> Default for Column<T> {
    fn default() -> Column<T> {
        Column(Storage::Memory(Vec::new()))
    }
}

impl<T: Plain + fmt::Debug> fmt::Debug for Column<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(formatter)
    }
}

impl<T: Plain + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Column<T>) -> bool {
        self.deref() == other.deref()
    }
}

/// Texts in one piece of memory, each found by the range in which it lies.
#[derive(Debug, Default)]
pub struct Texts(pub Column<u8>);

impl Texts {
    /// Returns the text in a range; empty where there is none, or none that is UTF-8.
    pub fn get(&self, [start, end]: [u32; 2]) -> &str {
        text_in(&self.0, [start, end])
    }
}

/// Returns the text that lies in a range of `texts`; empty where there is none, or none that is UTF-8.
pub fn text_in(texts: &[u8], [start, end]: [u32; 2]) -> &str {
    let bytes = texts.get(start as usize..end as usize).unwrap_or_default();
    std::str::from_utf8(bytes).unwrap_or_default()
}
