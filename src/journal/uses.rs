//! What the lines of all journals come to.

use std::collections::HashMap;

use super::DECAY;
use super::RESTORE;
use super::UNDO_DECAY;
use super::line::Line;
use crate::model::Usage;

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
