//! Which paths of a repository are the store's, and which no machine takes from another one.

use super::Repository;

/// What of a store is in its history, by name below the store's folder. Whatever else lies in the
/// repository is somebody's own.
pub const STORE_PARTS: [&str; 5] = ["files", "archive", "memdir.toml", "tombstones", JOURNALS];

/// The one of [`STORE_PARTS`] whose files are united line by line, whatever they hold.
const JOURNALS: &str = "journal";

/// The one of [`STORE_PARTS`] that is a file.
const SETTINGS: &str = "memdir.toml";

/// What is derived, and holds the locks.
const LOCAL: &str = ".memdir";

pub(super) const MOST_DEPTH: usize = 12;
pub(super) const LARGEST_TEXT: u64 = 10 << 20;
/// What several copies of a store wrote into one journal, each no more than a text may have, is
/// still taken when it is united.
const LARGEST_JOURNAL: u64 = 64 << 20;

/// Why no machine takes a file from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untaken {
    /// A part of its path means something to git on some system.
    Name,
    /// It lies in too many folders.
    Depth,
    Size,
}

impl Repository {
    /// Why no machine would take the file at `path` below the store with so many bytes, if there is
    /// a reason.
    pub fn untaken(&self, path: &str, bytes: u64) -> Option<Untaken> {
        untaken_below(self.prefix.matches('/').count(), path, bytes)
    }

    /// The path below the store of what lies at `path` below the work folder, if it is the
    /// store's.
    pub(super) fn below_store<'a>(&self, path: &'a str) -> Option<&'a str> {
        let below = path.strip_prefix(&self.prefix)?;
        let is_in = |part: &&str| match below.strip_prefix(*part) {
            Some("") => **part == *SETTINGS,
            Some(rest) => rest.starts_with('/') && **part != *SETTINGS,
            None => false,
        };
        STORE_PARTS.iter().any(is_in).then_some(below)
    }

    /// Whether the entry at `path` below the work folder is one of [`STORE_PARTS`], whatever it is.
    pub(super) fn is_store_part(&self, path: &str) -> bool {
        path.strip_prefix(&self.prefix)
            .is_some_and(|below| STORE_PARTS.contains(&below))
    }

    /// How many bytes the store's file at `path` below the work folder may have to be taken.
    pub(super) fn most_bytes(&self, path: &str) -> u64 {
        let below = path.strip_prefix(&self.prefix).unwrap_or(path);
        match below.split_once('/') {
            Some((JOURNALS, _)) => LARGEST_JOURNAL,
            _ => LARGEST_TEXT,
        }
    }

    /// What is wrong with an entry at `path` below the work folder, if it stands where the store has
    /// something else.
    pub(super) fn out_of_place(&self, path: &str, is_folder: bool) -> Option<&'static str> {
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

    /// Whether the entry at `path` below the work folder is the store's, or a folder above it.
    pub(super) fn leads_to_store(&self, path: &str) -> bool {
        let is_above = self
            .prefix
            .strip_prefix(path)
            .is_some_and(|rest| rest.starts_with('/'));
        is_above || self.is_store_part(path) || self.below_store(path).is_some()
    }
}

/// Why no store takes the file at `path` below another one with so many bytes, if there is a reason;
/// journals are measured otherwise.
pub fn untaken(path: &str, bytes: u64) -> Option<Untaken> {
    let most = match path.split_once('/') {
        Some((JOURNALS, _)) => LARGEST_JOURNAL,
        _ => LARGEST_TEXT,
    };
    let bytes = match bytes <= most {
        true => 0,
        false => bytes,
    };
    untaken_below(0, path, bytes)
}

/// As [`Repository::untaken`], of a store that lies in so many folders.
fn untaken_below(folders: usize, path: &str, bytes: u64) -> Option<Untaken> {
    let folders = folders + path.matches('/').count();
    if path.split('/').any(|part| is_gits_own(part.as_bytes())) {
        Some(Untaken::Name)
    } else if folders > MOST_DEPTH {
        Some(Untaken::Depth)
    } else {
        (bytes > LARGEST_TEXT).then_some(Untaken::Size)
    }
}

/// Names that mean something to git on some system: `.git` in every spelling, and `.gitmodules`.
pub(super) fn is_gits_own(name: &[u8]) -> bool {
    // Some file systems pass over these.
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
