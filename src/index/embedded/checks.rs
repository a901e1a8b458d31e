//! Record of the index files whose checksums were verified, so that none is read again for it.
//!
//! Every file of a segment ends with a checksum. Reading all of them at each start would cost as
//! much as the index is large; so a file is proved once, and what was proved is written down, by
//! name, size, modification time and inode, in a small file beside them. A segment that this program
//! just wrote needs no proof, as long as it looks as it did when its last byte was written
//! ([`Written`]). Large files are read a piece at a time.
//!
//! The record is a hint: whoever cannot write it proves again, and two processes that write it at
//! once lose at most a proof.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

use super::failure::{locked, unusable};
use crate::beneath::{Access, Facts, Folder};
use crate::index::IndexError;
use crate::model::Stamp;

/// Verified files of one index, and the file that is being verified.
#[derive(Default)]
pub(super) struct Checks {
    whole: BTreeMap<String, Proof>,
    reading: Option<Reading>,
    /// The record on disk is another.
    is_changed: bool,
}

/// Stamps of the files that this process wrote, taken when the last byte was written. A file that
/// was changed since has another stamp, and its checksum is verified.
#[derive(Debug, Default)]
pub(super) struct Written(Mutex<BTreeMap<String, Stamp>>);

impl Written {
    /// Notes the file `name`, to whose end `bytes` were written.
    ///
    /// # Errors
    ///
    /// Fails if it holds fewer: it was cut meanwhile, and what is left of it must not be used.
    pub fn note(&self, name: &str, file: &File, bytes: u64) -> io::Result<()> {
        let facts = Facts::of(file)?;
        if facts.size != bytes {
            return Err(io::Error::other(format!(
                "{name} was changed while it was written"
            )));
        }
        locked(&self.0).insert(name.to_owned(), stamp_of(&facts));
        Ok(())
    }

    /// Takes the files that were noted since the last call.
    pub fn take(&self) -> BTreeMap<String, Stamp> {
        std::mem::take(&mut *locked(&self.0))
    }
}

/// Moment of a file's verification, and its stamp then.
#[derive(Clone, Copy, PartialEq)]
struct Proof {
    stamp: Stamp,
    /// Nanoseconds since 1970.
    at: i64,
}

/// A file that is being read.
struct Reading {
    name: String,
    stamp: Stamp,
    file: File,
    left: u64,
    hasher: crc32fast::Hasher,
    expected: u32,
}

/// The record's name in the index folder.
const RECORD: &str = "checked";
/// Maximum age of a verification, a month: disks can lose data silently.
const PROOF_NANOS: i64 = 30 * 24 * 3_600 * 1_000_000_000;
/// Number of bytes of one read: a small part of any time budget.
const PIECE_BYTES: usize = 256 << 10;
/// Number of bytes at the end of a Tantivy footer: its length and [`FOOTER_MAGIC`].
const FOOTER_END_BYTES: u64 = 8;
const FOOTER_MAGIC: u32 = 1337;
const MAX_FOOTER_BYTES: u64 = 50_000;

impl Checks {
    /// Reads the record in `folder`.
    pub fn of(folder: &Path) -> Checks {
        let mut checks = Checks::default();
        checks.learn(folder);
        checks
    }

    /// Adds the entries of the record in `folder`; none if it cannot be read.
    pub fn learn(&mut self, folder: &Path) {
        let text = Folder::of_state(folder).and_then(|folder| folder.read_derived(RECORD));
        let text = String::from_utf8(text.unwrap_or_default()).unwrap_or_default();
        let line = |line: &str| {
            let mut fields = line.split(' ');
            let name = fields.next()?.to_owned();
            let stamp = Stamp {
                size: fields.next()?.parse().ok()?,
                modified: fields.next()?.parse().ok()?,
                inode: fields.next()?.parse().ok()?,
            };
            let at = fields.next()?.parse().ok()?;
            Some((name, Proof { stamp, at }))
        };
        for (name, proof) in text.lines().filter_map(line) {
            self.whole.entry(name).or_insert(proof);
        }
    }

