//! Detection of prompt injection in the texts of memories.

use crate::injection;

/// Returns the reasons to distrust a memory's title and text, or the shown part; none for an ordinary one.
pub fn reasons(title: Option<&str>, text: &str) -> Vec<&'static str> {
    match title {
        Some(title) => injection::find(&[title, text].join("\n")),
        None => injection::find(text),
    }
}
