//! Nothing that was acknowledged and nothing that somebody else wrote is ever lost.

use std::fs;
use std::fs::File;

use crate::support::program::names;
use crate::support::{TestStore, holding, memory_text, new_memory, noon, regular_files};
use memdir::engine::{EngineError, Recalled, live, ops};
use memdir::files::{FilesError, Place, Replaced, Storage, Store, WritableStorage};
use memdir::model::{Change, Handle, NewMemory, Patch, Timestamp};

const NAME: &str = "20260101_000000_aaaaaaaa.md";

/// The folders of a test store without an engine over them.
fn files_of(store: &TestStore) -> Store {
    Store::new(store.root(), &store.state())
}

#[test]
fn a_replaced_file_has_the_new_text_and_leaves_nothing_else() {
    let store = TestStore::new();
    store.put(NAME, "old");
    let files = files_of(&store);
    let seen = files.reader(Place::Files).read(NAME, u64::MAX).unwrap();
    assert_eq!(
        files.replace(Place::Files, NAME, &seen, b"new").unwrap(),
        Replaced::Done
    );
    assert_eq!(store.read(NAME), b"new");
    assert_eq!(names(&store.files()), [NAME]);
}

#[test]
fn a_change_between_reading_and_replacing_keeps_both_texts() {
    let store = TestStore::new();
    store.put(NAME, "old");
    let files = files_of(&store);
    let seen = files.reader(Place::Files).read(NAME, u64::MAX).unwrap();
    store.put(NAME, "theirs");
    assert_eq!(
        files.replace(Place::Files, NAME, &seen, b"ours").unwrap(),
        Replaced::Stale
    );
    assert_eq!(store.read(NAME), b"theirs");
    let copy = files.add_copy(NAME, b"ours").unwrap();
    assert_eq!(store.read(&copy), b"ours");
    assert_eq!(names(&store.files()), [copy.clone(), NAME.to_owned()]);
    // The same text again is the same copy.
    assert_eq!(files.add_copy(NAME, b"ours").unwrap(), copy);
    assert_eq!(names(&store.files()).len(), 2);
    // A copy that somebody has changed since is another text.
    store.put(&copy, "edited");
    let other = files.add_copy(NAME, b"ours").unwrap();
    assert_ne!(other, copy);
    assert_eq!(store.read(&copy), b"edited");
    assert_eq!(store.read(&other), b"ours");
}

#[test]
fn changes_of_one_memory_from_many_sides_are_all_made() {
    let store = TestStore::new();
    store.put(NAME, memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "x\n"));
    let fields = ["title", "source", "status", "agent"];
    std::thread::scope(|scope| {
        for field in fields {
            let engine = store.engine();
            scope.spawn(move || {
                for round in 0..10 {
                    let text = format!("{field} {round}");
                    let mut change = memdir::model::Change::default();
                    match field {
                        "title" => change.title = memdir::model::Patch::Set(text),
                        "source" => change.source = memdir::model::Patch::Set(text),
                        "status" => change.status = memdir::model::Patch::Set(text),
                        _ => change.agent = Some(text),
                    }
                    ops::update(&engine, "aaaaaaaa", &change).unwrap();
                }
            });
        }
    });
    let text = String::from_utf8(store.read(NAME)).unwrap();
    for field in fields {
        assert!(text.contains(&format!("{field}: {field} 9\n")), "{text}");
    }
    assert_eq!(names(&store.files()), [NAME]);
}

#[test]
fn what_a_crash_left_of_an_exchange_is_cleared_and_foreign_text_kept() {
    let store = TestStore::new();
    store.put(NAME, memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "x\n"));
    let beside =
        ".memdir-swap-00-0000000000000001-0000000000000002-20260101_000000_aaaaaaaa-Ab12.tmp";
    let theirs = memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "bittern\n");
    store.put(beside, &theirs);
    let engine = store.engine();
    let found = holding(&engine, "bittern");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains(".conflict-"), "{found:?}");
    assert_eq!(store.read(&found[0]), theirs.as_bytes());
    assert!(!store.files().join(beside).exists());
}

