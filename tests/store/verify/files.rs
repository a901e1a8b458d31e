//! Damage of memory files.

use std::fs;

use super::{ARCHIVED, NEW, ONE, archive, archived, new, one, sound_store, told, with};
use crate::support::{TestStore, clock, found, holding, memory_text, noon, query};
use memdir::engine::{Engine, Options, ops};

/// Seeds one damage and expects exactly these findings: files below the store with their codes.
#[track_caller]
fn check(seed: impl Fn(&TestStore), expected: &[(&str, &'static str)]) {
    verdict(seed, expected, false);
}

/// As [`check`], for what is worth a note in a store that is sound.
#[track_caller]
fn check_note(seed: impl Fn(&TestStore), expected: &[(&str, &'static str)]) {
    verdict(seed, expected, true);
}

#[track_caller]
fn verdict(seed: impl Fn(&TestStore), expected: &[(&str, &'static str)], is_sound: bool) {
    let store = sound_store();
    seed(&store);
    let engine = store.engine();
    let proof = ops::verify(&engine).unwrap();
    let expected: Vec<_> = expected
        .iter()
        .map(|(file, code)| ((*file).to_owned(), *code))
        .collect();
    assert_eq!(told(&proof), expected);
    assert_eq!(proof.index_faults, Vec::<String>::new());
    assert_eq!(proof.is_sound(), is_sound);
    // One damage costs one memory at most.
    assert!(holding(&engine, "first heron").contains(&ONE.to_owned()));
}

/// Seeds one damaged text as a new file and expects its `codes`.
#[track_caller]
fn check_text(text: impl AsRef<[u8]>, codes: &[&'static str]) {
    let file = format!("files/{NEW}");
    let expected: Vec<_> = codes.iter().map(|code| (file.as_str(), *code)).collect();
    check(|store| store.put(NEW, text.as_ref()), &expected);
}

/// Puts a text under `name` and expects `code` for it.
#[track_caller]
fn check_name(name: &str, code: &'static str) {
    check(
        |store| store.put(name, one()),
        &[(&format!("files/{name}"), code)],
    );
}

#[test]
fn torn_files_are_found() {
    check_text("", &["empty"]);
    check_text("-", &["no-frontmatter"]);
    check_text("---\nid: dddddddd\ntime", &["frontmatter-not-closed"]);
    // As a file system leaves a file whose bytes were not written before the power failed.
    check_text([0; 180], &["nul", "no-frontmatter"]);
    check_text(
        new().replace("A new heron.", "A new \0\0\0\0\0\0"),
        &["nul"],
    );
}

#[test]
fn texts_that_are_no_text_are_found() {
    check_text(
        [new().as_bytes(), b"caf\xe9".as_slice()].concat(),
        &["not-utf8"],
    );
    check_text(
        [0x89, b'P', b'N', b'G', 0xff],
        &["not-utf8", "no-frontmatter"],
    );
    check_text("Only a text.\n", &["no-frontmatter"]);
}

#[test]
fn names_and_texts_that_contradict_each_other_are_found() {
    check_text(
        new().replace("id: dddddddd", "id: eeeeeeee"),
        &["id-differs-from-name"],
    );
    check_text(new().replace("2026-01-04T", "2024-01-04T"), &["bad-key"]);
    check_text(new().replace("2026-01-04T00:00:00Z", "soon"), &["bad-key"]);
    check(
        |store| {
            let text = new().replace("2026-01-04T", "2126-01-04T");
            store.put("21260104_000000_dddddddd.md", text);
        },
        &[("files/21260104_000000_dddddddd.md", "bad-key")],
    );
}

#[test]
fn damaged_frontmatter_is_found() {
    check_text(new().replace("agent: claude\n", ""), &["missing-key"]);
    check_text(with("user: tom"), &["duplicate-key"]);
    check_text(with("what is this"), &["bad-key"]);
    check_text(with("importance: 11"), &["bad-key"]);
    check_text(with("metadata: {\"a\": [1, 2"), &["bad-key"]);
    check_text(
        with("title: |\n\tindented by a tab"),
        &["bad-key", "bad-key"],
    );
    check_text(
        with("topics: [\"no end]").replacen("topics: [test]\n", "", 1),
        &["bad-key"],
    );
    let long = format!("source: {}", "x".repeat(17_000));
    check_text(with(&long), &["frontmatter-too-large"]);
}

#[test]
fn yaml_that_explodes_is_found() {
    let bomb = "metadata:\n  a: &a [x, x]\n  b: &b [*a, *a]\n  c: [*b, *b, *b]";
    check_text(with(bomb), &["bad-key"]);
    check_text(with("other: &a [*a, *a]"), &["refused-yaml"]);
    check_text(with("metadata: !!python/object:os.system {}"), &["bad-key"]);
    let deep = format!("other: {}{}", "[".repeat(99), "]".repeat(99));
    check_text(with(&deep), &["refused-yaml"]);
}

#[test]
fn conflict_markers_are_found_and_both_sides_with_them() {
    let sides =
        |ours: &str, theirs: &str| format!("<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> other\n");
    let body = new() + &sides("A stork of ours.\n", "An egret of theirs.\n");
    check_markers(&body, &["conflict-markers"]);
    let topics = sides("topics: [stork]\n", "topics:\n  - egret\n");
    check_markers(
        &new().replace("topics: [test]\n", &topics),
        &[
            "conflict-markers",
            "bad-key",
            "bad-key",
            "bad-key",
            "duplicate-key",
        ],
    );
    // A hunk within one list.
    let topics = format!("topics:\n{}", sides("  - stork\n", "  - egret\n"));
    check_markers(
        &new().replace("topics: [test]\n", &topics),
        &["conflict-markers", "bad-key", "bad-key", "bad-key"],
    );
    let titles = sides("title: The stork\n", "title: The egret\n");
    let store = sound_store();
    store.put(NEW, with(titles.trim_end()));
    let engine = store.engine();
    assert_eq!(found(&engine, &query("stork"))[0], NEW);
    assert_eq!(found(&engine, &query("egret"))[0], NEW);
    // Git's hunks swallow the line that closes the frontmatter.
    let across = "---\nid: dddddddd\ntimestamp: 2026-01-04T00:00:00Z\nagent: claude\nuser: mira\n"
        .to_owned()
        + &sides(
            "topics: [ours]\n---\n\nA stork.\n",
            "topics: [theirs]\n---\n\nAn egret.\n",
        );
    check_markers(&across, &["conflict-markers", "bad-key"]);
}

#[track_caller]
fn check_markers(text: &str, codes: &[&'static str]) {
    check_text(text, codes);
    let store = sound_store();
    store.put(NEW, text);
    let engine = store.engine();
    assert_eq!(holding(&engine, "stork"), [NEW]);
    assert_eq!(holding(&engine, "egret"), [NEW]);
    assert_eq!(store.read(NEW), text.as_bytes());
}

#[test]
fn names_that_are_no_memory_names_are_found() {
    for name in [
        "notes.md",
        "20261345_000000_aaaaaaaa.md",
        "20260102_000000_AAAAAAAA.md",
    ] {
        let file = format!("files/{name}");
        check_note(|store| store.put(name, one()), &[(&file, "foreign-name")]);
    }
    check_name("20260101_000000_aaaaaaaa (1).md", "conflict-copy");
    check_name(
        "20260101_000000_aaaaaaaa.sync-conflict-20260102-120000-ABCDEFG.md",
        "conflict-copy",
    );
}

#[test]
fn two_files_of_one_name_are_found() {
    check(
        |store| store.put(&format!("old/{ONE}"), one()),
        &[(&format!("files/old/{ONE}"), "same-stem")],
    );
}

#[test]
fn a_memory_that_is_live_and_archived_with_another_text_is_found() {
    check(
        |store| archive(store, ONE, &one().replace("heron", "egret")),
        &[(&format!("files/{ONE}"), "also-archived")],
    );
    // As a power cut leaves it, between the two names of a move: nothing is lost.
    check_note(
        |store| archive(store, ONE, &one()),
        &[(&format!("files/{ONE}"), "also-archived")],
    );
}

#[test]
fn damage_in_the_archive_is_found() {
    let file = format!("archive/{ARCHIVED}");
    check(
        |store| archive(store, ARCHIVED, "---\nid: cccc"),
        &[(&file, "frontmatter-not-closed")],
    );
    check(|store| archive(store, ARCHIVED, ""), &[(&file, "empty")]);
    check(
        |store| fs::create_dir(store.root().join("archive/x.md")).unwrap(),
        &[("archive/x.md", "not-readable")],
    );
    check(
        |store| {
            fs::create_dir(store.root().join("archive/old")).unwrap();
            archive(store, &format!("old/{ARCHIVED}"), &archived());
        },
        &[(&format!("archive/old/{ARCHIVED}"), "same-stem")],
    );
}

#[test]
fn references_to_nothing_are_noted() {
    let file = format!("files/{NEW}");
    let seed = |line: &'static str| move |store: &TestStore| store.put(NEW, with(line));
    let dangling = [(file.as_str(), "dangling-reference")];
    check_note(seed("supersedes: [20250101_000000_abcdef01]"), &dangling);
    check_note(seed("superseded_by: 20250101_000000_abcdef01"), &dangling);
    check_note(
        seed("links:\n  - {to: abcdef01, type: related-to}"),
        &dangling,
    );
    // Neither a live nor a forgotten memory dangles, however it is named.
    check_note(seed("supersedes: [20260103_000000_cccccccc]"), &[]);
    check_note(
        seed(
            "links:\n  - {to: aaaaaaaa, type: part-of}\n  - {to: \"[[20260102_000000_bbbbbbbb.md]]\", type: x}",
        ),
        &[],
    );
}

#[test]
fn a_memory_that_replaces_itself_is_found() {
    // No search would ever show it.
    check_text(
        with("superseded_by: 20260104_000000_dddddddd"),
        &["bad-key"],
    );
    check_text(with("supersedes: [dddddddd]"), &["bad-key"]);
}

#[test]
fn what_is_unusual_and_sound_is_noted() {
    check_note(
        |store| store.put("20260105_000000_aaaaaaaa.md", with_handle("aaaaaaaa")),
        &[("files/20260105_000000_aaaaaaaa.md", "same-handle")],
    );
    let large = new() + &"A long line of a large memory.\n".repeat(40_000);
    check_note(
        |store| store.put(NEW, &large),
        &[(&format!("files/{NEW}"), "partly-indexed")],
    );
}

fn with_handle(handle: &str) -> String {
    memory_text(handle, "2026-01-05T00:00:00Z", "Another heron.\n")
}

const SWAPPED: &str =
    ".memdir-swap-00-0000000000000001-0000000000000002-20260101_000000_aaaaaaaa-Ab12.tmp";

#[test]
fn a_text_that_an_interrupted_change_left_is_found() {
    // Where something may be written it has become a conflict copy by then.
    let store = sound_store();
    store.put(SWAPPED, one());
    let proof = ops::verify(&store.engine()).unwrap();
    let [(copy, "conflict-copy")] = &told(&proof)[..] else {
        panic!("{proof:?}")
    };
    assert!(copy.starts_with("files/20260101_000000_aaaaaaaa.conflict-"));
    // Where nothing may be written it is told.
    let store = sound_store();
    store.put(SWAPPED, one());
    let elsewhere = tempfile::tempdir().unwrap();
    let options = Options {
        read_only: true,
        git: None,
        state: Some(elsewhere.path().to_owned()),
        ..store.options()
    };
    let engine = Engine::open(options, clock(noon())).unwrap();
    let proof = ops::verify(&engine).unwrap();
    assert_eq!(told(&proof), [(format!("files/{SWAPPED}"), "leftover")]);
    assert!(!proof.is_sound());
    assert!(store.files().join(SWAPPED).exists());
}

#[test]
fn what_is_no_file_or_lies_too_deep_is_found() {
    check(
        |store| fs::create_dir(store.files().join("x.md")).unwrap(),
        &[("files/x.md", "not-readable")],
    );
    let deep = "a/b/c/d/e/f/g/h/i";
    check(
        |store| store.put(&format!("{deep}/{NEW}"), new()),
        &[(&format!("files/{deep}"), "not-readable")],
    );
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::fs::Permissions;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn links_pipes_and_names_that_are_no_text_are_found() {
        let not_readable = [("files/x.md", "not-readable")];
        check(
            |store| symlink(store.files().join(ONE), store.files().join("x.md")).unwrap(),
            &not_readable,
        );
        check(
            |store| symlink("nowhere", store.files().join("x.md")).unwrap(),
            &not_readable,
        );
        check(
            |store| {
                let path = store.files().join("x.md");
                let mode = rustix::fs::Mode::from_raw_mode(0o600);
                let fifo = rustix::fs::FileType::Fifo;
                rustix::fs::mknodat(rustix::fs::CWD, path, fifo, mode, 0).unwrap();
            },
            &not_readable,
        );
        let name = OsStr::from_bytes(b"caf\xe9.md");
        let probe = tempfile::tempdir().unwrap();
        if fs::write(probe.path().join(name), "").is_err() {
            eprintln!("skipped: this system has no such names");
            return;
        }
        check(
            |store| fs::write(store.files().join(name), one()).unwrap(),
            &[("files/caf\u{fffd}.md", "not-readable")],
        );
    }

    #[test]
    fn a_file_without_permission_is_found() {
        let seed = |store: &TestStore| {
            store.put(NEW, new());
            let path = store.files().join(NEW);
            fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        };
        let store = TestStore::new();
        seed(&store);
        if fs::read(store.files().join(NEW)).is_ok() {
            eprintln!("skipped: this user may read every file");
            return;
        }
        check(seed, &[(&format!("files/{NEW}"), "not-readable")]);
    }
}
