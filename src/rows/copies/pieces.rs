//! Files cut into pieces that are known by their content.

use std::fs::File;
use std::io;
use std::io::{Read as _, Seek as _, SeekFrom};

/// Maximum size of a piece in bytes: one value of the database, of which several are in memory at once.
const PIECE_BYTES: usize = 4 << 20;

/// A piece of a file.
pub(super) struct Piece<'a> {
    file: &'a File,
    start: u64,
    length: usize,
    /// First 16 bytes of its BLAKE3 hash.
    pub(super) hash: Vec<u8>,
}

/// Returns the first 16 bytes of the BLAKE3 hash of `bytes`, in their order.
pub(super) fn hash(bytes: &[u8]) -> Vec<u8> {
    crate::files::digest(bytes).to_be_bytes().to_vec()
}

/// Cuts `file` into pieces, in their order; an empty one into one empty piece.
///
/// # Errors
///
/// Fails if it cannot be read.
pub(super) fn cut(file: &File) -> io::Result<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    loop {
        let bytes = read(file, start, PIECE_BYTES)?;
        if bytes.is_empty() && start > 0 {
            return Ok(pieces);
        }
        let length = bytes.len();
        let hash = hash(&bytes);
        pieces.push(Piece {
            file,
            start,
            length,
            hash,
        });
        if length < PIECE_BYTES {
            return Ok(pieces);
        }
        start += length as u64;
    }
}

impl Piece<'_> {
    /// Reads the piece.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read, or is another now.
    pub(super) fn bytes(&self) -> io::Result<Vec<u8>> {
        let bytes = read(self.file, self.start, self.length)?;
        match hash(&bytes) == self.hash {
            true => Ok(bytes),
            false => Err(io::Error::other("a file was changed while it was copied")),
        }
    }
}

fn read(mut file: &File, start: u64, length: usize) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::with_capacity(length.min(PIECE_BYTES));
    file.take(length as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn pieces_are_the_file() {
        for size in [
            0,
            1,
            PIECE_BYTES - 1,
            PIECE_BYTES,
            PIECE_BYTES + 1,
            3 * PIECE_BYTES,
        ] {
            let mut file = tempfile::tempfile().unwrap();
            let whole: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
            file.write_all(&whole).unwrap();
            let pieces = cut(&file).unwrap();
            assert_eq!(pieces.len(), size.div_ceil(PIECE_BYTES).max(1), "{size}");
            let read: Vec<Vec<u8>> = pieces.iter().map(|piece| piece.bytes().unwrap()).collect();
            assert!(read.concat() == whole, "{size}");
        }
    }

    #[test]
    fn a_piece_that_became_another_is_not_given_out() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"one").unwrap();
        let pieces = cut(&file).unwrap();
        (&file).seek(SeekFrom::Start(0)).unwrap();
        (&file).write_all(b"two").unwrap();
        assert!(pieces[0].bytes().is_err());
    }
}