#[test]
fn an_editor_that_saves_over_a_changed_file_is_told_and_loses_nothing() {
    let store = TestStore::new();
    store.put(
        NAME,
        memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "old\n"),
    );
    let engine = store.engine();
    let (name, seen) = ops::open_text(&engine, "aaaaaaaa").unwrap();
    store.put(
        NAME,
        memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "heron\n"),
    );
    let ours = memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "egret\n");
    let saved = ops::save_text(&engine, &name, &seen, ours.as_bytes());
    assert!(
        matches!(saved, Err(EngineError::ChangedMeanwhile { .. })),
        "{saved:?}"
    );
    assert_eq!(holding(&engine, "heron"), [NAME]);
    let copies = holding(&engine, "egret");
    assert_eq!(copies.len(), 1);
    assert_ne!(copies, [NAME]);
    let findings = ops::status(&engine).unwrap().findings;
    assert_eq!(
        findings
            .iter()
            .filter(|f| f.problem.code() == "conflict-copy")
            .count(),
        1
    );
}

#[test]
fn replacing_a_file_that_is_gone_makes_none() {
    let store = TestStore::new();
    store.put(NAME, "old");
    let files = files_of(&store);
    let seen = files.reader(Place::Files).read(NAME, u64::MAX).unwrap();
    fs::remove_file(store.files().join(NAME)).unwrap();
    let replaced = files.replace(Place::Files, NAME, &seen, b"new");
    assert!(
        matches!(replaced, Err(FilesError::Missing { .. })),
        "{replaced:?}"
    );
    assert_eq!(names(&store.files()), Vec::<String>::new());
}

#[test]
fn a_new_file_never_replaces_another() {
    let store = TestStore::new();
    store.put(NAME, "theirs");
    let added = files_of(&store).add(Place::Files, NAME, b"ours");
    assert!(matches!(added, Err(FilesError::Taken { .. })), "{added:?}");
    assert_eq!(store.read(NAME), b"theirs");
    assert_eq!(names(&store.files()), [NAME]);
}

#[test]
fn a_taken_name_is_drawn_anew() {
    let store = TestStore::new();
    let engine = store.engine();
    let memory = |content: &str| NewMemory {
        timestamp: Some(Timestamp::from_utc(noon())),
        handle: Handle::parse("aaaaaaaa"),
        ..new_memory(content)
    };
    let first = ops::remember(&engine, memory("first\n"), None)
        .unwrap()
        .stem;
    let second = ops::remember(&engine, memory("second\n"), None)
        .unwrap()
        .stem;
    assert_eq!(first.as_str(), "20260601_120000_aaaaaaaa");
    assert_ne!(second, first);
    assert_eq!(holding(&engine, "first"), [format!("{first}.md")]);
    assert_eq!(holding(&engine, "second"), [format!("{second}.md")]);
}

#[test]
fn a_forgotten_memory_comes_back_with_the_same_bytes() {
    let store = TestStore::of_fixture("damage");
    let engine = store.engine();
    let before = store.texts();
    // Latin-1, CRLF or not, closed or not: whatever can be named can be moved.
    let stems = [
        "dead0009", "dead0006", "dead0026", "dead0051", "größe", "dead0003",
    ];
    for stem in stems {
        ops::forget(&engine, stem).unwrap();
    }
    assert_eq!(store.texts().len(), before.len() - stems.len());
    assert_eq!(holding(&engine, "dmg09word"), Vec::<String>::new());
    assert_eq!(
        regular_files(&store.root().join("archive")).len(),
        stems.len()
    );
    for stem in stems {
        ops::restore(&engine, stem).unwrap();
    }
    assert_eq!(store.texts(), before);
    assert_eq!(
        holding(&engine, "dmg09word"),
        ["20260102_000900_dead0009.md"]
    );
}

#[test]
fn forgetting_never_replaces_what_is_in_the_archive() {
    let store = TestStore::new();
    store.put(NAME, "one");
    let engine = store.engine();
    ops::forget(&engine, "aaaaaaaa").unwrap();
    store.put(NAME, "another");
    let forgotten = ops::forget(&engine, "aaaaaaaa");
    assert!(
        matches!(forgotten, Err(EngineError::Files(FilesError::Taken { .. }))),
        "{forgotten:?}"
    );
    let restored = ops::restore(&engine, "aaaaaaaa");
    assert!(
        matches!(restored, Err(EngineError::Files(FilesError::Taken { .. }))),
        "{restored:?}"
    );
    assert_eq!(store.read(NAME), b"another");
    assert_eq!(
        fs::read(store.root().join("archive").join(NAME)).unwrap(),
        b"one"
    );
}

