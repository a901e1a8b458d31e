//! Removal of unused index folders: of older versions, of other languages.
//!
//! Whether a folder is used shows by the times of its files: commits write them, and a process that
//! runs for long touches one of them once a day ([`touch`]). A folder without a change for a month is
//! removed; one of an older version, whose program was most likely replaced, after a week. If it was
//! in use all the same, that program loses no answer: open files stay readable, and it makes its index
//! again.

use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::beneath::{Folder, Kind, Target};

/// Name of the file whose modification time is that of the index's last use.
const USED: &str = "used";
/// Follows the name of an index in that of a folder in which a copy is received; the number of the process follows it.
pub(in crate::index::embedded) const NEW: &str = ".new-";
const DAY: Duration = Duration::from_secs(24 * 3_600);
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3_600);
const OUTDATED: Duration = Duration::from_secs(7 * 24 * 3_600);

/// A parsed name of an index folder.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    Index {
        version: u32,
    },
    /// An index that was set aside to be removed, or one that a process began to put in place.
    Temporary,
}

/// Marks the index in `folder` as used, at most once a day.
pub(in crate::index::embedded) fn touch(folder: &Path, now: SystemTime) {
    let opened = Folder::of_state(folder);
    let used = opened
        .as_ref()
        .ok()
        .and_then(|folder| folder.facts(USED).ok());
    if used.is_some_and(|used| age(moment(used.modified), now) < DAY) {
        return;
    }
    let written = opened.and_then(|folder| folder.write_derived(USED, b"", true));
    if let Err(error) = written {
        tracing::debug!("cannot note that the index is used: {error}");
    }
}

/// Removes the unused folders beside `own`, and returns their number. The caller holds the writer
/// lock, so that no other process removes one of them.
pub(in crate::index::embedded) fn remove_unused(
    own: &Path,
    version: u32,
    now: SystemTime,
) -> io::Result<usize> {
    let Some(state) = own.parent() else {
        return Ok(0);
    };
    let state = Folder::of_state(state)?;
    // The indexes of memories and of turns of one program are used together.
    let own = own
        .file_name()
        .and_then(|name| version_and_languages(name.to_str()?));
    let is_own = |name: &str| own.is_some() && version_and_languages(name) == own;
    let mut removed = 0;
    for (name, kind) in state.names()? {
        let Some(read) = read_name(&name) else {
            continue;
        };
        if is_own(&name) || kind != Kind::Folder {
            continue;
        }
        let folder = state.below(&name)?;
        let is_unused = match read {
            Name::Temporary => true,
            Name::Index { .. } if !is_index(&folder) => false,
            Name::Index { version: of } if of < version => last_use(&folder, now) >= OUTDATED,
            Name::Index { .. } => last_use(&folder, now) >= UNUSED,
        };
        if is_unused {
            match remove_in(&state, &name) {
                Ok(()) => removed += 1,
                // Some systems do not remove open files.
                Err(error) => {
                    let folder = folder.path().display();
                    tracing::debug!("cannot remove {folder}: {error}");
                }
            }
        }
    }
    Ok(removed)
}

/// Removes an index folder, renaming it first: no incomplete index exists under its name.
pub(in crate::index::embedded) fn remove(folder: &Path) -> io::Result<()> {
    let (state, name) = Folder::parent_of(folder)?;
    remove_in(&state, name)
}

fn remove_in(state: &Folder, name: &str) -> io::Result<()> {
    if name.contains('.') {
        return state.remove_all(name); // It is set aside.
    }
    let aside = format!("{name}.old-{}", std::process::id());
    if state.facts(&aside).is_ok() {
        // Left by a process that had the same number and was ended here.
        state.remove_all(&aside)?;
    }
    state.rename(name, state, &aside, Target::Keep)?;
    state.remove_all(&aside)
}

/// Returns what follows `index-v` or `turns-v` in the name of a folder.
fn version_and_languages(name: &str) -> Option<&str> {
    let (kind, rest) = name.split_once("-v")?;
    matches!(kind, "index" | "turns").then_some(rest)
}

/// Reads `index-v<number>-<languages>` or `turns-v…`, with `.old-<number>` or `.new-<number>` after it or not.
fn read_name(name: &str) -> Option<Name> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let temporary = name.split_once(".old-").or_else(|| name.split_once(NEW));
    let (name, process) = match temporary {
        Some((name, process)) => (name, Some(process)),
        None => (name, None),
    };
    let (version, languages) = version_and_languages(name)?.split_once('-')?;
    let is_language = |b: u8| b.is_ascii_lowercase() || b == b'-';
    if !is_number(version) || !languages.bytes().all(is_language) {
        return None;
    }
    match process {
        None => Some(Name::Index {
            version: version.parse().ok()?,
        }),
        Some(process) => is_number(process).then_some(Name::Temporary),
    }
}

/// Returns whether the folder holds a Tantivy index.
fn is_index(folder: &Folder) -> bool {
    let Ok(text) = folder.read_derived("meta.json") else {
        return false;
    };
    let meta: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    meta.is_some_and(|meta| meta.get("segments").is_some() && meta.get("schema").is_some())
}

/// Returns the time since the last write in the folder; zero if it cannot be read.
fn last_use(folder: &Folder, now: SystemTime) -> Duration {
    let newest = || -> io::Result<i64> {
        let mut newest = folder.facts(".")?.modified;
        for (name, _) in folder.names()? {
            newest = newest.max(folder.facts(&name)?.modified);
        }
        Ok(newest)
    };
    newest().map_or(Duration::ZERO, |newest| age(moment(newest), now))
}

fn moment(nanos: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_nanos(nanos.max(0).unsigned_abs())
}

/// Returns the time since `then`; zero for a moment in the future.
fn age(then: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(then).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_index_folders_are_read() {
        let index = |version| Some(Name::Index { version });
        assert_eq!(read_name("index-v1-english"), index(1));
        assert_eq!(read_name("index-v12-english-german"), index(12));
        assert_eq!(read_name("index-v1-"), index(1));
        assert_eq!(read_name("index-v1-english.old-77"), Some(Name::Temporary));
        assert_eq!(read_name("index-v1-english.new-77"), Some(Name::Temporary));
        for name in [
            "index",
            "index-v1",
            "index-vx-english",
            "index-v1-English",
            "index-v1-english.old",
            "index-v1-english.old-",
            "index-v1-english.old-7x",
            "index-v1-my notes",
            "index-v1-a/b",
            "my-index-v1-english",
            "index-v99999999999-english",
        ] {
            assert_eq!(read_name(name), None, "{name}");
        }
    }
}
