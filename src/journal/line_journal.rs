//! Journals of a storage that numbers its lines, such as a database: one for all servers.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chrono::{DateTime, Utc};

use super::error::{JournalError, failed};
use super::line::Line;
use super::record::Record;
use super::storage::Journal;
use super::uses::Uses;
use crate::model::{Stem, Usage};

/// Line of a journal with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NumberedLine {
    /// Number; later lines have higher ones.
    pub number: u64,
    /// Text without the newline.
    pub text: String,
}

/// Storage of numbered lines.
pub trait LineStore: Send + Sync {
    /// Returns the name of the journal, for messages.
    fn name(&self) -> String;

    /// Adds `lines`, texts without newlines, all or none.
    ///
    /// # Errors
    ///
    /// Fails as the storage does.
    fn append(&self, lines: &[String]) -> io::Result<()>;

    /// Returns the lines after `number`, in the order of their numbers. No line is added later with a number below
    /// one that was returned.
    ///
    /// # Errors
    ///
    /// Fails as the storage does.
    fn lines_after(&self, number: u64) -> io::Result<Vec<NumberedLine>>;

    /// Returns whether it is known, without asking, that there is no line after `number`.
    fn ends_with(&self, number: u64) -> bool {
        let _ = number;
        false
    }

    /// Replaces the lines `numbers` by `lines`, all or none; `Ok(false)` if one of them is gone.
    ///
    /// # Errors
    ///
    /// Fails as the storage does.
    fn replace(&self, numbers: &[u64], lines: &[String]) -> io::Result<bool>;
}

/// Journal in a storage of numbered lines.
pub struct LineJournal<S> {
    store: S,
    read: Mutex<ReadLines>,
    noted: Mutex<Vec<Line>>,
}

/// Sum of the lines that were read.
#[derive(Default)]
struct ReadLines {
    upto: u64,
    uses: Arc<Uses>,
}

/// Maximum number of noted lines that wait for a storage that is away; the newest are lost then.
const MAX_NOTED: usize = 1000;

/// Minimum number of lines of uses that are summed up.
const MANY_USES: usize = 4_096;

impl<S: LineStore> LineJournal<S> {
    /// Returns the journal in `store`.
    pub fn new(store: S) -> LineJournal<S> {
        LineJournal {
            store,
            read: Mutex::default(),
            noted: Mutex::default(),
        }
    }

    /// Returns whether the journal has no lines.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read.
    pub fn is_empty(&self) -> Result<bool, JournalError> {
        Ok(self.lines_after(0)?.is_empty())
    }

    fn failed(&self, what: &'static str, error: io::Error) -> JournalError {
        failed(what, Path::new(&self.store.name()), error)
    }

    fn noted(&self) -> MutexGuard<'_, Vec<Line>> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the noted lines and `lines`, in one write.
    pub(super) fn append(&self, lines: &[Line]) -> Result<(), JournalError> {
        let noted = std::mem::take(&mut *self.noted());
        let texts: Vec<String> = noted.iter().chain(lines).map(text_of).collect();
        let appended = self.store.append(&texts);
        if appended.is_err() {
            let mut waiting = self.noted();
            let later = std::mem::replace(&mut *waiting, noted);
            waiting.extend(later);
            waiting.truncate(MAX_NOTED);
        }
        appended.map_err(|error| self.failed("write", error))
    }

    fn lines_after(&self, number: u64) -> Result<Vec<(u64, Line)>, JournalError> {
        let lines = self.store.lines_after(number);
        let lines = lines.map_err(|error| self.failed("read", error))?;
        let parsed = lines
            .into_iter()
            .filter_map(|line| Some((line.number, Line::parse(line.text.as_bytes())?)));
        Ok(parsed.collect())
    }

    /// Reads the lines that were added.
    fn read_on(&self, read: &mut ReadLines) -> Result<(), JournalError> {
        // Each hit of an answer asks for its uses.
        if self.store.ends_with(read.upto) {
            return Ok(());
        }
        let mut lines = self.lines_after(read.upto)?;
        // A sum stands for lines that were counted one by one.
        let is_summed = |(_, line): &(u64, Line)| matches!(line, Line::Sums(..));
        if read.upto > 0 && lines.iter().any(is_summed) {
            *read = ReadLines::default();
            lines = self.lines_after(0)?;
        }
        if let Some((number, _)) = lines.last() {
            read.upto = *number;
            let lines = lines.into_iter().map(|(_, line)| line);
            Arc::make_mut(&mut read.uses).take_journal(lines, None);
        }
        Ok(())
    }
}

/// Returns the text of a line.
fn text_of(line: &Line) -> String {
    line.render().trim_end().to_owned()
}

fn names(stems: &[Stem]) -> Vec<String> {
    stems.iter().map(|stem| stem.as_str().to_owned()).collect()
}

impl<S: LineStore> Journal for LineJournal<S> {
    fn used(&self, at: DateTime<Utc>, stems: &[Stem]) -> Result<(), JournalError> {
        match stems.is_empty() {
            true => Ok(()),
            false => self.append(&[Line::Used(at, names(stems))]),
        }
    }

    fn note_used(&self, at: DateTime<Utc>, stems: &[Stem]) -> bool {
        if stems.is_empty() {
            return false;
        }
        let mut noted = self.noted();
        noted.push(Line::Used(at, names(stems)));
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
            |(at, stem): &(DateTime<Utc>, Stem)| Line::Used(*at, names(std::slice::from_ref(stem)));
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
        let unread = self.read_on(&mut read).err();
        (Arc::clone(&read.uses), unread.or(unwritten))
    }

