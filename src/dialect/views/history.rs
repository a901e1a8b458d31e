//! The history of a store: its changes, and what a memory said.

use std::borrow::Cow;

use chrono::SecondsFormat;
use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::{PastChange, PastText, RestoredText, Undone, UndoneFile};

/// The changes of one memory, the newest first.
#[derive(Serialize, JsonSchema)]
pub struct HistoryView<'a> {
    pub id: String,
    pub changes: Vec<ChangeView<'a>>,
    /// Whether there are older changes than these.
    pub more: bool,
}

/// One change of the history.
#[derive(Serialize, JsonSchema)]
pub struct ChangeView<'a> {
    commit: &'a str,
    at: String,
    what: &'a str,
    agent: Option<String>,
    user: Option<String>,
    tool: Option<String>,
    author: &'a str,
    memories: Vec<ChangedMemory<'a>>,
}

/// The effect of a change on one memory.
#[derive(Serialize, JsonSchema)]
struct ChangedMemory<'a> {
    id: &'a str,
    done: String,
}

impl<'a> From<&'a PastChange> for ChangeView<'a> {
    fn from(change: &'a PastChange) -> ChangeView<'a> {
        let joined = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
        let memory = |(done, id): &'a (String, String)| ChangedMemory {
            id,
            done: done.to_lowercase(),
        };
        ChangeView {
            commit: &change.commit,
            at: change.at.to_rfc3339_opts(SecondsFormat::Secs, false),
            what: &change.what,
            agent: joined(&change.agents),
            user: joined(&change.users),
            tool: joined(&change.tools),
            author: &change.author,
            memories: change.memories.iter().map(memory).collect(),
        }
    }
}

/// The present text of a memory beside an earlier one.
#[derive(Serialize, JsonSchema)]
pub struct DiffView<'a> {
    pub id: String,
    pub different: bool,
    pub before: Option<TextView<'a>>,
    pub after: TextView<'a>,
}

/// The text of a memory at one moment; all null where it was not there.
#[derive(Serialize, JsonSchema)]
pub struct TextView<'a> {
    file: Option<&'a str>,
    commit: Option<&'a str>,
    text: Option<Cow<'a, str>>,
}

impl<'a> From<&'a PastText> for TextView<'a> {
    fn from(text: &'a PastText) -> TextView<'a> {
        let file = text.file.as_deref();
        TextView {
            file,
            commit: text.commit.as_deref(),
            text: file.map(|_| String::from_utf8_lossy(&text.bytes)),
        }
    }
}

/// A change that was undone, or would be.
#[derive(Serialize, JsonSchema)]
pub struct UndoneView<'a> {
    undone: &'a str,
    what: &'a str,
    /// The new change; null if it is still to be made, or nothing had to be changed.
    commit: Option<&'a str>,
    dry_run: bool,
    files: Vec<UndoneFileView<'a>>,
}

/// The effect of an undo on one file.
#[derive(Serialize, JsonSchema)]
struct UndoneFileView<'a> {
    id: Option<&'a str>,
    stem: Option<&'a str>,
    file: &'a str,
    done: &'a str,
    changed: bool,
}

impl<'a> UndoneView<'a> {
    /// Returns the view of an undo, or of a rehearsal of one.
    pub fn new(undone: &'a Undone, is_rehearsal: bool) -> UndoneView<'a> {
        let file = |file: &'a UndoneFile| UndoneFileView {
            id: file.stem.as_ref().map(|stem| stem.short()),
            stem: file.stem.as_ref().map(|stem| stem.as_str()),
            file: &file.file,
            done: file.what,
            changed: file.is_change,
        };
        UndoneView {
            undone: &undone.undone,
            what: &undone.what,
            commit: undone.commit.as_deref(),
            dry_run: is_rehearsal,
            files: undone.files.iter().map(file).collect(),
        }
    }
}

/// A memory with an earlier text of it.
#[derive(Serialize, JsonSchema)]
pub struct RestoredView<'a> {
    id: &'a str,
    stem: &'a str,
    file: &'a str,
    /// The change as of which it has its text.
    as_of: &'a str,
    changed: bool,
}

impl<'a> From<&'a RestoredText> for RestoredView<'a> {
    fn from(restored: &'a RestoredText) -> RestoredView<'a> {
        RestoredView {
            id: restored.stem.short(),
            stem: restored.stem.as_str(),
            file: &restored.name,
            as_of: &restored.as_of,
            changed: restored.changed,
        }
    }
}
