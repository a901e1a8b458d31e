//! Stores as other programs, people and accidents leave them.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::{TestStore, fixture, found, holding, keywords, memory_text, query};
use memdir::engine::{Engine, Finding, Query, live, ops};
use memdir::model::{Filter, Memory, Problem};

fn expectations(name: &str) -> Value {
    let text = fs::read_to_string(fixture(name).join("expected.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Every memory of the store by file name.
fn memories(engine: &Engine) -> BTreeMap<String, Memory> {
    let query = Query::everything(Filter::default(), 10_000);
    let hits = ops::search(engine, &query).unwrap().hits;
    hits.into_iter()
        .map(|hit| (hit.name, hit.memory.into_memory()))
        .collect()
}

/// A memory in the words of `expected.json`.
fn as_json(name: &str, memory: &Memory) -> Value {
    serde_json::json!({
        "file": name,
        "id": memory.id,
        "timestamp": memory.timestamp.as_str(),
        "agent": memory.agent,
        "user": memory.user,
        "topics": memory.topics,
        "content": memory.content,
    })
}

#[test]
fn a_folder_that_aiaml_leaves_is_read_as_aiaml_reads_it() {
    let store = TestStore::of_fixture("aiaml");
    let memories = memories(&store.engine());
    let read: Vec<Value> = memories
        .iter()
        .map(|(name, memory)| as_json(name, memory))
        .collect();
    assert_eq!(Value::from(read), expectations("aiaml"));
}

#[test]
fn a_folder_that_aiaml_leaves_is_sound() {
    let store = TestStore::of_fixture("aiaml");
    let engine = store.engine();
    assert_eq!(ops::status(&engine).unwrap().findings, []);
    assert!(ops::verify(&engine).unwrap().is_sound());
}

#[test]
fn a_store_edited_in_obsidian_is_read_with_the_keys_it_does_not_know() {
    let store = TestStore::of_fixture("obsidian");
    let memories = memories(&store.engine());
    let read = memories.iter().map(|(name, memory)| {
        let mut json = as_json(name, memory);
        let unknown: Vec<&str> = memory.unknown.iter().map(|(key, _)| key.as_str()).collect();
        json["title"] = memory.title.clone().into();
        json["unknown_keys"] = unknown.into();
        json
    });
    assert_eq!(
        Value::from(read.collect::<Vec<_>>()),
        expectations("obsidian")
    );
}

#[test]
fn a_store_edited_in_obsidian_is_sound() {
    let store = TestStore::of_fixture("obsidian");
    let engine = store.engine();
    assert_eq!(ops::status(&engine).unwrap().findings, []);
    assert!(ops::verify(&engine).unwrap().is_sound());
}

#[test]
fn every_damaged_file_is_found_by_its_word_and_hides_no_other() {
    let store = TestStore::of_fixture("damage");
    let engine = store.engine();
    let expected = expectations("damage");
    let words = expected
        .as_object()
        .unwrap()
        .iter()
        .filter_map(|(name, file)| {
            let word = file["unique_word"].as_str()?;
            let holders = if file["searchable"] == true {
                vec![name.clone()]
            } else {
                Vec::new()
            };
            Some((word.to_owned(), holders))
        });
    let words: BTreeMap<String, Vec<String>> = words.collect();
    let found_now = |engine: &Engine| -> BTreeMap<String, Vec<String>> {
        words
            .keys()
            .map(|word| (word.clone(), holding(engine, word)))
            .collect()
    };
    assert_eq!(found_now(&engine), words);
    live::settle(&engine.live, true).unwrap();
    assert_eq!(found_now(&engine), words);
    // A question brings neighbours, too; the file itself comes first.
    let best = |word: &String| {
        let first = found(&engine, &query(word)).into_iter().take(1).collect();
        (word.clone(), first)
    };
    assert_eq!(
        words.keys().map(best).collect::<BTreeMap<_, Vec<_>>>(),
        words
    );
}

/// What `status` and `verify` call each kind of damage of the fixture.
const DAMAGES: [(&str, &str); 35] = [
    ("empty file", "empty"),
    ("no frontmatter", "no-frontmatter"),
    ("frontmatter not closed", "frontmatter-not-closed"),
    ("NUL byte in the body", "nul"),
    ("NUL byte in the frontmatter", "nul"),
    ("body is not UTF-8", "not-utf8"),
    ("frontmatter is not UTF-8", "not-utf8"),
    ("duplicate key: user", "duplicate-key"),
    ("tab used for indentation", "bad-key"),
    ("nested too deeply", "refused-yaml"),
    ("YAML anchor or alias", "refused-yaml"),
    ("YAML tag", "refused-yaml"),
    ("YAML merge key", "refused-yaml"),
    ("id differs from the file name", "id-differs-from-name"),
    ("timestamp differs from the file name", "bad-key"),
    ("id is missing", "missing-key"),
    ("timestamp is missing", "missing-key"),
    ("agent is missing", "missing-key"),
    ("user is missing", "missing-key"),
    ("topics is missing", "missing-key"),
    ("timestamp is not a time", "bad-key"),
    ("timestamp lies in the future", "bad-key"),
    ("conflict markers in the frontmatter", "conflict-markers"),
    ("conflict markers in the body", "conflict-markers"),
    (
        "conflict markers across the end of the frontmatter",
        "conflict-markers",
    ),
    ("frontmatter is larger than 16 KiB", "frontmatter-too-large"),
    ("more than 64 keys", "refused-yaml"),
    ("a topic holds half a surrogate pair", "bad-key"),
    ("values out of range", "bad-key"),
    ("not named like a memory: upper-case hex", "foreign-name"),
    ("not named like a memory", "foreign-name"),
    ("not named like a memory, no frontmatter", "foreign-name"),
    ("the file name holds no possible time", "foreign-name"),
    ("frontmatter is empty", "missing-key"),
    ("binary, no frontmatter", "no-frontmatter"),
];

/// The code under which a damage is reported.
fn code_of(problem: &str) -> &'static str {
    let known = DAMAGES.iter().find(|(name, _)| *name == problem);
    match problem {
        _ if problem.starts_with("conflict copy") => "conflict-copy",
        _ if problem.starts_with("handle ") => "same-handle",
        _ => known.unwrap_or_else(|| panic!("no code for `{problem}`")).1,
    }
}

/// Files that are read as no memory at all, so that nothing is said of them.
fn is_passed_over(name: &str) -> bool {
    !name.ends_with(".md") || name.starts_with(['.', '#'])
}

/// Which damaged files are not named as they should be, and which sound files are named.
fn misreported(expected: &Value, findings: &[Finding]) -> Vec<String> {
    let codes = |name: &str| -> Vec<&'static str> {
        let file = format!("files/{name}");
        let of_file = findings.iter().filter(|finding| finding.file == file);
        of_file.map(|finding| finding.problem.code()).collect()
    };
    let files = expected
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, _)| !is_passed_over(name));
    let wrong = files.filter(|(name, file)| match file["problem"].as_str() {
        None => !codes(name).is_empty(),
        // Of two files with one handle, the later one names the earlier.
        Some(problem) if problem.starts_with("handle ") => {
            !codes("20260121_110000_c0ffee01.md").contains(&"same-handle")
        }
        Some(problem) => !codes(name).contains(&code_of(problem)),
    });
    wrong
        .map(|(name, file)| format!("{name}: {} is {:?}", file["problem"], codes(name)))
        .collect()
}

