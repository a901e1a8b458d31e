//! Comparison of all files with the committed index without reading their names again.
//!
//! After the names were read, a small file in the state folder records in which folders, and which of them the index lacks.
//! The next process, and one after a restart, looks at the indexed files by their names while the folders are as they were.
//! A record that is lost, damaged or of another state of the index costs another reading of the names.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::live::index_recovery;
use crate::engine::live::leader::digest;
use crate::engine::live::reconcile::{Changes, Compared, verified};
use crate::engine::live::store::LiveStore;
use crate::engine::texts::RACY_NANOS;
use crate::files::{ChangeFeed, KnownFiles, ListedFolders, Place, boot_id, look_at_known};
use crate::index::Snapshot;
use crate::model::Stamp;

/// First line of the file: the version of the format, and of the program, whose rules say which names are memories.
const TITLE: &str = concat!("listed 1 memdir ", env!("CARGO_PKG_VERSION"));

/// Names in the memory folder, as they differ from those in a state of the index.
#[derive(Debug, PartialEq, Eq)]
struct KnownNames {
    /// The system's id since it was started.
    boot: String,
    /// Hash of the index's state.
    state: u128,
    /// Names of memories that are not in the index.
    unindexed: BTreeSet<String>,
    /// Folders in which they lie.
    folders: ListedFolders,
}

fn path(live: &LiveStore) -> PathBuf {
    live.state().join("listed")
}

/// Compares the files with the committed index, of which everything is known until `known`, in nanoseconds since 1970; the
/// comparison began at `from`. `None` if their names must be read for it, or if `most` or more differ.
pub(super) fn compare(
    live: &LiveStore,
    watch: Option<&dyn ChangeFeed>,
    (known, from): (i64, i64),
    most: usize,
) -> Option<Compared> {
    let directory = live.directory()?;
    let record = crate::files::read_derived(&path(live)).ok()?;
    let names = KnownNames::read(&String::from_utf8(record).ok()?)?;
    let are_unchanged = || names.folders.are_unchanged(directory, Place::Files);
    if Some(names.boot.as_str()) != boot_id().as_deref() || !are_unchanged() {
        return None;
    }
    let folders = names.folders.times();
    if let Some(watch) = watch {
        // Before the files are looked at: later changes in them are reported.
        folders.iter().for_each(|(folder, _)| watch.include(folder));
    }
    let committed = index_recovery::committed(live).ok()?;
    if digest(committed.state()) != names.state {
        return None;
    }
    let certain = verified(known, committed.as_ref(), from).saturating_sub(RACY_NANOS);
    let indexed = committed.files();
    let mut files: Vec<(&str, Option<Stamp>)> = indexed
        .map(|(name, indexed)| (name, Some(indexed.stamp)))
        .collect();
    files.extend(names.unindexed.iter().map(|name| (name.as_str(), None)));
    // Two runs that are in order.
    files.sort_by_key(|(name, _)| *name);
    let KnownFiles {
        changed,
        in_doubt,
        removed,
        has_links,
    } = look_at_known(directory, Place::Files, &files, certain)?;
    // A file that got another name meanwhile would be missed under both.
    if !are_unchanged() {
        return None;
    }
    let is_indexed = |name: &String| committed.indexed(name).is_some();
    let changes = Changes {
        changed,
        in_doubt,
        removed: removed.into_iter().filter(is_indexed).collect(),
    };
    drop(files);
    (changes.len() < most).then_some(Compared {
        committed: Arc::clone(&committed),
        changes,
        folders,
        skipped: Vec::new(),
        has_links,
        is_to_be_recorded: false,
    })
}

/// Records in which `folders` the names lie that differ by `changes` from those in the `committed` index. They were listed
/// after `from`, in nanoseconds since 1970. Does nothing where that proves nothing, or cannot be written.
pub(super) fn record(
    live: &LiveStore,
    committed: &dyn Snapshot,
    (changes, folders): (&Changes, &[(String, i64)]),
    from: i64,
) {
    let Some(directory) = live.directory().filter(|_| !live.is_read_only()) else {
        return;
    };
    let quiet_since = from.saturating_sub(RACY_NANOS);
    let Some(folders) = ListedFolders::of(directory, Place::Files, folders, quiet_since) else {
        return;
    };
    let Some(boot) = boot_id() else {
        return;
    };
    let unindexed = changes.changed.iter().map(|entry| entry.name.clone());
    let names = KnownNames {
        boot,
        state: digest(committed.state()),
        unindexed: unindexed
            .filter(|name| committed.indexed(name).is_none())
            .collect(),
        folders,
    };
    if let Some(text) = names.written() {
        let _ = crate::files::write_derived(&path(live), text.as_bytes()); // The names are read again.
    }
}

impl KnownNames {
    /// Returns the text of the file; `None` if a name has several lines.
    fn written(&self) -> Option<String> {
        let mut text = format!("{TITLE}\nboot {}\nstate {:032x}\n", self.boot, self.state);
        for name in &self.unindexed {
            let is_line = !name.contains(['\n', '\r']);
            text += &is_line.then(|| format!("unindexed {name}\n"))?;
        }
        for line in self.folders.lines()?.lines() {
            text += &format!("folder {line}\n");
        }
        Some(format!("{text}end {:032x}\n", digest(&text)))
    }

