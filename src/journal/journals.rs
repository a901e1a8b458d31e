//! The journals of a store in a folder: appends lines to those of this copy, and sums up all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use chrono::{DateTime, Utc};

use super::error::{JournalError, failed};
use super::line::Line;
use super::reading::{Files, Read, Unread, is_id, lines_from};
use super::record::Record;
use super::storage::Journal;
use super::uses::Uses;
use crate::files;
use crate::files::Lock;
use crate::model::Stem;

/// The journals of a store in a folder.
pub struct JournalFolder {
    /// Folder of all journals.
    pub(super) folder: PathBuf,
    /// Folder of derived files of this copy: its id, the lock.
    pub(super) state: PathBuf,
    read: Mutex<Read>,
    /// Lines of uses that are not written yet.
    noted: Mutex<Vec<Line>>,
}

/// Maximum number of noted lines that wait for a journal that cannot be written; the newest are lost then.
const MAX_NOTED: usize = 1000;

/// Maximum size of the current journal, in bytes; then a new one is begun. Each commit holds the current
/// one whole, and a program that starts reads all lines that are not summed up.
pub(super) const LONGEST: u64 = 256 << 10;
/// Maximum number of times that journals are read again because they were replaced meanwhile.
const MAX_TRIES: usize = 8;

impl JournalFolder {
    /// Returns the journals of the store at `root`, with derived files in `state`, unopened.
    pub fn new(root: &Path, state: &Path) -> JournalFolder {
        JournalFolder {
            folder: root.join(files::JOURNALS),
            state: state.to_owned(),
            read: Mutex::default(),
            noted: Mutex::default(),
        }
    }

    /// Returns the same journals, in another folder: the target of a link that the store's owner allowed.
    pub fn in_folder(self, folder: PathBuf) -> JournalFolder {
        JournalFolder { folder, ..self }
    }

    /// Adds the noted lines and `lines`, in one write.
    pub(super) fn append(&self, lines: &[Line]) -> Result<(), JournalError> {
        let noted = std::mem::take(&mut *self.noted());
        let appended = self.append_all(noted.iter().chain(lines));
        if appended.is_err() {
            let mut waiting = self.noted();
            let later = std::mem::replace(&mut *waiting, noted);
            waiting.extend(later);
            waiting.truncate(MAX_NOTED);
        }
        appended
    }

    fn noted(&self) -> MutexGuard<'_, Vec<Line>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append_all<'a>(&self, lines: impl Iterator<Item = &'a Line>) -> Result<(), JournalError> {
        let text: String = lines.map(Line::render).collect();
        let _lock = self.lock()?;
        let path = self.own()?;
        files::append_lines(&path, text.as_bytes()).map_err(|error| failed("write", &path, error))
    }

    /// Takes the lock of this copy's journals.
    pub(super) fn lock(&self) -> Result<Lock, JournalError> {
        Ok(files::journal_lock(&self.state)?)
    }

    /// Returns the journals, each with its size and file id.
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
            if !is_journal || !data.is_file() {
                continue;
            }
            match files::file_id_at(&path, &data) {
                Ok(id) => drop(files.insert(path, (data.len(), id))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed("look at", &path, error)),
            }
        }
        Ok(files)
    }
}

impl Journal for JournalFolder {
    fn used(&self, at: DateTime<Utc>, stems: &[Stem]) -> Result<(), JournalError> {
        if stems.is_empty() {
            return Ok(());
        }
        let stems = stems.iter().map(|stem| stem.as_str().to_owned());
        self.append(&[Line::Used(at, stems.collect())])
    }

    fn note_used(&self, at: DateTime<Utc>, stems: &[Stem]) -> bool {
        if stems.is_empty() {
            return false;
        }
        let stems = stems.iter().map(|stem| stem.as_str().to_owned());
        let mut noted = self.noted();
        noted.push(Line::Used(at, stems.collect()));
        noted.len() == 1
    }

    fn write_noted(&self) -> Result<(), JournalError> {
        let has_noted = !self.noted().is_empty();
        match has_noted {
            true => self.append(&[]),
            false => Ok(()),
        }
    }

    fn used_each(&self, uses: &[(DateTime<Utc>, Stem)]) -> Result<(), JournalError> {
        let line =
            |(at, stem): &(DateTime<Utc>, Stem)| Line::Used(*at, vec![stem.as_str().to_owned()]);
        let lines: Vec<Line> = uses.iter().map(line).collect();
        self.append(&lines)
    }

