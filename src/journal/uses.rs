//! Uses of memories, from the lines of all journals.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use rustc_hash::{FxBuildHasher, FxHashMap};

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

/// Number of parts of [`Uses`]: an answer changes ten of them, and a copy of all costs a few microseconds.
const PARTS: usize = 256;

/// Uses of all memories, by stem. A change of a copy that is shared copies the changed parts only: a server
/// counts the uses of an answer while other searches read those before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uses(Vec<Arc<FxHashMap<String, Usage>>>);

impl Default for Uses {
    fn default() -> Uses {
        Uses(vec![Arc::default(); PARTS])
    }
}

/// Returns the number of the part for a stem.
fn part_of(stem: &str) -> usize {
    // The maps of the parts use the other bits.
    (FxBuildHasher.hash_one(stem) >> 32) as usize % PARTS
}

impl Uses {
    /// Returns the uses of one memory; `None` if it was never used.
    pub fn of(&self, stem: &str) -> Option<&Usage> {
        self.0[part_of(stem)].get(stem)
    }

    /// Returns whether no memory was used.
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Returns all memories with their uses, in any order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Usage)> {
        self.0.iter().flat_map(|part| part.iter())
    }

    fn entry(&mut self, stem: String) -> &mut Usage {
        let part = &mut self.0[part_of(&stem)];
        Arc::make_mut(part).entry(stem).or_default()
    }

    /// Adds the uses in `other`.
    pub(super) fn add_all(&mut self, other: &Uses) {
        for (stem, usage) in other.iter() {
            self.entry(stem.clone()).add_all(usage);
        }
    }

    /// Raises counts to those of `sums`, which were counted of the same uses at another time.
    pub(super) fn raise_to(&mut self, sums: &BTreeMap<String, Usage>) {
        for (stem, usage) in sums {
            self.entry(stem.clone()).raise_to(usage);
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
        self.add_all(&sums);
    }

    /// Adds a line that was added to a journal; sums are ignored.
    pub(super) fn take(&mut self, line: Line, until: Option<DateTime<Utc>>) {
        match line {
            Line::Used(at, stems) if !is_until(at, until) => {
                for stem in stems {
                    self.entry(stem).add(at);
                }
            }
            Line::Used(..) | Line::Sums(..) | Line::Summed(_) => {}
            Line::Record(record) => {
                let Some(note) = record.note() else { return };
                for stem in record.of {
                    note(self.entry(stem), record.at);
                }
            }
        }
    }
}

fn is_until(at: DateTime<Utc>, until: Option<DateTime<Utc>>) -> bool {
    until.is_some_and(|until| at <= until)
}
