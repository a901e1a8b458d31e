//! Paths of a repository that are the store's, and those that no machine takes from another one.
//!
//! Only `files/`, `archive/`, `tombstones/`, `journal/` and `memdir.toml` are the store's. A file of a
//! remote's commit that this machine leaves out is not written here and no change in a merge: a merge
//! copies its tree entry unchanged, and a commit does not delete it.

use crate::git::{GitError, Id, PathChange, Repository};

/// Names below the store's folder that are in its history. Everything else in the repository belongs to
/// somebody else.
pub const STORE_PARTS: [&str; 5] = ["files", "archive", "memdir.toml", "tombstones", JOURNALS];

/// The one of [`STORE_PARTS`] whose files are merged line by line, whatever they hold.
const JOURNALS: &str = "journal";

/// The one of [`STORE_PARTS`] that is a file.
const SETTINGS: &str = "memdir.toml";

/// Name of the folder of derived files and locks.
const LOCAL: &str = ".memdir";

/// Name of the folder of a store whose memories are the notes around it.
const IN_PLACE: &str = ".memdir-store";

/// Maximum number of folders above a file.
pub(in crate::git) const MOST_DEPTH: usize = 12;
/// Maximum length of a name, in bytes: every file system in use takes so much, and hardly one more.
const LONGEST_PART: usize = 255;
/// Maximum length of a path, in bytes: with the store's folder before it, some systems refuse more than
/// 1,024.
const LONGEST_PATH: usize = 800;
/// Maximum size of a text, in bytes.
pub(in crate::git) const LARGEST_TEXT: u64 = 10 << 20;
/// Maximum size of a journal, in bytes: merged from several copies of a store, each of the size of a
/// text.
const LARGEST_JOURNAL: u64 = 64 << 20;

/// Reason why no machine takes a file from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathRejection {
    /// A part of its path is special to git on some system.
    Name,
    /// The path is too long for some system, or its name is invalid on this one.
    System,
    /// A folder on its path has the name of a memory.
    Folder,
    /// It lies in too many folders.
    Depth,
    /// It would lie among somebody's notes and is no note, such as a program or its settings.
    NoNote,
    Size,
}

impl PathRejection {
    /// Returns the reason, as the rest of a sentence about the file.
    pub fn reason(self) -> &'static str {
        match self {
            PathRejection::Name => "git would act on its name",
            PathRejection::System => "its name is one that not every system has files of",
            PathRejection::Folder => "it lies in a folder that is called as a memory is",
            PathRejection::Depth => "it lies in too many folders",
            PathRejection::NoNote => {
                "it is no note, and this store keeps its memories among somebody's notes"
            }
            PathRejection::Size => "it is too large",
        }
    }
}

impl Repository {
    /// Returns the reason why no machine would take a file of `bytes` bytes at `path` below the store, if
    /// there is one.
    pub fn path_rejection(&self, path: &str, bytes: u64) -> Option<PathRejection> {
        let is_in_place = self.work_folder().join(&self.prefix).ends_with(IN_PLACE);
        match path.strip_prefix("files/") {
            Some(name) if is_in_place && !is_note(name) => Some(PathRejection::NoNote),
            _ => rejection_at_depth(self.prefix.matches('/').count(), path, bytes),
        }
    }

    /// Returns the reason why this machine leaves the text `id` at `path` below the store in the history
    /// without writing the file, if there is one.
    ///
    /// # Errors
    ///
    /// Fails if the text is missing from the repository.
    pub fn left_out(&self, path: &str, id: Id) -> Result<Option<PathRejection>, GitError> {
        Ok(self.left_out_of_size(path, self.size_of(id)?))
    }

    /// Returns as [`Repository::left_out`], of a text of `bytes` bytes.
    pub(in crate::git) fn left_out_of_size(&self, path: &str, bytes: u64) -> Option<PathRejection> {
        self.path_rejection(path, counted(path, bytes))
    }

    /// Returns those of `changes` that this machine applies. A text that it leaves out is no file here: a
    /// text that replaces it is new, and a change to it is dropped.
    ///
    /// # Errors
    ///
    /// Fails if a text is missing from the repository.
    pub fn followed(&self, changes: Vec<PathChange>) -> Result<Vec<PathChange>, GitError> {
        let mut followed = Vec::with_capacity(changes.len());
        for mut change in changes {
            if let Some(after) = change.after
                && self.left_out(&change.path, after)?.is_some()
            {
                continue;
            }
            if let Some(before) = change.before
                && self.left_out(&change.path, before)?.is_some()
            {
                change.before = None;
            }
            if change.before != change.after {
                followed.push(change);
            }
        }
        Ok(followed)
    }

