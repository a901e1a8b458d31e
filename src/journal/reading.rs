//! Reads journals: whole ones, or the lines that were added since they were read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::{BufRead, BufReader, Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::error::{JournalError, failed};
use super::line::Line;
use super::uses::Uses;
use crate::files::{self, FileId};

/// Raises each moment in `known` to that in `until`.
pub(super) fn raise(
    known: &mut BTreeMap<String, DateTime<Utc>>,
    until: &BTreeMap<String, DateTime<Utc>>,
) {
    for (id, at) in until {
        let known = known.entry(id.clone()).or_insert(*at);
        *known = (*known).max(*at);
    }
}

/// Sums of the lines that were read so far.
#[derive(Default)]
pub(super) struct Read {
    /// State of each journal when it was read.
    pub(super) files: BTreeMap<PathBuf, Looked>,
    /// Moments up to which the uses of a journal, by its id, are in the sums of another one.
    pub(super) summed: BTreeMap<String, DateTime<Utc>>,
    /// Uses of all memories.
    pub(super) uses: Arc<Uses>,
}

/// State of a file when it was read.
pub(super) struct Looked {
    /// Id of the file.
    pub(super) id: FileId,
    /// Size in bytes.
    pub(super) size: u64,
    /// Offset of the end of the last whole line.
    pub(super) upto: u64,
    /// Last bytes before that, at most [`TAIL_BYTES`].
    pub(super) tail: Vec<u8>,
}

/// Journals, each with its size and file id.
pub(super) type Files = BTreeMap<PathBuf, (u64, FileId)>;

/// Number of bytes before the end that are compared to detect another file.
pub(super) const TAIL_BYTES: usize = 64;

/// Returns whether a text is the id of a journal.
pub(super) fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl Read {
    /// Reads all journals from their beginnings. One that cannot be read does not count, and is tried again
    /// the next time.
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

    /// Reads the lines that were added to journals since they were read.
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

    /// Calls `each` with the new lines that count, and records the offset.
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
        let read = files::open_lines(path).and_then(|file| match files::file_id(&file)? == id {
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

/// Reason why the journals were not read.
pub(super) enum Unread {
    /// One of them was replaced or removed since they were listed.
    Replaced,
    Failed(JournalError),
}

/// Reads whole lines from the byte `from` on, before which the file must hold `tail`; returns the new
/// offset and the bytes before it. A last line without a newline is left for the next time, since it may
/// be incomplete. `None` if the file holds something else.
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

/// Returns the id of the journal at `path`.
pub(super) fn id_of(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
