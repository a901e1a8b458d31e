//! Number and times of a memory's uses.

use std::collections::BTreeMap;

use chrono::{DateTime, NaiveDate, Utc};

/// The uses of one memory: how many on each day, in UTC, and when the last one was.
///
/// Nothing finer is kept, so that what follows from it is the same whether uses are read one by
/// one, summed up by month, or brought together from several machines in any order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Usage {
    days: BTreeMap<NaiveDate, u32>,
    last: Option<DateTime<Utc>>,
    restored: Option<DateTime<Utc>>,
    settled: Option<DateTime<Utc>>,
    unsettled: Option<DateTime<Utc>>,
    changed: Option<DateTime<Utc>>,
    tiered: Option<DateTime<Utc>>,
}

impl Usage {
    /// Counts one use at the moment `at`.
    pub fn add(&mut self, at: DateTime<Utc>) {
        self.add_day(at.date_naive(), 1);
        self.last = self.last.max(Some(at));
    }

    /// Counts `count` uses on a day. When they were is not known: [`Usage::at_last`] says it.
    pub fn add_day(&mut self, day: NaiveDate, count: u32) {
        let known = self.days.entry(day).or_default();
        *known = known.saturating_add(count);
    }

    /// Notes that it was used at the moment `at`, which is counted already.
    pub fn at_last(&mut self, at: DateTime<Utc>) {
        self.last = self.last.max(Some(at));
    }

    /// Notes that it was brought back from the archive at the moment `at`.
    pub fn restored_at(&mut self, at: DateTime<Utc>) {
        self.restored = self.restored.max(Some(at));
    }

    /// Notes that its confidence as of the moment `at` was written into its file.
    pub fn settled_at(&mut self, at: DateTime<Utc>) {
        self.settled = self.settled.max(Some(at));
    }

    /// Notes that this was taken back at the moment `at`.
    pub fn unsettled_at(&mut self, at: DateTime<Utc>) {
        self.unsettled = self.unsettled.max(Some(at));
    }

    /// Notes that its content was changed at the moment `at`.
    pub fn changed_at(&mut self, at: DateTime<Utc>) {
        self.changed = self.changed.max(Some(at));
    }

    /// Notes that its tier was stated anew at the moment `at`, which is a change.
    pub fn tiered_at(&mut self, at: DateTime<Utc>) {
        self.tiered = self.tiered.max(Some(at));
        self.changed_at(at);
    }

    /// Adds the uses of the same memory elsewhere.
    pub fn add_all(&mut self, other: &Usage) {
        for (&day, &count) in &other.days {
            self.add_day(day, count);
        }
        self.raise_moments(other);
    }

    /// Takes over what `other`, counted of the same uses at another time, has more of.
    pub fn raise_to(&mut self, other: &Usage) {
        for (&day, &count) in &other.days {
            let known = self.days.entry(day).or_default();
            *known = count.max(*known);
        }
        self.raise_moments(other);
    }

    fn raise_moments(&mut self, other: &Usage) {
        self.last = self.last.max(other.last);
        self.restored = self.restored.max(other.restored);
        self.settled = self.settled.max(other.settled);
        self.unsettled = self.unsettled.max(other.unsettled);
        self.changed = self.changed.max(other.changed);
        self.tiered = self.tiered.max(other.tiered);
    }

    pub fn count(&self) -> u32 {
        self.days
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns the days with uses, earliest first, and how many.
    pub fn days(&self) -> impl Iterator<Item = (NaiveDate, u32)> + '_ {
        self.days.iter().map(|(day, count)| (*day, *count))
    }

    pub fn last(&self) -> Option<DateTime<Utc>> {
        self.last
    }

    /// As of when the confidence in its file is; `None` for as of its timestamp.
    pub fn settled(&self) -> Option<DateTime<Utc>> {
        self.settled
            .filter(|settled| self.unsettled < Some(*settled))
    }

    /// When its content was changed the last time after it was made, as far as records say so.
    pub fn changed(&self) -> Option<DateTime<Utc>> {
        self.changed
    }

    /// When its tier was stated anew the last time, as far as records say so.
    pub fn tiered(&self) -> Option<DateTime<Utc>> {
        self.tiered
    }

    /// When it was brought back from the archive the last time.
    pub fn restored(&self) -> Option<DateTime<Utc>> {
        self.restored
    }
}
