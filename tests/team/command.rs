//! `memdir team`, as the program runs it.

use serde_json::json;

use crate::postgres::{TestDatabase, query};
use crate::support::program::Home;

/// Runs `memdir team` on the database; returns its exit code and what it says.
fn team(home: &Home, test: &TestDatabase, arguments: &[&str]) -> (i32, String, String) {
    let words = [&["team"], arguments].concat();
    let mut command = home.command(&words);
    command.env("MEMDIR_DATABASE", test.address());
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

#[test]
fn a_store_goes_into_a_workspace_and_comes_back() {
    let Some(test) = TestDatabase::empty() else {
        return;
    };
    let home = Home::new();
    home.remember(&["--topics", "animals", "The zebra has stripes."]);
    let (code, _, told) = team(&home, &test, &["list"]);
    assert_eq!(code, 2);
    assert!(told.contains("schema 0"), "{told}");
    assert!(told.contains("memdir team migrate"), "{told}");
    assert_eq!(team(&home, &test, &["migrate"]).0, 0);
    assert_eq!(team(&home, &test, &["list"]).0, 1);
    assert_eq!(team(&home, &test, &["create", "atlas"]).0, 0);
    let store = home.store();
    let store = store.to_str().unwrap();
    let (code, _, told) = team(&home, &test, &["import", "atlas", store]);
    assert_eq!(code, 0, "{told}");
    let (_, listed, _) = team(&home, &test, &["list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(listed["workspaces"][0]["name"], json!("atlas"));
    assert_eq!(listed["workspaces"][0]["memories"], json!(1));
    assert_eq!(team(&home, &test, &["export", "atlas", "copy"]).0, 0);
    let copy = crate::support::regular_files(&home.root().join("copy/files"));
    let own = crate::support::regular_files(&home.files());
    let read = |path: &std::path::PathBuf| std::fs::read(path).unwrap();
    assert_eq!(
        copy.iter().map(read).collect::<Vec<_>>(),
        own.iter().map(read).collect::<Vec<_>>()
    );
    let (code, _, told) = team(&home, &test, &["export", "atlas", "copy"]);
    assert_eq!(code, 2);
    assert!(told.contains("is not empty"), "{told}");
    assert_eq!(team(&home, &test, &["drop", "atlas", "--yes"]).0, 0);
    assert_eq!(team(&home, &test, &["list"]).0, 1);
}

#[test]
fn a_check_finds_what_was_changed_behind_the_program() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let home = Home::new();
    home.remember(&["--topics", "animals", "The zebra has stripes."]);
    home.remember(&["--topics", "animals", "The okapi has stripes, too."]);
    team(&home, &test, &["create", "atlas"]);
    let store = home.store();
    team(&home, &test, &["import", "atlas", store.to_str().unwrap()]);
    let (code, found, told) = team(&home, &test, &["check", "atlas"]);
    assert_eq!((code, found.as_str()), (0, ""), "{told}");
    query(
        &test.address(),
        "UPDATE memory SET bytes = bytes || 'x' WHERE seq = 1",
    );
    query(&test.address(), "DELETE FROM change WHERE seq = 2");
    let (code, found, _) = team(&home, &test, &["check", "atlas"]);
    assert_eq!(code, 1);
    assert_eq!(found.lines().count(), 4, "{found}");
    assert!(
        found.contains("has other bytes than its hash says"),
        "{found}"
    );
    assert!(found.contains("the counters say 2 memories"), "{found}");
    assert!(found.contains("the changes 2 to 2 are missing"), "{found}");
    assert!(
        found.contains("is not what its newest change says"),
        "{found}"
    );
}

#[test]
fn a_command_without_a_database_says_how_to_name_one() {
    let home = Home::new();
    let output = home.command(&["team", "list"]).output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("MEMDIR_DATABASE"), "{told}");
}
