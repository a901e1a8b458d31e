//! What is said when something fails: neither what memories hold nor where the machine keeps
//! things beside the store.

use serde_json::{Value, json};

use super::{SETS, session, tools};
use crate::support::memory_text;
use crate::support::program::Home;

/// Stands in every memory, and must stand in no error.
const KEPT: &str = "wrybill7431";

/// A store in which much is wrong, each time beside the word.
fn troubled_store() -> Home {
    let home = Home::new();
    let at = "2026-01-14T09:15:00Z";
    for number in 1..=2 {
        let name = format!("2026011{number}_091500_1f3a9c02.md");
        home.put(&name, memory_text("1f3a9c02", at, KEPT));
    }
    home.put(
        "20260116_091500_3f3a9c02.md",
        format!("---\nid: 3f3a9c02\ntimestamp: {KEPT}\nagent: [{KEPT}\nno end {KEPT}"),
    );
    home.put("20260117_091500_4f3a9c02.md", format!("---\nid: 4f3a9c02\ntimestamp: {at}\nagent: a\nuser: u\ntopics: &a [*a, {KEPT}]\n---\n\n{KEPT}\n"));
    home.put(
        "20260118_091500_5f3a9c02.md",
        memory_text("5f3a9c02", at, KEPT),
    );
    home.write(
        "store/memdir.toml",
        format!("[mcp]\nranking = \"{KEPT}\"\n"),
    );
    home.write("elsewhere/plan.md", KEPT);
    home
}

/// What is wrong in as many ways as the schema leaves.
fn wrong(plain: &Value) -> Vec<Value> {
    let mut wrong = vec![json!({}), json!({"nobody knows this": 1}), plain.clone()];
    let Value::Object(fields) = plain else {
        return wrong;
    };
    for name in fields.keys() {
        for value in [
            json!(null),
            json!({"a": []}),
            json!(""),
            json!("\u{0}"),
            json!(-1),
        ] {
            let mut arguments = plain.clone();
            arguments[name] = value;
            wrong.push(arguments);
        }
    }
    wrong
}

#[test]
fn no_error_tells_what_a_memory_holds_or_where_the_machine_keeps_things() {
    let home = troubled_store();
    let root = home.root().to_str().expect("it is a text").to_owned();
    let store = home.store().to_str().expect("it is a text").to_owned();
    let mut errors = 0;
    for set in SETS {
        for more in [&[][..], &["--read-only"]] {
            std::fs::remove_file(home.store().join("memdir.toml")).ok();
            let mut session = session(&home, set, more);
            for tool in tools(&mut session) {
                let ids = ["1f3a9c02", "9f3a9c02", "3f3a9c02", "../elsewhere/plan"];
                for arguments in ids.iter().flat_map(|id| wrong(&tool.plain(id))) {
                    session.call("wrong", &tool.name, arguments.clone());
                    let answer = session.answer("wrong");
                    let is_error =
                        !answer["error"].is_null() || answer["result"]["isError"] == true;
                    if !is_error {
                        continue;
                    }
                    errors += 1;
                    let said = answer.to_string();
                    assert!(!said.contains(KEPT), "{} {arguments}: {said}", tool.name);
                    let elsewhere = said.replace(&store, "");
                    assert!(
                        !elsewhere.contains(&root),
                        "{} {arguments}: {said}",
                        tool.name
                    );
                }
            }
            for uri in [
                "memory://nobody",
                "memory://../elsewhere/plan",
                "file:///etc/passwd",
                "",
            ] {
                session.request("uri", "resources/read", json!({"uri": uri}));
                let said = session.answer("uri").to_string();
                assert!(
                    !said.contains(KEPT) && !said.contains(&root),
                    "{uri}: {said}"
                );
            }
        }
    }
    eprintln!("{errors} errors");
    assert!(errors > 1_000, "{errors} errors");
}

#[test]
fn no_message_of_a_command_tells_what_a_memory_holds() {
    let home = troubled_store();
    let told = |arguments: &[&str]| {
        let ran = home.run(arguments);
        assert!(!ran.stderr.contains(KEPT), "{arguments:?}: {ran:?}");
        ran.stderr
    };
    let mut said = String::new();
    // The word in the settings was written by a person for the program, and may be named.
    std::fs::remove_file(home.store().join("memdir.toml")).unwrap();
    for id in ["1f3a9c02", "3f3a9c02", "9f3a9c02", "../elsewhere/plan"] {
        said += &told(&["recall", id]);
        said += &told(&["forget", id]);
        said += &told(&["restore", id]);
        said += &told(&["update", id, "--importance", "11"]);
        said += &told(&["purge", id, "--yes"]);
        said += &told(&["diff", id]);
        said += &told(&["resolve", id, id]);
    }
    said += &told(&["status"]);
    said += &told(&["verify"]);
    said += &told(&["reindex", "--full"]);
    said += &told(&["think", ""]);
    said += &told(&["sync"]);
    assert!(said.lines().count() > 20, "{said}");
}