    /// Returns whether a sync may write a file that is not the store's at `path` below the work folder: not
    /// in the place of a part of the store, and not under a name that is special to git.
    pub fn may_lie_beside(&self, path: &str) -> bool {
        let first = path.split('/').next().unwrap_or_default();
        let is_ours = |part: &&str| part.eq_ignore_ascii_case(first);
        let is_free = !STORE_PARTS.iter().chain(&[LOCAL]).any(is_ours);
        is_free && rejection_at_depth(0, path, 0).is_none()
    }

    /// Returns the path below the store of the file at `path` below the work folder, if it is the store's.
    pub(in crate::git) fn below_store<'a>(&self, path: &'a str) -> Option<&'a str> {
        let below = path.strip_prefix(&self.prefix)?;
        let is_in = |part: &&str| match below.strip_prefix(*part) {
            Some("") => **part == *SETTINGS,
            Some(rest) => rest.starts_with('/') && **part != *SETTINGS,
            None => false,
        };
        STORE_PARTS.iter().any(is_in).then_some(below)
    }

    /// Returns whether `path` below the work folder is that of one of [`STORE_PARTS`].
    pub(in crate::git) fn is_store_part(&self, path: &str) -> bool {
        path.strip_prefix(&self.prefix)
            .is_some_and(|below| STORE_PARTS.contains(&below))
    }

    /// Returns whether `path` below the work folder is at or below one of [`STORE_PARTS`] without being the
    /// store's, such as a file in place of a folder.
    pub(in crate::git) fn stands_for_part(&self, path: &str) -> bool {
        let below = path.strip_prefix(&self.prefix).unwrap_or_default();
        let first = below.split('/').next().unwrap_or_default();
        STORE_PARTS.contains(&first) && self.below_store(path).is_none()
    }

    /// Returns the fault of an entry at `path` below the work folder, if the store has something else there.
    pub(in crate::git) fn out_of_place(&self, path: &str, is_folder: bool) -> Option<&'static str> {
        let below = path.strip_prefix(&self.prefix)?;
        let first = below.split('/').next().unwrap_or_default();
        if first.eq_ignore_ascii_case(LOCAL) {
            return Some("belongs to each machine alone");
        }
        match (self.is_store_part(path), below == SETTINGS, is_folder) {
            (true, false, false) => Some("is no folder"),
            (true, true, true) => Some("is no file"),
            _ => None,
        }
    }

    /// Returns whether the entry at `path` below the work folder is the store's, or a folder above it.
    pub(in crate::git) fn leads_to_store(&self, path: &str) -> bool {
        let is_above = self
            .prefix
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('/'));
        is_above || self.is_store_part(path) || self.below_store(path).is_some()
    }
}

/// Returns the reason why no store takes a file of `bytes` bytes at `path` below another one, if there is
/// one; journals have their own limit.
pub fn path_rejection(path: &str, bytes: u64) -> Option<PathRejection> {
    rejection_at_depth(0, path, counted(path, bytes))
}

/// Returns the size that counts for the limit of a text: 0 for a journal within its own limit.
fn counted(path: &str, bytes: u64) -> u64 {
    let is_journal = path.split_once('/').is_some_and(|(top, _)| top == JOURNALS);
    if is_journal && bytes <= LARGEST_JOURNAL {
        0
    } else {
        bytes
    }
}

/// Returns as [`Repository::path_rejection`], of a store `folders` folders deep.
fn rejection_at_depth(folders: usize, path: &str, bytes: u64) -> Option<PathRejection> {
    let folders = folders + path.matches('/').count();
    let above = path.rsplit_once('/').map_or("", |(above, _)| above);
    if path.split('/').any(|part| is_gits_own(part.as_bytes())) {
        Some(PathRejection::Name)
    } else if path.len() > LONGEST_PATH || path.split('/').any(|part| !can_be_held(part)) {
        Some(PathRejection::System)
    } else if above.split('/').any(is_called_as_memory) {
        Some(PathRejection::Folder)
    } else if folders > MOST_DEPTH {
        Some(PathRejection::Depth)
    } else {
        (bytes > LARGEST_TEXT).then_some(PathRejection::Size)
    }
}