    /// Writes the record in `folder`, if there is something new.
    pub fn write(&mut self, folder: &Path) {
        if !self.is_changed {
            return;
        }
        let lines = self.whole.iter().map(|(name, Proof { stamp, at })| {
            format!(
                "{name} {} {} {} {at}\n",
                stamp.size, stamp.modified, stamp.inode
            )
        });
        let text: String = lines.collect();
        let folder = Folder::of_state(folder);
        match folder.and_then(|folder| folder.write_derived(RECORD, text.as_bytes(), true)) {
            Ok(()) => self.is_changed = false,
            Err(error) => tracing::debug!("cannot note which index files are whole: {error}"),
        }
    }

    /// Adds files that this process wrote, with the stamps that they had then.
    pub fn trust(&mut self, written: impl IntoIterator<Item = (String, Stamp)>, now: i64) {
        for (name, stamp) in written {
            self.note(&name, stamp, now);
        }
    }

    /// Returns the number of bytes of the `files` that are not verified.
    pub fn unproved_bytes(&self, folder: &Path, files: &[PathBuf]) -> u64 {
        let Ok(folder) = Folder::of_state(folder) else {
            return 0;
        };
        let unproved = files.iter().filter_map(|path| {
            let stamp = stamp(&folder, path.to_str()?).ok()?;
            let proof = self.whole.get(path.to_str()?);
            proof
                .is_none_or(|proof| proof.stamp != stamp)
                .then_some(stamp.size)
        });
        unproved.sum()
    }

    /// Verifies those of `files` that are not verified, or were a month before `now` (nanoseconds
    /// since 1970), until `deadline`. Returns whether all are done.
    ///
    /// # Errors
    ///
    /// [`IndexError::Unusable`] if one is damaged.
    pub fn prove(
        &mut self,
        folder: &Path,
        files: &[PathBuf],
        now: i64,
        deadline: Option<Instant>,
    ) -> Result<bool, IndexError> {
        let folder = match Folder::of_state(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            other => other.map_err(|error| unusable(&error))?,
        };
        for path in files {
            let Some(name) = path.to_str() else { continue };
            let stamp = match stamp(&folder, name) {
                Ok(stamp) => stamp,
                // Merged into another meanwhile, or a part that this segment does not have.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unusable(&error)),
            };
            let proof = self.whole.get(name);
            let is_proved =
                |proof: &Proof| proof.stamp == stamp && now.saturating_sub(proof.at) < PROOF_NANOS;
            if proof.is_some_and(is_proved) {
                continue;
            }
            let begun = self
                .reading
                .take()
                .filter(|reading| reading.name == name && reading.stamp == stamp);
            let mut reading = match begun {
                Some(reading) => reading,
                None => match Reading::begin(&folder, name, stamp)? {
                    Some(reading) => reading,
                    None => continue,
                },
            };
            match reading.go_on(deadline).map_err(|error| unusable(&error))? {
                None => {
                    self.reading = Some(reading);
                    return Ok(false);
                }
                Some(true) => self.note(name, stamp, now),
                Some(false) => return Err(damaged(name)),
            }
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(path == files.last().unwrap_or(path));
            }
        }
        Ok(true)
    }

    /// Removes the entries of all files but `files`.
    pub fn keep_only(&mut self, files: &[PathBuf]) {
        let before = self.whole.len();
        self.whole
            .retain(|name, _| files.iter().any(|path| path.as_os_str() == name.as_str()));
        self.is_changed |= self.whole.len() != before;
    }

    fn note(&mut self, name: &str, stamp: Stamp, at: i64) {
        self.whole.insert(name.to_owned(), Proof { stamp, at });
        self.is_changed = true;
    }
}

