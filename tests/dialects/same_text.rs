//! A text that is stored a second time: each tool set says so, in a key of its own beside what its
//! specification fixes.

use serde_json::{Value, json};

use crate::support::dialect::{done, open};
use crate::support::program::Home;

const TEXT: &str = "Atlas keeps tile metadata in PostgreSQL 17.";

/// Stores by `tool` twice; the first reply, and what the second says of the same text.
fn twice(dialect: &str, tool: &str, given: [Value; 2]) -> (Value, Value) {
    let home = Home::new();
    let mut session = open(&home, dialect, &[]);
    let [first, second] = given.map(|arguments| done(&mut session, tool, arguments));
    assert_eq!(first.get("same_text_as"), None, "{first}");
    (first, second["same_text_as"].clone())
}

#[test]
fn the_core_set_names_the_memory() {
    let given = |text: &str| json!({"agent": "a", "user": "u", "topics": ["t"], "content": text});
    let again = format!("  {}\n", TEXT.replace(' ', "  "));
    let (first, same) = twice("core", "remember", [given(TEXT), given(&again)]);
    assert_eq!(same, first["memory_id"]);
}

#[test]
fn a_text_that_claims_nothing_is_known_again() {
    let given = || json!({"agent": "a", "user": "u", "content": "+49 40 1234567"});
    let (first, same) = twice("core", "remember", [given(), given()]);
    assert_eq!(same, first["memory_id"]);
}

#[test]
fn the_typed_set_names_the_memory_of_somebody_else_and_stores_no_second_of_ones_own() {
    let home = Home::new();
    let other = home.remember(&["--user", "ben", "--namespace", "g", TEXT]);
    let mut session = open(&home, "loci", &["--group", "g"]);
    let mut store = || {
        done(
            &mut session,
            "store_memory",
            json!({"content": TEXT, "type": "semantic"}),
        )
    };
    let first = store();
    assert_eq!(first["same_text_as"], other.as_str());
    let again = store();
    assert_eq!(again["deduplicated"], true);
    assert_eq!(again["id"], first["id"]);
}

#[test]
fn the_prefixed_set_names_the_memory() {
    let given = |title: &str| json!({"title": title, "content": TEXT});
    let (first, same) = twice("ai-memory", "memory_store", [given("One"), given("Two")]);
    assert_eq!(same, first["id"]);
}

#[test]
fn the_category_set_names_the_entry() {
    let given = |category: &str| json!({"category": category, "key": "tiles", "value": TEXT});
    let given = [given("project"), given("tools")];
    let (first, same) = twice("i-am", "remember", given);
    assert!(same.is_string(), "{first}");
}

#[test]
fn the_command_line_says_it_in_one_line_and_other_texts_are_let_be() {
    let home = Home::in_folder("the command line works on a folder");
    let first = home.remember(&[TEXT]);
    home.remember(&["Atlas keeps its tiles elsewhere, in files."]);
    let ran = home.run(&["remember", TEXT]);
    let second = ran.text().trim().to_owned();
    let line =
        format!("{first} has the same text; `memdir forget {second}` takes this one away again\n");
    assert_eq!((ran.code, ran.stderr.as_str()), (0, line.as_str()));
    home.run(&["forget", &first]).done();
    home.run(&["forget", &second]).done();
    home.run(&["remember", TEXT]).done();
    home.run(&["remember", "--namespace", "other", TEXT]).done();
}
