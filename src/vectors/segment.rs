//! One file of vectors.
//!
//! Little endian: a head of 64 bytes; the keys in ascending order; where the vectors of each entry
//! begin, and where the last end; the same of the entries' tokens; the scale of each vector; all vectors in
//! eight bits a number, then in sixteen; the codes of the tokens. Head, keys, starts and scales have one
//! checksum, each kind of vectors and the codes their own.

use std::io;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use half::f16;

use super::VectorKey;
use super::dot::{Small, Wide, dot_exact, dot_small};
use super::tokens::TOKEN_BYTES;
use crate::beneath::{Access, Folder, Target};
use crate::columns::Bytes;

const MAGIC: &[u8; 8] = b"memdirv2";
const HEAD: usize = 64;
const KEY: usize = 16;
/// Bytes of the head that its checksum is of.
const SUMMED: usize = 36;

/// A file of vectors.
pub(super) struct VectorSegment {
    /// Path of the file.
    pub path: PathBuf,
    map: Bytes,
    /// Number of dimensions of a vector.
    pub dimensions: usize,
    /// Number of keys.
    pub entries: usize,
    vectors: usize,
    tokens: usize,
    small_sum: u32,
    exact_sum: u32,
    tokens_sum: u32,
    /// Whether these checksums are right, once checked.
    is_sound: OnceLock<bool>,
}

/// A key with the vectors of its pieces.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorEntry {
    /// Key of the text.
    pub key: VectorKey,
    /// Vectors of the pieces of the text.
    pub pieces: Vec<Vec<f32>>,
    /// Codes of the tokens of a text in one piece, of [`TOKEN_BYTES`] bytes each; may be empty.
    pub tokens: Vec<u8>,
}

/// Writes `entries`, which have ascending keys and vectors of one length, to a new file in `folder`;
/// returns its name.
pub(super) fn write(
    folder: &Folder,
    dimensions: usize,
    entries: &[VectorEntry],
) -> io::Result<String> {
    let vectors: usize = entries.iter().map(|entry| entry.pieces.len()).sum();
    let pieces = || entries.iter().flat_map(|entry| &entry.pieces);
    let token_count = |entry: &VectorEntry| entry.tokens.len() / TOKEN_BYTES;
    let tokens: usize = entries.iter().map(token_count).sum();
    let mut tables = Vec::with_capacity(entries.len() * (KEY + 8) + 8 + vectors * 4);
    for entry in entries {
        tables.extend(entry.key.to_le_bytes());
    }
    let counts: [&dyn Fn(&VectorEntry) -> usize; 2] = [&|entry| entry.pieces.len(), &token_count];
    for count in counts {
        let mut start = 0_u32;
        tables.extend(start.to_le_bytes());
        for entry in entries {
            start += count(entry) as u32;
            tables.extend(start.to_le_bytes());
        }
    }
    let small: Vec<Small> = pieces().map(|piece| Small::of(piece)).collect();
    for piece in &small {
        tables.extend(piece.scale.to_le_bytes());
    }
    let mut small_sum = crc32fast::Hasher::new();
    let small_bytes =
        |piece: &Small| -> Vec<u8> { piece.numbers.iter().map(|number| *number as u8).collect() };
    small
        .iter()
        .for_each(|piece| small_sum.update(&small_bytes(piece)));
    let exact_bytes = |piece: &Vec<f32>| -> Vec<u8> {
        let numbers = piece.iter();
        numbers
            .flat_map(|number| f16::from_f32(*number).to_le_bytes())
            .collect()
    };
    let mut exact_sum = crc32fast::Hasher::new();
    pieces().for_each(|piece| exact_sum.update(&exact_bytes(piece)));
    let mut tokens_sum = crc32fast::Hasher::new();
    entries
        .iter()
        .for_each(|entry| tokens_sum.update(&entry.tokens));
    let mut head = Vec::with_capacity(HEAD);
    head.extend(MAGIC);
    for number in [
        dimensions as u32,
        entries.len() as u32,
        vectors as u32,
        tokens as u32,
        small_sum.finalize(),
        exact_sum.finalize(),
        tokens_sum.finalize(),
    ] {
        head.extend(number.to_le_bytes());
    }
    let mut table_sum = crc32fast::Hasher::new();
    table_sum.update(&head);
    table_sum.update(&tables);
    head.extend(table_sum.finalize().to_le_bytes());
    head.resize(HEAD, 0);

    // No name is used twice, also where the same vectors are written in place of damaged ones.
    let name = uuid::Uuid::new_v4().simple().to_string();
    let temporary = format!("{name}.part");
    let name = format!("{name}.vec");
    let mut file = BufWriter::new(folder.open_file(&temporary, Access::AppendNew)?);
    let written = (|| {
        file.write_all(&head)?;
        file.write_all(&tables)?;
        for piece in &small {
            file.write_all(&small_bytes(piece))?;
        }
        for piece in pieces() {
            file.write_all(&exact_bytes(piece))?;
        }
        for entry in entries {
            file.write_all(&entry.tokens)?;
        }
        file.flush()?;
        file.get_ref().sync_data()?;
        folder.rename(&temporary, folder, &name, Target::Replace)
    })();
    if written.is_err() {
        let _ = folder.remove(&temporary);
    }
    written.map(|()| name)
}

