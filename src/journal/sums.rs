//! Sums up the uses in journals that this copy has left.
//!
//! The sum is a journal of its own: a line for each memory, with the number of its uses on each day and
//! the moment of the last, and a line with the moments up to which the uses of other journals are in it.
//! From then on those do not count in their own journals, and are removed there.
//!
//! Guarantees: the total of all journals is the same before, after, and at every interruption, on this
//! machine and on every other that gets the files one by one, the sum first. Only uses are removed.
//! Counts in a sum only rise, and of two sums of one copy the higher count holds, so that merging two
//! versions line by line counts nothing twice. The sum is rewritten only when there is half as much to
//! add as it has, so that the total cost is a few times what was added.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::{fs, io};

use chrono::{DateTime, DurationRound, TimeDelta, Utc};

use super::error::{JournalError, failed};
use super::journals::JournalFolder;
use super::line::Line;
use super::reading::raise;
use super::uses::Uses;
use crate::files;
use crate::model::Usage;

/// Content of a journal that holds sums.
#[derive(Default)]
struct Sum {
    uses: Uses,
    summed: BTreeMap<String, DateTime<Utc>>,
    /// Unknown lines of other versions, with their newlines.
    others: Vec<u8>,
}

/// A journal that is summed up.
struct Old {
    id: String,
    path: PathBuf,
    bytes: u64,
    /// All lines but its uses, with newlines.
    kept: Vec<u8>,
    uses: Vec<Line>,
}

impl JournalFolder {
    /// Adds the uses in the journals that this copy has left to their sum, if there is much to add; returns
    /// the number of lines that were removed from them. Their records stay as they are.
    ///
    /// # Errors
    ///
    /// Fails if a journal cannot be read or written. The total is the same then, and the next attempt
    /// continues.
    pub(super) fn sum_up(&self) -> Result<usize, JournalError> {
        if self.left().journals.is_empty() {
            return Ok(0);
        }
        let _lock = self.lock()?;
        let mut left = self.left();
        let mut all = Vec::new();
        for id in &left.journals {
            all.extend(self.read_old(id)?);
        }
        let id = left
            .sum
            .get_or_insert_with(JournalFolder::drawn_for_sum)
            .clone();
        let path = self.at(&id);
        let before = self.bytes_of(&id)?.unwrap_or_default();
        let mut sum = Sum::parse(&before);
        // Those that it holds already were left half done.
        let is_new = |old: &Old| !sum.summed.contains_key(&old.id);
        let new: u64 = all
            .iter()
            .filter(|old| is_new(old))
            .map(|old| old.bytes)
            .sum();
        if new.saturating_mul(2) < before.len() as u64 {
            all.retain(|old| !is_new(old));
        }
        if all.is_empty() {
            return Ok(0);
        }
        self.note_left(&left)?;
        let mut count = 0;
        for old in &mut all {
            count += old.uses.len();
            sum.add(&old.id, std::mem::take(&mut old.uses));
        }
        let text = sum.render();
        if text != before && count > 0 {
            files::write_synced(&path, &text).map_err(|error| failed("write", &path, error))?;
        }
        left.journals
            .retain(|id| all.iter().all(|old| old.id != *id));
        for old in all {
            let path = &old.path;
            let done = match old.kept.len() as u64 {
                0 => files::remove_derived(path),
                same if same == old.bytes => Ok(()),
                _ => files::write_synced(path, &old.kept),
            };
            done.map_err(|error| failed("write", path, error))?;
        }
        self.note_left(&left)?;
        Ok(count)
    }

    fn read_old(&self, id: &str) -> Result<Option<Old>, JournalError> {
        let Some(bytes) = self.bytes_of(id)? else {
            return Ok(None);
        };
        let mut old = Old {
            id: id.to_owned(),
            path: self.at(id),
            bytes: bytes.len() as u64,
            kept: Vec::new(),
            uses: Vec::new(),
        };
        for text in lines(&bytes) {
            match Line::parse(text) {
                Some(line @ (Line::Used(..) | Line::Sums(..))) => old.uses.push(line),
                // Whatever is no use stays as it is written, also what this version cannot read.
                _ => put(&mut old.kept, text),
            }
        }
        Ok(Some(old))
    }

