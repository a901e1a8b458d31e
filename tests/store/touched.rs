//! Files that were touched and not changed, as a clone or a copy does: their documents stay as they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use chrono::{DateTime, Duration, Utc};

use memdir::engine::{Engine, live};
use memdir::model::Filter;

use crate::support::{TestStore, at, holding, memory_text, touch};

/// The present time: the system alone sets a file's time of change.
fn now() -> DateTime<Utc> {
    SystemTime::now().into()
}

/// An engine so much later that no file is in doubt.
fn later(store: &TestStore) -> Engine {
    store.engine_at(now() + Duration::hours(1))
}

fn name(number: usize) -> String {
    format!("20260114_091500_{number:08x}.md")
}

fn store_of(count: usize) -> TestStore {
    let store = TestStore::new();
    for number in 0..count {
        let handle = format!("{number:08x}");
        let text = memory_text(&handle, "2026-01-14T09:15:00Z", "a heron in the reeds\n");
        store.put(&name(number), text);
        touch(
            &store.files().join(name(number)),
            at("2026-02-01T00:00:00Z"),
        );
    }
    reindex(&later(&store));
    store
}

/// Returns the number of files that were read.
fn reindex(engine: &Engine) -> usize {
    let done = live::reindex(&engine.live, false, &mut |_| {}).unwrap();
    done.read
}

fn touch_some(store: &TestStore, numbers: std::ops::Range<usize>) {
    numbers.for_each(|number| {
        touch(
            &store.files().join(name(number)),
            at("2026-03-01T00:00:00Z"),
        );
    });
}

/// Puts a copy in the place of a file: the same bytes and times in another inode.
fn copy(store: &TestStore, number: usize) {
    let bytes = store.read(&name(number));
    store.put(&name(number), bytes);
    touch(
        &store.files().join(name(number)),
        at("2026-02-01T00:00:00Z"),
    );
}

/// Returns the files of segments with their bytes: neither the table nor what is known of the files.
fn segments(store: &TestStore) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = fs::read_dir(store.index()).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    let of_segments = paths.filter(|path| {
        let extension = path.extension().unwrap_or_default();
        ["term", "idx", "pos", "store", "fast", "fieldnorm", "del"]
            .contains(&extension.to_str().unwrap())
    });
    of_segments
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

// On Windows no inode is compared, by which a copy with the same times is seen.
#[cfg(unix)]
#[test]
fn touched_files_are_read_once_and_not_indexed() {
    let store = store_of(40);
    let before = segments(&store);
    assert_eq!(reindex(&later(&store)), 0);
    touch_some(&store, 0..20);
    copy(&store, 30);
    assert_eq!(reindex(&later(&store)), 21);
    assert_eq!(reindex(&later(&store)), 0);
    assert_eq!(segments(&store), before);
    assert_eq!(holding(&later(&store), "heron").len(), 40);
}

#[test]
fn a_server_reads_touched_files_once_and_does_not_index_them() {
    let store = store_of(40);
    let before = segments(&store);
    let server = later(&store);
    assert_eq!(holding(&server, "heron").len(), 40);
    touch_some(&store, 0..10);
    copy(&store, 11);
    let server = later(&store);
    assert_eq!(holding(&server, "heron").len(), 40);
    live::settle(&server.live, true).unwrap();
    assert_eq!(holding(&server, "heron").len(), 40);
    assert_eq!(segments(&store), before);
    assert_eq!(reindex(&later(&store)), 0);
}

// Windows replaces no table that another process has mapped; it is read again then.
#[cfg(unix)]
#[test]
fn a_few_touched_files_are_kept_beside_the_table_until_they_are_many() {
    let store = store_of(200);
    let kept = store.index().join("touched");
    touch_some(&store, 0..2);
    assert_eq!(reindex(&later(&store)), 2);
    assert!(kept.exists());
    assert_eq!(reindex(&later(&store)), 0);
    touch_some(&store, 2..3);
    assert_eq!(reindex(&later(&store)), 1);
    assert_eq!(reindex(&later(&store)), 0);
    touch_some(&store, 50..60);
    assert_eq!(reindex(&later(&store)), 10);
    assert!(!kept.exists(), "the table has them");
    assert_eq!(reindex(&later(&store)), 0);
}

/// Adds `count` memories, each with a commit of its own, until segments were merged; each commit reads only the new one.
#[cfg(unix)]
fn add_until_merged(store: &TestStore, count: usize) {
    let count_segments = || {
        let files = segments(store).into_keys();
        let is_one = |file: &PathBuf| file.extension().is_some_and(|kind| kind == "idx");
        files.filter(is_one).count()
    };
    let before = count_segments();
    for number in 900_000..900_000 + count {
        let text = memory_text(
            &format!("{number:08x}"),
            "2026-01-14T09:15:00Z",
            "a crane\n",
        );
        store.put(&name(number), text);
        touch(
            &store.files().join(name(number)),
            at("2026-04-01T00:00:00Z"),
        );
        assert_eq!(reindex(&later(store)), 1);
    }
    assert!(count_segments() < before + count, "none were merged");
}

// Windows replaces no table that another process has mapped.
#[cfg(unix)]
#[test]
fn touched_files_are_not_read_again_after_their_segment_was_merged() {
    let store = store_of(40);
    touch_some(&store, 0..40);
    assert_eq!(reindex(&later(&store)), 40);
    assert!(
        !store.index().join("touched").exists(),
        "the table has them"
    );
    add_until_merged(&store, 20);
    assert_eq!(holding(&later(&store), "heron").len(), 40);
}

