//! Tests of syncs of two stores: runs that are killed, and stores that are read-only.

#[cfg(test)]
use std::collections::BTreeMap;
use std::fs;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::*;
use crate::clock::FixedClock;
use crate::engine::Engine;
use crate::engine::history::with::report::Taken;
use crate::engine::options::{GitOptions, Options};
use crate::files::dying_at;

/// Opens an engine as a process does; with `git` it commits.
fn engine(root: &Path, git: bool, read_only: bool) -> Engine {
    let options = Options {
        read_only,
        git: git.then(|| GitOptions {
            user: "mira".to_owned(),
            interval: Duration::from_secs(60),
            remote: None,
        }),
        ..Options::new(root)
    };
    let now = chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    Engine::open(options, Box::new(FixedClock(now))).unwrap()
}

fn with(folder: &Path, direction: Direction) -> With<'_> {
    With {
        folder,
        direction,
        dry_run: false,
        accept_deletions: false,
    }
}

fn merge(root: &Path, git: bool) -> WithReport {
    let [here, there] = ["here", "there"].map(|name| root.join(name));
    let other = engine(&there, git, false);
    let here = engine(&here, git, false);
    sync_with(
        &here.history,
        &with(&there, Direction::Merge),
        Some(&other.history),
    )
    .unwrap()
}

fn name(id: &str) -> String {
    format!("20260101_000000_{id}.md")
}

fn text(id: &str, content: &str) -> String {
    format!(
        "---\nid: {id}\ntimestamp: 2026-01-01T00:00:00Z\nagent: a\nuser: u\ntopics: []\n---\n\n{content}"
    )
}

/// Writes a file so long ago that it has been at rest since.
fn put(path: &Path, text: &str, age: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000 - age);
    File::options()
        .append(true)
        .open(path)
        .unwrap()
        .set_modified(at)
        .unwrap();
}

fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => files.extend(self::files(&entry.path())),
            false => files.push(entry.path()),
        }
    }
    files
}

/// Copies a folder with the times of its files.
fn copy(from: &Path, to: &Path) {
    for path in files(from) {
        let target = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(&path, &target).unwrap();
        let at = fs::metadata(&path).unwrap().modified().unwrap();
        // Git's own are read-only, and their times mean nothing here.
        if let Ok(file) = File::options().append(true).open(&target) {
            file.set_modified(at).unwrap();
        }
    }
}

/// Removes a history, whose files are read-only: not all of Windows' disks remove such a file.
fn remove_history(folder: &Path) {
    #[cfg(windows)]
    for path in files(folder) {
        let mut permissions = fs::metadata(&path).unwrap().permissions();
        #[allow(
            clippy::permissions_set_readonly_false,
            reason = "on Windows it lets nobody else write"
        )]
        permissions.set_readonly(false);
        fs::set_permissions(&path, permissions).unwrap();
    }
    fs::remove_dir_all(folder).unwrap();
}

fn is_own_journal(path: &Path) -> bool {
    let is_journal = path.extension().is_some_and(|ending| ending == "jsonl");
    is_journal && !path.ends_with("0123456789abcdef.jsonl")
}

