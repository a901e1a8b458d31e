//! Reads journals: whole ones, or what was added to them since they were read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use chrono::{DateTime, Utc};

use super::error::{JournalError, failed};
use super::line::Line;
use super::uses::Uses;
use crate::files;

/// Has `known` say the later moment of each journal.
pub(super) fn raise(
    known: &mut BTreeMap<String, DateTime<Utc>>,
    until: &BTreeMap<String, DateTime<Utc>>,
) {
    for (id, at) in until {
        let known = known.entry(id.clone()).or_insert(*at);
        *known = (*known).max(*at);
    }
}

/// Lines that were read so far, as sums.
#[derive(Default)]
pub(super) struct Read {
    pub(super) files: BTreeMap<PathBuf, Looked>,
    /// Up to when the uses of a journal, by its id, are in the sums of another one.
    pub(super) summed: BTreeMap<String, DateTime<Utc>>,
    pub(super) uses: Arc<Uses>,
}

/// The state of a file when it was read.
pub(super) struct Looked {
    pub(super) id: FileId,
    pub(super) size: u64,
    /// Offset of the end of the last whole line.
    pub(super) upto: u64,
    /// The bytes before that.
    pub(super) tail: Vec<u8>,
}

/// The journals, each with its size and which file it is.
pub(super) type Files = BTreeMap<PathBuf, (u64, FileId)>;

/// Tells a file from another one that was put in its place.
pub(super) type FileId = (u64, u64);

/// Number of bytes before the end that tell a file that grew from another one.
pub(super) const TAIL_BYTES: usize = 64;

pub(super) fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(unix)]
pub(super) fn id_in(data: &fs::Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    (data.dev(), data.ino())
}

#[cfg(not(unix))]
pub(super) fn id_in(data: &fs::Metadata) -> FileId {
    let made = data.created().ok();
    let since = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    (0, since.map_or(0, |since| since.as_nanos() as u64))
}

impl Read {
    /// Reads all journals from their beginnings. Of one that cannot be read nothing counts, and it is
    /// tried again the next time.
    pub(super) fn all(&mut self, files: Files) -> Result<(), Unread> {
        let mut journals = Vec::new();
        let mut trouble = None;
        for (path, (size, id)) in files {
            let mut lines = Vec::new();
            match self.read(&path, id, size, |line| lines.push(line)) {
                Ok(()) => journals.push((id_of(&path), lines)),
                Err(Unread::Failed(error)) => trouble = Some(error),
                Err(replaced) => return Err(replaced),
            }
        }
        for line in journals.iter().flat_map(|(_, lines)| lines) {
            if let Line::Summed(until) = line {
                raise(&mut self.summed, until);
            }
        }
        let uses = Arc::make_mut(&mut self.uses);
        for (id, lines) in journals {
            uses.take_journal(lines, self.summed.get(&id).copied());
        }
        trouble.map_or(Ok(()), |error| Err(Unread::Failed(error)))
    }

    /// Reads what was added to journals since they were read.
    pub(super) fn what_was_added(&mut self, files: Files) -> Result<(), Unread> {
        let mut trouble = None;
        for (path, (size, id)) in files {
            if self
                .files
                .get(&path)
                .is_some_and(|known| known.size == size)
            {
                continue;
            }
            let mut lines = Vec::new();
            match self.read(&path, id, size, |line| lines.push(line)) {
                Ok(()) => {}
                Err(Unread::Failed(error)) => {
                    trouble = Some(error);
                    continue;
                }
                Err(replaced) => return Err(replaced),
            }
            // What sums say hangs on other lines.
            if lines
                .iter()
                .any(|line| matches!(line, Line::Sums(..) | Line::Summed(_)))
            {
                return Err(Unread::Replaced);
            }
            if !lines.is_empty() {
                let until = self.summed.get(&id_of(&path)).copied();
                let uses = Arc::make_mut(&mut self.uses);
                lines.into_iter().for_each(|line| uses.take(line, until));
            }
        }
        trouble.map_or(Ok(()), |error| Err(Unread::Failed(error)))
    }

    /// Hands on the lines that count, from where the journal was read before, and notes how far.
    pub(super) fn read(
        &mut self,
        path: &Path,
        id: FileId,
        size: u64,
        mut each: impl FnMut(Line),
    ) -> Result<(), Unread> {
        let known = self.files.get(path);
        let start = known.map_or((0, &[][..]), |known| (known.upto, &known.tail));
        let counted = |line: Line| {
            if line.counts() {
                each(line);
            }
        };
        let read = files::open_lines(path).and_then(|file| match id_in(&file.metadata()?) == id {
            true => lines_from(file, start, counted),
            false => Ok(None),
        });
        let (upto, tail) = match read {
            Ok(Some(read)) => read,
            Ok(None) => return Err(Unread::Replaced),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Unread::Replaced),
            Err(error) => return Err(Unread::Failed(failed("read", path, error))),
        };
        let looked = Looked {
            id,
            size,
            upto,
            tail,
        };
        self.files.insert(path.to_owned(), looked);
        Ok(())
    }
}

/// Why the journals were not read.
pub(super) enum Unread {
    /// One of them is another file, or gone, since they were listed.
    Replaced,
    Failed(JournalError),
}

/// Reads whole lines from the byte `from` on, before which `tail` must stand; up to where, and the
/// bytes before that. A last line without a newline is left for the next time: somebody may be
/// writing it. `None` if something else stands there.
pub(super) fn lines_from(
    mut file: File,
    (from, tail): (u64, &[u8]),
    mut each: impl FnMut(Line),
) -> io::Result<Option<(u64, Vec<u8>)>> {
    file.seek(SeekFrom::Start(from - tail.len() as u64))?;
    let mut reader = BufReader::new(file);
    let mut last = vec![0; tail.len()];
    match reader.read_exact(&mut last) {
        Ok(()) if last == tail => {}
        Ok(()) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let (mut upto, mut text) = (from, Vec::new());
    loop {
        text.clear();
        let length = reader.read_until(b'\n', &mut text)?;
        if text.last() != Some(&b'\n') {
            return Ok(Some((upto, last)));
        }
        upto += length as u64;
        if let Some(line) = Line::parse(&text[..length - 1]) {
            each(line);
        }
        last = text[length.saturating_sub(TAIL_BYTES)..].to_owned();
    }
}

/// The id of the journal at `path`.
pub(super) fn id_of(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