/// Returns whether a file at `name` below a folder of notes is a note: hidden folders are of other
/// programs.
fn is_note(name: &str) -> bool {
    name.ends_with(".md") && name.split('/').all(|part| !part.starts_with(['.', '#']))
}

/// Returns whether this system allows the name.
fn can_be_held(part: &str) -> bool {
    part.len() <= LONGEST_PART && (!cfg!(windows) || is_windows_name(part))
}

/// Returns whether Windows allows the name: device names are reserved in every folder, and blanks and
/// dots at the end are dropped.
fn is_windows_name(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end();
    let is_device = ["con", "prn", "aux", "nul", "conin$", "conout$"]
        .iter()
        .any(|name| stem.eq_ignore_ascii_case(name));
    let numbered = stem
        .get(..3)
        .zip(stem.get(3..))
        .is_some_and(|(name, number)| {
            let is_port = name.eq_ignore_ascii_case("com") || name.eq_ignore_ascii_case("lpt");
            is_port && number.chars().count() == 1 && number.chars().all(|c| c.is_numeric())
        });
    let is_bad = |c: char| c.is_control() || "<>:\"|?*\\".contains(c);
    !is_device && !numbered && !part.ends_with(['.', ' ']) && !part.contains(is_bad)
}

/// Returns whether a folder has the name of a memory file: such folders are not searched.
fn is_called_as_memory(folder: &str) -> bool {
    let ending = folder.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("md"))
}

/// Returns whether a name is special to git on some system: `.git` in every spelling, and `.gitmodules`.
pub(in crate::git) fn is_gits_own(name: &[u8]) -> bool {
    // Some file systems ignore these.
    let text: String = String::from_utf8_lossy(name)
        .chars()
        .filter(|c| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'))
        .collect();
    let text = text.to_lowercase();
    let text = text.split(':').next().unwrap_or_default();
    let text = text.trim_end_matches(['.', ' ']);
    text.is_empty()
        || text == ".."
        || text.contains(['\\', '\0'])
        || matches!(text, ".git" | ".gitmodules")
        || text.starts_with("git~")
        || text.starts_with("gitmod~")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_some_machine_cannot_hold_is_known_by_its_path() {
        let long = "n".repeat(256);
        for (path, expected) in [
            ("files/20260101_000000_aaaaaaaa.md", None),
            (
                "files/2026/what: a title.md",
                cfg!(windows).then_some(PathRejection::System),
            ),
            (&format!("files/{long}"), Some(PathRejection::System)),
            (&format!("files/{long}/a.md"), Some(PathRejection::System)),
            (
                &format!("files/{}a.md", "deep-folder/".repeat(70)),
                Some(PathRejection::System),
            ),
            (
                &format!("files/{}a.md", "d/".repeat(12)),
                Some(PathRejection::Depth),
            ),
            ("files/a.md/b.md", Some(PathRejection::Folder)),
            ("files/a.MD/b.md", Some(PathRejection::Folder)),
            ("files/.git/config", Some(PathRejection::Name)),
        ] {
            assert_eq!(path_rejection(path, 0), expected, "{path}");
        }
        assert_eq!(
            path_rejection("files/a.md", 11 << 20),
            Some(PathRejection::Size)
        );
        assert_eq!(path_rejection("journal/a.jsonl", 11 << 20), None);
    }

    #[test]
    fn names_that_windows_has_no_files_of() {
        for name in [
            "CON", "con.md", "nul .md", "COM1", "lpt9.md", "a.", "a ", "a:b.md", "a?", "a\tb",
        ] {
            assert!(!is_windows_name(name), "{name}");
        }
        for name in [
            "console.md",
            "com.md",
            "com10.md",
            "a.b.md",
            ".hidden",
            "lptx",
            "日本.md",
        ] {
            assert!(is_windows_name(name), "{name}");
        }
    }

    #[test]
    fn what_git_acts_on_is_known_in_every_spelling() {
        for name in [
            ".git",
            ".GIT",
            ".Git. ",
            "git~1",
            "GIT~2",
            ".gitmodules",
            ".GitModules",
            ".g\u{200c}it",
            ".git::$INDEX_ALLOCATION",
            "..",
            "a\\b",
            ".",
        ] {
            assert!(is_gits_own(name.as_bytes()), "{name}");
        }
        for name in [
            ".gitignore",
            "git.md",
            "20260101_000000_aaaaaaaa.md",
            ".github",
        ] {
            assert!(!is_gits_own(name.as_bytes()), "{name}");
        }
    }
}
