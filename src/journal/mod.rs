//! What was done with memories: uses, and a record of every change.
//!
//! A folder of files that only grow, one for each copy of the store, called by a random id that
//! the copy keeps among its derived things; so two machines never change the same file, and git
//! carries all of them. Promises: a line is added in one write under a lock; a torn or foreign line
//! is passed over; what the lines come to does not depend on their order, on the files they stand
//! in, or on whether they were summed up. Losing a journal loses counts, never a memory. A journal
//! that has become long is left for a new one, and the uses in those that were left become one sum
//! (`sums`); records of changes stay as they are. What follows from uses is left to `lifecycle`.

mod line;
mod own;
mod sums;
mod uses;

use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::io;
use std::io::BufRead;
use std::io::BufReader;
use std::io::Read as _;
use std::io::Seek;
use std::io::SeekFrom;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;

use chrono::DateTime;
use chrono::Utc;

use self::line::Line;
pub use self::uses::Uses;
use crate::files;
use crate::files::Lock;
use crate::model::Stem;

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

/// What is done to a memory that comes back from the archive: it counts for its life.
pub const RESTORE: &str = "restore";
/// The word for confidence that was written into the file as of then.
pub const DECAY: &str = "decay";
/// The word for taking that back.
pub const UNDO_DECAY: &str = "undo decay";
/// The word for the beginning of a session. Where it names memories, it was told by the source that
/// these were imported from.
pub const SESSION: &str = "session";

/// The word for a note that states no time and is older than the commit that first holds its text:
/// of the file that the record names, the text whose id is its reason is as old as the record.
pub const DATE: &str = "date";

/// The word for a change that states another tier: uses up to then earn no longer life.
pub const TIER: &str = "tier";

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
    files: BTreeMap<PathBuf, Looked>,
    /// Up to when the uses of a journal, by its id, are in the sums of another one.
    summed: BTreeMap<String, DateTime<Utc>>,
    uses: Arc<Uses>,
}

/// How a file was when it was read.
struct Looked {
    id: FileId,
    size: u64,
    /// Where the last whole line ended.
    upto: u64,
    /// The bytes before that.
    tail: Vec<u8>,
}

/// The journals, each with its size and which file it is.
type Files = BTreeMap<PathBuf, (u64, FileId)>;

/// Tells a file from another one that was put in its place.
type FileId = (u64, u64);

/// In bytes; a journal that has so many is left for a new one. Each commit holds the current one
/// whole, and a program that starts reads whatever is not summed up.
const LONGEST: u64 = 256 << 10;
/// So many bytes before its end tell a file that grew from another one.
const TAIL_BYTES: usize = 64;
/// How often journals are read again because they were replaced meanwhile.
const MAX_TRIES: usize = 8;

impl Journal {
    /// The journals in `root`, a store's folder, of which this copy keeps its derived things in
    /// `state`. Opens nothing yet.
    pub fn new(root: &Path, state: &Path) -> Journal {
        Journal {
            folder: root.join(files::JOURNALS),
            state: state.to_owned(),
            read: Mutex::default(),
        }
    }

    /// The same journals, in another folder: where a link leads that the store's owner allowed.
    pub fn in_folder(self, folder: PathBuf) -> Journal {
        Journal { folder, ..self }
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
        files::append_lines(&path, text.as_bytes()).map_err(|error| failed("write", &path, error))
    }

    fn lock(&self) -> Result<Lock, JournalError> {
        Ok(files::journal_lock(&self.state)?)
    }

