//! Exchange of a store with a workspace of a server: the questions and their answers, as JSON.
//!
//! A workspace is asked for its state, for a listing, and for texts, and is given changes of single files, each
//! with the hash of the text that it replaces. Only memories and tombstones are exchanged: [`is_exchanged`] checks
//! each name that comes from the other side, on either side.

use serde::{Deserialize, Serialize};

use crate::files::{ChangeMark, Place, TOMBSTONES};
use crate::format::is_memory_name;
use crate::git::path_rejection;
use crate::model::is_talk_name;

/// Maximum size of a text that is exchanged, in bytes.
pub const MAX_TEXT: u64 = 2 << 20;

/// Maximum number of files in a page of a listing.
pub const MAX_LISTED: usize = 50_000;

/// Maximum number of files in a question for texts, and in one with changes.
pub const MAX_FILES: usize = 500;

/// State of a workspace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkspaceState {
    /// Identifies the workspace; another one that gets its name later has another identity.
    pub workspace: String,
    /// Number of its last change.
    pub number: u64,
    /// Whether the asking client may write.
    #[serde(default)]
    pub may_write: bool,
}

/// Question for a page of the listing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListingQuestion {
    /// Path after which the page begins; at the beginning if it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Mark of an earlier page: only files that changed after it are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
}

/// A page of the listing, in the order of the paths. Another page may be of a later state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListingPage {
    /// Identity of the workspace.
    pub workspace: String,
    /// Number of the last change that the page contains.
    pub number: u64,
    /// Mark of that change, for later questions; empty from a server that knows none.
    #[serde(default)]
    pub mark: String,
    /// The mark of the question, if the page holds only what changed after it.
    #[serde(default)]
    pub since: Option<String>,
    /// Memories and tombstones.
    pub files: Vec<ListedFile>,
    /// Paths of files that were removed after the mark of the question.
    #[serde(default)]
    pub removed: Vec<String>,
    /// Whether there are further pages.
    pub has_more: bool,
}

impl ListingPage {
    /// Returns the path after which the next page begins.
    pub fn last(&self) -> Option<&String> {
        let file = self.files.last().map(|file| &file.path);
        file.max(self.removed.last())
    }
}

/// A file of the listing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedFile {
    /// Path below a store's folder.
    pub path: String,
    /// First 16 bytes of the BLAKE3 hash of its text, as a number in 32 hex digits.
    pub hash: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the text in seconds since 1970.
    pub modified: i64,
}

/// Question for texts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextsQuestion {
    /// Paths of at most [`MAX_FILES`] files.
    pub paths: Vec<String>,
}

/// Texts of the first paths of a question: at least one, at most all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextsAnswer {
    /// Text of each path, in the same order; `None` if it is gone, or no UTF-8.
    pub texts: Vec<Option<String>>,
}

/// Changes of files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesQuestion {
    /// At most [`MAX_FILES`] changes, which are made in this order.
    pub changes: Vec<FileChange>,
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// Path below a store's folder.
    pub path: String,
    /// Hash of the present text; `None` if there is no file.
    #[serde(default)]
    pub before: Option<String>,
    /// New text; `None` removes the file.
    #[serde(default)]
    pub text: Option<String>,
}

/// Outcome of changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangesAnswer {
    /// For each change whether the file has the new text now; else it had another text than expected.
    pub done: Vec<bool>,
}

/// Returns a hash as it is exchanged.
pub(in crate::engine) fn written_hash(hash: u128) -> String {
    format!("{hash:032x}")
}

/// Returns the mark of a change as it is exchanged.
pub(in crate::engine) fn written_mark(mark: ChangeMark) -> String {
    format!("{}.{}", mark.number, mark.token)
}

/// Reads the mark of a change; `None` if it is none.
pub(in crate::engine) fn read_mark(written: &str) -> Option<ChangeMark> {
    let (number, token) = written.split_once('.')?;
    Some(ChangeMark {
        number: number.parse().ok()?,
        token: token.parse().ok()?,
    })
}

/// Returns whether a file at `path` may be exchanged: a memory, live or archived, or a tombstone, under a name that
/// every system can have. Settings, journals and talks are not.
pub(in crate::engine) fn is_exchanged(path: &str) -> bool {
    let is_plain =
        |part: &str| !matches!(part, "" | "." | "..") && !part.contains(['\\', '\0', ':']);
    let is_memory = match Place::of(path) {
        Some((_, name)) => {
            let file = name.rsplit('/').next().unwrap_or_default();
            is_memory_name(file) && !is_talk_name(name)
        }
        None => {
            let stem = path.strip_prefix(TOMBSTONES);
            let stem = stem.and_then(|rest| rest.strip_prefix('/'));
            stem.is_some_and(|stem| !stem.contains('/') && is_memory_name(&format!("{stem}.md")))
        }
    };
    is_memory && path.split('/').all(is_plain) && path_rejection(path, 0).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: bool) {
        assert_eq!(is_exchanged(path), expected, "{path}");
    }

    #[test]
    fn memories_and_tombstones_are_exchanged_under_plain_names_alone() {
        check("files/20260101_000000_aaaaaaaa.md", true);
        check("files/2026/20260101_000000_aaaaaaaa.md", true);
        check("archive/20260101_000000_aaaaaaaa.md", true);
        check("tombstones/20260101_000000_aaaaaaaa", true);
        check("files/../memdir.md", false);
        check("files/./a.md", false);
        check("files//a.md", false);
        check("/files/a.md", false);
        check("files/a\\b.md", false);
        check("files/c:a.md", false);
        check("files/.git/a.md", false);
        check("files/a.txt", false);
        check("files/.hidden.md", false);
        check("files/talks/2026/20260101_000000_aaaaaaaa.md", false);
        check("tombstones/a/b", false);
        check("tombstones/..", false);
        check("memdir.toml", false);
        check("journal/a.jsonl", false);
        check(".memdir/with/id", false);
        check("", false);
    }
}
