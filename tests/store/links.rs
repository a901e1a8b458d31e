//! Links in the place of a store's own folders, and other things in the place of its derived files.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use crate::support::program::names;
use crate::support::{TestStore, clock, holding, memory_text, new_memory, noon};
use memdir::engine::{Engine, EngineError, Finding, live, ops};
use memdir::files::{FilesError, LinkPolicy};
use memdir::model::Problem;

const OURS: &str = "20260114_091500_aaaaaaaa.md";
const THEIRS: &str = "20260114_091500_bbbbbbbb.md";
const ID: &str = "20260114_091500_aaaaaaaa";
const FOREIGN_ID: &str = "20260114_091500_bbbbbbbb";

/// A store with a memory, and a foreign folder with one.
fn scene() -> (TestStore, TempDir) {
    let store = TestStore::new();
    store.put(
        OURS,
        memory_text("aaaaaaaa", "2026-01-14T09:15:00Z", "a wombat"),
    );
    let foreign = tempfile::tempdir().unwrap();
    let text = memory_text("bbbbbbbb", "2026-01-14T09:15:00Z", "a narwhal");
    fs::write(foreign.path().join(THEIRS), text).unwrap();
    (store, foreign)
}

fn link(store: &TestStore, name: &str, foreign: &TempDir) {
    symlink(foreign.path(), store.root().join(name)).unwrap();
}

fn is_refused<T>(done: Result<T, EngineError>) -> bool {
    matches!(done, Err(EngineError::Files(FilesError::Link { .. })))
}

fn linked(folder: &str) -> Finding {
    Finding {
        file: folder.to_owned(),
        problem: Problem::LinkedFolder,
    }
}

#[test]
fn an_archive_behind_a_link_is_named_and_nothing_goes_through_it() {
    let (store, foreign) = scene();
    link(&store, "archive", &foreign);
    let engine = store.engine();
    let forgotten = ops::forget(&engine, ID);
    assert!(is_refused(forgotten));
    assert!(is_refused(ops::restore(&engine, FOREIGN_ID)));
    assert_eq!(ops::status(&engine).unwrap().findings, [linked("archive")]);
    assert_eq!(ops::verify(&engine).unwrap().findings, [linked("archive")]);
    assert!(!ops::verify(&engine).unwrap().is_sound());
    assert_eq!(names(foreign.path()), [THEIRS]);
    assert_eq!(holding(&engine, "wombat"), [OURS]);
}

#[test]
fn derived_things_behind_a_link_are_neither_read_nor_written() {
    let (store, foreign) = scene();
    link(&store, ".memdir", &foreign);
    let engine = store.engine();
    assert_eq!(holding(&engine, "wombat"), [OURS]);
    assert_eq!(ops::status(&engine).unwrap().findings, [linked(".memdir")]);
    assert!(is_refused(ops::forget(&engine, ID)));
    ops::remember(&engine, new_memory("a platypus"), None).unwrap();
    live::settle(&engine.live, true).unwrap();
    assert_eq!(names(foreign.path()), [THEIRS]);
}

#[test]
fn memories_behind_a_link_are_not_listed() {
    let (store, foreign) = scene();
    fs::rename(store.files(), store.root().join("moved")).unwrap();
    link(&store, "files", &foreign);
    let engine = store.engine();
    let error = ops::status(&engine).unwrap_err();
    assert!(
        error.to_string().contains("files is a symbolic link"),
        "{error}"
    );
    assert!(error.hint().unwrap().contains("memdir init --allow-links"));
    assert!(is_refused(ops::remember(
        &engine,
        new_memory("a platypus"),
        None
    )));
    assert_eq!(names(foreign.path()), [THEIRS]);
}

#[test]
fn a_store_whose_owner_allowed_links_is_used_through_them() {
    let (store, foreign) = scene();
    let state = tempfile::tempdir().unwrap();
    link(&store, "archive", &foreign);
    link(&store, ".memdir", &state);
    let mut options = store.options();
    options.links = LinkPolicy::Follow;
    let engine = Engine::open(options, clock(noon())).unwrap();
    ops::restore(&engine, FOREIGN_ID).unwrap();
    ops::forget(&engine, ID).unwrap();
    assert_eq!(holding(&engine, "narwhal"), [THEIRS]);
    assert_eq!(names(foreign.path()), [OURS]);
    assert_eq!(ops::status(&engine).unwrap().findings, []);
    assert!(
        names(state.path())
            .iter()
            .any(|name| name.starts_with("index-v"))
    );
}

#[test]
fn a_pipe_in_the_place_of_any_derived_file_is_set_aside() {
    let (store, _) = scene();
    let engine = store.engine();
    ops::remember(&engine, new_memory("a wombat, too"), None).unwrap();
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    let files = crate::support::regular_files(&store.state());
    assert!(files.len() > 10, "{files:?}");
    let mut replaced = 0;
    for file in files {
        let _ = fs::remove_file(&file); // It may be gone with a former index.
        let made = std::process::Command::new("mkfifo").arg(&file).status();
        // The index may have been made anew meanwhile, in another folder.
        if !made.unwrap().success() {
            continue;
        }
        replaced += 1;
        let other = store.engine();
        assert_eq!(holding(&other, "wombat").len(), 2, "{}", file.display());
        assert_eq!(holding(&engine, "wombat").len(), 2, "{}", file.display());
        ops::forget(&other, ID).unwrap();
        ops::restore(&other, ID).unwrap();
    }
    assert!(replaced > 10, "{replaced} were replaced");
}

#[test]
fn an_index_that_is_cut_below_an_engine_is_made_anew() {
    let store = TestStore::new();
    for number in 0..400_u32 {
        let handle = format!("{number:08x}");
        let name = format!("20260114_091500_{handle}.md");
        let words: String = (0..40)
            .map(|n| format!(" w{}", number * 37 + n * 101))
            .collect();
        let text = format!("a wombat{words}");
        store.put(&name, memory_text(&handle, "2026-01-14T09:15:00Z", &text));
    }
    let engine = store.engine();
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    let is_large = |path: &std::path::PathBuf| fs::metadata(path).unwrap().len() > 32 << 10;
    for cut in [0, 1, 4_096, 20_000, 32_768] {
        assert_eq!(holding(&engine, "wombat").len(), 400);
        let files = crate::support::regular_files(&store.index());
        let mut large = files.into_iter().filter(is_large).peekable();
        assert!(large.peek().is_some());
        for file in large {
            fs::File::options()
                .write(true)
                .open(file)
                .unwrap()
                .set_len(cut)
                .unwrap();
        }
        assert_eq!(holding(&engine, "wombat").len(), 400, "cut at {cut}");
        assert_eq!(
            holding(&store.engine(), "wombat").len(),
            400,
            "cut at {cut}"
        );
    }
    assert_eq!(
        ops::verify(&engine).unwrap().index_faults,
        Vec::<String>::new()
    );
}
