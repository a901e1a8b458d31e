//! status, verify, reindex, export.

use std::fs;

use serde_json::json;

use crate::support::program::Home;
use crate::support::{memory_text, regular_files};

fn home_of_two() -> Home {
    let home = Home::new();
    home.put(
        "20260114_091500_1f3a9c02.md",
        memory_text("1f3a9c02", "2026-01-14T09:15:00Z", "one needle"),
    );
    home.put(
        "20260115_091500_2f3a9c02.md",
        memory_text("2f3a9c02", "2026-01-15T09:15:00Z", "two needles\n"),
    );
    home
}

#[test]
fn status_counts_what_is_there() {
    let home = home_of_two();
    let before = home.run(&["status", "--json"]).json();
    assert_eq!(
        [&before["files"], &before["indexed"], &before["waiting"]],
        [2, 0, 2]
    );
    home.run(&["reindex"]).done();
    let after = home.run(&["status", "--json"]).json();
    assert_eq!(
        [&after["files"], &after["indexed"], &after["waiting"]],
        [2, 2, 0]
    );
    assert_eq!(after["problems"], json!([]));
    assert!(after["bytes"].as_u64() > Some(100));
    let said = home.run(&["status"]).done();
    assert!(
        said.contains("files  2 (") && said.contains("languages  english"),
        "{said}"
    );
    assert!(!said.contains("waiting"), "{said}");
}

#[test]
fn verify_proves_a_sound_store_and_names_what_is_not() {
    let home = home_of_two();
    home.run(&["reindex"]).done();
    let said = home.run(&["verify"]).done();
    assert_eq!(said, "2 files compared with the index: sound\n");
    home.put("20260116_091500_3f3a9c02.md", "---\nid: 3f3a9c02\nno end");
    let ran = home.run(&["verify"]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.text().contains("20260116_091500_3f3a9c02.md"),
        "{ran:?}"
    );
    assert!(
        ran.text()
            .ends_with("3 files compared with the index: not sound\n"),
        "{ran:?}"
    );
    // A damaged memory is still found, and the others, too.
    assert_eq!(home.run(&["grep", "-l", "needle|no end"]).lines().len(), 3);
    let status = home.run(&["status", "--json"]).json();
    assert_eq!(
        status["problems"][0]["file"],
        "files/20260116_091500_3f3a9c02.md"
    );
    assert!(status["problems"][0]["hint"].is_string());
}

#[test]
fn a_damaged_index_is_noticed_and_made_anew() {
    let home = home_of_two();
    home.run(&["reindex"]).done();
    let state = home.store().join(".memdir");
    let damaged: Vec<_> = regular_files(&state)
        .into_iter()
        .filter(|path| path.metadata().unwrap().len() > 0 && !path.ends_with("version"))
        .collect();
    assert!(!damaged.is_empty());
    damaged
        .iter()
        .for_each(|path| fs::write(path, "garbage").unwrap());
    // Searches answer as if nothing had happened.
    assert_eq!(home.run(&["think", "-k", "needle"]).lines().len(), 2);
    home.run(&["reindex", "--full"]).done();
    let proof = home.run(&["verify", "--json"]).json();
    assert_eq!(proof["sound"], true, "{proof}");
}

#[test]
fn a_damaged_index_fails_neither_import_nor_export() {
    for ending in ["pos", "term", "fast", "store", "idx"] {
        let home = home_of_two();
        home.run(&["reindex"]).done();
        let harm = || {
            let files = regular_files(&home.store().join(".memdir"));
            let part = files
                .iter()
                .find(|path| path.extension().is_some_and(|found| found == ending));
            fs::remove_file(part.expect("the index has such a file")).unwrap();
        };
        harm();
        let line = b"{\"id\": \"1\", \"content\": \"three needles\"}\n";
        let ran = home.run_with(&["import", "--from", "jsonl", "-"], line);
        assert_eq!(ran.code, 0, "{ending}: {ran:?}");
        home.run(&["reindex"]).done();
        harm();
        let ran = home.run(&["export", "--to", "jsonl"]);
        assert_eq!((ran.code, ran.lines().len()), (0, 3), "{ending}: {ran:?}");
    }
}

#[test]
fn reindexing_changes_no_memory_file() {
    let home = home_of_two();
    home.put("odd.md", b"\xef\xbb\xbf---\r\ntitle: \"x\r\n\xff");
    let bytes = || {
        regular_files(&home.files())
            .iter()
            .map(|path| fs::read(path).unwrap())
            .collect::<Vec<_>>()
    };
    let before = bytes();
    let said = home.run(&["reindex", "--full"]).done();
    assert_eq!(said, "read 3 files; 3 of 3 are indexed\n");
    home.run(&["reindex"]).done();
    fs::remove_dir_all(home.store().join(".memdir")).unwrap();
    home.run(&["think", "needle"]).done();
    home.run(&["status"]);
    home.run(&["verify"]);
    assert_eq!(bytes(), before);
}