    /// The uses of all memories, as all journals say now; with it why some of them may be missing,
    /// if a journal cannot be read.
    pub fn uses(&self) -> (Arc<Uses>, Option<JournalError>) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let before = Arc::clone(&read.uses);
        for _ in 0..MAX_TRIES {
            let files = match self.files() {
                Ok(files) => files,
                Err(error) => return (Arc::clone(&read.uses), Some(error)),
            };
            // Files only grow; where one shrank, or is another one, everything is read again.
            let is_as_before = read.files.iter().all(|(path, known)| {
                files
                    .get(path)
                    .is_some_and(|(size, id)| *id == known.id && *size >= known.size)
            });
            if !is_as_before {
                *read = Read::default();
            }
            let done = match read.files.is_empty() {
                true => read.all(files),
                false => read.what_was_added(files),
            };
            match done {
                Ok(()) => return (Arc::clone(&read.uses), None),
                Err(Unread::Failed(error)) => return (Arc::clone(&read.uses), Some(error)),
                Err(Unread::Replaced) => *read = Read::default(),
            }
        }
        let restless = io::Error::other("journals are replaced again and again; ask once more");
        (before, Some(failed("read", &self.folder, restless)))
    }

    /// The records of all journals that `wanted` lets pass, oldest first.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read.
    pub fn records(&self, wanted: impl Fn(&Record) -> bool) -> Result<Vec<Record>, JournalError> {
        let mut records = Vec::new();
        for path in self.files()?.into_keys() {
            let each = |line| match line {
                Line::Record(record) if wanted(&record) => records.push(record),
                _ => {}
            };
            match files::open_lines(&path).and_then(|file| lines_from(file, (0, &[]), each)) {
                // A journal without records was summed up since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                other => drop(other.map_err(|error| failed("read", &path, error))?),
            }
        }
        records.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.of.cmp(&b.of)));
        Ok(records)
    }

    /// The journals, each with its size and which file it is.
    fn files(&self) -> Result<Files, JournalError> {
        // A link may lead anywhere, also where somebody else's store is.
        match fs::symlink_metadata(&self.folder) {
            Ok(data) if !data.is_dir() => return Ok(BTreeMap::new()),
            _ => {}
        }
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
            // A copy that a sync service left would count everything twice.
            let name = path.file_name().and_then(|name| name.to_str());
            let is_journal = name
                .and_then(|name| name.strip_suffix(".jsonl"))
                .is_some_and(is_id);
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

impl Read {
    /// Reads all journals from their beginnings. Of one that cannot be read nothing counts, and it is
    /// tried again the next time.
    fn all(&mut self, files: Files) -> Result<(), Unread> {
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
                sums::raise(&mut self.summed, until);
            }
        }
        let uses = Arc::make_mut(&mut self.uses);
        for (id, lines) in journals {
            uses.take_journal(lines, self.summed.get(&id).copied());
        }
        trouble.map_or(Ok(()), |error| Err(Unread::Failed(error)))
    }

    /// Reads what was added to journals since they were read.
    fn what_was_added(&mut self, files: Files) -> Result<(), Unread> {
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
    fn read(
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
enum Unread {
    /// One of them is another file, or gone, since they were listed.
    Replaced,
    Failed(JournalError),
}

/// Reads whole lines from the byte `from` on, before which `tail` must stand; up to where, and the
/// bytes before that. A last line without a newline is left for the next time: somebody may be
/// writing it. `None` if something else stands there.
fn lines_from(
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
fn id_of(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Scene {
        folder: tempfile::TempDir,
        journal: Journal,
    }

    fn scene() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let journal = opened(folder.path());
        Scene { folder, journal }
    }

    fn opened(root: &Path) -> Journal {
        let state = root.join(".memdir");
        fs::create_dir_all(state.join("locks")).unwrap();
        Journal::new(root, &state)
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn counted(journal: &Journal) -> Arc<Uses> {
        let (uses, trouble) = journal.uses();
        assert!(trouble.is_none(), "{trouble:?}");
        uses
    }

    fn stem(number: u32) -> Stem {
        Stem::from_file_name(&format!("20260101_000000_{number:08x}"))
    }

    fn names(root: &Path) -> Vec<String> {
        let files = fs::read_dir(root.join("journal")).unwrap();
        let mut names: Vec<String> = files
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn uses_are_counted_by_whoever_reads_them() {
        let Scene { folder, journal } = scene();
        assert!(counted(&journal).is_empty());
        journal
            .used(at("2026-03-01T10:00:00Z"), &[stem(1), stem(2)])
            .unwrap();
        journal
            .used(at("2026-03-02T10:00:00Z"), &[stem(1)])
            .unwrap();
        journal.used(at("2026-03-02T10:00:00Z"), &[]).unwrap();
        for journal in [journal, opened(folder.path())] {
            let uses = counted(&journal);
            let usage = uses.of(stem(1).as_str()).unwrap();
            assert_eq!(
                (usage.count(), usage.last()),
                (2, Some(at("2026-03-02T10:00:00Z")))
            );
            assert_eq!(uses.of(stem(2).as_str()).unwrap().count(), 1);
            assert_eq!(uses.of(stem(3).as_str()), None);
        }
        assert_eq!(names(folder.path()).len(), 1);
    }

    #[test]
    fn what_is_added_later_is_read_alone_and_once() {
        let Scene { folder, journal } = scene();
        let now = at("2026-03-01T10:00:00Z");
        let other = opened(folder.path());
        for count in 1..=3 {
            other.used(now, &[stem(1)]).unwrap();
            let uses = counted(&journal);
            assert_eq!(uses.of(stem(1).as_str()).unwrap().count(), count);
            assert!(Arc::ptr_eq(&uses, &counted(&journal)), "nothing is new");
        }
    }

    #[test]
    fn torn_and_foreign_lines_are_passed_over() {
        let Scene { folder, journal } = scene();
        let now = at("2026-03-01T10:00:00Z");
        journal.used(now, &[stem(1)]).unwrap();
        let path = folder.path().join("journal").join(&names(folder.path())[0]);
        let mut bytes = fs::read(&path).unwrap();
        let whole = bytes.clone();
        bytes.extend(b"\xff\xfe no line\n\n{\"t\":\"2026-03-01T10:00:00Z\",\"used\":[\"2026");
        fs::write(&path, &bytes).unwrap();
        assert_eq!(
            counted(&opened(folder.path()))
                .of(stem(1).as_str())
                .unwrap()
                .count(),
            1
        );
        journal.used(now, &[stem(1)]).unwrap();
        assert_eq!(
            counted(&opened(folder.path()))
                .of(stem(1).as_str())
                .unwrap()
                .count(),
            2
        );
        // Of a journal that is cut anywhere, what is whole counts.
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            assert!(counted(&opened(folder.path())).is_empty());
        }
        // What is no journal is not looked at.
        fs::write(folder.path().join("journal/notes.txt"), &whole).unwrap();
        fs::create_dir(folder.path().join("journal/a.jsonl")).unwrap();
        assert!(counted(&opened(folder.path())).is_empty());
    }

    #[test]
    fn a_copy_of_the_store_writes_a_journal_of_its_own() {
        let Scene { folder, journal } = scene();
        let now = at("2026-03-01T10:00:00Z");
        journal.used(now, &[stem(1)]).unwrap();
        let copy = tempfile::tempdir().unwrap();
        let other = opened(copy.path());
        fs::create_dir(copy.path().join("journal")).unwrap();
        for name in names(folder.path()) {
            let from = folder.path().join("journal").join(&name);
            fs::copy(from, copy.path().join("journal").join(&name)).unwrap();
        }
        let note = Path::new(".memdir/journal-id");
        fs::copy(folder.path().join(note), copy.path().join(note)).unwrap();
        other.used(now, &[stem(1)]).unwrap();
        assert_eq!(names(copy.path()).len(), 2);
        assert_eq!(counted(&other).of(stem(1).as_str()).unwrap().count(), 2);
        // The same copy goes on with its own.
        other.used(now, &[stem(1)]).unwrap();
        assert_eq!(names(copy.path()).len(), 2);
    }

    #[test]
    fn records_come_in_the_order_of_time() {
        let Scene { folder, journal } = scene();
        let record = |hour: u32, did: &str, number: u32| Record {
            at: at(&format!("2026-03-01T{hour:02}:00:00Z")),
            did: did.to_owned(),
            of: vec![stem(number).as_str().to_owned()],
            client: String::new(),
            why: None,
        };
        journal
            .record(vec![record(3, "forget", 1), record(1, "remember", 1)])
            .unwrap();
        fs::remove_file(folder.path().join(".memdir/journal-id")).unwrap();
        journal
            .record(vec![record(2, "update", 1), record(2, "update", 2)])
            .unwrap();
        let of_one = journal
            .records(|record| record.of == [stem(1).as_str()])
            .unwrap();
        let did: Vec<&str> = of_one.iter().map(|record| record.did.as_str()).collect();
        assert_eq!(did, ["remember", "update", "forget"]);
    }

    #[test]
    fn who_comes_back_from_the_archive_is_known() {
        let Scene {
            journal,
            folder: _folder,
        } = scene();
        let record = |did: &str, hour: u32| Record {
            at: at(&format!("2026-03-01T{hour:02}:00:00Z")),
            did: did.to_owned(),
            of: vec![stem(1).as_str().to_owned()],
            client: String::new(),
            why: None,
        };
        journal
            .record(vec![
                record("forget", 1),
                record("restore", 2),
                record("update", 3),
            ])
            .unwrap();
        let uses = counted(&journal);
        let usage = uses.of(stem(1).as_str()).unwrap();
        assert_eq!(
            (usage.restored(), usage.count()),
            (Some(at("2026-03-01T02:00:00Z")), 0)
        );
    }

    #[test]
    fn a_file_put_in_the_place_of_a_journal_is_read_from_its_beginning() {
        let Scene { folder, journal } = scene();
        let now = at("2026-03-01T10:00:00Z");
        journal.used(now, &[stem(1)]).unwrap();
        let path = folder.path().join("journal").join(&names(folder.path())[0]);
        assert_eq!(counted(&journal).of(stem(1).as_str()).unwrap().count(), 1);
        // Written in place, longer than before: it is the same file, and has not grown.
        let line = |number| Line::Used(now, vec![stem(number).as_str().to_owned()]).render();
        fs::write(&path, line(2).repeat(3)).unwrap();
        let uses = counted(&journal);
        assert_eq!(uses.of(stem(1).as_str()), None);
        assert_eq!(uses.of(stem(2).as_str()).unwrap().count(), 3);
    }
}