    fn records(&self, wanted: &dyn Fn(&Record) -> bool) -> Result<Vec<Record>, JournalError> {
        let lines = self.lines_after(0)?.into_iter();
        let mut records: Vec<Record> = lines
            .filter_map(|(_, line)| match line {
                Line::Record(record) if wanted(&record) => Some(record),
                _ => None,
            })
            .collect();
        records.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.of.cmp(&b.of)));
        Ok(records)
    }

    /// There is one copy: all records are its own.
    fn own_records(&self, wanted: &dyn Fn(&Record) -> bool) -> Result<Vec<Record>, JournalError> {
        self.records(wanted)
    }

    fn sum_up(&self) -> Result<usize, JournalError> {
        let lines = self.lines_after(0)?;
        let is_use = |(_, line): &&(u64, Line)| matches!(line, Line::Used(..) | Line::Sums(..));
        let uses: Vec<&(u64, Line)> = lines.iter().filter(is_use).collect();
        let new = uses
            .iter()
            .filter(|(_, line)| matches!(line, Line::Used(..)))
            .count();
        if new < MANY_USES {
            return Ok(0);
        }
        let numbers: Vec<u64> = uses.iter().map(|(number, _)| *number).collect();
        let mut sum = Uses::default();
        let lines = lines.into_iter().map(|(_, line)| line);
        let lines = lines.filter(|line| matches!(line, Line::Used(..) | Line::Sums(..)));
        sum.take_journal(lines, None);
        let sums: Vec<String> = sum.iter().filter_map(sum_line).collect();
        let replaced = self.store.replace(&numbers, &sums);
        match replaced.map_err(|error| self.failed("sum up", error))? {
            true => Ok(new),
            // Another server did it.
            false => Ok(0),
        }
    }
}

/// Returns the line with the sum of the uses of one memory.
fn sum_line((stem, usage): (&String, &Usage)) -> Option<String> {
    let last = usage.last()?;
    let line = Line::Sums(last, [(stem.clone(), usage.clone())].into());
    Some(text_of(&line))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines in memory, as two servers share them.
    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<(u64, Vec<NumberedLine>)>>);

    impl LineStore for Shared {
        fn name(&self) -> String {
            "shared".to_owned()
        }

        fn append(&self, lines: &[String]) -> io::Result<()> {
            self.replace(&[], lines).map(drop)
        }

        fn lines_after(&self, number: u64) -> io::Result<Vec<NumberedLine>> {
            let lines = self.0.lock().unwrap();
            let later = lines.1.iter().filter(|line| line.number > number);
            Ok(later.cloned().collect())
        }

        fn replace(&self, numbers: &[u64], lines: &[String]) -> io::Result<bool> {
            let mut all = self.0.lock().unwrap();
            all.1.retain(|line| !numbers.contains(&line.number));
            for text in lines {
                all.0 += 1;
                let number = all.0;
                let text = text.clone();
                all.1.push(NumberedLine { number, text });
            }
            Ok(true)
        }
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_780_000_000 + second, 0).unwrap()
    }

    fn stem(number: u32) -> Stem {
        Stem::from_file_name(&format!("20260101_000000_{number:08x}"))
    }

    fn count(journal: &LineJournal<Shared>, number: u32) -> u32 {
        let (uses, trouble) = journal.uses();
        assert!(trouble.is_none(), "{trouble:?}");
        uses.of(stem(number).as_str()).map_or(0, Usage::count)
    }

    #[test]
    fn uses_are_the_same_for_every_server_before_and_after_they_are_summed_up() {
        let shared = Shared::default();
        let one = LineJournal::new(shared.clone());
        let other = LineJournal::new(shared.clone());
        let uses: Vec<_> = (0..5_000).map(|second| (at(second), stem(1))).collect();
        one.used_each(&uses).unwrap();
        one.used(at(0), &[stem(2)]).unwrap();
        assert_eq!((count(&one, 1), count(&other, 1)), (5_000, 5_000));
        assert_eq!(one.sum_up().unwrap(), 5_001);
        assert_eq!(shared.lines_after(0).unwrap().len(), 2);
        other.used(at(9_000), &[stem(1)]).unwrap();
        for journal in [&one, &other, &LineJournal::new(shared.clone())] {
            assert_eq!((count(journal, 1), count(journal, 2)), (5_001, 1));
        }
        assert_eq!(one.sum_up().unwrap(), 0);
    }

    #[test]
    fn a_sum_keeps_what_records_say() {
        let journal = LineJournal::new(Shared::default());
        let record = Record {
            at: at(7),
            did: "update".to_owned(),
            of: vec![stem(1).as_str().to_owned()],
            client: String::new(),
            why: None,
        };
        journal.record(vec![record.clone()]).unwrap();
        let uses: Vec<_> = (0..5_000).map(|second| (at(second), stem(1))).collect();
        journal.used_each(&uses).unwrap();
        let before = journal.uses().0;
        assert_eq!(journal.sum_up().unwrap(), 5_000);
        let after = journal.uses().0;
        assert_eq!(before.of(stem(1).as_str()), after.of(stem(1).as_str()));
        assert_eq!(journal.records(&|_| true).unwrap(), [record]);
    }
}
