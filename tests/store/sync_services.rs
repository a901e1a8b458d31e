//! What sync services and file managers leave beside memories.

use std::fs;

use crate::support::{TestStore, holding, memory_text, regular_files};
use memdir::engine::{live, ops};

const NAME: &str = "20260101_000000_aaaaaaaa.md";

fn text(content: &str) -> String {
    memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", content)
}

#[test]
fn what_is_no_memory_is_neither_read_nor_reported_nor_touched() {
    let store = TestStore::new();
    store.put(NAME, text("heron\n"));
    let junk = [
        ".DS_Store",
        "._20260101_000000_aaaaaaaa.md",
        ".20260102_000000_bbbbbbbb.md.icloud",
        "Thumbs.db",
        "desktop.ini",
        ".~lock.20260101_000000_aaaaaaaa.md#",
        ".#20260101_000000_aaaaaaaa.md",
        "#20260101_000000_aaaaaaaa.md#",
        "20260101_000000_aaaaaaaa.md~",
        ".20260101_000000_aaaaaaaa.md.swp",
        ".syncthing.20260101_000000_aaaaaaaa.md.tmp",
        "~syncthing~20260101_000000_aaaaaaaa.md.tmp",
        ".stfolder/marker.md",
        ".stversions/20260101_000000_aaaaaaaa~20260102-120000.md",
        ".git/notes.md",
        "4913",
    ];
    for name in junk {
        store.put(name, text("heron of another program\n"));
    }
    let before = store.texts();
    let engine = store.engine();
    assert_eq!(holding(&engine, "heron"), [NAME]);
    assert_eq!(ops::status(&engine).unwrap().findings, []);
    assert!(ops::verify(&engine).unwrap().is_sound());
    ops::forget(&engine, "aaaaaaaa").unwrap();
    ops::restore(&engine, "aaaaaaaa").unwrap();
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    live::settle(&engine.live, true).unwrap();
    assert_eq!(store.texts(), before);
}

/// Puts a conflict copy called `copy` beside `original` and expects it to be found, reported as
/// what it is, and left alone.
#[track_caller]
fn check_copy(original: &str, copy: &str) {
    let store = TestStore::new();
    store.put(original, text("heron\n"));
    store.put(copy, text("egret\n"));
    let engine = store.engine();
    assert_eq!(holding(&engine, "heron"), [original]);
    assert_eq!(holding(&engine, "egret"), [copy]);
    let stem = original.strip_suffix(".md").unwrap();
    let expected = format!("the name is that of a conflict copy of `{stem}`");
    for findings in [
        ops::status(&engine).unwrap().findings,
        ops::verify(&engine).unwrap().findings,
    ] {
        let told = findings
            .iter()
            .find(|finding| finding.problem.code() == "conflict-copy")
            .expect("the copy is reported");
        assert_eq!(told.file, format!("files/{copy}"));
        assert_eq!(told.problem.to_string(), expected);
    }
    assert!(!ops::verify(&engine).unwrap().is_sound());
    // Both can be named, and moving one leaves the other.
    ops::forget(&engine, stem).unwrap();
    assert_eq!(holding(&engine, "egret"), [copy]);
    ops::restore(&engine, stem).unwrap();
    ops::forget(&engine, copy).unwrap();
    assert_eq!(holding(&engine, "heron"), [original]);
    ops::restore(&engine, copy).unwrap();
    live::settle(&engine.live, true).unwrap();
    assert_eq!(store.read(original), text("heron\n").as_bytes());
    assert_eq!(store.read(copy), text("egret\n").as_bytes());
    assert_eq!(regular_files(&store.files()).len(), 2);
}

#[test]
fn a_conflict_copy_is_found_and_reported_and_kept() {
    check_copy(
        NAME,
        "20260101_000000_aaaaaaaa (conflicted copy 2026-01-02).md",
    );
    check_copy(
        NAME,
        "20260101_000000_aaaaaaaa (Mira's conflicted copy 2026-01-02).md",
    );
    check_copy(
        NAME,
        "20260101_000000_aaaaaaaa.sync-conflict-20260102-120000-ABCDEFG.md",
    );
    check_copy(NAME, "20260101_000000_aaaaaaaa (1).md");
    check_copy(NAME, "20260101_000000_aaaaaaaa 2.md");
    check_copy(NAME, "20260101_000000_aaaaaaaa - Copy.md");
    check_copy("notes.md", "notes (conflicted copy 2026-01-02).md");
    check_copy("notes.md", "notes.sync-conflict-20260102-120000-ABCDEFG.md");
    check_copy("größe.md", "größe.conflict-0a1b2c3d.md");
}

#[test]
fn a_copy_of_a_memory_that_is_gone_is_still_a_memory() {
    let store = TestStore::new();
    let copy = "20260101_000000_aaaaaaaa (conflicted copy 2026-01-02).md";
    store.put(NAME, text("heron\n"));
    store.put(copy, text("egret\n"));
    let engine = store.engine();
    fs::remove_file(store.files().join(NAME)).unwrap();
    assert_eq!(holding(&engine, "egret"), [copy]);
    assert_eq!(ops::status(&store.engine()).unwrap().files, 1);
    assert_eq!(store.read(copy), text("egret\n").as_bytes());
}