    /// Reads the text of a file; `None` if it is not whole, or was written by another program.
    fn read(text: &str) -> Option<KnownNames> {
        let (body, end) = text.rsplit_once("end ")?;
        if u128::from_str_radix(end.trim_end(), 16) != Ok(digest(body)) {
            return None;
        }
        let mut lines = body.lines();
        if lines.next() != Some(TITLE) {
            return None;
        }
        let boot = lines.next()?.strip_prefix("boot ")?;
        let state = lines.next()?.strip_prefix("state ")?;
        let lines: Vec<&str> = lines.collect();
        let called =
            |kind: &'static str| lines.iter().filter_map(move |line| line.strip_prefix(kind));
        Some(KnownNames {
            boot: boot.to_owned(),
            state: u128::from_str_radix(state, 16).ok()?,
            unindexed: called("unindexed ").map(str::to_owned).collect(),
            folders: ListedFolders::from_lines(called("folder "))?,
        })
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::path::Path;

    use chrono::{TimeDelta, Utc};

    use super::*;
    use crate::clock::FixedClock;
    use crate::engine::Engine;
    use crate::engine::live::current_snapshot::snapshot;
    use crate::engine::live::indexing;
    use crate::engine::options::Options;
    use crate::files::wait_for_a_tick;

    const ONE: &str = "20260101_000000_aaaaaaaa.md";
    const TWO: &str = "20260101_000000_bbbbbbbb.md";
    const NEW: &str = "20260101_000000_cccccccc.md";

    /// Returns a new folder on a file system that tells changes, which that of a container may not.
    fn folder() -> tempfile::TempDir {
        tempfile::tempdir_in("/dev/shm").unwrap()
    }

    /// Opens the store as a new process does an hour from now, when all changes are old.
    fn engine(root: &Path) -> Engine {
        let later = FixedClock(Utc::now() + TimeDelta::hours(1));
        Engine::open(Options::new(root), Box::new(later)).unwrap()
    }

    /// Returns the differences that a new process finds without reading the names; `None` if it must read them.
    fn found(root: &Path) -> Option<Changes> {
        let engine = engine(root);
        let from = crate::engine::live::reading::now_nanos(&engine.live);
        compare(&engine.live, None, (0, from), 256).map(|compared| compared.changes)
    }

    fn names(root: &Path) -> Vec<String> {
        let view = snapshot(&engine(root).live).unwrap();
        view.files().map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn names_are_read_again_when_they_changed_and_files_are_looked_at_always() {
        let root = folder();
        let root = root.path();
        let file = |name: &str| root.join("files").join(name);
        fs::create_dir(root.join("files")).unwrap();
        for name in [ONE, TWO] {
            fs::write(file(name), "a heron").unwrap();
        }
        let one = engine(root);
        snapshot(&one.live).unwrap();
        indexing::settle(&one.live, true).unwrap();
        assert!(
            found(root).is_none(),
            "no process read them over this index"
        );
        assert_eq!(names(root), [ONE, TWO]);
        assert!(found(root).unwrap().is_empty());
        let tick = || wait_for_a_tick(&root.join("files"), &root.join("probe"));
        tick();
        fs::write(file(NEW), "new").unwrap();
        assert!(found(root).is_none());
        assert_eq!(names(root), [ONE, TWO, NEW]);
        let changed = |changes: Changes| -> Vec<String> {
            let entries = changes.changed.into_iter();
            entries.map(|entry| entry.name).collect()
        };
        assert_eq!(changed(found(root).unwrap()), [NEW]);
        assert_eq!(names(root), [ONE, TWO, NEW]);
        fs::write(file(TWO), "in place, two herons").unwrap();
        assert_eq!(changed(found(root).unwrap()), [TWO, NEW]);
        tick();
        fs::remove_file(file(ONE)).unwrap();
        assert!(found(root).is_none());
        assert_eq!(names(root), [TWO, NEW]);
        let changes = found(root).unwrap();
        assert_eq!(changes.removed, [ONE]);
        assert_eq!(changed(changes), [TWO, NEW]);
        tick();
        fs::create_dir(file("20260101_000000_dddddddd.md")).unwrap();
        assert_eq!(names(root), [TWO, NEW]);
        assert!(found(root).is_none(), "what is no memory is told each time");
    }

    #[test]
    fn a_record_that_is_not_whole_is_none() {
        let root = folder();
        fs::create_dir_all(root.path().join("files/2026")).unwrap();
        names(root.path());
        let text = fs::read_to_string(path(&engine(root.path()).live)).unwrap();
        let whole = KnownNames::read(&text).unwrap();
        assert_eq!(whole.written().unwrap(), text);
        assert_eq!(whole.folders.times().len(), 2);
        for end in 0..text.len() - 1 {
            assert_eq!(KnownNames::read(&text[..end]), None, "{end}");
        }
        let of_another = text.replace(TITLE, "listed 0 memdir");
        assert_eq!(KnownNames::read(&of_another), None);
    }
}
