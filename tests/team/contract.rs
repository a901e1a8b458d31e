//! The contract of a place for memories, on a directory and on rows.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use memdir::files::{FilesError, Place, Replaced, Store, WritableStorage};

use crate::postgres::TestDatabase;

const ONE: &str = "20260101_000000_aaaaaaaa.md";
const TWO: &str = "20260101_000000_bbbbbbbb.md";
const LATER: &str = "2026/01/20260102_000000_cccccccc.md";

/// Tests `check` on an empty directory and on an empty workspace.
fn on_both(check: impl Fn(&dyn WritableStorage)) {
    let folder = tempfile::tempdir().unwrap();
    let directory = directory(folder.path());
    directory.create().unwrap();
    check(&directory);
    if let Some(database) = TestDatabase::new() {
        let rows = database.workspace("atlas");
        rows.create().unwrap();
        check(&rows);
    }
}

fn directory(root: &Path) -> Store {
    std::fs::create_dir_all(root.join(".memdir/locks")).unwrap();
    Store::at(root)
}

fn names(storage: &dyn WritableStorage, place: Place) -> Vec<String> {
    let entries = storage.list(place).unwrap().entries;
    entries.into_iter().map(|entry| entry.name).collect()
}

fn text(storage: &dyn WritableStorage, place: Place, name: &str) -> String {
    let version = storage.reader(place).read(name, u64::MAX).unwrap();
    String::from_utf8(version.bytes).unwrap()
}

#[test]
fn what_is_added_is_listed_and_read() {
    on_both(|storage| {
        storage.add(Place::Files, TWO, b"two").unwrap();
        storage.add(Place::Files, LATER, b"later").unwrap();
        storage.add(Place::Files, ONE, b"").unwrap();
        assert_eq!(names(storage, Place::Files), [LATER, ONE, TWO]);
        assert!(names(storage, Place::Archive).is_empty());
        let listing = storage.list(Place::Files).unwrap();
        let version = storage.reader(Place::Files).read(TWO, u64::MAX).unwrap();
        assert_eq!(version.bytes, b"two");
        assert_eq!(version.hash, memdir::files::digest(b"two"));
        assert_eq!(version.entry, listing.entries[2]);
        assert_eq!(version.entry.stamp.size, 3);
        let seen = storage.look_at(Place::Files, TWO).unwrap().unwrap();
        assert_eq!(seen, version.entry);
        assert_eq!(text(storage, Place::Files, ONE), "");
        assert!(storage.has_folder("2026/01"));
        assert!(!storage.has_folder("2027"));
        assert!(storage.has_handle("aaaaaaaa"));
        assert!(!storage.has_handle("dddddddd"));
    });
}

#[test]
fn files_of_one_name_are_listed_in_whatever_folder() {
    on_both(|storage| {
        for name in ["a.md", "b/a.md", "b/c/a.md", "ba.md", "b/a.md.md"] {
            storage.add(Place::Files, name, b"x").unwrap();
        }
        storage.add(Place::Archive, "a.md", b"x").unwrap();
        let entries = storage.list_called(Place::Files, "a.md").unwrap();
        let mut listed = storage.list(Place::Files).unwrap().entries;
        let expected = ["a.md", "b/a.md", "b/c/a.md"];
        listed.retain(|entry| expected.contains(&entry.name.as_str()));
        assert_eq!(listed.len(), 3);
        assert_eq!(entries, listed);
    });
}

#[test]
fn a_text_is_cut_at_the_limit_and_hashed_whole() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"0123456789").unwrap();
        let version = storage.reader(Place::Files).read(ONE, 4).unwrap();
        assert_eq!(version.bytes, b"0123");
        assert_eq!(version.hash, memdir::files::digest(b"0123456789"));
        assert_eq!(version.entry.stamp.size, 10);
    });
}

#[test]
fn bytes_come_back_as_they_were_written() {
    on_both(|storage| {
        let bytes: Vec<u8> = (0..=255).cycle().take(70_000).collect();
        storage.add(Place::Files, ONE, &bytes).unwrap();
        let version = storage.reader(Place::Files).read(ONE, u64::MAX).unwrap();
        assert_eq!(version.bytes, bytes);
    });
}

#[test]
fn a_taken_name_is_refused() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"first").unwrap();
        let again = storage.add(Place::Files, ONE, b"second");
        assert!(matches!(again, Err(FilesError::Taken { .. })), "{again:?}");
        let many = [
            (ONE.to_owned(), b"third".to_vec()),
            (TWO.to_owned(), b"two".to_vec()),
        ];
        let added = storage.add_many(Place::Files, &many);
        assert!(
            matches!(added[0], Err(FilesError::Taken { .. })),
            "{added:?}"
        );
        assert!(added[1].is_ok(), "{added:?}");
        assert_eq!(text(storage, Place::Files, ONE), "first");
        assert_eq!(text(storage, Place::Files, TWO), "two");
    });
}