/// Returns the files of a store that are not derived, with their texts.
fn held(root: &Path) -> BTreeMap<PathBuf, String> {
    let parts = ["files", "archive", "tombstones", "journal"].map(|part| root.join(part));
    let parts = parts.iter().filter(|part| part.is_dir());
    parts
        .flat_map(|part| files(part))
        .filter(|path| !path.to_string_lossy().ends_with(".tmp"))
        // Names of a store's own journals are random, and their lines hold times.
        .filter(|path| !is_own_journal(path))
        .map(|path| {
            let name = path.strip_prefix(root).unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// Makes two stores that were in step, and changed in every way since.
fn changed_stores(root: &Path) {
    let [here, there] = ["here", "there"].map(|name| root.join(name));
    let lines = "one\n\ntwo\n";
    for id in ["aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd", "eeeeeeee"] {
        put(&here.join("files").join(name(id)), &text(id, lines), 900);
    }
    fs::create_dir_all(there.join("files")).unwrap();
    merge(root, true);
    let file = |store: &Path, id: &str| store.join("files").join(name(id));
    // Both appended; both said otherwise; forgotten there; deleted here; purged here.
    for (store, word, new, age) in [
        (&here, "here", "f1111111", 500),
        (&there, "over there", "f2222222", 400),
    ] {
        let appended = text("aaaaaaaa", &format!("{lines}{word}\n"));
        put(&file(store, "aaaaaaaa"), &appended, age);
        let other = text("bbbbbbbb", &format!("one\n\n{word}\n"));
        put(&file(store, "bbbbbbbb"), &other, age);
        put(&file(store, new), &text(new, word), age);
    }
    fs::create_dir_all(there.join("archive")).unwrap();
    fs::rename(
        file(&there, "cccccccc"),
        there.join("archive").join(name("cccccccc")),
    )
    .unwrap();
    fs::remove_file(file(&here, "dddddddd")).unwrap();
    fs::remove_file(file(&here, "eeeeeeee")).unwrap();
    let stone = here.join("tombstones/20260101_000000_eeeeeeee");
    put(&stone, "2026-01-02T00:00:00Z purged\n", 300);
    put(&there.join("journal/0123456789abcdef.jsonl"), "{}\n", 300);
    // Earlier texts are had from one of the histories.
    remove_history(&there.join(".git"));
}

#[test]
fn killed_at_any_file_call_a_run_again_ends_as_if_nothing_had_been() {
    let template = tempfile::tempdir().unwrap();
    changed_stores(template.path());
    let undisturbed = tempfile::tempdir().unwrap();
    copy(template.path(), undisturbed.path());
    merge(undisturbed.path(), false);
    let wanted = held(&undisturbed.path().join("here"));
    let united = &wanted[&Path::new("files").join(name("aaaaaaaa"))];
    assert!(united.ends_with("two\nhere\nover there\n"), "{united}");
    for last in 0.. {
        let root = tempfile::tempdir().unwrap();
        copy(template.path(), root.path());
        let is_done = dying_at(last, || merge(root.path(), false)).is_some();
        merge(root.path(), false);
        for store in ["here", "there"] {
            assert_eq!(
                held(&root.path().join(store)),
                wanted,
                "call {last}, {store}"
            );
        }
        if is_done {
            assert!(merge(root.path(), false).is_in_step());
            assert!(last > 30, "there were calls to die at");
            return;
        }
    }
}

#[test]
fn a_store_that_can_only_be_read_is_read() {
    let root = tempfile::tempdir().unwrap();
    changed_stores(root.path());
    let [here, there] = ["here", "there"].map(|name| root.path().join(name));
    let other = engine(&there, false, true);
    let writable = engine(&here, false, false);
    for direction in [Direction::Merge, Direction::Push] {
        let done = sync_with(
            &writable.history,
            &with(&there, direction),
            Some(&other.history),
        );
        assert!(matches!(done, Err(EngineError::ReadOnly(_))), "{done:?}");
    }
    let before = held(&there);
    let done = sync_with(&writable.history, &with(&there, Direction::Pull), None).unwrap();
    assert!(!done.is_in_step());
    assert_eq!(held(&there), before);
    // Read from here, and written there; sent files are reported as sent.
    let source = engine(&here, false, true);
    let target = engine(&there, false, false);
    let refused = sync_with(
        &source.history,
        &with(&there, Direction::Merge),
        Some(&target.history),
    );
    assert!(matches!(refused, Err(EngineError::ReadOnly(_))));
    let before = held(&here);
    let push = with(&there, Direction::Push);
    let done = sync_with(&source.history, &push, Some(&target.history)).unwrap();
    assert!(
        !done.there.came.is_empty() && done.here == Taken::default(),
        "{done:?}"
    );
    assert_eq!(held(&here), before);
    assert!(
        sync_with(&source.history, &push, Some(&target.history))
            .unwrap()
            .is_in_step()
    );
}
