//! `memdir team`, as the program runs it.

use memdir::rows::access::{AccessTokens, Role};
use serde_json::json;
use tokio_postgres::Row;

use crate::postgres::{TestDatabase, query};
use crate::support::program::Home;

/// Runs `memdir team` on the database; returns its exit code and what it says.
pub fn team(home: &Home, test: &TestDatabase, arguments: &[&str]) -> (i32, String, String) {
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
fn one_command_sets_a_database_up_and_repeating_it_changes_nothing() {
    let Some(test) = TestDatabase::empty() else {
        return;
    };
    let home = Home::new();
    let init = ["init", "atlas", "--owner", "anna"];
    let (code, secret, told) = team(&home, &test, &init);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("applied the migration"), "{told}");
    assert!(told.contains("made the workspace atlas"), "{told}");
    assert!(told.contains("memdir serve --database"), "{told}");
    let holder = AccessTokens::new(&test.open()).holder("atlas", secret.trim());
    assert_eq!(holder.unwrap().unwrap().role, Role::Owner);
    let state = "SELECT name, hash::text, role FROM token UNION ALL SELECT name, head::text, '' FROM workspace \
         UNION ALL SELECT name, applied::text, '' FROM migration ORDER BY 1, 2";
    let state = || -> Vec<[String; 3]> {
        let rows = query(&test.address(), state);
        let text = |row: &Row| [0, 1, 2].map(|at| row.get(at));
        rows.iter().map(text).collect()
    };
    let before = state();
    let (code, printed, told) = team(&home, &test, &init);
    assert_eq!((code, printed.as_str()), (0, ""), "{told}");
    assert!(told.contains("the database is up to date"), "{told}");
    assert!(told.contains("--rotate"), "{told}");
    assert_eq!(state(), before);
    // Further workspaces are made as the first one.
    let (code, printed, _) = team(&home, &test, &["init", "beta", "--owner", "ben", "--json"]);
    let printed: serde_json::Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(code, 0);
    assert_eq!(printed["applied"], json!([]));
    assert_eq!(printed["workspace"], json!({"name": "beta", "made": true}));
    assert_eq!(printed["token"]["role"], json!("owner"));
}

#[test]
fn a_set_up_without_a_workspace_says_how_to_make_one() {
    let Some(test) = TestDatabase::empty() else {
        return;
    };
    let (code, printed, told) = team(&Home::new(), &test, &["init"]);
    assert_eq!((code, printed.as_str()), (0, ""), "{told}");
    assert!(told.contains("memdir team init WORKSPACE"), "{told}");
    assert!(test.open().workspaces().unwrap().is_empty());
}

#[test]
fn a_set_up_does_not_take_a_token_of_another_role_for_the_owner_s() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let home = Home::new();
    test.workspace("atlas");
    team(
        &home,
        &test,
        &["grant", "atlas", "anna", "--role", "writer"],
    );
    let (code, printed, told) = team(&home, &test, &["init", "atlas", "--owner", "anna"]);
    assert_eq!((code, printed.as_str()), (2, ""), "{told}");
    assert!(told.contains("is that of a writer"), "{told}");
    assert!(told.contains("memdir team revoke atlas anna"), "{told}");
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
