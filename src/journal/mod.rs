//! What was done with memories: uses, and a record of every change.
//!
//! A folder of files that only grow, one for each copy of the store, called by a random id that
//! the copy keeps among its derived things; so two machines never change the same file, and git
//! carries all of them. Promises: a line is added in one write under a lock; a torn or foreign line
//! is passed over; what the lines come to does not depend on their order, on the files they stand
//! in, or on whether they were summed up by month. Losing a journal loses counts, never a memory.
//! What follows from uses is left to `lifecycle`.

mod line;

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::fs;
use std::fs::File;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use chrono::DateTime;
use chrono::Datelike;
use chrono::NaiveDate;
use chrono::Utc;

use self::line::Line;
use crate::files;
use crate::files::Lock;
use crate::model::Stem;
use crate::model::Usage;

/// One change, for whoever asks later what happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    pub at: DateTime<Utc>,
    /// What was done: the tool or command, such as `remember` or `forget`.
    pub did: String,
    /// The stems of the memories that it was done to.
    pub of: Vec<String>,
    /// The program that asked for it; empty if it did not say what it is.
    pub client: String,
    pub why: Option<String>,
}

/// Why a journal could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("cannot {what} the journal {}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(transparent)]
    Locked(#[from] files::FilesError),
}

/// The uses of all memories, by stem.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uses(HashMap<String, Usage>);

impl Uses {
    /// Those of one memory; `None` if it was never used.
    pub fn of(&self, stem: &str) -> Option<&Usage> {
        self.0.get(stem)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Used(at, stems) => {
                for stem in stems {
                    self.0.entry(stem).or_default().add(at);
                }
            }
            Line::Month(month) => {
                for (stem, usage) in month {
                    self.0.entry(stem).or_default().add_all(&usage);
                }
            }
            Line::Record(_) => {}
        }
    }
}

/// The journals of a store.
pub struct Journal {
    /// Holds all of them.
    folder: PathBuf,
    /// Derived things of this copy: its id, the lock.
    state: PathBuf,
    read: Mutex<Read>,
}

/// What was read so far.
#[derive(Default)]
struct Read {
    /// Up to which byte of each file, and which file it was.
    upto: BTreeMap<PathBuf, (u64, FileId)>,
    uses: Arc<Uses>,
}

/// Tells a file from another one that was put in its place.
type FileId = (u64, u64);

/// A longer line is nobody's: a month of a hundred thousand memories has 10 MB.
const LONGEST_LINE: usize = 64 << 20;

impl Journal {
    /// The journals in `root`, a store's folder, of which this copy keeps its derived things in
    /// `state`. Opens nothing yet.
    pub fn new(root: &Path, state: &Path) -> Journal {
        Journal {
            folder: root.join("journal"),
            state: state.to_owned(),
            read: Mutex::default(),
        }
    }

    /// Counts one use of each of the memories.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written.
    pub fn used(&self, at: DateTime<Utc>, stems: &[Stem]) -> Result<(), JournalError> {
        if stems.is_empty() {
            return Ok(());
        }
        let stems = stems.iter().map(|stem| stem.as_str().to_owned());
        self.append(&[Line::Used(at, stems.collect())])
    }

    /// Adds `records`.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written.
    pub fn record(&self, records: Vec<Record>) -> Result<(), JournalError> {
        let lines: Vec<Line> = records.into_iter().map(Line::Record).collect();
        self.append(&lines)
    }

    fn append(&self, lines: &[Line]) -> Result<(), JournalError> {
        let text: String = lines.iter().map(Line::render).collect();
        let _lock = self.lock()?;
        let path = self.own()?;
        files::append_lines(&path, &text).map_err(|error| failed("write", &path, error))
    }

    fn lock(&self) -> Result<Lock, JournalError> {
        let path = self.state.join("locks").join("journal.lock");
        Ok(Lock::take(&path, "the journal")?)
    }

    /// The file that this copy of the store writes. The caller holds the lock.
    fn own(&self) -> Result<PathBuf, JournalError> {
        files::create_private_folder(&self.folder)
            .map_err(|error| failed("make a folder for", &self.folder, error))?;
        let note = self.state.join("journal-id");
        let here = file_id(&self.folder).map_err(|error| failed("look at", &self.folder, error))?;
        let here = format!("{}:{}", here.0, here.1);
        let noted = fs::read_to_string(&note).unwrap_or_default();
        // A copy of the whole store has another folder, and so an id of its own.
        let id = match noted.split_once(' ') {
            Some((id, place)) if place == here && is_id(id) => id.to_owned(),
            _ => {
                let id = uuid::Uuid::new_v4().simple().to_string()[..16].to_owned();
                files::write_derived(&note, format!("{id} {here}").as_bytes())
                    .map_err(|error| failed("note the name of", &note, error))?;
                id
            }
        };
        Ok(self.folder.join(format!("{id}.jsonl")))
    }

