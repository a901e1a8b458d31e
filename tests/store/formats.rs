//! Stores of every version of the format read as they always did, and lose nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::program::Home;
use crate::support::{fixture, regular_files};

/// A home whose store is a copy of the one that `version` left.
fn home_of(version: &str) -> Home {
    let home = Home::new();
    let from = fixture("formats").join(version);
    for path in regular_files(&from) {
        let name = path.strip_prefix(&from).unwrap();
        let target = home.store().join(name);
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(path, target).unwrap();
    }
    home
}

/// Every file of the store but the derived ones, with its bytes as text.
fn bytes(store: &Path) -> Vec<(PathBuf, String)> {
    regular_files(store)
        .into_iter()
        .filter(|path| {
            ![".memdir", ".git"]
                .iter()
                .any(|own| path.starts_with(store.join(own)))
        })
        .map(|path| {
            let bytes = fs::read(&path).unwrap();
            (path, bytes.escape_ascii().to_string())
        })
        .collect()
}

/// The stems of the live memories.
fn stems(home: &Home) -> Vec<String> {
    let files = regular_files(&home.files()).into_iter();
    files
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect()
}

/// The versions that left stores.
fn versions() -> Vec<String> {
    let folders = fs::read_dir(fixture("formats")).unwrap().flatten();
    folders
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect()
}

#[test]
fn every_version_is_read_as_it_read_itself() {
    for version in versions() {
        let home = home_of(&version);
        let expected = fs::read_to_string(home.store().join("expected.jsonl")).unwrap();
        let before = bytes(&home.store());
        let exported = home.run(&["export", "--to", "jsonl"]);
        // Later versions may tell more of a memory, but nothing else.
        let objects = |text: &str| -> Vec<serde_json::Value> {
            let lines = text.lines();
            lines
                .map(|line| serde_json::from_str(line).unwrap())
                .collect()
        };
        let (told, expected) = (objects(&exported.text()), objects(&expected));
        assert_eq!(told.len(), expected.len(), "{version}");
        for (told, expected) in told.iter().zip(&expected) {
            for (key, value) in expected.as_object().unwrap() {
                assert_eq!(&told[key], value, "{version}: {key} of {told}");
            }
        }
        home.run(&["status"]);
        home.run(&["verify"]);
        home.run(&["reindex", "--full"]);
        assert_eq!(bytes(&home.store()), before, "{version}");
    }
}

#[test]
fn a_change_there_and_back_leaves_every_byte_of_every_version() {
    for version in versions() {
        let home = home_of(&version);
        let before = bytes(&home.store());
        let stems = stems(&home);
        assert!(stems.len() > 3, "{version}");
        for stem in &stems {
            let update = |status| home.run(&["update", stem, "--source", status, "--json"]);
            let source = |home: &Home| {
                let shown = home.run(&["recall", stem, "--json"]).json();
                shown[0]["source"].as_str().unwrap_or("").to_owned()
            };
            let old = source(&home);
            assert_eq!(update("another source").code, 0, "{version}: {stem}");
            assert_eq!(update(&old).code, 0, "{version}: {stem}");
            assert_eq!(home.run(&["forget", stem]).code, 0, "{version}: {stem}");
            assert_eq!(home.run(&["restore", stem]).code, 0, "{version}: {stem}");
        }
        let archived = regular_files(&home.store().join("archive"));
        for path in archived {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            assert_eq!(home.run(&["restore", &stem]).code, 0, "{version}: {stem}");
            assert_eq!(home.run(&["forget", &stem]).code, 0, "{version}: {stem}");
        }
        let mut after = bytes(&home.store());
        after.retain(|(path, _)| !path.starts_with(home.store().join("journal")));
        assert_eq!(after, before, "{version}");
    }
}