#[test]
fn export_writes_every_memory_oldest_first() {
    let home = home_of_two();
    home.run(&[
        "update",
        "1f3a",
        "--expires",
        "2999-01-01",
        "--title",
        "A title",
    ])
    .done();
    let lines = home.run(&["export", "--to", "jsonl"]).lines();
    let memories: Vec<serde_json::Value> = lines
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(memories.len(), 2);
    assert_eq!(memories[0]["title"], "A title");
    assert_eq!(memories[0]["stem"], "20260114_091500_1f3a9c02");
    assert_eq!(memories[1]["content"], "two needles\n");
    let one = home
        .run(&["export", "--to", "jsonl", "--since", "2026-01-15"])
        .lines();
    assert_eq!(one.len(), 1);
    let text = home.run(&["export", "--to", "markdown"]).done();
    assert!(text.starts_with("## A title\n"), "{text}");
    assert!(text.contains("two needles"));
    assert_eq!(
        home.run(&["export", "--to", "jsonl", "--agent", "nobody"])
            .code,
        1
    );
    let document = home.run(&["export", "--to", "markdown", "--json"]).json();
    assert_eq!(document["markdown"], text);
}

#[test]
fn many_problems_of_one_kind_are_counted_with_three_examples() {
    let home = home_of_two();
    for number in 0..40 {
        home.put(&format!("note {number:02}.md"), "A plain note.");
    }
    for command in ["status", "verify"] {
        let short = home.run(&[command]).text();
        assert!(short.contains("40 files: foreign-name"), "{short}");
        assert!(
            short.contains("note 02.md") && !short.contains("note 03.md"),
            "{short}"
        );
        assert!(short.contains("37 more"), "{short}");
        let whole = home.run(&[command, "--verbose"]).text();
        assert!(
            whole.contains("note 03.md") && whole.contains("note 39.md"),
            "{whole}"
        );
    }
    let said = home.run(&["status", "--json"]).json();
    // That each has no frontmatter is no news then.
    assert_eq!(said["problems"].as_array().unwrap().len(), 40);
}

#[test]
fn findings_of_one_kind_in_one_file_are_one_file() {
    let home = Home::new();
    let text = "---\ntopics: [birds]\n---\na heron\n";
    home.put("20260101_000000_aaaaaaaa.md", text);
    let verified = home.run(&["verify"]).text();
    assert!(verified.contains("1 file: missing-key"), "{verified}");
    home.put("20260101_000000_bbbbbbbb.md", text);
    let verified = home.run(&["verify"]).text();
    assert!(verified.contains("2 files: missing-key"), "{verified}");
}

#[test]
fn doctor_finds_all_well_in_a_sound_store_and_starts_its_server() {
    let home = home_of_two();
    let found = home.run(&["doctor", "--json"]).json();
    let checks = found["checks"].as_array().unwrap();
    let of = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
    assert_eq!(found["well"], json!(true), "{found}");
    assert!(
        of("store")["what"]
            .as_str()
            .unwrap()
            .starts_with("2 memories")
    );
    assert!(
        of("server")["what"]
            .as_str()
            .unwrap()
            .starts_with("3 tools")
    );
    assert!(
        of("sync")["what"]
            .as_str()
            .unwrap()
            .contains("begins with the first memory"),
        "{found}"
    );
    let said = home.run(&["doctor"]).done();
    assert_eq!(said.lines().count(), checks.len(), "{said}");
    assert!(
        said.lines().all(|line| line.starts_with("\u{2713} ")),
        "{said}"
    );
}

#[test]
fn doctor_names_what_is_wrong_and_what_to_do() {
    let home = home_of_two();
    home.put("20260116_091500_3f3a9c02.md", "---\nid: 3f3a9c02\nno end");
    let ran = home.run(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let said = ran.text();
    assert!(said.contains("\u{2717} store"), "{said}");
    assert!(
        said.contains("20260116_091500_3f3a9c02.md has a problem"),
        "{said}"
    );
    assert!(said.contains("`memdir verify` names each"), "{said}");
    assert!(
        said.contains("\u{2713} server"),
        "the other checks are made: {said}"
    );
}

/// Returns a store of two memories whose index is damaged.
fn home_with_damaged_index() -> Home {
    let home = home_of_two();
    home.run(&["reindex"]).done();
    let files = regular_files(&home.store().join(".memdir")).into_iter();
    let damaged: Vec<_> = files
        .filter(|file| file.extension().is_some_and(|kind| kind == "idx"))
        .collect();
    assert!(!damaged.is_empty());
    for file in damaged {
        let mut bytes = fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x10;
        fs::write(&file, bytes).unwrap();
    }
    home
}

#[test]
fn doctor_makes_a_damaged_index_anew_when_it_is_told_to() {
    let ran = home_with_damaged_index().run(&["doctor"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.text().contains("the index is wrong"), "{ran:?}");
    let home = home_with_damaged_index();
    let fixed = home.run(&["doctor", "--fix"]);
    assert_eq!(fixed.code, 0, "{fixed:?}");
    assert!(
        fixed.text().contains("the index was made anew"),
        "{fixed:?}"
    );
    home.run(&["verify"]).done();
}
