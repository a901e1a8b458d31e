//! Index folders that nobody uses any more: of older versions, of other languages.
//!
//! Whether another program uses a folder cannot be asked of the system. It shows by its files:
//! commits write them, and whoever runs for long touches one of them once a day ([`touch`]). A
//! folder that shows nothing for a month is removed; one of an older version, whose program was
//! most likely replaced, after a week. If it was in use all the same, that program loses no
//! answer: files that are open stay readable, and it makes its index anew.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Duration;
use std::time::SystemTime;

use tantivy::directory::Directory;
use tantivy::directory::MmapDirectory;

/// The file that says when the index was used.
const USED: &str = "used";
const DAY: Duration = Duration::from_secs(24 * 3_600);
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3_600);
const OUTDATED: Duration = Duration::from_secs(7 * 24 * 3_600);

/// What a folder's name says, if it is one of ours.
#[derive(Debug, PartialEq, Eq)]
enum Name {
    Index {
        version: u32,
    },
    /// An index that was set aside to be removed.
    SetAside,
}

/// Shows that the index in `folder` is in use, at most once a day.
pub(super) fn touch(folder: &Path, now: SystemTime) {
    let used = fs::metadata(folder.join(USED)).and_then(|data| data.modified());
    if used.is_ok_and(|used| age(used, now) < DAY) {
        return;
    }
    let written = MmapDirectory::open(folder)
        .map_err(|error| error.to_string())
        .and_then(|directory| {
            let written = directory.atomic_write(Path::new(USED), b"");
            written.map_err(|error| error.to_string())
        });
    if let Err(error) = written {
        tracing::debug!("cannot note that the index is used: {error}");
    }
}

/// Removes the folders beside `own` that nobody uses; how many there were. The caller holds the
/// writer lock, so that nobody is about to remove one of them.
pub(super) fn remove_unused(own: &Path, version: u32, now: SystemTime) -> io::Result<usize> {
    let Some(state) = own.parent() else {
        return Ok(0);
    };
    let mut removed = 0;
    for entry in fs::read_dir(state)? {
        let entry = entry?;
        let folder = entry.path();
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(read_name) else {
            continue;
        };
        if folder == own || !entry.file_type()?.is_dir() {
            continue;
        }
        let is_unused = match name {
            Name::SetAside => true,
            Name::Index { .. } if !is_index(&folder) => false,
            Name::Index { version: of } if of < version => last_use(&folder, now) >= OUTDATED,
            Name::Index { .. } => last_use(&folder, now) >= UNUSED,
        };
        if is_unused {
            match remove(&folder) {
                Ok(()) => removed += 1,
                // Some systems keep what is open.
                Err(error) => tracing::debug!("cannot remove {}: {error}", folder.display()),
            }
        }
    }
    Ok(removed)
}

/// Removes an index folder; nobody finds half of it under its name.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    if folder.extension().is_some() {
        return fs::remove_dir_all(folder); // It is set aside.
    }
    let aside = folder.with_extension(format!("old-{}", std::process::id()));
    if aside.is_dir() {
        // Left by a process that had the same number and was ended here.
        fs::remove_dir_all(&aside)?;
    }
    fs::rename(folder, &aside)?;
    fs::remove_dir_all(&aside)
}

/// Reads `index-v<number>-<languages>`, with `.old-<number>` after it or not.
fn read_name(name: &str) -> Option<Name> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let (name, aside) = match name.split_once(".old-") {
        Some((name, process)) => (name, Some(process)),
        None => (name, None),
    };
    let (version, languages) = name.strip_prefix("index-v")?.split_once('-')?;
    let is_language = |b: u8| b.is_ascii_lowercase() || b == b'-';
    if !is_number(version) || !languages.bytes().all(is_language) {
        return None;
    }
    match aside {
        None => Some(Name::Index {
            version: version.parse().ok()?,
        }),
        Some(process) => is_number(process).then_some(Name::SetAside),
    }
}

/// Whether the folder holds an index, and not something that has its name by chance.
fn is_index(folder: &Path) -> bool {
    let Ok(text) = fs::read(folder.join("meta.json")) else {
        return false;
    };
    let meta: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
    meta.is_some_and(|meta| meta.get("segments").is_some() && meta.get("schema").is_some())
}

/// How long ago something in the folder was written; not long, if that cannot be told.
fn last_use(folder: &Path, now: SystemTime) -> Duration {
    let newest = || -> io::Result<SystemTime> {
        let mut newest = fs::metadata(folder)?.modified()?;
        for entry in fs::read_dir(folder)? {
            newest = newest.max(entry?.metadata()?.modified()?);
        }
        Ok(newest)
    };
    newest().map_or(Duration::ZERO, |newest| age(newest, now))
}

/// Nothing, for what lies in the future.
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
        assert_eq!(read_name("index-v1-english.old-77"), Some(Name::SetAside));
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
