//! In which folder a memory lies.

use std::fmt;
use std::str::FromStr;

use super::Stem;

/// Name of the folder of a store that opens a folder of somebody's notes in place: the live
/// memories then lie in the folder around it, under the names and in the folders that they have
/// there, and only the rest of the store in this one. By the name, and by nothing in the store, so
/// that no settings that come from elsewhere make notes of a folder's surroundings.
pub const IN_PLACE: &str = ".memdir-store";

/// In which folder below `files/` new memories are put. All layouts are read at any time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// In none: all side by side.
    #[default]
    Flat,
    /// In one for the month of their names, such as `2026-01`.
    ByMonth,
}

impl Layout {
    /// Every layout as it is written.
    pub const WORDS: [&str; 2] = ["flat", "by-month"];

    pub fn as_str(self) -> &'static str {
        match self {
            Layout::Flat => Layout::WORDS[0],
            Layout::ByMonth => Layout::WORDS[1],
        }
    }

    /// Returns the path of the memory `stem` below `files/`.
    pub fn name_of(self, stem: &Stem) -> String {
        match (self, stem.time()) {
            (Layout::ByMonth, Some(time)) => format!("{}/{stem}.md", time.format("%Y-%m")),
            _ => format!("{stem}.md"),
        }
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Layout {
    type Err = String;

    fn from_str(word: &str) -> Result<Layout, String> {
        match word.trim().to_lowercase().as_str() {
            "flat" => Ok(Layout::Flat),
            "by-month" => Ok(Layout::ByMonth),
            _ => Err(format!("`{word}` is none of {}", Layout::WORDS.join(", "))),
        }
    }
}