impl VectorSegment {
    /// Opens a file; fails with `InvalidData` if it is not whole.
    pub fn open(folder: &Arc<Folder>, name: &str) -> io::Result<VectorSegment> {
        let map = Bytes::open(folder, name)?;
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged");
        let head: &[u8] = map.get(..HEAD).ok_or_else(damaged)?;
        let number = |at: usize| {
            let bytes = &head[8 + 4 * at..12 + 4 * at];
            u32::from_le_bytes(bytes.try_into().expect("these are four bytes"))
        };
        let [dimensions, entries, vectors, tokens] = [0, 1, 2, 3].map(|at| number(at) as usize);
        let tables = HEAD + entries * KEY + (entries + 1) * 8 + vectors * 4;
        let size = tables + vectors * dimensions * 3 + tokens * TOKEN_BYTES;
        let mut sum = crc32fast::Hasher::new();
        if &head[..8] != MAGIC || map.len() != size {
            return Err(damaged());
        }
        sum.update(&head[..SUMMED]);
        sum.update(&map[HEAD..tables]);
        if sum.finalize() != number(7) {
            return Err(damaged());
        }
        Ok(VectorSegment {
            path: folder.path().join(name),
            small_sum: number(4),
            exact_sum: number(5),
            tokens_sum: number(6),
            map,
            dimensions,
            entries,
            vectors,
            tokens,
            is_sound: OnceLock::new(),
        })
    }

    /// Returns the key of an entry.
    pub fn key(&self, entry: usize) -> VectorKey {
        let at = HEAD + entry * KEY;
        VectorKey::from_le_bytes(self.map[at..at + KEY].try_into().expect("a key's bytes"))
    }

    /// Returns the number of the entry with `key`, by interpolation search, since keys are evenly
    /// distributed hashes.
    pub fn find(&self, key: VectorKey) -> Option<usize> {
        let (mut low, mut high) = (0, self.entries);
        let mut tries = 0;
        while low < high {
            let (first, last) = (self.key(low), self.key(high - 1));
            if key < first || key > last {
                return None;
            }
            let guess = if tries < 8 && last > first {
                let share = (key - first) as f64 / (last - first) as f64;
                low + (share * (high - 1 - low) as f64) as usize
            } else {
                low + (high - low) / 2
            };
            tries += 1;
            match self.key(guess).cmp(&key) {
                std::cmp::Ordering::Equal => return Some(guess),
                std::cmp::Ordering::Less => low = guess + 1,
                std::cmp::Ordering::Greater => high = guess,
            }
        }
        None
    }

