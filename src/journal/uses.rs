//! Uses of memories, from the lines of all journals.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};

use super::line::Line;
use super::record::{DECAY, RESTORE, Record, SESSION, TIER, UNDO_DECAY};
use crate::model::Usage;

/// Words of changes that do not change the content of a memory.
const NO_CHANGES: [&str; 9] = [
    "forget",
    "import",
    "layout",
    "link",
    "reflect",
    SESSION,
    "standard",
    "supersede",
    "unlink",
];

impl Record {
    /// Returns the effect on the usage of its memories; `None` if there is none.
    pub(super) fn note(&self) -> Option<fn(&mut Usage, DateTime<Utc>)> {
        match self.did.as_str() {
            RESTORE => Some(Usage::restored_at),
            DECAY => Some(Usage::settled_at),
            UNDO_DECAY => Some(Usage::unsettled_at),
            TIER => Some(Usage::tiered_at),
            // When a memory was made stands in its file.
            "remember" if self.why.is_none() => None,
            did if NO_CHANGES.contains(&did) => None,
            _ => Some(Usage::changed_at),
        }
    }
}

/// Uses of all memories, by stem.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uses(pub(super) HashMap<String, Usage>);

impl Uses {
    /// Returns the uses of one memory; `None` if it was never used.
    pub fn of(&self, stem: &str) -> Option<&Usage> {
        self.0.get(stem)
    }

    /// Returns whether no memory was used.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds the uses in `other`.
    pub(super) fn add_all(&mut self, other: Uses) {
        for (stem, usage) in other.0 {
            self.0.entry(stem).or_default().add_all(&usage);
        }
    }

    /// Raises counts to those of `sums`, which were counted of the same uses at another time.
    pub(super) fn raise_to(&mut self, sums: &BTreeMap<String, Usage>) {
        for (stem, usage) in sums {
            self.0.entry(stem.clone()).or_default().raise_to(usage);
        }
    }

    /// Adds the lines of one whole journal, except uses up to `until`, which are counted elsewhere.
    pub(super) fn take_journal(
        &mut self,
        lines: impl IntoIterator<Item = Line>,
        until: Option<DateTime<Utc>>,
    ) {
        let mut sums = Uses::default();
        for line in lines {
            match line {
                Line::Sums(at, uses) if !is_until(at, until) => sums.raise_to(&uses),
                line => self.take(line, until),
            }
        }
        self.add_all(sums);
    }

    /// Adds a line that was added to a journal; sums are ignored.
    pub(super) fn take(&mut self, line: Line, until: Option<DateTime<Utc>>) {
        match line {
            Line::Used(at, stems) if !is_until(at, until) => {
                for stem in stems {
                    self.0.entry(stem).or_default().add(at);
                }
            }
            Line::Used(..) | Line::Sums(..) | Line::Summed(_) => {}
            Line::Record(record) => {
                let Some(note) = record.note() else { return };
                for stem in record.of {
                    note(self.0.entry(stem).or_default(), record.at);
                }
            }
        }
    }
}

fn is_until(at: DateTime<Utc>, until: Option<DateTime<Utc>>) -> bool {
    until.is_some_and(|until| at <= until)
}
