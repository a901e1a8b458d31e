//! What was done with memories: uses, and a record of every change.
//!
//! A folder of files that only grow, one for each copy of the store, called by a random id that
//! the copy keeps among its derived things; so two machines never change the same file, and git
//! carries all of them. Promises: a line is added in one write under a lock; a torn or foreign line
//! is passed over; what the lines come to does not depend on their order, on the files they stand
//! in, or on whether they were summed up by month. Losing a journal loses counts, never a memory.
//! What follows from uses is left to `lifecycle`.

mod line;
mod uses;

use std::collections::BTreeMap;
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
    uses: Arc<Uses>,
}

/// How a file was when it was read.
struct Looked {
    id: FileId,
    size: u64,
    /// Where the last whole line ended.
    upto: u64,
}

/// Tells a file from another one that was put in its place.
type FileId = (u64, u64);

/// In bytes; what is longer is not added to.
const LONGEST: u64 = 4 << 20;

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

    /// The file that this copy of the store writes, made known if it is the first time. The
    /// caller holds the lock.
    fn own(&self) -> Result<PathBuf, JournalError> {
        files::create_private_folder(&self.folder)
            .map_err(|error| failed("make a folder for", &self.folder, error))?;
        if !fs::symlink_metadata(&self.folder).is_ok_and(|data| data.is_dir()) {
            let error = io::Error::new(io::ErrorKind::NotADirectory, "it is no folder");
            return Err(failed("look for", &self.folder, error));
        }
        // A long one is left for a new one: what git carries has its limits.
        if let Some(path) = self.known()
            && fs::metadata(&path).map_or(0, |data| data.len()) < LONGEST
        {
            return Ok(path);
        }
        let id = uuid::Uuid::new_v4().simple().to_string()[..16].to_owned();
        let note = self.note();
        let here = self
            .here()
            .map_err(|error| failed("look at", &self.folder, error))?;
        files::write_derived(&note, format!("{id} {here}").as_bytes())
            .map_err(|error| failed("note the name of", &note, error))?;
        Ok(self.folder.join(format!("{id}.jsonl")))
    }

    /// The file that this copy of the store writes at present.
    fn known(&self) -> Option<PathBuf> {
        let noted = fs::read_to_string(self.note()).ok()?;
        let (id, place) = noted.split_once(' ')?;
        // A copy of the whole store has another folder, and so an id of its own.
        let is_own = is_id(id) && self.here().is_ok_and(|here| here == place);
        is_own.then(|| self.folder.join(format!("{id}.jsonl")))
    }

    /// The name of the file that only this copy of the store writes, if it has one.
    pub fn own_name(&self) -> Option<String> {
        let path = self.known()?;
        Some(path.file_name()?.to_str()?.to_owned())
    }

    fn note(&self) -> PathBuf {
        self.state.join("journal-id")
    }

    /// Tells the folder from a copy of it.
    fn here(&self) -> io::Result<String> {
        files::place_of(&self.folder)
    }

    /// The uses of all memories, as all journals say now; with it why some of them may be missing,
    /// if a journal cannot be read.
    pub fn uses(&self) -> (Arc<Uses>, Option<JournalError>) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut trouble = None;
        for (path, (size, id)) in files {
            let known = read.files.get(&path);
            if known.is_some_and(|known| known.size == size) {
                continue;
            }
            let mut lines = Vec::new();
            let from = known.map_or(0, |known| known.upto);
            match lines_from(&path, from, |line| lines.push(line)) {
                Ok(upto) => {
                    read.files.insert(path, Looked { id, size, upto });
                }
                Err(error) => {
                    trouble = Some(failed("read", &path, error));
                    continue;
                }
            }
            lines.retain(Line::counts);
            if !lines.is_empty() {
                let uses = Arc::make_mut(&mut read.uses);
                lines.into_iter().for_each(|line| uses.take(line));
            }
        }
        (Arc::clone(&read.uses), trouble)
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
        if self.known().is_none() {
            return Ok(0);
        }
        let _lock = self.lock()?;
        let Some(path) = self.known() else {
            return Ok(0);
        };
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(failed("read", &path, error)),
        };
        let this_month = month_of(now.date_naive());
        let mut months: BTreeMap<NaiveDate, Uses> = BTreeMap::new();
        // Whatever is not summed up stays as it is written, also what this version cannot read.
        let (mut kept, mut before): (Vec<&[u8]>, usize) = (Vec::new(), 0);
        for text in bytes
            .split(|byte| *byte == b'\n')
            .filter(|text| !text.is_empty())
        {
            before += 1;
            match Line::parse(text) {
                Some(line @ Line::Used(at, _)) if month_of(at.date_naive()) < this_month => {
                    months
                        .entry(month_of(at.date_naive()))
                        .or_default()
                        .take(line);
                }
                Some(Line::Month(uses)) => {
                    for (stem, usage) in uses {
                        let Some((first, _)) = usage.days().next() else {
                            continue;
                        };
                        let month = months.entry(month_of(first)).or_default();
                        month.0.entry(stem).or_default().add_all(&usage);
                    }
                }
                _ => kept.push(text),
            }
        }
        let after = months.len() + kept.len();
        if after >= before {
            return Ok(0);
        }
        let months = months.into_values();
        let mut text: Vec<u8> = months
            .flat_map(|Uses(uses)| {
                Line::Month(uses.into_iter().collect())
                    .render()
                    .into_bytes()
            })
            .collect();
        for line in kept {
            text.extend(line);
            text.push(b'\n');
        }
        files::write_synced(&path, &text).map_err(|error| failed("write", &path, error))?;
        Ok(before - after)
    }

    /// The journals, each with its size and which file it is.
    fn files(&self) -> Result<BTreeMap<PathBuf, (u64, FileId)>, JournalError> {
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

/// The first day of the month.
fn month_of(day: NaiveDate) -> NaiveDate {
    day.with_day(1).unwrap_or(day)
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
        if let Some(line) = Line::parse(&text) {
            each(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use chrono::TimeDelta;
    use proptest::prelude::*;

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
    fn a_journal_of_a_year_becomes_twelve_lines_of_uses() {
        let Scene { folder, journal } = scene();
        let start = at("2026-01-01T00:30:00Z");
        for day in 0..400 {
            journal
                .used(
                    start + TimeDelta::days(day),
                    &[stem(1), stem(day as u32 % 7)],
                )
                .unwrap();
        }
        let record = Record {
            at: start,
            did: "remember".to_owned(),
            of: vec![stem(1).as_str().to_owned()],
            client: "a client".to_owned(),
            why: Some("why not".to_owned()),
        };
        journal.record(vec![record.clone()]).unwrap();
        let before = counted(&journal);
        let now = start + TimeDelta::days(400);
        assert!(journal.compact(now).unwrap() > 350);
        assert_eq!(journal.compact(now).unwrap(), 0);
        assert_eq!(counted(&journal), before);
        assert_eq!(counted(&opened(folder.path())), before);
        assert_eq!(journal.records(|_| true).unwrap(), [record]);
        let path = folder.path().join("journal").join(&names(folder.path())[0]);
        let lines = fs::read_to_string(path).unwrap().lines().count();
        assert!((13..60).contains(&lines), "{lines}");
    }

    #[test]
    fn what_is_not_understood_survives_and_a_journal_that_cannot_be_read_is_told() {
        let Scene { folder, journal } = scene();
        let early = at("2026-01-01T00:00:00Z");
        for day in 0..10 {
            journal
                .used(early + TimeDelta::days(day), &[stem(1)])
                .unwrap();
        }
        let path = folder.path().join("journal").join(&names(folder.path())[0]);
        let foreign = "{\"t\":\"2026-01-05T00:00:00Z\",\"later\":{\"a\":1}}";
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str(&format!("{foreign}\nno json\ntorn"));
        fs::write(&path, text).unwrap();
        let before = counted(&opened(folder.path()));
        assert!(journal.compact(at("2026-03-01T00:00:00Z")).unwrap() > 0);
        let text = fs::read_to_string(&path).unwrap();
        assert!(
            text.ends_with(&format!("{foreign}\nno json\ntorn\n")),
            "{text}"
        );
        assert_eq!(counted(&opened(folder.path())), before);
        // A copy that a sync service left does not count.
        fs::copy(&path, path.with_file_name("0123456789abcdef (copy).jsonl")).unwrap();
        assert_eq!(counted(&opened(folder.path())), before);
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// However uses fall on machines, and whenever months are summed up, they come to the same.
        #[test]
        fn uses_come_to_the_same_on_one_machine_and_on_two(
            uses in prop::collection::vec((0..200 * 86_400_i64, 0..5_u32, any::<bool>(), 0..20_u8), 0..40),
        ) {
            let (one, two) = (scene(), scene());
            let machines = [opened(two.folder.path()), opened(two.folder.path())];
            let start = at("2026-01-01T00:00:00Z");
            for (seconds, number, machine, compacts) in uses {
                let moment = start + TimeDelta::seconds(seconds);
                one.journal.used(moment, &[stem(number)]).unwrap();
                // Another id is another copy's file.
                let note = two.folder.path().join(".memdir/journal-id");
                let aside = two.folder.path().join(format!("id-{machine}"));
                let _ = fs::rename(&aside, &note);
                machines[usize::from(machine)].used(moment, &[stem(number)]).unwrap();
                if compacts == 0 {
                    machines[usize::from(machine)].compact(start + TimeDelta::days(150)).unwrap();
                }
                fs::rename(&note, &aside).unwrap();
            }
            let wanted = counted(&one.journal);
            prop_assert_eq!(&counted(&machines[0]), &wanted);
            prop_assert_eq!(&counted(&opened(two.folder.path())), &wanted);
        }
    }
}
