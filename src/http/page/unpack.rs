//! A body with several files: their paths and sizes as a line of JSON, then their bytes one after another.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::files::{ScratchFolder, scratch_file};

/// Maximum size of the first line in bytes.
const MOST_HEAD: usize = 8 << 20;

/// Maximum number of files.
const MOST_FILES: usize = 50_000;

/// Error of a body with several files.
#[derive(Debug, thiserror::Error)]
pub(super) enum UnpackError {
    #[error("{0}")]
    Bad(String),
    #[error("a file cannot be kept: {0}")]
    Io(#[from] std::io::Error),
}

/// Writes the files of a body below a folder as the body arrives.
pub(super) struct Unpack<'a> {
    folder: &'a ScratchFolder,
    /// Folder of the files within `folder`.
    below: &'a Path,
    /// First line, until it is complete.
    head: Option<Vec<u8>>,
    /// Files that are to come, with their sizes.
    left: VecDeque<(PathBuf, u64)>,
    /// File that is written, and the number of bytes that it lacks.
    open: Option<(File, u64)>,
    /// Paths of the files, in the order of the body.
    paths: Vec<PathBuf>,
}

impl<'a> Unpack<'a> {
    pub(super) fn new(folder: &'a ScratchFolder, below: &'a Path) -> Unpack<'a> {
        Unpack {
            folder,
            below,
            head: Some(Vec::new()),
            left: VecDeque::new(),
            open: None,
            paths: Vec::new(),
        }
    }

    /// Takes the next bytes of the body.
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> Result<(), UnpackError> {
        if let Some(head) = &mut self.head {
            let end = bytes.iter().position(|byte| *byte == b'\n');
            head.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
            if head.len() > MOST_HEAD {
                return Err(UnpackError::Bad("the list of files is too long".to_owned()));
            }
            let Some(end) = end else {
                return Ok(());
            };
            self.left = files(head)?;
            self.head = None;
            bytes = &bytes[end + 1..];
        }
        while !bytes.is_empty() {
            let Some((file, lacks)) = &mut self.open else {
                self.begin_next()?;
                if self.open.is_none() {
                    return Err(UnpackError::Bad("more came than the files have".to_owned()));
                }
                continue;
            };
            let most = usize::try_from(*lacks).unwrap_or(usize::MAX);
            let (part, rest) = bytes.split_at(most.min(bytes.len()));
            file.write_all(part)?;
            *lacks -= part.len() as u64;
            if *lacks == 0 {
                self.open = None;
            }
            bytes = rest;
        }
        Ok(())
    }

    /// Ends the body, and returns the paths of its files.
    pub(super) fn finish(mut self) -> Result<Vec<PathBuf>, UnpackError> {
        if self.open.is_none() {
            self.begin_next()?; // Empty files may come last.
        }
        match self.head.is_some() || self.open.is_some() {
            true => Err(UnpackError::Bad("the files broke off".to_owned())),
            false => Ok(self.paths),
        }
    }

    /// Makes the next file that has bytes, and the empty ones before it.
    fn begin_next(&mut self) -> Result<(), UnpackError> {
        while self.open.is_none()
            && let Some((path, size)) = self.left.pop_front()
        {
            let made = scratch_file(self.folder, &self.below.join(&path));
            let (made, file) = made.map_err(|error| match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => UnpackError::Io(error),
                // Of a name that this system does not take, or that came twice.
                _ => UnpackError::Bad(format!("{}: {error}", path.display())),
            })?;
            self.paths.push(made);
            self.open = (size > 0).then_some((file, size));
        }
        Ok(())
    }
}

/// Reads the list of paths and sizes.
fn files(head: &[u8]) -> Result<VecDeque<(PathBuf, u64)>, UnpackError> {
    let files: VecDeque<(PathBuf, u64)> = serde_json::from_slice(head)
        .map_err(|_| UnpackError::Bad("the list of files cannot be read".to_owned()))?;
    match files.len() {
        0 => Err(UnpackError::Bad("there is no file".to_owned())),
        count if count > MOST_FILES => {
            let what = format!("there are {count} files, and at most {MOST_FILES} are taken");
            Err(UnpackError::Bad(what))
        }
        _ => Ok(files),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn unpacked(body: &[u8], step: usize) -> Result<Vec<(String, String)>, UnpackError> {
        let folder = crate::files::scratch_folder().unwrap();
        let mut unpack = Unpack::new(&folder, Path::new("upload"));
        for bytes in body.chunks(step) {
            unpack.take(bytes)?;
        }
        let below = folder.path().join("upload");
        let read = |path: PathBuf| {
            let name = path.strip_prefix(&below).unwrap().display().to_string();
            (name, fs::read_to_string(path).unwrap())
        };
        Ok(unpack.finish()?.into_iter().map(read).collect())
    }

    #[test]
    fn files_are_cut_by_their_sizes_however_the_body_arrives() {
        let body = b"[[\"a.md\",3],[\"b/none.md\",0],[\"b/c.md\",2],[\"last.md\",0]]\none\nx";
        let expected = [
            ("a.md", "one"),
            ("b/none.md", ""),
            ("b/c.md", "\nx"),
            ("last.md", ""),
        ];
        let expected = expected.map(|(name, text)| (name.to_owned(), text.to_owned()));
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(unpacked(body, step).unwrap(), expected);
        }
    }

    #[test]
    fn a_body_that_is_no_list_of_files_is_refused() {
        #[track_caller]
        fn check(body: &[u8], expected: &str) {
            let error = unpacked(body, 5).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        check(b"", "broke off");
        check(b"[[\"a.md\",3]]\non", "broke off");
        check(b"[[\"a.md\",3]]\nonex", "more came");
        check(b"[]\n", "no file");
        check(b"{}\n", "cannot be read");
        check(b"[[\"../a.md\",1]]\nx", "../a.md");
        check(b"[[\"/tmp/a.md\",1]]\nx", "/tmp/a.md");
        check(b"[[\"b/../../a.md\",1]]\nx", "a.md");
        check(b"[[\"a.md\",1],[\"a.md\",1]]\nxx", "a.md");
        check(b"[[\"a\\u0000.md\",1]]\nx", "a");
        check(b"[[\"\",1]]\nx", "");
    }
}
