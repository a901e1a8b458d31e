//! The file of a loose object: a zlib stream with a header `TYPE SIZE\0` before the content.
//!
//! Guarantees: an object that is read is whole (header, length and checksum of the stream); at most the
//! announced size is held in memory, and never more than the bytes can inflate to.

use std::ffi::c_int;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::mem::MaybeUninit;
use std::path::Path;

use git2::ObjectType;

/// Maximum length of a header: a type, a blank, twenty digits and a zero.
const HEADER_BYTES: usize = 64;
/// Number of bytes of a file that suffice to inflate a header, as in libgit2.
const HEADER_INPUT: u64 = 1024;
/// Maximum ratio of inflation: deflate makes at most 258 bytes of 2 bits.
const MOST_INFLATION: u64 = 1032;

/// Reason why an object cannot be read from a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreadable {
    Missing,
    /// The file exists and cannot be opened or read.
    Forbidden,
    /// It is no regular file, or holds no whole object.
    Damaged,
}

impl From<std::io::Error> for Unreadable {
    fn from(error: std::io::Error) -> Unreadable {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Unreadable::Missing,
            ErrorKind::UnexpectedEof => Unreadable::Damaged, // It was cut meanwhile.
            _ => Unreadable::Forbidden,
        }
    }
}

/// An object whose header was read, and the beginning of its content.
pub struct LooseObject<'a> {
    /// Type of the object.
    pub kind: ObjectType,
    /// Size of the content, in bytes.
    pub size: usize,
    beginning: Vec<u8>,
    rest: Inflater<'a>,
}

impl<'a> LooseObject<'a> {
    /// Reads the header of an object whose file has `file_size` bytes, of which `bytes` are the
    /// first.
    pub fn begin(bytes: &'a [u8], file_size: u64) -> Result<LooseObject<'a>, Unreadable> {
        let mut rest = Inflater::new(bytes).ok_or(Unreadable::Damaged)?;
        let mut head = vec![0; HEADER_BYTES];
        let length = rest.fill(&mut head).ok_or(Unreadable::Damaged)?;
        head.truncate(length);
        let (kind, size, header) = parse_header(&head).ok_or(Unreadable::Damaged)?;
        let most = file_size.saturating_mul(MOST_INFLATION);
        let size = usize::try_from(size)
            .ok()
            .filter(|size| *size as u64 <= most);
        let size = size.ok_or(Unreadable::Damaged)?;
        head.drain(..header);
        Ok(LooseObject {
            kind,
            size,
            beginning: head,
            rest,
        })
    }

    /// Writes the content to `out`, which has the object's size.
    pub fn finish(mut self, out: &mut [u8]) -> Result<(), Unreadable> {
        let (beginning, rest) = out
            .split_at_mut_checked(self.beginning.len())
            .ok_or(Unreadable::Damaged)?;
        beginning.copy_from_slice(&self.beginning);
        let is_whole = self.rest.fill(rest) == Some(rest.len()) && self.rest.is_at_end();
        is_whole.then_some(()).ok_or(Unreadable::Damaged)
    }
}

/// Parses a header to the type, the size and the header's length.
fn parse_header(bytes: &[u8]) -> Option<(ObjectType, u64, usize)> {
    let end = memchr::memchr(0, bytes)?;
    let header = std::str::from_utf8(&bytes[..end]).ok()?;
    let (kind, size) = header.split_once(' ')?;
    let kind = match kind {
        "commit" => ObjectType::Commit,
        "tree" => ObjectType::Tree,
        "blob" => ObjectType::Blob,
        "tag" => ObjectType::Tag,
        _ => return None,
    };
    let is_number = !size.is_empty() && size.bytes().all(|byte| byte.is_ascii_digit());
    let size = is_number.then(|| size.parse().ok())??;
    Some((kind, size, end + 1))
}

/// Opens a regular file without blocking, and returns its size. Others are no objects; opening a FIFO
/// would wait for a writer.
pub fn open_file(path: &Path) -> Result<(File, u64), Unreadable> {
    let file = open_at_once(path)?;
    let data = file.metadata()?;
    match data.is_file() {
        true => Ok((file, data.len())),
        false => Err(Unreadable::Damaged),
    }
}

#[cfg(unix)]
fn open_at_once(path: &Path) -> std::io::Result<File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(not(unix))]
fn open_at_once(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

/// Reads the bytes of a file of `size` bytes that suffice for a header.
pub fn read_beginning(file: &mut File, size: u64) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = vec![0; usize::try_from(size.min(HEADER_INPUT)).unwrap_or(0)];
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads all bytes of a file, and returns them with its size. A file that is larger than its object
/// could be is not read.
pub fn read_bytes(path: &Path) -> Result<(Vec<u8>, u64), Unreadable> {
    let (mut file, size) = open_file(path)?;
    let mut bytes = read_beginning(&mut file, size)?;
    if size > HEADER_INPUT {
        let announced = LooseObject::begin(&bytes, size)?.size as u64;
        // Deflate adds 5 bytes to at least 16 KiB that it cannot shrink.
        if size
            > announced
                .saturating_add(announced >> 8)
                .saturating_add(HEADER_INPUT)
        {
            return Err(Unreadable::Damaged);
        }
        let length = usize::try_from(size).map_err(|_| Unreadable::Forbidden)?;
        let known = bytes.len();
        let reserved = bytes.try_reserve_exact(length - known);
        reserved.map_err(|_| Unreadable::Forbidden)?;
        bytes.resize(length, 0);
        file.read_exact(&mut bytes[known..])?;
    }
    Ok((bytes, size))
}

/// Verifies that a file holds a whole object.
pub fn read_whole(path: &Path) -> Result<(), Unreadable> {
    let (bytes, size) = read_bytes(path)?;
    let begun = LooseObject::begin(&bytes, size)?;
    let mut content = Vec::new();
    let reserved = content.try_reserve_exact(begun.size);
    reserved.map_err(|_| Unreadable::Forbidden)?;
    content.resize(begun.size, 0);
    begun.finish(&mut content)
}

/// A zlib stream in memory.
struct Inflater<'a> {
    /// Boxed, because zlib stores its address. Not all of its fields are ever valid Rust values, so it is
    /// only used by that pointer.
    stream: Box<MaybeUninit<libz_sys::z_stream>>,
    input: &'a [u8],
    has_ended: bool,
}