#[test]
fn status_names_every_damage_and_no_sound_file() {
    let store = TestStore::of_fixture("damage");
    let findings = ops::status(&store.engine()).unwrap().findings;
    assert_eq!(
        misreported(&expectations("damage"), &findings),
        Vec::<String>::new()
    );
}

#[test]
fn verify_names_every_damage_and_no_sound_file() {
    let store = TestStore::of_fixture("damage");
    let proof = ops::verify(&store.engine()).unwrap();
    assert_eq!(
        misreported(&expectations("damage"), &proof.findings),
        Vec::<String>::new()
    );
    assert_eq!(proof.index_faults, Vec::<String>::new());
    assert!(!proof.is_sound());
}

#[test]
fn looking_at_a_store_changes_no_memory_file() {
    check_untouched("aiaml");
    check_untouched("obsidian");
    check_untouched("damage");
}

#[track_caller]
fn check_untouched(name: &str) {
    let store = TestStore::of_fixture(name);
    let before = store.texts();
    look_at_everything(&store);
    assert_eq!(store.texts(), before);
}

/// Does whatever only looks, in one process and then in another.
fn look_at_everything(store: &TestStore) {
    let engine = store.engine();
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    ops::status(&engine).unwrap();
    ops::verify(&engine).unwrap();
    live::settle(&engine.live, true).unwrap();
    holding(&engine, "a");
    found(&engine, &query("what is damaged?"));
    grep(&engine, "a.*e");
    memories(&engine);
    let other = store.engine();
    ops::status(&other).unwrap();
    holding(&other, "memory");
}

fn grep(engine: &Engine, pattern: &str) -> Vec<(String, usize)> {
    let mut lines = Vec::new();
    let filter = Filter::default();
    let mut each = |line: &memdir::engine::GrepLine| {
        lines.push((line.name.clone(), line.number));
        true
    };
    ops::grep(engine, pattern, false, &filter, &mut each).unwrap();
    lines
}

const SOUND: &str = "20260101_000000_aaaaaaaa.md";