    fn word(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.map[at..at + 4].try_into().expect("four bytes"))
    }

    /// Returns the numbers of the vectors of an entry's pieces.
    fn pieces(&self, entry: usize) -> std::ops::Range<usize> {
        self.range(HEAD + self.entries * KEY, entry)
    }

    /// Returns the range of an entry in the table of starts at `starts`.
    fn range(&self, starts: usize, entry: usize) -> std::ops::Range<usize> {
        let start = |entry: usize| self.word(starts + entry * 4) as usize;
        start(entry)..start(entry + 1)
    }

    /// Returns the codes of an entry's tokens.
    pub fn tokens(&self, entry: usize) -> &[u8] {
        let starts = HEAD + self.entries * KEY + (self.entries + 1) * 4;
        let range = self.range(starts, entry);
        &self.token_block()[range.start * TOKEN_BYTES..range.end * TOKEN_BYTES]
    }

    fn scale(&self, vector: usize) -> f32 {
        let scales = HEAD + self.entries * KEY + (self.entries + 1) * 8;
        f32::from_bits(self.word(scales + vector * 4))
    }

    fn small_block(&self) -> &[u8] {
        let start = HEAD + self.entries * KEY + (self.entries + 1) * 8 + self.vectors * 4;
        &self.map[start..start + self.vectors * self.dimensions]
    }

    fn exact_block(&self) -> &[u8] {
        let end = self.map.len() - self.tokens * TOKEN_BYTES;
        &self.map[end - self.vectors * self.dimensions * 2..end]
    }

    fn token_block(&self) -> &[u8] {
        &self.map[self.map.len() - self.tokens * TOKEN_BYTES..]
    }

    /// Returns the approximate scalar product of the best of an entry's pieces with the query.
    pub fn near(&self, entry: usize, query: &Wide) -> f32 {
        let block = self.small_block();
        self.pieces(entry)
            .map(|vector| {
                let bytes = &block[vector * self.dimensions..(vector + 1) * self.dimensions];
                dot_small(bytes, &query.numbers) as f32 * query.scale * self.scale(vector)
            })
            .fold(f32::NAN, f32::max)
    }

    /// Returns the scalar product of the best of an entry's pieces with the query.
    pub fn exact(&self, entry: usize, query: &[f32]) -> f32 {
        let (block, size) = (self.exact_block(), self.dimensions * 2);
        self.pieces(entry)
            .map(|vector| dot_exact(&block[vector * size..(vector + 1) * size], query))
            .fold(f32::NAN, f32::max)
    }

    /// Returns an entry, to be written elsewhere.
    pub fn entry(&self, entry: usize) -> VectorEntry {
        let (block, size) = (self.exact_block(), self.dimensions * 2);
        let vector = |vector: usize| {
            let bytes = block[vector * size..(vector + 1) * size].chunks_exact(2);
            bytes
                .map(|bytes| f16::from_le_bytes([bytes[0], bytes[1]]).to_f32())
                .collect()
        };
        VectorEntry {
            key: self.key(entry),
            pieces: self.pieces(entry).map(vector).collect(),
            tokens: self.tokens(entry).to_vec(),
        }
    }

    /// Returns whether the checksums of vectors and tokens are right; reads all of them, once.
    pub fn is_sound(&self) -> bool {
        *self.is_sound.get_or_init(|| {
            crc32fast::hash(self.small_block()) == self.small_sum
                && crc32fast::hash(self.exact_block()) == self.exact_sum
                && crc32fast::hash(self.token_block()) == self.tokens_sum
        })
    }

    /// Returns whether the file was cut or written since it was opened.
    pub fn is_changed(&self) -> bool {
        self.map.is_changed()
    }

    /// Returns the size of the file in bytes.
    pub fn bytes(&self) -> usize {
        self.map.len()
    }
}
