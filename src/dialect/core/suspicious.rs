//! Why a text that wants to steer its reader is to be read with care.

use crate::injection;

/// Why a memory, or as much as is shown of it, is to be read with care; nothing of an ordinary one.
pub fn reasons(title: Option<&str>, text: &str) -> Vec<&'static str> {
    match title {
        Some(title) => injection::find(&[title, text].join("\n")),
        None => injection::find(text),
    }
}