    fn bytes_of(&self, id: &str) -> Result<Option<Vec<u8>>, JournalError> {
        let path = self.at(id);
        // As for all that reads journals: what is no regular file is none.
        match fs::symlink_metadata(&path) {
            Ok(data) if data.is_file() => {}
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed("read", &path, error)),
        }
        let read = fs::read(&path).map_err(|error| failed("read", &path, error))?;
        Ok(Some(read))
    }
}

impl Sum {
    fn parse(bytes: &[u8]) -> Sum {
        let mut sum = Sum::default();
        for text in lines(bytes) {
            match Line::parse(text) {
                Some(Line::Sums(_, uses)) => sum.uses.raise_to(&uses),
                Some(Line::Summed(until)) => raise(&mut sum.summed, &until),
                _ => put(&mut sum.others, text),
            }
        }
        sum
    }

    /// Adds the uses of a journal that are not in the sum yet.
    fn add(&mut self, id: &str, lines: Vec<Line>) {
        let until = self.summed.get(id).copied();
        let moments = lines.iter().filter_map(|line| match line {
            Line::Used(at, _) | Line::Sums(at, _) => Some(*at),
            _ => None,
        });
        let last = moments.max().map(rounded_up);
        self.uses.take_journal(lines, until);
        if let Some(last) = last.max(until) {
            self.summed.insert(id.to_owned(), last);
        }
    }

    /// Returns the text of the sum, with equal bytes for equal sums.
    fn render(&self) -> Vec<u8> {
        let mut text = Line::Summed(self.summed.clone()).render().into_bytes();
        let sorted: BTreeMap<&String, &Usage> = self.uses.iter().collect();
        for (stem, usage) in sorted {
            let uses = BTreeMap::from([(stem.clone(), usage.clone())]);
            let line = Line::Sums(usage.last().unwrap_or_default(), uses);
            text.extend(line.render().into_bytes());
        }
        text.extend_from_slice(&self.others);
        text
    }
}