/// A store with one sound memory, in which a test makes something that is none.
fn store_with_a_sound_memory() -> TestStore {
    let store = TestStore::new();
    store.put(
        SOUND,
        memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "soundword\n"),
    );
    store
}

/// Looks at the store in every way: nothing hangs, the sound memory is found and its file is as
/// it was, and both reports name `file` as not readable for `reason`.
#[track_caller]
fn check_not_readable(store: &TestStore, file: &str, reason: &str) {
    let before = store.read(SOUND);
    look_at_everything(store);
    assert_eq!(store.read(SOUND), before);
    let engine = store.engine();
    assert_eq!(holding(&engine, "soundword"), [SOUND]);
    assert_eq!(grep(&engine, "soundword"), [(SOUND.to_owned(), 9)]);
    let expected = [Finding {
        file: format!("files/{file}"),
        problem: Problem::NotReadable(reason.to_owned()),
    }];
    assert_eq!(ops::status(&engine).unwrap().findings, expected);
    assert_eq!(ops::verify(&engine).unwrap().findings, expected);
    assert_eq!(
        ops::verify(&engine).unwrap().index_faults,
        Vec::<String>::new()
    );
}

#[test]
fn a_folder_named_like_a_memory_is_reported_and_not_entered() {
    let store = store_with_a_sound_memory();
    store.put("x.md/inner.md", "innerword");
    check_not_readable(&store, "x.md", "it is a folder");
    assert_eq!(holding(&store.engine(), "innerword"), Vec::<String>::new());
}

#[cfg(unix)]
mod unix {
    use std::ffi::OsStr;
    use std::fs::Permissions;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use memdir::engine::Recalled;

    use super::*;

    #[test]
    fn a_named_pipe_is_reported_and_not_waited_for() {
        let store = store_with_a_sound_memory();
        let path = store.files().join("x.md");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        check_not_readable(&store, "x.md", "it is a named pipe");
    }

    #[test]
    fn a_socket_is_reported() {
        let store = store_with_a_sound_memory();
        let _listener = UnixListener::bind(store.files().join("x.md")).unwrap();
        check_not_readable(&store, "x.md", "it is a socket");
    }

    #[test]
    fn a_link_to_a_file_is_reported_and_not_followed() {
        let store = store_with_a_sound_memory();
        let outside = store.root().join("outside.txt");
        fs::write(&outside, "outsideword").unwrap();
        symlink(&outside, store.files().join("x.md")).unwrap();
        check_not_readable(&store, "x.md", "it is a symbolic link");
        let engine = store.engine();
        assert_eq!(holding(&engine, "outsideword"), Vec::<String>::new());
        assert_eq!(grep(&engine, "outsideword"), []);
        assert_eq!(fs::read_to_string(outside).unwrap(), "outsideword");
    }

    #[test]
    fn a_link_to_nothing_is_reported() {
        let store = store_with_a_sound_memory();
        symlink("nowhere.md", store.files().join("x.md")).unwrap();
        check_not_readable(&store, "x.md", "it is a symbolic link");
    }

    #[test]
    fn a_link_to_a_folder_is_not_followed() {
        let store = store_with_a_sound_memory();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("inner.md"), "outsideword").unwrap();
        symlink(outside.path(), store.files().join("linked")).unwrap();
        check_not_readable(&store, "linked", "it is a symbolic link");
        fs::remove_file(store.files().join("linked")).unwrap();
        symlink(outside.path(), store.files().join("linked.md")).unwrap();
        check_not_readable(&store, "linked.md", "it is a symbolic link");
        assert_eq!(
            holding(&store.engine(), "outsideword"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_link_put_where_a_memory_was_is_not_followed() {
        let store = store_with_a_sound_memory();
        store.put("x.md", "beforeword");
        let engine = store.engine();
        assert_eq!(holding(&engine, "beforeword"), ["x.md"]);
        live::settle(&engine.live, true).unwrap();
        let outside = store.root().join("outside.txt");
        fs::write(&outside, "beforeword outsideword").unwrap();
        fs::remove_file(store.files().join("x.md")).unwrap();
        symlink(&outside, store.files().join("x.md")).unwrap();
        assert_eq!(holding(&engine, "beforeword"), Vec::<String>::new());
        let recalled = ops::recall(&engine, &["x".to_owned()]);
        assert!(
            matches!(recalled[..], [Recalled::Failed { .. }]),
            "{recalled:?}"
        );
        assert_eq!(
            fs::read_to_string(outside).unwrap(),
            "beforeword outsideword"
        );
    }

    #[test]
    fn a_second_name_of_a_memory_is_a_memory() {
        // Nothing tells a hard link from the file; S12 asks for what lies outside of the store to
        // be left alone, and writing replaces the name, never the bytes behind it.
        let store = store_with_a_sound_memory();
        let outside = store.root().join("outside.txt");
        fs::write(
            &outside,
            memory_text("bbbbbbbb", "2026-01-02T00:00:00Z", "linkedword\n"),
        )
        .unwrap();
        let name = "20260102_000000_bbbbbbbb.md";
        fs::hard_link(&outside, store.files().join(name)).unwrap();
        let before = fs::read(&outside).unwrap();
        let engine = store.engine();
        assert_eq!(holding(&engine, "linkedword"), [name]);
        let change = memdir::model::Change {
            content: Some("new\n".to_owned()),
            ..memdir::model::Change::default()
        };
        ops::update(&engine, "bbbbbbbb", &change).unwrap();
        assert_eq!(fs::read(&outside).unwrap(), before);
    }

    #[test]
    fn a_name_that_is_not_utf8_is_reported() {
        let store = store_with_a_sound_memory();
        let name = OsStr::from_bytes(b"caf\xe9.md");
        // Some systems refuse such names themselves.
        if fs::write(store.files().join(name), "latinword").is_ok() {
            check_not_readable(&store, "caf\u{fffd}.md", "the name is not UTF-8");
        }
    }

    #[test]
    fn a_file_that_may_not_be_read_is_reported() {
        let store = store_with_a_sound_memory();
        store.put("x.md", "secretword");
        let path = store.files().join("x.md");
        fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
        if fs::read(&path).is_ok() {
            eprintln!("skipped: this user may read every file");
            return;
        }
        let engine = store.engine();
        assert_eq!(holding(&engine, "soundword"), [SOUND]);
        let findings = ops::status(&engine).unwrap().findings;
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].file, "files/x.md");
        assert!(matches!(findings[0].problem, Problem::NotReadable(_)));
    }
}

