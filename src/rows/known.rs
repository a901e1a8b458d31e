//! Facts about a workspace that this process knows from the feed of changes.
//!
//! While a feed is followed, facts about files hold until the feed tells of a change: so the hits of a search are
//! checked without asking the database. Promises: a fact is as of the last [`Known::advance`] or later.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::database::{Pace, Wanted};
use crate::files::Entry;

/// Maximum number of entries that are kept, and of names that were told; then all are forgotten.
const MAX_ENTRIES: usize = 65_536;

/// Facts about a workspace.
#[derive(Default)]
pub(super) struct Known(Mutex<Facts>);

#[derive(Default)]
struct Facts {
    /// Number of feeds that are followed.
    feeds: usize,
    /// Number of the last change that a feed told.
    head: i64,
    /// Number of the last change that is known to be there: told, written here, or asked for.
    floor: i64,
    /// Time at which everything was told last.
    as_of: Option<Instant>,
    /// Number of the last change that is in the index, and time as of which that was everything.
    indexed: i64,
    indexed_as_of: Option<Instant>,
    /// Whether the feed tells since then.
    is_told: bool,
    /// Number of the last line of the journal, as of the last question of a feed.
    journal_head: i64,
    entries: HashMap<String, Entry>,
    /// Files that were told to have changed, each with the number of the last change when that was told.
    told: HashMap<String, i64>,
    /// Number of times that everything was forgotten.
    forgotten: u64,
    /// Whether there are live memories in a folder.
    folders: HashMap<String, bool>,
}

/// State at which a question to the database began: what it says of a file is kept only if no change of that file was told
/// meanwhile.
pub(super) struct Asked {
    head: i64,
    forgotten: u64,
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, Facts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in that there is a change `number`.
    pub(super) fn raise(&self, number: i64) {
        let mut facts = self.lock();
        facts.floor = facts.floor.max(number);
    }

    /// Returns the number of the last change that is known to be there; 0 is none.
    pub(super) fn floor(&self) -> i64 {
        self.lock().floor
    }

    /// Returns the changes that what is read must hold.
    pub(super) fn wanted(&self) -> Wanted {
        let facts = self.lock();
        Wanted {
            floor: facts.floor,
            told: facts.head,
            prefers_primary: false,
            pace: Pace::Any,
        }
    }

    /// Takes in that everything until `moment` was told.
    pub(super) fn confirm(&self, moment: Instant) {
        let mut facts = self.lock();
        facts.as_of = facts.as_of.max(Some(moment));
        facts.is_told = true;
        if facts.head == facts.indexed {
            facts.indexed_as_of = facts.as_of;
        }
    }

    /// Returns whether everything until `moment` was told, and every change that is known to be there.
    pub(super) fn is_told_until(&self, moment: Instant) -> bool {
        let facts = self.lock();
        let is_told = facts.feeds > 0 && facts.is_told && facts.floor <= facts.head;
        is_told && facts.as_of >= Some(moment)
    }

    /// Returns the time since everything was told and indexed; `None` if it never was.
    pub(super) fn age(&self) -> Option<Duration> {
        self.lock().indexed_as_of.map(|at| at.elapsed())
    }

    /// Begins to follow a feed.
    pub(super) fn follow(&self) {
        self.lock().feeds += 1;
    }

    /// Ends one of the feeds.
    pub(super) fn unfollow(&self) {
        let mut facts = self.lock();
        facts.feeds -= 1;
        if facts.feeds == 0 {
            facts.forget();
        }
    }

    /// Returns the number of the last change that a feed told; `None` if none is followed.
    pub(super) fn head(&self) -> Option<i64> {
        let facts = self.lock();
        (facts.feeds > 0 && facts.head > 0).then_some(facts.head)
    }

    /// Returns the number of the last line of the journal; `None` if no feed is followed.
    pub(super) fn journal_head(&self) -> Option<i64> {
        let facts = self.lock();
        (facts.feeds > 0 && facts.head > 0).then_some(facts.journal_head)
    }

    /// Takes in the number of the last line of the journal.
    pub(super) fn advance_journal(&self, head: i64) {
        let mut facts = self.lock();
        facts.journal_head = facts.journal_head.max(head);
    }

