//! Records about a workspace, beside the index of this store: the state in common, and its last listing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::engine::error::EngineError;
use crate::engine::history::History;
use crate::engine::history::with::exchange::{ListedFile, WorkspaceState};
use crate::engine::history::with::record::PendingText;
use crate::files::FilesError;

/// State in common with a workspace, as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct Note {
    pub version: u32,
    /// Identity of the workspace.
    pub workspace: String,
    /// Number of its last change, as of the listing.
    pub number: u64,
    /// Texts in common, by path.
    pub base: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingText>,
}

/// Version of the record.
pub(in crate::engine) const VERSION: u32 = 1;

/// Files of a workspace as they were listed last, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct Listed {
    pub version: u32,
    /// State of the workspace that the listing holds.
    pub state: WorkspaceState,
    /// Mark of its last change.
    pub mark: String,
    /// Time when everything was listed, in seconds since 1970.
    pub at: i64,
    pub files: BTreeMap<String, ListedFile>,
}

/// Returns the path of the record about a workspace, which may have several addresses.
fn note_path(history: &History, workspace: &str) -> PathBuf {
    path_of(history, "workspace", workspace)
}

fn listing_path(history: &History, workspace: &str) -> PathBuf {
    path_of(history, "workspace-listing", workspace)
}

fn path_of(history: &History, what: &str, workspace: &str) -> PathBuf {
    let name = format!(
        "{what}-{:032x}.json",
        crate::files::digest(workspace.as_bytes())
    );
    history.live.state().join(name)
}

/// Returns the last listing of a workspace; `None` if there is none, or one that was torn or is of a later version.
pub(in crate::engine) fn read_listing(history: &History, workspace: &str) -> Option<Listed> {
    let bytes = crate::files::read_derived(&listing_path(history, workspace)).ok()?;
    let listed: Listed = serde_json::from_slice(&bytes).ok()?;
    let is_of = listed.version == VERSION && listed.state.workspace == workspace;
    is_of.then_some(listed)
}

/// Keeps a listing for the next exchange; without it that lists everything.
pub(in crate::engine) fn write_listing(history: &History, listed: &Listed) {
    let path = listing_path(history, &listed.state.workspace);
    let text = serde_json::to_vec(listed).expect("texts and numbers are JSON");
    let written = crate::files::create_private_folder(history.live.state())
        .and_then(|()| crate::files::write_derived(&path, &text));
    if let Err(error) = written {
        tracing::warn!("the listing of the workspace is not kept: {error}");
    }
}

/// Has the next exchange list everything.
pub(in crate::engine) fn forget_listing(history: &History, workspace: &str) {
    // Where it stays, its texts are found to be others.
    let _ = crate::files::remove_derived(&listing_path(history, workspace));
}

/// Returns the record; an empty one if there is none, or one that was torn or is of a later version.
pub(in crate::engine) fn read_note(history: &History, workspace: &str) -> Note {
    let bytes = crate::files::read_derived(&note_path(history, workspace)).unwrap_or_default();
    let note: Option<Note> = serde_json::from_slice(&bytes).ok();
    note.filter(|note| note.version == VERSION)
        .unwrap_or_default()
}

/// Writes the record, unless it is the written one.
pub(in crate::engine) fn write_note(history: &History, note: &Note) -> Result<(), EngineError> {
    if read_note(history, &note.workspace) == *note {
        return Ok(());
    }
    let path = note_path(history, &note.workspace);
    let text = serde_json::to_vec(note).expect("texts and numbers are JSON");
    let written = crate::files::create_private_folder(history.live.state())
        .and_then(|()| crate::files::write_synced(&path, &text));
    written.map_err(|source| {
        let action = "write";
        FilesError::Io {
            action,
            path,
            source,
        }
        .into()
    })
}