#[test]
fn a_file_of_a_hundred_megabytes_is_searched_in_its_first_part() {
    let store = store_with_a_sound_memory();
    let name = "20260102_000000_bbbbbbbb.md";
    let text = memory_text("bbbbbbbb", "2026-01-02T00:00:00Z", "largeword\n");
    store.put(name, text);
    let path = store.files().join(name);
    let bytes = 100 << 20;
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(bytes)
        .unwrap();
    let before = hash(&path);
    let engine = store.engine();
    assert_eq!(holding(&engine, "largeword"), [name]);
    assert_eq!(holding(&engine, "soundword"), [SOUND]);
    assert_eq!(grep(&engine, "largeword"), [(name.to_owned(), 9)]);
    let partly = Finding {
        file: format!("files/{name}"),
        problem: Problem::PartlyIndexed { bytes },
    };
    assert!(ops::status(&engine).unwrap().findings.contains(&partly));
    let proof = ops::verify(&engine).unwrap();
    assert!(proof.findings.contains(&partly));
    assert_eq!(proof.index_faults, Vec::<String>::new());
    assert_eq!(hash(&path), before);
}

#[test]
fn a_line_of_fifty_megabytes_is_searched_in_its_first_part() {
    let store = store_with_a_sound_memory();
    let name = "20260102_000000_bbbbbbbb.md";
    let line = format!(
        "firstword {}{}lastword",
        "x".repeat(25 << 20),
        "語".repeat(8 << 20)
    );
    store.put(name, memory_text("bbbbbbbb", "2026-01-02T00:00:00Z", &line));
    let before = hash(&store.files().join(name));
    let engine = store.engine();
    assert_eq!(holding(&engine, "firstword"), [name]);
    assert_eq!(holding(&engine, "xxxxxxxx"), [name]);
    assert_eq!(holding(&engine, "soundword"), [SOUND]);
    live::settle(&engine.live, true).unwrap();
    assert_eq!(holding(&engine, "xxxxxxxx"), [name]);
    // `grep` reads whole files, so that it misses nothing.
    assert_eq!(grep(&engine, "lastword"), [(name.to_owned(), 9)]);
    assert_eq!(
        ops::verify(&engine).unwrap().index_faults,
        Vec::<String>::new()
    );
    assert_eq!(hash(&store.files().join(name)), before);
}

fn hash(path: &Path) -> String {
    blake3::hash(&fs::read(path).unwrap()).to_string()
}

#[test]
fn keywords_count_in_the_longest_run_and_in_the_longest_name() {
    // Longer runs than the index keeps as terms are counted by reading.
    let store = TestStore::new();
    let run = "ab".repeat(60_000);
    let name = format!("{}.md", "n".repeat(252));
    store.put(&name, memory_text("bbbbbbbb", "2026-01-02T00:00:00Z", &run));
    let results = ops::search(&store.engine(), &keywords(&["ab"])).unwrap();
    assert_eq!(results.hits[0].name, name);
    assert_eq!(results.hits[0].score, 60_000.0);
}