#[test]
fn what_an_interrupted_write_left_goes_and_what_a_live_writer_holds_stays() {
    let store = TestStore::new();
    let left = store.files().join(".memdir-abandoned.tmp");
    let held = store.files().join(".memdir-held.tmp");
    fs::write(&left, "half a mem").unwrap();
    fs::write(&held, "half a mem").unwrap();
    let writer = File::open(&held).unwrap();
    writer.lock().unwrap();
    let engine = store.engine();
    assert_eq!(holding(&engine, "half"), Vec::<String>::new());
    assert_eq!(names(&store.files()), [".memdir-held.tmp"]);
    drop(writer);
    ops::status(&engine).unwrap();
    assert_eq!(names(&store.files()), Vec::<String>::new());
}

#[test]
fn a_process_that_may_only_read_leaves_even_leftovers() {
    let store = TestStore::new();
    fs::write(store.files().join(".memdir-abandoned.tmp"), "half a mem").unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let options = memdir::engine::Options {
        read_only: true,
        git: None,
        state: Some(elsewhere.path().to_owned()),
        ..store.options()
    };
    let engine = memdir::engine::Engine::open(options, crate::support::clock(noon())).unwrap();
    assert_eq!(holding(&engine, "half"), Vec::<String>::new());
    assert_eq!(names(&store.files()), [".memdir-abandoned.tmp"]);
}

/// A store in which one handle names two memories.
fn store_with_twins() -> TestStore {
    let store = TestStore::new();
    let text = |time: &str, content: &str| memory_text("c0ffee01", time, content);
    store.put(
        "20260120_100000_c0ffee01.md",
        text("2026-01-20T10:00:00Z", "first\n"),
    );
    store.put(
        "20260121_110000_c0ffee01.md",
        text("2026-01-21T11:00:00Z", "second\n"),
    );
    store
}

const TWINS: [&str; 2] = ["20260120_100000_c0ffee01", "20260121_110000_c0ffee01"];

#[test]
fn an_ambiguous_handle_is_an_error_that_names_both_and_changes_nothing() {
    let store = store_with_twins();
    let engine = store.engine();
    let before = store.texts();
    let change = Change {
        title: Patch::Set("x".to_owned()),
        ..Change::default()
    };
    let is_ambiguous = |error: &EngineError| matches!(error, EngineError::Ambiguous { candidates, .. } if candidates == &TWINS);
    assert!(live::resolve(&engine.live, "c0ffee01").is_err_and(|error| is_ambiguous(&error)));
    assert!(ops::forget(&engine, "c0ffee01").is_err_and(|error| is_ambiguous(&error)));
    assert!(ops::update(&engine, "c0ffee01", &change).is_err_and(|error| is_ambiguous(&error)));
    let recalled = ops::recall(&engine, &["c0ffee01".to_owned()]);
    let [Recalled::Failed { error, .. }] = &recalled[..] else {
        panic!("{recalled:?}")
    };
    assert!(is_ambiguous(error));
    assert_eq!(store.texts(), before);
}

#[test]
fn a_stem_names_one_of_two_memories_with_the_same_handle() {
    let store = store_with_twins();
    let engine = store.engine();
    let recalled = ops::recall(&engine, &TWINS.map(str::to_owned));
    let contents: Vec<&str> = recalled
        .iter()
        .map(|recalled| match recalled {
            Recalled::Found { memory, .. } => memory.content.as_str(),
            Recalled::Failed { error, .. } => panic!("{error}"),
        })
        .collect();
    assert_eq!(contents, ["first\n", "second\n"]);
    ops::forget(&engine, TWINS[0]).unwrap();
    assert_eq!(
        live::resolve(&engine.live, "c0ffee01").unwrap().0.as_str(),
        TWINS[1]
    );
}

#[test]
fn texts_that_are_no_ids_find_nothing_and_touch_nothing() {
    let store = store_with_twins();
    fs::write(store.root().join("secret.md"), "secret").unwrap();
    let before = regular_files(store.root()).len();
    let engine = store.engine();
    let hostile = [
        "",
        " ",
        "..",
        ".",
        "/",
        "../secret",
        "../secret.md",
        "/etc/passwd",
        "files/../../secret",
        "%2e%2e%2fsecret",
        "．．/secret",
        "*",
        "?",
        "[0-9]*",
        "c0ffee0*",
        "CON",
        "NUL",
        "a\0b",
        "\\\\?\\C:\\",
        "~",
        "~/secret",
        "20260120_100000_c0ffee01/../../secret",
        ".memdir",
    ];
    for id in hostile
        .iter()
        .map(|id| (*id).to_owned())
        .chain([" ".repeat(10_000), "c".repeat(10_000)])
    {
        assert!(live::resolve(&engine.live, &id).is_err(), "{id}");
        assert!(ops::forget(&engine, &id).is_err(), "{id}");
        assert!(ops::restore(&engine, &id).is_err(), "{id}");
    }
    fs::remove_dir_all(store.state()).unwrap();
    assert_eq!(regular_files(store.root()).len(), before);
}