/// Verifies all of `files`, whatever is on record, and returns the names of the damaged ones.
///
/// # Errors
///
/// Fails if one cannot be read.
pub(super) fn damaged_files(folder: &Path, files: &[PathBuf]) -> Result<Vec<String>, IndexError> {
    let mut damaged = Vec::new();
    for path in files {
        let mut checks = Checks::default();
        match checks.prove(folder, std::slice::from_ref(path), 0, None) {
            Ok(_) => {}
            Err(IndexError::Unusable { .. }) => damaged.push(path.display().to_string()),
            Err(error) => return Err(error),
        }
    }
    damaged.sort();
    Ok(damaged)
}

impl Reading {
    /// Opens a file and reads its footer; `None` if the file is gone.
    fn begin(folder: &Folder, name: &str, stamp: Stamp) -> Result<Option<Reading>, IndexError> {
        let begin = || -> io::Result<Option<Reading>> {
            let mut file = folder.open_file(name, Access::Read)?;
            if !file.metadata()?.is_file() {
                return Ok(None);
            }
            let Some((expected, left)) = footer(&mut file)? else {
                return Ok(None);
            };
            file.rewind()?;
            Ok(Some(Reading {
                name: name.to_owned(),
                stamp,
                file,
                left,
                hasher: crc32fast::Hasher::new(),
                expected,
            }))
        };
        match begin() {
            Ok(Some(reading)) => Ok(Some(reading)),
            Ok(None) => Err(damaged(name)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unusable(&error)),
        }
    }

    /// Reads on, and returns whether the checksum is right; `None` if `deadline` passed before the end.
    fn go_on(&mut self, deadline: Option<Instant>) -> io::Result<Option<bool>> {
        let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(self.left).unwrap_or(usize::MAX))];
        while self.left > 0 {
            let length = piece
                .len()
                .min(usize::try_from(self.left).unwrap_or(usize::MAX));
            let read = self.file.read(&mut piece[..length])?;
            if read == 0 {
                return Ok(Some(false));
            }
            self.hasher.update(&piece[..read]);
            self.left -= read as u64;
            // Checked after a read, so that every call makes progress.
            if self.left > 0 && deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(None);
            }
        }
        Ok(Some(self.hasher.clone().finalize() == self.expected))
    }
}

/// Reads the checksum in a file's footer and the number of bytes that it covers; `None` if there is
/// no footer. The footer is JSON, its length, and [`FOOTER_MAGIC`].
fn footer(file: &mut File) -> io::Result<Option<(u32, u64)>> {
    let size = file.metadata()?.len();
    if size < FOOTER_END_BYTES {
        return Ok(None);
    }
    let mut end = [0; FOOTER_END_BYTES as usize];
    file.seek(SeekFrom::Start(size - FOOTER_END_BYTES))?;
    file.read_exact(&mut end)?;
    let number = |at: usize| u32::from_le_bytes([end[at], end[at + 1], end[at + 2], end[at + 3]]);
    let length = u64::from(number(0));
    if number(4) != FOOTER_MAGIC || length > MAX_FOOTER_BYTES || length + FOOTER_END_BYTES > size {
        return Ok(None);
    }
    let body = size - FOOTER_END_BYTES - length;
    file.seek(SeekFrom::Start(body))?;
    let mut json = vec![0; length as usize];
    file.read_exact(&mut json)?;
    let footer: Option<serde_json::Value> = serde_json::from_slice(&json).ok();
    let crc = footer.and_then(|footer| u32::try_from(footer.get("crc")?.as_u64()?).ok());
    Ok(crc.map(|crc| (crc, body)))
}

fn damaged(name: &str) -> IndexError {
    IndexError::Unusable {
        reason: format!("{name} is damaged"),
    }
}

fn stamp(folder: &Folder, name: &str) -> io::Result<Stamp> {
    Ok(stamp_of(&folder.facts(name)?))
}

fn stamp_of(facts: &Facts) -> Stamp {
    Stamp {
        size: facts.size,
        modified: facts.modified,
        inode: facts.id.1,
    }
}