#[test]
fn a_text_is_replaced_only_at_the_version_that_was_read() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"first").unwrap();
        let seen = storage.reader(Place::Files).read(ONE, u64::MAX).unwrap();
        let replaced = storage
            .replace(Place::Files, ONE, &seen, b"second")
            .unwrap();
        assert_eq!(replaced, Replaced::Done);
        let replaced = storage.replace(Place::Files, ONE, &seen, b"third").unwrap();
        assert_eq!(replaced, Replaced::Stale);
        let removed = storage.remove(Place::Files, ONE, &seen).unwrap();
        assert_eq!(removed, Replaced::Stale);
        assert_eq!(text(storage, Place::Files, ONE), "second");
        let now = storage.reader(Place::Files).read(ONE, u64::MAX).unwrap();
        assert_ne!(now.entry.stamp, seen.entry.stamp);
        let missing = storage.replace(Place::Files, TWO, &seen, b"x");
        assert!(
            matches!(missing, Err(FilesError::Missing { .. })),
            "{missing:?}"
        );
    });
}

#[test]
fn many_texts_are_replaced_each_by_its_version() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"one").unwrap();
        storage.add(Place::Files, TWO, b"two").unwrap();
        let read = |name: &str| storage.reader(Place::Files).read(name, u64::MAX).unwrap();
        let (one, two) = (read(ONE), read(TWO));
        storage.replace(Place::Files, TWO, &two, b"newer").unwrap();
        let files = [
            (ONE.to_owned(), one.clone(), b"one again".to_vec()),
            (TWO.to_owned(), two, b"lost".to_vec()),
            (LATER.to_owned(), one, b"nowhere".to_vec()),
        ];
        let replaced = storage.replace_many(Place::Files, &files);
        assert_eq!(*replaced[0].as_ref().unwrap(), Replaced::Done);
        assert_eq!(*replaced[1].as_ref().unwrap(), Replaced::Stale);
        assert!(
            matches!(replaced[2], Err(FilesError::Missing { .. })),
            "{replaced:?}"
        );
        assert_eq!(text(storage, Place::Files, ONE), "one again");
        assert_eq!(text(storage, Place::Files, TWO), "newer");
    });
}

#[test]
fn a_removed_memory_is_gone() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"one").unwrap();
        let seen = storage.reader(Place::Files).read(ONE, u64::MAX).unwrap();
        assert_eq!(
            storage.remove(Place::Files, ONE, &seen).unwrap(),
            Replaced::Done
        );
        assert!(names(storage, Place::Files).is_empty());
        assert!(storage.look_at(Place::Files, ONE).is_none());
        let read = storage.reader(Place::Files).read(ONE, u64::MAX);
        assert!(matches!(read, Err(FilesError::Missing { .. })), "{read:?}");
    });
}

#[test]
fn a_memory_moves_between_the_places_and_replaces_nothing() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"one").unwrap();
        storage.relocate(ONE, Place::Files, Place::Archive).unwrap();
        assert!(names(storage, Place::Files).is_empty());
        assert_eq!(text(storage, Place::Archive, ONE), "one");
        storage.add(Place::Files, ONE, b"another").unwrap();
        let back = storage.relocate(ONE, Place::Archive, Place::Files);
        assert!(matches!(back, Err(FilesError::Taken { .. })), "{back:?}");
        let missing = storage.relocate(TWO, Place::Files, Place::Archive);
        assert!(
            matches!(missing, Err(FilesError::Missing { .. })),
            "{missing:?}"
        );
        storage
            .rename((Place::Files, ONE), (Place::Files, LATER))
            .unwrap();
        assert_eq!(names(storage, Place::Files), [LATER]);
        assert_eq!(text(storage, Place::Files, LATER), "another");
        assert_eq!(text(storage, Place::Archive, ONE), "one");
    });
}

#[test]
fn files_beside_the_memories_are_written_by_their_version() {
    on_both(|storage| {
        let read = |path: &str| storage.version_at(path).unwrap();
        assert!(read("memdir.toml").is_none());
        let put = storage
            .put_beside("memdir.toml", None, Some(b"a = 1\n"))
            .unwrap();
        assert_eq!(put, Replaced::Done);
        let put = storage
            .put_beside("memdir.toml", None, Some(b"a = 2\n"))
            .unwrap();
        assert_eq!(put, Replaced::Stale);
        let seen = read("memdir.toml").unwrap();
        assert_eq!(seen.bytes, b"a = 1\n");
        for name in ["b", "a", ".hidden", "c"] {
            let path = format!("tombstones/{name}");
            storage.put_beside(&path, None, Some(b"")).unwrap();
        }
        storage.put_beside("tombstones0", None, Some(b"")).unwrap();
        let mut beside = storage.names_beside("tombstones").unwrap();
        beside.sort_unstable();
        assert_eq!(beside, ["a", "b", "c"]);
        assert_eq!(storage.purged().unwrap().len(), 3);
        assert!(storage.names_beside("proposals").unwrap().is_empty());
        let put = storage
            .put_beside("memdir.toml", Some(&seen), None)
            .unwrap();
        assert_eq!(put, Replaced::Done);
        assert!(read("memdir.toml").is_none());
        assert_eq!(
            storage.put_beside("memdir.toml", None, None).unwrap(),
            Replaced::Done
        );
        storage.add(Place::Archive, ONE, b"one").unwrap();
        assert_eq!(read(&format!("archive/{ONE}")).unwrap().bytes, b"one");
        assert!(read(&format!("files/{ONE}")).is_none());
    });
}

