//! Compares the memory directory with the index.

use std::borrow::Cow;
use std::sync::Arc;

use crate::engine::texts::RACY_NANOS;
use crate::files::{Entry, Listing, Skipped};
use crate::index::{Indexed, Snapshot};

/// Returns the names of the files that two states of the index hold in different versions, or only one
/// of them holds.
pub(in crate::engine) fn differing(one: &dyn Snapshot, other: &dyn Snapshot) -> Vec<String> {
    let version = |indexed: Indexed| (indexed.stamp, indexed.hash);
    differing_by(one, other, |one, other| version(one) == version(other))
}

/// As [`differing`]; `is_same` says whether two versions of a file are the same.
pub(in crate::engine) fn differing_by(
    one: &dyn Snapshot,
    other: &dyn Snapshot,
    is_same: impl Fn(Indexed, Indexed) -> bool,
) -> Vec<String> {
    let mut names = Vec::new();
    let mut theirs = other.files().peekable();
    for (name, indexed) in one.files() {
        while let Some((missing, _)) = theirs.next_if(|(there, _)| *there < name) {
            names.push(missing.to_owned());
        }
        let there = theirs.next_if(|(there, _)| *there == name);
        if there.is_none_or(|(_, there)| !is_same(indexed, there)) {
            names.push(name.to_owned());
        }
    }
    names.extend(theirs.map(|(missing, _)| missing.to_owned()));
    names
}

/// Differences between the directory and the index.
#[derive(Default)]
pub(in crate::engine) struct Changes {
    /// New files, and those with another stamp.
    pub changed: Vec<Entry>,
    /// Files with the indexed stamp that may have changed nevertheless.
    pub in_doubt: Vec<Entry>,
    /// Names of files that are gone.
    pub removed: Vec<String>,
}

impl Changes {
    /// Compares a listing with the index, both in the order of names. Until `verified`, in nanoseconds since
    /// 1970, every indexed file is known to be as indexed.
    pub fn between(listing: &Listing, committed: &dyn Snapshot, verified: i64) -> Changes {
        let entries = listing.entries.iter().map(Cow::Borrowed);
        Changes::of(entries, committed, verified)
    }

    /// As [`Changes::between`], consuming the listing: a million names take 100 MB.
    pub fn from_listing(listing: Listing, committed: &dyn Snapshot, verified: i64) -> Changes {
        let entries = listing.entries.into_iter().map(Cow::Owned);
        Changes::of(entries, committed, verified)
    }

    fn of<'a>(
        entries: impl Iterator<Item = Cow<'a, Entry>>,
        committed: &dyn Snapshot,
        verified: i64,
    ) -> Changes {
        let mut changes = Changes::default();
        let certain = verified.saturating_sub(RACY_NANOS);
        let mut entries = entries.peekable();
        for (name, indexed) in committed.files() {
            while let Some(new) = entries.next_if(|entry| entry.name.as_str() < name) {
                changes.changed.push(new.into_owned());
            }
            match entries.next_if(|entry| entry.name == name) {
                None => changes.removed.push(name.to_owned()),
                Some(entry) if entry.stamp != indexed.stamp => {
                    changes.changed.push(entry.into_owned());
                }
                // Setting size and modification time back does not set this time.
                Some(entry) if entry.changed > certain => {
                    changes.in_doubt.push(entry.into_owned());
                }
                Some(_) => {}
            }
        }
        changes.changed.extend(entries.map(Cow::into_owned));
        changes
    }

    /// Returns the number of files that differ for certain.
    pub fn len(&self) -> usize {
        self.changed.len() + self.removed.len()
    }

    /// Whether there are no differences, and no doubts.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.in_doubt.is_empty()
    }

    /// Returns the names of the deleted files, and of those that must be read.
    pub fn into_names(self) -> (Vec<String>, Vec<String>) {
        let unread = self.changed.into_iter().chain(self.in_doubt);
        (self.removed, unread.map(|entry| entry.name).collect())
    }

    /// Returns the names of the files that must be read.
    pub fn unread(&self) -> Vec<&str> {
        let entries = self.changed.iter().chain(&self.in_doubt);
        entries.map(|entry| entry.name.as_str()).collect()
    }
}

/// All files, compared with the committed index.
pub(in crate::engine) struct Compared {
    /// The committed index.
    pub committed: Arc<dyn Snapshot>,
    /// Differences of the files to it.
    pub changes: Changes,
    /// Every folder, with its modification time.
    pub folders: Vec<(String, i64)>,
    /// Names that are no readable memories.
    pub skipped: Vec<Skipped>,
    /// Whether some file has several hard links.
    pub has_links: bool,
    /// Whether the names were read, and are all those of memories.
    pub is_to_be_recorded: bool,
}

/// Returns the moment until which all indexed files are known to be as in `committed`, where others know it until `known`. A
/// time after `from` is from a wrong clock.
pub(in crate::engine) fn verified(known: i64, committed: &dyn Snapshot, from: i64) -> i64 {
    known.max(committed.verified()).min(from)
}
