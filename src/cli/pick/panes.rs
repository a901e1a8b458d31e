//! Panes over the list of the picker, as data.

use super::fields::Field;
use super::input::Input;

/// The pane on the screen besides the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pane {
    /// No pane.
    List,
    /// The keys.
    Keys,
    /// The fields to filter by.
    Fields,
    /// The values of a field.
    Values(Values),
    /// A question that `y` answers.
    Ask(Ask),
    /// The relation of a new link.
    Relation { to: String, word: Input },
    /// Versions of one memory with their differences.
    History(HistoryPane),
}

/// The values of a field, of which one becomes a filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Values {
    pub field: Field,
    /// Values with their numbers of memories, the most frequent first.
    pub values: Vec<(String, usize)>,
    /// Part of a value that is typed.
    pub typed: Input,
    /// Place among those that hold what is typed.
    pub selected: usize,
}

impl Values {
    /// Returns the values that hold what is typed.
    pub fn offered(&self) -> Vec<&(String, usize)> {
        let typed = self.typed.text().to_lowercase();
        let values = self.values.iter();
        values
            .filter(|(value, _)| value.to_lowercase().contains(&typed))
            .collect()
    }
}

/// The question whether a memory is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ask {
    pub id: String,
    pub headline: String,
}

/// Kind of a line of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffKind {
    Place,
    Same,
    Added,
    Removed,
}

/// One version of a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionRow {
    /// Full id of its commit.
    pub commit: String,
    /// Time, subject and author; clean.
    pub line: String,
}

/// Versions of one memory, newest first, and the difference of the selected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryPane {
    pub id: String,
    pub headline: String,
    pub versions: Vec<VersionRow>,
    pub selected: usize,
    /// First line of the difference that is shown.
    pub scroll: usize,
    /// Lines of the difference, clean and with their signs.
    pub difference: Vec<(DiffKind, String)>,
}

impl HistoryPane {
    /// Returns the commits to compare: that of the selected version, and that of the version before it.
    pub fn compared(&self) -> Option<(&str, Option<&str>)> {
        let commit = |place: usize| self.versions.get(place).map(|one| one.commit.as_str());
        Some((commit(self.selected)?, commit(self.selected + 1)))
    }
}
