//! What the lines of all journals come to.

use std::collections::HashMap;

use chrono::DateTime;
use chrono::Utc;

use super::DECAY;
use super::Journal;
use super::JournalError;
use super::RESTORE;
use super::UNDO_DECAY;
use super::line::Line;
use crate::model::Stem;
use crate::model::Usage;

impl Journal {
    /// Counts one use of each of the memories, each at its own moment.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written.
    pub fn used_each(&self, uses: &[(DateTime<Utc>, Stem)]) -> Result<(), JournalError> {
        let line =
            |(at, stem): &(DateTime<Utc>, Stem)| Line::Used(*at, vec![stem.as_str().to_owned()]);
        let lines: Vec<Line> = uses.iter().map(line).collect();
        self.append(&lines)
    }
}

/// The uses of all memories, by stem.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Uses(pub(super) HashMap<String, Usage>);

impl Uses {
    /// Those of one memory; `None` if it was never used.
    pub fn of(&self, stem: &str) -> Option<&Usage> {
        self.0.get(stem)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, line: Line) {
        match line {
            Line::Used(at, stems) => {
                for stem in stems {
                    self.0.entry(stem).or_default().add(at);
                }
            }
            Line::Month(month) => {
                for (stem, usage) in month {
                    self.0.entry(stem).or_default().add_all(&usage);
                }
            }
            Line::Record(record) => {
                let note = match record.did.as_str() {
                    RESTORE => Usage::restored_at,
                    DECAY => Usage::settled_at,
                    UNDO_DECAY => Usage::unsettled_at,
                    _ => return,
                };
                for stem in record.of {
                    note(self.0.entry(stem).or_default(), record.at);
                }
            }
        }
    }
}