#[test]
fn a_repeated_call_with_one_key_writes_once() {
    let store = TestStore::new();
    let engine = store.engine();
    let first = ops::remember(&engine, new_memory("heron\n"), Some("key-1")).unwrap();
    let again = ops::remember(&engine, new_memory("heron\n"), Some("key-1")).unwrap();
    assert!(!first.existed());
    assert!(again.existed());
    assert_eq!(again.stem, first.stem);
    // In another process, and after the index is gone.
    fs::remove_dir_all(store.state()).unwrap();
    let elsewhere = ops::remember(&store.engine(), new_memory("heron\n"), Some("key-1")).unwrap();
    assert_eq!(elsewhere.stem, first.stem);
    assert_eq!(store.texts().len(), 1);
}

#[test]
fn another_key_or_another_user_is_another_memory() {
    let store = TestStore::new();
    let engine = store.engine();
    ops::remember(&engine, new_memory("heron\n"), Some("key-1")).unwrap();
    ops::remember(&engine, new_memory("heron\n"), Some("key-2")).unwrap();
    ops::remember(&engine, new_memory("heron\n"), Some("KEY-1")).unwrap();
    ops::remember(&engine, new_memory("heron\n"), None).unwrap();
    let other = NewMemory {
        user: "marco".to_owned(),
        ..new_memory("heron\n")
    };
    assert!(
        !ops::remember(&engine, other, Some("key-1"))
            .unwrap()
            .existed()
    );
    assert_eq!(store.texts().len(), 5);
}

#[test]
fn calls_with_one_key_at_once_write_once() {
    let store = TestStore::new();
    let call = || {
        let engine = store.engine();
        ops::remember(&engine, new_memory("heron\n"), Some("key-1"))
            .unwrap()
            .stem
    };
    let stems: Vec<_> = std::thread::scope(|scope| {
        let threads = [(); 4].map(|()| scope.spawn(call));
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{stems:?}");
    assert_eq!(store.texts().len(), 1);
}

#[test]
fn a_memory_that_may_not_be_written_leaves_no_file() {
    let store = TestStore::new();
    let engine = store.engine();
    let memory = NewMemory {
        user: "a\nb".to_owned(),
        ..new_memory("heron\n")
    };
    assert!(matches!(
        ops::remember(&engine, memory, None),
        Err(EngineError::Format(_))
    ));
    let memory = NewMemory {
        supersedes: vec!["deadbeef".to_owned()],
        ..new_memory("heron\n")
    };
    assert!(matches!(
        ops::remember(&engine, memory, None),
        Err(EngineError::NotFound(_))
    ));
    assert_eq!(names(&store.files()), Vec::<String>::new());
}

#[cfg(unix)]
#[test]
fn folders_and_files_are_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("store");
    fs::create_dir(&root).unwrap();
    let options = memdir::engine::Options {
        root: root.clone(),
        ..TestStore::new().options()
    };
    let engine = memdir::engine::Engine::open(options, crate::support::clock(noon())).unwrap();
    let stem = ops::remember(&engine, new_memory("heron\n"), Some("key"))
        .unwrap()
        .stem;
    live::settle(&engine.live, true).unwrap();
    ops::status(&engine).unwrap();
    live::settle(&engine.live, true).unwrap();
    ops::forget(&engine, stem.as_str()).unwrap();
    ops::restore(&engine, stem.as_str()).unwrap();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let archive = root.join("archive");
    for made in [
        root.join("files"),
        archive,
        root.join(".memdir"),
        root.join(".memdir/locks"),
    ] {
        assert_eq!(mode(made.clone()), 0o700, "{}", made.display());
    }
    assert_eq!(mode(root.join(format!("files/{stem}.md"))), 0o600);
    assert_eq!(mode(root.join(".memdir/writer.lock")), 0o600);
}

#[cfg(unix)]
#[test]
fn a_changed_memory_keeps_its_mode() {
    use std::os::unix::fs::PermissionsExt;

    let store = TestStore::new();
    store.put(
        NAME,
        memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "old\n"),
    );
    let path = store.files().join(NAME);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    let change = Change {
        content: Some("new\n".to_owned()),
        ..Change::default()
    };
    ops::update(&store.engine(), "aaaaaaaa", &change).unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );
}