    fn record(&self, records: Vec<Record>) -> Result<(), JournalError> {
        let lines: Vec<Line> = records.into_iter().map(Line::Record).collect();
        self.append(&lines)
    }

    fn uses(&self) -> (Arc<Uses>, Option<JournalError>) {
        let unwritten = self.write_noted().err();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        // Not held while nothing is replaced: what is shared is copied when it changes.
        let mut before = None;
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
                before.get_or_insert(std::mem::take(&mut *read).uses);
            }
            let done = match read.files.is_empty() {
                true => read.all(files),
                false => read.what_was_added(files),
            };
            match done {
                Ok(()) => return (Arc::clone(&read.uses), unwritten),
                Err(Unread::Failed(error)) => return (Arc::clone(&read.uses), Some(error)),
                Err(Unread::Replaced) => {
                    before.get_or_insert(std::mem::take(&mut *read).uses);
                }
            }
        }
        let restless = io::Error::other("journals are replaced again and again; ask once more");
        let before = before.unwrap_or_default();
        (before, Some(failed("read", &self.folder, restless)))
    }

    fn records(&self, wanted: &dyn Fn(&Record) -> bool) -> Result<Vec<Record>, JournalError> {
        self.records_in(self.files()?.into_keys(), wanted)
    }

    fn own_records(&self, wanted: &dyn Fn(&Record) -> bool) -> Result<Vec<Record>, JournalError> {
        let own = self.own_names();
        let is_own = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| own.iter().any(|own| own == name))
        };
        self.records_in(self.files()?.into_keys().filter(is_own), wanted)
    }

    fn sum_up(&self) -> Result<usize, JournalError> {
        JournalFolder::sum_up(self)
    }
}

impl JournalFolder {
    /// Returns the records in the journals at `paths` for which `wanted` is true, oldest first.
    fn records_in(
        &self,
        paths: impl Iterator<Item = PathBuf>,
        wanted: &dyn Fn(&Record) -> bool,
    ) -> Result<Vec<Record>, JournalError> {
        let mut records = Vec::new();
        for path in paths {
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
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::model::Usage;

    struct Scene {
        folder: tempfile::TempDir,
        journal: JournalFolder,
    }

    fn scene() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let journal = opened(folder.path());
        Scene { folder, journal }
    }

    fn opened(root: &Path) -> JournalFolder {
        let state = root.join(".memdir");
        fs::create_dir_all(state.join("locks")).unwrap();
        JournalFolder::new(root, &state)
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn counted(journal: &JournalFolder) -> Arc<Uses> {
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
    fn noted_uses_are_counted_here_at_once_and_elsewhere_when_they_are_written() {
        let Scene { folder, journal } = scene();
        let now = at("2026-03-01T10:00:00Z");
        let count =
            |journal: &JournalFolder| counted(journal).of(stem(1).as_str()).map(Usage::count);
        assert!(!journal.note_used(now, &[]));
        assert!(journal.note_used(now, &[stem(1)]));
        assert!(!journal.note_used(now, &[stem(1)]));
        assert_eq!(count(&opened(folder.path())), None);
        assert_eq!(count(&journal), Some(2));
        assert_eq!(count(&opened(folder.path())), Some(2));
        // They come before a line that is added later, and no line is written twice.
        assert!(journal.note_used(now, &[stem(1)]));
        journal.used(now, &[stem(2)]).unwrap();
        journal.write_noted().unwrap();
        assert_eq!(count(&opened(folder.path())), Some(3));
    }

    #[test]
    fn noted_uses_wait_for_a_journal_that_cannot_be_written() {
        let Scene { folder, journal } = scene();
        let now = at("2026-03-01T10:00:00Z");
        fs::write(folder.path().join("journal"), "no folder").unwrap();
        journal.note_used(now, &[stem(1)]);
        assert!(journal.write_noted().is_err());
        assert!(journal.used(now, &[stem(2)]).is_err());
        fs::remove_file(folder.path().join("journal")).unwrap();
        journal.write_noted().unwrap();
        let uses = counted(&opened(folder.path()));
        assert_eq!(uses.of(stem(1).as_str()).map(Usage::count), Some(1));
        assert_eq!(uses.of(stem(2).as_str()), None);
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
            .records(&|record| record.of == [stem(1).as_str()])
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