#[test]
fn a_conflict_copy_is_made_once() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"one").unwrap();
        let copy = storage.add_copy(ONE, b"other").unwrap();
        assert_eq!(storage.add_copy(ONE, b"other").unwrap(), copy);
        assert_ne!(storage.add_copy(ONE, b"third").unwrap(), copy);
        assert_eq!(text(storage, Place::Files, &copy), "other");
        assert_eq!(names(storage, Place::Files).len(), 3);
    });
}

#[test]
fn a_change_shows_in_the_times_of_folders() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"one").unwrap();
        let folders = storage.list(Place::Files).unwrap().folders;
        assert!(!storage.folders_changed(Place::Files, &folders));
        assert_eq!(
            storage.folder_times(Place::Files, &folders).as_ref(),
            Some(&folders)
        );
        storage.add(Place::Files, TWO, b"two").unwrap();
        assert!(storage.folders_changed(Place::Files, &folders));
    });
}

#[test]
fn the_feed_tells_names_and_wakes() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"one").unwrap();
        let (woken, wakes) = channel();
        let wake = move || {
            let _ = woken.send(());
        };
        let feed = storage.changes(Box::new(wake)).unwrap();
        feed.include("");
        assert!(feed.take().everything);
        while wakes.try_recv().is_ok() {}
        storage.add(Place::Files, TWO, b"two").unwrap();
        let seen = storage.reader(Place::Files).read(ONE, u64::MAX).unwrap();
        storage
            .replace(Place::Files, ONE, &seen, b"one again")
            .unwrap();
        wakes.recv_timeout(Duration::from_secs(10)).unwrap();
        let mut changed = feed.take();
        // The system tells of a directory with a delay.
        while !feed.tells_at_once() && changed.names.len() < 2 {
            feed.wait(Duration::from_secs(10));
            changed.add(feed.take());
        }
        let told: Vec<&str> = changed.names.iter().map(String::as_str).collect();
        assert_eq!(told, [ONE, TWO]);
        assert!(!changed.everything);
        assert!(feed.lost().is_none());
    });
}

#[test]
fn of_two_writers_of_one_memory_one_wins_and_the_other_is_told() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"start").unwrap();
        for round in 0..20 {
            let seen = storage.reader(Place::Files).read(ONE, u64::MAX).unwrap();
            let write = |who: &str| {
                let text = format!("{who} in round {round}");
                (
                    storage
                        .replace(Place::Files, ONE, &seen, text.as_bytes())
                        .unwrap(),
                    text,
                )
            };
            let (one, other) = std::thread::scope(|scope| {
                let one = scope.spawn(|| write("one"));
                let other = scope.spawn(|| write("the other"));
                (one.join().unwrap(), other.join().unwrap())
            });
            let won: Vec<&String> = [&one, &other]
                .into_iter()
                .filter(|(replaced, _)| *replaced == Replaced::Done)
                .map(|(_, text)| text)
                .collect();
            assert_eq!(won.len(), 1, "{one:?} {other:?}");
            assert_eq!(&text(storage, Place::Files, ONE), won[0]);
        }
    });
}

#[test]
fn a_reader_of_many_tells_each_by_itself() {
    on_both(|storage| {
        storage.add(Place::Files, ONE, b"one").unwrap();
        storage.add(Place::Files, LATER, b"later").unwrap();
        let reader = storage.reader(Place::Files).held();
        let Some(read) = reader.read_many(&[LATER, TWO, ONE, ONE], u64::MAX) else {
            return; // A directory is read one by one.
        };
        let bytes = |at: usize| read[at].as_ref().unwrap().bytes.clone();
        assert_eq!((bytes(0), bytes(2)), (b"later".to_vec(), b"one".to_vec()));
        assert!(
            matches!(read[1], Err(FilesError::Missing { .. })),
            "{read:?}"
        );
        assert_eq!(bytes(3), b"one");
    });
}

#[test]
fn storages_are_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Arc<dyn WritableStorage>>();
}