// Windows replaces no table that another process has mapped.
#[cfg(unix)]
#[test]
fn touched_files_are_not_read_again_after_a_small_segment_was_merged() {
    let store = store_of(4_000);
    for number in 800_000..800_004 {
        let text = memory_text(
            &format!("{number:08x}"),
            "2026-01-14T09:15:00Z",
            "a crane\n",
        );
        store.put(&name(number), text);
    }
    assert_eq!(reindex(&later(&store)), 4);
    touch_some(&store, 800_000..800_004);
    touch_some(&store, 0..80);
    assert_eq!(reindex(&later(&store)), 84);
    assert!(
        !store.index().join("touched").exists(),
        "the table has them"
    );
    add_until_merged(&store, 20);
}

#[test]
fn without_the_file_of_touched_files_they_are_read_again() {
    let store = store_of(200);
    touch_some(&store, 0..2);
    assert_eq!(reindex(&later(&store)), 2);
    fs::write(store.index().join("touched"), [0xff, 0, 10, 7]).unwrap();
    assert_eq!(reindex(&later(&store)), 2);
    assert_eq!(reindex(&later(&store)), 0);
    fs::remove_file(store.index().join("touched")).unwrap();
    assert_eq!(reindex(&later(&store)), 2);
    assert_eq!(reindex(&later(&store)), 0);
}

// By the time at which the system changed it, which Windows does not tell.
#[cfg(unix)]
#[test]
fn a_file_that_is_changed_after_it_was_touched_is_found_whatever_its_stamp_is() {
    let store = store_of(40);
    let path = store.files().join(name(3));
    let engine = store.engine_at(now());
    touch(&path, at("2026-03-01T00:00:00Z"));
    reindex(&engine);
    // In place and of the same size, and the time is set back.
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("heron", "egret")).unwrap();
    touch(&path, at("2026-03-01T00:00:00Z"));
    assert_eq!(holding(&store.engine_at(now()), "egret"), [name(3)]);
    reindex(&engine);
    assert_eq!(holding(&store.engine_at(now()), "egret"), [name(3)]);
    assert_eq!(holding(&engine, "heron").len(), 39);
}

#[test]
fn a_change_that_is_taken_back_leaves_the_first_text() {
    let store = store_of(40);
    let path = store.files().join(name(3));
    let text = fs::read_to_string(&path).unwrap();
    let engine = store.engine_at(now());
    fs::write(&path, text.replace("heron", "bittern")).unwrap();
    assert_eq!(holding(&engine, "bittern"), [name(3)]);
    fs::write(&path, text.replace("heron", "grey heron")).unwrap();
    assert_eq!(holding(&store.engine_at(now()), "grey"), [name(3)]);
    store.put(&name(3), text);
    let engine = store.engine_at(now());
    assert_eq!(holding(&engine, "heron").len(), 40);
    live::settle(&engine.live, true).unwrap();
    assert_eq!(holding(&engine, "heron").len(), 40);
    reindex(&later(&store));
    assert_eq!(reindex(&later(&store)), 0);
}

#[test]
fn a_touched_memory_that_states_no_time_has_that_of_its_file() {
    let store = TestStore::new();
    for (name, moment) in [
        ("one.md", "2026-02-01T00:00:00Z"),
        ("two.md", "2026-02-02T00:00:00Z"),
    ] {
        store.put(name, "a heron\n");
        touch(&store.files().join(name), at(moment));
    }
    let newest = |store: &TestStore| {
        let stems = live::stems(&later(store).live, &Filter::default()).unwrap();
        stems[0].as_str().to_owned()
    };
    reindex(&later(&store));
    assert_eq!(newest(&store), "two");
    touch(&store.files().join("one.md"), at("2026-02-03T00:00:00Z"));
    assert_eq!(reindex(&later(&store)), 1);
    assert_eq!(newest(&store), "one");
    assert_eq!(reindex(&later(&store)), 0);
}

#[test]
fn touched_memories_that_state_no_time_are_indexed_once() {
    let store = TestStore::new();
    for number in 0..40 {
        store.put(&format!("note {number}.md"), "a heron\n");
    }
    assert_eq!(reindex(&later(&store)), 40);
    for number in 0..40 {
        touch(
            &store.files().join(format!("note {number}.md")),
            at("2026-02-03T00:00:00Z"),
        );
    }
    assert_eq!(reindex(&later(&store)), 40);
    assert_eq!(reindex(&later(&store)), 0);
}

#[test]
fn a_file_with_its_former_text_and_another_time_is_read_once() {
    let store = store_of(200);
    let first = store.read(&name(3));
    let put = |text: &[u8], moment: &str| {
        store.put(&name(3), text);
        touch(&store.files().join(name(3)), at(moment));
    };
    for (day, is_first) in [(1, false), (2, true), (3, false), (4, true)] {
        let text = match is_first {
            true => first.clone(),
            false => [first.as_slice(), b"and an egret\n"].concat(),
        };
        put(&text, &format!("2026-03-0{day}T00:00:00Z"));
        assert_eq!(reindex(&later(&store)), 1);
        assert_eq!(reindex(&later(&store)), 0);
    }
}