#[allow(unsafe_code, reason = "zlib is a library in C")]
impl<'a> Inflater<'a> {
    fn new(input: &'a [u8]) -> Option<Inflater<'a>> {
        let mut stream = Box::new(MaybeUninit::<libz_sys::z_stream>::zeroed());
        let size = c_int::try_from(size_of::<libz_sys::z_stream>()).ok()?;
        // SAFETY: a stream of zeros is what zlib asks for; where its allocator is null it takes its
        // own. The size and the version are those of the zlib that is linked.
        let begun =
            unsafe { libz_sys::inflateInit_(stream.as_mut_ptr(), libz_sys::zlibVersion(), size) };
        (begun == libz_sys::Z_OK).then_some(Inflater {
            stream,
            input,
            has_ended: false,
        })
    }

    /// Inflates until `out` is full, the stream ends or the input is used up, and returns the number of
    /// bytes. `None` if the stream is damaged.
    fn fill(&mut self, out: &mut [u8]) -> Option<usize> {
        let stream = self.stream.as_mut_ptr();
        let mut filled = 0;
        while filled < out.len() && !self.has_ended {
            let room = u32::try_from(out.len() - filled).unwrap_or(u32::MAX);
            let input = u32::try_from(self.input.len()).unwrap_or(u32::MAX);
            // SAFETY: `stream` was begun and is not ended. zlib reads `input` bytes of `self.input`,
            // which it does not write to, and writes at most `room` bytes behind the first `filled`
            // of `out`; it keeps neither pointer beyond the call, as both are set before each.
            let (done, unread, unused) = unsafe {
                (*stream).next_in = self.input.as_ptr().cast_mut();
                (*stream).avail_in = input;
                (*stream).next_out = out.as_mut_ptr().add(filled);
                (*stream).avail_out = room;
                let done = libz_sys::inflate(stream, libz_sys::Z_NO_FLUSH);
                (done, (*stream).avail_in, (*stream).avail_out)
            };
            self.input = &self.input[(input - unread) as usize..];
            filled += (room - unused) as usize;
            match done {
                libz_sys::Z_STREAM_END => self.has_ended = true,
                libz_sys::Z_OK => {}
                // No progress is possible: the input ended.
                libz_sys::Z_BUF_ERROR => break,
                _ => return None,
            }
        }
        Some(filled)
    }

    /// Returns whether the stream ends here, with the right checksum, and the input with it.
    fn is_at_end(&mut self) -> bool {
        self.fill(&mut [0]) == Some(0) && self.has_ended && self.input.is_empty()
    }
}

#[allow(unsafe_code, reason = "zlib is a library in C")]
impl Drop for Inflater<'_> {
    fn drop(&mut self) {
        // SAFETY: the stream was begun, and is ended here only.
        unsafe { libz_sys::inflateEnd(self.stream.as_mut_ptr()) };
    }
}