    /// The uses of all memories, as all journals say now.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read.
    pub fn uses(&self) -> Result<Arc<Uses>, JournalError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let files = self.files()?;
        // Files only grow; where one shrank, or is another one, everything is read again.
        let is_as_before = read.upto.iter().all(|(path, (upto, id))| {
            files
                .get(path)
                .is_some_and(|(size, now)| now == id && size >= upto)
        });
        if !is_as_before {
            *read = Read::default();
        }
        let mut uses = None;
        for (path, (size, id)) in files {
            let from = read.upto.get(&path).map_or(0, |(upto, _)| *upto);
            if size <= from {
                continue;
            }
            let uses = uses.get_or_insert_with(|| read.uses.as_ref().clone());
            let upto = lines_from(&path, from, |line| uses.take(line))
                .map_err(|error| failed("read", &path, error))?;
            read.upto.insert(path, (upto, id));
        }
        if let Some(uses) = uses {
            read.uses = Arc::new(uses);
        }
        Ok(Arc::clone(&read.uses))
    }

    /// The records of all journals that `wanted` lets pass, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read.
    pub fn records(&self, wanted: impl Fn(&Record) -> bool) -> Result<Vec<Record>, JournalError> {
        let mut records = Vec::new();
        for path in self.files()?.into_keys() {
            lines_from(&path, 0, |line| match line {
                Line::Record(record) if wanted(&record) => records.push(record),
                _ => {}
            })
            .map_err(|error| failed("read", &path, error))?;
        }
        records.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.of.cmp(&b.of)));
        Ok(records)
    }

    /// Sums up this copy's uses of months before that of `now`, a line a month; how many lines
    /// there are fewer. Records stay as they are.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read or written; then it is as it was.
    pub fn compact(&self, now: DateTime<Utc>) -> Result<usize, JournalError> {
        let _lock = self.lock()?;
        let path = self.own()?;
        let this_month = month_of(now.date_naive());
        let mut months: BTreeMap<NaiveDate, Uses> = BTreeMap::new();
        let (mut kept, mut before) = (Vec::new(), 0);
        let read = lines_from(&path, 0, |line| {
            before += 1;
            match line {
                Line::Used(at, _) if month_of(at.date_naive()) < this_month => {
                    let month = months.entry(month_of(at.date_naive())).or_default();
                    month.take(line);
                }
                Line::Month(uses) => {
                    for (stem, usage) in uses {
                        let Some((first, _)) = usage.days().next() else {
                            continue;
                        };
                        let month = months.entry(month_of(first)).or_default();
                        month.0.entry(stem).or_default().add_all(&usage);
                    }
                }
                other => kept.push(other),
            }
        });
        match read {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(failed("read", &path, error)),
        }
        let after = months.len() + kept.len();
        if after >= before {
            return Ok(0);
        }
        let months = months
            .into_values()
            .map(|Uses(uses)| Line::Month(uses.into_iter().collect()));
        let text: String = months.chain(kept).map(|line| line.render()).collect();
        files::write_synced(&path, text.as_bytes())
            .map_err(|error| failed("write", &path, error))?;
        Ok(before - after)
    }

    /// The journals, each with its size and which file it is.
    fn files(&self) -> Result<BTreeMap<PathBuf, (u64, FileId)>, JournalError> {
        let names = match fs::read_dir(&self.folder) {
            Ok(names) => names,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
            Err(error) => return Err(failed("look for", &self.folder, error)),
        };
        let mut files = BTreeMap::new();
        for name in names {
            let path = name
                .map_err(|error| failed("look for", &self.folder, error))?
                .path();
            let is_journal = path
                .extension()
                .is_some_and(|extension| extension == "jsonl");
            let Ok(data) = fs::symlink_metadata(&path) else {
                continue;
            };
            if is_journal && data.is_file() {
                files.insert(path, (data.len(), id_in(&data)));
            }
        }
        Ok(files)
    }
}

fn failed(what: &'static str, path: &Path, source: io::Error) -> JournalError {
    JournalError::Io {
        what,
        path: path.to_owned(),
        source,
    }
}

fn is_id(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The first day of the month.
fn month_of(day: NaiveDate) -> NaiveDate {
    day.with_day(1).unwrap_or(day)
}

fn file_id(path: &Path) -> io::Result<FileId> {
    Ok(id_in(&fs::metadata(path)?))
}

#[cfg(unix)]
fn id_in(data: &fs::Metadata) -> FileId {
    use std::os::unix::fs::MetadataExt;
    (data.dev(), data.ino())
}

#[cfg(not(unix))]
fn id_in(data: &fs::Metadata) -> FileId {
    let made = data.created().ok();
    let since = made.and_then(|made| made.duration_since(std::time::UNIX_EPOCH).ok());
    (0, since.map_or(0, |since| since.as_nanos() as u64))
}

/// Reads whole lines from the byte `from` on; up to where. A last line without a newline is left
/// for the next time: somebody may be writing it.
fn lines_from(path: &Path, from: u64, mut each: impl FnMut(Line)) -> io::Result<u64> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::new(file);
    let (mut upto, mut text) = (from, Vec::new());
    loop {
        text.clear();
        let length = reader.read_until(b'\n', &mut text)?;
        if text.pop() != Some(b'\n') {
            return Ok(upto);
        }
        upto += length as u64;
        if text.len() > LONGEST_LINE {
            continue;
        }
        if let Some(line) = Line::parse(&text) {
            each(line);
        }
    }
}

#[cfg(test)]
mod tests;