/// Rounds a moment up to microseconds, the precision of a journal.
fn rounded_up(at: DateTime<Utc>) -> DateTime<Utc> {
    let microsecond = TimeDelta::microseconds(1);
    match at.duration_trunc(microsecond) {
        Ok(written) if written < at => written + microsecond,
        _ => at,
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = bytes.split(|byte| *byte == b'\n');
    lines.filter(|text| !text.is_empty())
}

fn put(text: &mut Vec<u8>, line: &[u8]) {
    text.extend_from_slice(line);
    text.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use proptest::collection;
    use proptest::prelude::*;

    use super::super::journals::LONGEST;
    use super::super::record::Record;
    use super::*;
    use crate::journal::Journal;
    use crate::model::Stem;

    fn opened(root: &Path) -> JournalFolder {
        let state = root.join(".memdir");
        fs::create_dir_all(state.join("locks")).unwrap();
        JournalFolder::new(root, &state)
    }

    fn at(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    fn counted(root: &Path) -> Arc<Uses> {
        let (uses, trouble) = opened(root).uses();
        assert!(trouble.is_none(), "{trouble:?}");
        uses
    }

    fn stem(number: u32) -> Stem {
        Stem::from_file_name(&format!("20260101_000000_{number:08x}"))
    }

    fn forgotten(number: u32) -> Record {
        Record {
            at: at("2026-03-01T10:00:00Z"),
            did: "forget".to_owned(),
            of: vec![stem(number).as_str().to_owned()],
            client: "a client".to_owned(),
            why: None,
        }
    }

    /// Every journal, by its name.
    fn texts(root: &Path) -> BTreeMap<String, Vec<u8>> {
        let files = fs::read_dir(root.join("journal")).unwrap();
        files
            .map(|file| file.unwrap())
            .map(|file| {
                let name = file.file_name().into_string().unwrap();
                (name, fs::read(file.path()).unwrap())
            })
            .collect()
    }

    fn bytes(root: &Path) -> usize {
        texts(root).values().map(Vec::len).sum()
    }

    /// Has the current journal be left for a new one with the next line.
    fn fill(journal: &JournalFolder) {
        let path = journal.known().unwrap();
        let size = fs::metadata(&path).map_or(0, |data| data.len());
        let blank = "x".repeat(LONGEST.saturating_sub(size) as usize);
        files::append_lines(&path, format!("{blank}\n").as_bytes()).unwrap();
    }

    /// Begins a new journal; the former one holds its lines and nothing else.
    fn leave(journal: &JournalFolder) {
        let mut left = journal.left();
        left.journals
            .push(super::super::reading::id_of(&journal.known().unwrap()));
        journal.note_left(&left).unwrap();
        fs::remove_file(journal.state.join("journal-id")).unwrap();
    }

    #[test]
    fn a_long_journal_is_left_for_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let journal = opened(folder.path());
        for number in 0..3 {
            journal.record(vec![forgotten(number)]).unwrap();
            fill(&journal);
        }
        assert_eq!(texts(folder.path()).len(), 3);
        journal.record(vec![forgotten(3)]).unwrap();
        assert_eq!(texts(folder.path()).len(), 4);
        assert_eq!(journal.left().journals.len(), 3);
        assert_eq!(journal.own_names().len(), 4);
        assert_eq!(journal.records(&|_| true).unwrap().len(), 4);
        let journal = opened(folder.path());
        journal.record(vec![forgotten(4)]).unwrap();
        assert_eq!(texts(folder.path()).len(), 4, "the current one is known");
    }

    #[test]
    fn uses_in_old_journals_become_one_line_a_memory_and_records_stay() {
        let folder = tempfile::tempdir().unwrap();
        let journal = opened(folder.path());
        let start = at("2026-01-01T00:30:00Z");
        for round in 0..10 {
            for number in 0..500 {
                let moment = start + TimeDelta::seconds(round * 5000 + i64::from(number));
                journal.used(moment, &[stem(number % 20)]).unwrap();
            }
            journal.record(vec![forgotten(round as u32)]).unwrap();
            leave(&journal);
        }
        journal.used(start, &[stem(0)]).unwrap();
        let (before, size) = (counted(folder.path()), bytes(folder.path()));
        let records = journal.records(&|_| true).unwrap();
        assert_eq!(journal.sum_up().unwrap(), 5000);
        assert_eq!(journal.sum_up().unwrap(), 0);
        assert_eq!(counted(folder.path()), before);
        // Who has read it before sees the same.
        assert_eq!(journal.uses().0, before);
        assert_eq!(journal.records(&|_| true).unwrap(), records);
        let after = bytes(folder.path());
        assert!(after * 50 < size, "{after} of {size}");
        let sum = journal.left().sum.unwrap();
        let text = String::from_utf8(journal.bytes_of(&sum).unwrap().unwrap()).unwrap();
        assert_eq!(text.lines().count(), 21, "{text}");
        // What is used later is added.
        journal
            .used(start + TimeDelta::days(40), &[stem(0)])
            .unwrap();
        assert_eq!(journal.uses().0.of(stem(0).as_str()).unwrap().count(), 252);
    }

    #[test]
    fn little_is_not_worth_writing_a_large_sum_again() {
        let folder = tempfile::tempdir().unwrap();
        let journal = opened(folder.path());
        let start = at("2026-01-01T00:30:00Z");
        for number in 0..400 {
            journal.used(start, &[stem(number)]).unwrap();
        }
        leave(&journal);
        assert_eq!(journal.sum_up().unwrap(), 400);
        for round in 0..4_u32 {
            for _ in 0..100 {
                journal
                    .used(start + TimeDelta::seconds(1), &[stem(1)])
                    .unwrap();
            }
            leave(&journal);
            let count = journal.sum_up().unwrap();
            assert_eq!(count, if round == 3 { 400 } else { 0 }, "{round}");
        }
        assert_eq!(
            counted(folder.path()).of(stem(1).as_str()).unwrap().count(),
            401
        );
    }

    /// As memdir 0.1 wrote them: months that were summed up in the current journal.
    #[test]
    fn months_that_an_older_version_summed_up_count_and_are_summed_up() {
        let folder = tempfile::tempdir().unwrap();
        let journal = opened(folder.path());
        let (one, other) = (stem(1), stem(2));
        let month = |day: u32, count: u32| {
            format!(
                "{{\"t\":\"2026-0{day}-0{day}T10:00:00.000000Z\",\"month\":{{\"{one}\":{{\
                 \"last\":\"2026-0{day}-0{day}T10:00:00.000000Z\",\
                 \"days\":{{\"2026-0{day}-0{day}\":{count}}}}}}}}}\n",
                one = one.as_str(),
            )
        };
        let used = format!(
            "{{\"t\":\"2026-03-01T10:00:00.000000Z\",\"used\":[\"{}\",\"{}\"]}}\n",
            one.as_str(),
            other.as_str(),
        );
        journal.record(vec![forgotten(1)]).unwrap();
        let text = [month(1, 3), month(2, 4), used].concat();
        files::append_lines(&journal.known().unwrap(), text.as_bytes()).unwrap();
        let uses = counted(folder.path());
        assert_eq!(uses.of(one.as_str()).unwrap().count(), 8);
        assert_eq!(uses.of(other.as_str()).unwrap().count(), 1);
        leave(&journal);
        assert_eq!(journal.sum_up().unwrap(), 3);
        assert_eq!(counted(folder.path()), uses);
    }

    #[test]
    fn what_is_not_understood_survives() {
        let folder = tempfile::tempdir().unwrap();
        let journal = opened(folder.path());
        let start = at("2026-01-01T00:30:00Z");
        journal.used(start, &[stem(1)]).unwrap();
        let path = journal.known().unwrap();
        let foreign = "{\"t\":\"2026-01-05T00:00:00Z\",\"later\":{\"a\":1}}";
        files::append_lines(&path, format!("{foreign}\nno json\ntorn").as_bytes()).unwrap();
        leave(&journal);
        let before = counted(folder.path());
        assert_eq!(journal.sum_up().unwrap(), 1);
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{foreign}\nno json\ntorn\n"));
        assert_eq!(counted(folder.path()), before);
    }

    #[test]
    fn a_copy_of_the_store_sums_up_nothing_of_the_original() {
        let folder = tempfile::tempdir().unwrap();
        let journal = opened(folder.path());
        journal
            .used(at("2026-01-01T00:30:00Z"), &[stem(1)])
            .unwrap();
        leave(&journal);
        let copy = tempfile::tempdir().unwrap();
        let other = opened(copy.path());
        fs::create_dir(copy.path().join("journal")).unwrap();
        for (name, text) in texts(folder.path()) {
            fs::write(copy.path().join("journal").join(name), text).unwrap();
        }
        let note = Path::new(".memdir/journals-left");
        fs::copy(folder.path().join(note), copy.path().join(note)).unwrap();
        assert!(other.own_names().is_empty());
        assert_eq!(other.sum_up().unwrap(), 0);
        assert_eq!(texts(copy.path()), texts(folder.path()));
    }

    #[test]
    fn whoever_cuts_it_short_finds_the_same_uses() {
        let folder = tempfile::tempdir().unwrap();
        let make = |root: &Path| {
            let journal = opened(root);
            let start = at("2026-01-01T00:30:00Z");
            for round in 0..3 {
                for number in 0..30 {
                    let moment = start + TimeDelta::hours(round * 30 + i64::from(number));
                    journal.used(moment, &[stem(number % 7)]).unwrap();
                }
                journal.record(vec![forgotten(round as u32)]).unwrap();
                leave(&journal);
                if round == 0 {
                    journal.sum_up().unwrap();
                }
            }
            (counted(root), journal.records(&|_| true).unwrap())
        };
        let mut cuts = 0;
        for step in 0.. {
            let root = folder.path().join(step.to_string());
            let (before, records) = make(&root);
            let journal = opened(&root);
            let done = files::dying_at(step, || journal.sum_up());
            assert_eq!(counted(&root), before, "cut at {step}");
            assert_eq!(
                journal.records(&|_| true).unwrap(),
                records,
                "cut at {step}"
            );
            if let Some(done) = done {
                done.unwrap();
                break;
            }
            cuts += 1;
            opened(&root).sum_up().unwrap();
            assert_eq!(counted(&root), before, "cut at {step}, and done later");
            assert_eq!(journal.records(&|_| true).unwrap(), records);
            assert!(journal.left().journals.is_empty());
        }
        assert!(cuts > 5, "{cuts}");
    }

    #[test]
    fn another_machine_that_has_half_of_it_counts_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let journal = opened(folder.path());
        let start = at("2026-01-01T00:30:00Z");
        for round in 0..2 {
            for number in 0..40 {
                let moment = start + TimeDelta::hours(round * 40 + i64::from(number));
                journal.used(moment, &[stem(number % 7)]).unwrap();
            }
            leave(&journal);
        }
        let (uses, before) = (counted(folder.path()), texts(folder.path()));
        journal.sum_up().unwrap();
        let after = texts(folder.path());
        let other = tempfile::tempdir().unwrap();
        let folder = other.path().join("journal");
        fs::create_dir(&folder).unwrap();
        for (name, text) in &before {
            fs::write(folder.join(name), text).unwrap();
        }
        // The sum first, as files are taken from a remote: by their names.
        let names: std::collections::BTreeSet<&String> =
            before.keys().chain(after.keys()).collect();
        for name in names {
            match after.get(name) {
                Some(text) => fs::write(folder.join(name), text).unwrap(),
                None => fs::remove_file(folder.join(name)).unwrap(),
            }
            assert_eq!(counted(other.path()), uses, "{name}");
        }
        // Nor does it count twice what a backup or an old program brings back.
        for (name, text) in &before {
            let now = after.get(name).map_or(&[][..], Vec::as_slice);
            fs::write(folder.join(name), [now, text].concat()).unwrap();
            assert_eq!(counted(other.path()), uses, "{name} is back");
        }
    }

    #[test]
    fn two_that_sum_up_the_same_come_to_the_same_bytes_and_unite_without_counting_twice() {
        let folder = tempfile::tempdir().unwrap();
        let journal = opened(folder.path());
        let start = at("2026-01-01T00:30:00Z");
        let mut left = journal.left();
        left.sum = Some("00aaaaaaaaaaaaaa".to_owned());
        for number in 0..30 {
            let moment = start + TimeDelta::hours(i64::from(number));
            journal.used(moment, &[stem(number % 7)]).unwrap();
        }
        left.journals
            .push(super::super::reading::id_of(&journal.known().unwrap()));
        let uses = counted(folder.path());
        let text = texts(folder.path());
        let sums: Vec<Vec<u8>> = (0..2)
            .map(|_| {
                for (name, text) in &text {
                    fs::write(folder.path().join("journal").join(name), text).unwrap();
                }
                let _ = fs::remove_file(journal.state.join("journal-id"));
                let _ = fs::remove_file(journal.at("00aaaaaaaaaaaaaa"));
                journal.note_left(&left).unwrap();
                journal.sum_up().unwrap();
                journal.bytes_of("00aaaaaaaaaaaaaa").unwrap().unwrap()
            })
            .collect();
        assert_eq!(sums[0], sums[1]);
        // One of them had seen less of it.
        let less = String::from_utf8(sums[0].clone()).unwrap();
        let less = less.replace("\"2026-01-01\":4", "\"2026-01-01\":3");
        assert_ne!(less.as_bytes(), sums[0]);
        let both = [&sums[0], less.as_bytes()].concat();
        assert_ne!(both, sums[0]);
        fs::write(journal.at("00aaaaaaaaaaaaaa"), both).unwrap();
        assert_eq!(counted(folder.path()), uses);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// However uses fall on machines and journals, and whenever they are summed up, they come to
        /// the same, and so does what a memory is: that is a function of them (`lifecycle::state`).
        #[test]
        fn uses_come_to_the_same_whenever_they_are_summed_up(
            uses in collection::vec((0..200 * 86_400_i64, 0..5_u32, any::<bool>(), 0..20_u8), 0..40),
        ) {
            let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let single = opened(one.path());
            let machines = [opened(two.path()), opened(two.path())];
            let notes = ["journal-id", "journals-left"];
            let start = at("2026-01-01T00:00:00Z");
            for (seconds, number, machine, action) in uses {
                let moment = start + TimeDelta::seconds(seconds);
                single.used(moment, &[stem(number)]).unwrap();
                // Other notes are another copy's.
                let aside = |note: &str| two.path().join(format!("{note}-{machine}"));
                let state = two.path().join(".memdir");
                for note in notes {
                    let _ = fs::rename(aside(note), state.join(note));
                }
                let journal = &machines[usize::from(machine)];
                journal.used(moment, &[stem(number)]).unwrap();
                match action {
                    0 => {
                        leave(journal);
                        journal.sum_up().unwrap();
                    }
                    1..4 => leave(journal),
                    _ => {}
                }
                for note in notes {
                    let _ = fs::rename(state.join(note), aside(note));
                }
            }
            let wanted = counted(one.path());
            prop_assert_eq!(&machines[0].uses().0, &wanted);
            let summed = counted(two.path());
            prop_assert_eq!(&summed, &wanted);
        }
    }
}