    /// Takes in that the files `names` changed, up to the change `head`; all files with `None`.
    pub(super) fn advance<'a>(&self, head: i64, names: Option<impl Iterator<Item = &'a str>>) {
        let mut facts = self.lock();
        if head > facts.head {
            facts.head = head;
            facts.floor = facts.floor.max(head);
            facts.folders.clear();
        }
        match names {
            None => facts.forget(),
            Some(names) => {
                for name in names {
                    facts.entries.remove(name);
                    let told = facts.told.entry(name.to_owned()).or_default();
                    *told = (*told).max(head);
                }
                if facts.told.len() > MAX_ENTRIES {
                    facts.forget();
                }
            }
        }
    }

    /// Forgets everything, since the numbers begin anew: the workspace was dropped and made again, or the database lost
    /// changes.
    pub(super) fn begin_anew(&self) {
        let mut facts = self.lock();
        (facts.head, facts.floor, facts.journal_head) = (0, 0, 0);
        (facts.indexed, facts.indexed_as_of) = (0, None);
        facts.forget();
    }

    /// Takes in that everything that was told is in the index.
    pub(super) fn settle(&self) {
        let mut facts = self.lock();
        facts.indexed = facts.head;
        facts.indexed_as_of = facts.as_of;
    }

    /// Forgets that changes were told which are not in the index; returns the number of the last one that is, if there
    /// were some.
    pub(super) fn retreat(&self) -> Option<i64> {
        let mut facts = self.lock();
        facts.as_of = facts.indexed_as_of;
        facts.is_told = false;
        let has_more = facts.head != facts.indexed;
        facts.head = facts.indexed;
        has_more.then_some(facts.indexed)
    }

    /// Forgets everything, since the feed does not tell any more.
    pub(super) fn lose(&self) {
        let mut facts = self.lock();
        facts.head = 0;
        facts.is_told = false;
        facts.forget();
    }

    /// Returns the state before a question.
    pub(super) fn ask(&self) -> Asked {
        let facts = self.lock();
        Asked {
            head: facts.head,
            forgotten: facts.forgotten,
        }
    }

    /// Returns the entry of the live memory `name`, if it is known.
    pub(super) fn entry(&self, name: &str) -> Option<Entry> {
        self.lock().entries.get(name).cloned()
    }

    /// Keeps entries that were asked for at `asked`.
    pub(super) fn keep<'a>(&self, asked: &Asked, entries: impl Iterator<Item = &'a Entry>) {
        let mut facts = self.lock();
        if facts.feeds == 0 || facts.forgotten != asked.forgotten {
            return;
        }
        if facts.entries.len() >= MAX_ENTRIES {
            facts.entries.clear();
        }
        for entry in entries {
            let is_overtaken = facts
                .told
                .get(&entry.name)
                .is_some_and(|told| *told > asked.head);
            if !is_overtaken {
                facts.entries.insert(entry.name.clone(), entry.clone());
            }
        }
    }

    /// Returns whether there are live memories in `folder`, if it is known.
    pub(super) fn folder(&self, folder: &str) -> Option<bool> {
        self.lock().folders.get(folder).copied()
    }

    /// Keeps whether there are live memories in `folder`, as was asked at `asked`.
    pub(super) fn keep_folder(&self, asked: &Asked, folder: &str, is_there: bool) {
        let mut facts = self.lock();
        let is_as_asked = facts.head == asked.head && facts.forgotten == asked.forgotten;
        if facts.feeds > 0 && is_as_asked {
            facts.folders.insert(folder.to_owned(), is_there);
        }
    }
}

impl Facts {
    fn forget(&mut self) {
        self.entries.clear();
        self.told.clear();
        self.folders.clear();
        self.forgotten += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Stamp;

    fn entry(name: &str) -> Entry {
        Entry {
            name: name.to_owned(),
            stamp: Stamp::default(),
            changed: 0,
            has_links: false,
        }
    }

    #[test]
    fn an_answer_that_a_change_overtook_is_not_kept() {
        let known = Known::default();
        known.follow();
        let asked = known.ask();
        known.advance(1, Some(std::iter::once("a.md")));
        known.keep(&asked, std::iter::once(&entry("a.md")));
        assert_eq!(known.entry("a.md"), None);
        known.keep(&known.ask(), std::iter::once(&entry("a.md")));
        assert_eq!(known.entry("a.md"), Some(entry("a.md")));
        known.advance(2, Some(std::iter::once("a.md")));
        assert_eq!(known.entry("a.md"), None);
    }

    #[test]
    fn a_change_of_another_file_overtakes_no_answer() {
        let known = Known::default();
        known.follow();
        let asked = known.ask();
        known.advance(1, Some(std::iter::once("b.md")));
        known.keep(&asked, [entry("a.md"), entry("b.md")].iter());
        assert_eq!(known.entry("a.md"), Some(entry("a.md")));
        assert_eq!(known.entry("b.md"), None);
        let asked = known.ask();
        known.advance(2, None::<std::iter::Empty<&str>>);
        known.keep(&asked, std::iter::once(&entry("a.md")));
        assert_eq!(known.entry("a.md"), None);
    }

    #[test]
    fn without_a_feed_nothing_is_kept() {
        let known = Known::default();
        known.keep(&known.ask(), std::iter::once(&entry("a.md")));
        assert_eq!(known.entry("a.md"), None);
        known.follow();
        known.keep(&known.ask(), std::iter::once(&entry("a.md")));
        known.unfollow();
        assert_eq!(known.entry("a.md"), None);
    }
}
