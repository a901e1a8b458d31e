//! One server that answers from two stores: the user's own, and a project's.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::program::{Home, run};
use crate::support::session::Session;

/// A home with an own store, and a project `atlas` with a store that was agreed to.
fn with_project() -> (Home, PathBuf) {
    let home = Home::in_folder("several folders are open at once");
    home.remember(&["Mira is allergic to peanuts.", "--namespace", "global"]);
    let project = home.make("atlas");
    let git = Command::new("git")
        .args(["init", "-q"])
        .current_dir(&project)
        .status();
    assert!(git.unwrap().success());
    let store = project.join("memory");
    home.run(&["init", "--no-git", store.to_str().unwrap()])
        .done();
    home.run(&[
        "--store",
        store.to_str().unwrap(),
        "remember",
        "Atlas keeps its tiles in PostgreSQL.",
    ])
    .done();
    let also = format!("[\"{}\"]", store.display());
    home.run(&["config", "set", "stores.also", &also]).done();
    (home, store)
}

/// The program in the project, where the store above is found and the user's own is the one of the settings.
fn in_project(home: &Home, store: &Path) -> Command {
    home.run(&["config", "set", "store", home.store().to_str().unwrap()]);
    let mut command = home.bare();
    command.current_dir(store.parent().unwrap());
    command
}

/// The structured answer of a tool that must not fail.
#[track_caller]
fn done(session: &mut Session, tool: &str, arguments: Value) -> Value {
    let result = session.tool(tool, arguments);
    assert!(result["isError"].is_null(), "{result}");
    result["structuredContent"].clone()
}

fn remember(session: &mut Session, more: Value) -> Value {
    let mut memory = json!({"agent": "a", "user": "mira", "topics": []});
    for (key, value) in more.as_object().unwrap() {
        memory[key] = value.clone();
    }
    done(session, "remember", memory)
}

#[test]
fn a_question_is_answered_from_both_with_the_store_of_each_hit() {
    let (home, _) = with_project();
    let mut session = Session::open_on(home.command(&["mcp", "--tools", "forget,link"]));
    let both = done(
        &mut session,
        "think",
        json!({"keywords": ["allergic", "tiles"]}),
    );
    let stores = |hits: &Value| -> Vec<String> {
        let hits = hits["results"].as_array().unwrap().iter();
        hits.map(|hit| hit["store"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(both["total"], 2, "{both}");
    assert_eq!(stores(&both), ["own", "atlas"]);
    for (question, first) in [
        ("Where does Atlas keep its tiles?", "atlas"),
        ("What is Mira allergic to?", "own"),
    ] {
        let found = done(&mut session, "think", json!({"query": question}));
        assert_eq!(stores(&found)[0], first, "{found}");
    }
    let ids: Vec<Value> = both["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| hit["id"].clone())
        .collect();
    let unknown = json!("00000000");
    let recalled = done(
        &mut session,
        "recall",
        json!({"memory_ids": [ids[1], unknown, ids[0]]}),
    );
    let entries = recalled["results"].as_array().unwrap();
    assert_eq!(entries[0]["store"], "atlas");
    assert_eq!(entries[1]["error"], "Memory with ID 00000000 not found");
    assert_eq!(entries[2]["content"], "Mira is allergic to peanuts.");
    let across = session.tool("link", json!({"from": ids[0], "to": ids[1]}));
    assert_eq!(across["isError"], true, "{across}");
    done(&mut session, "forget", json!({"memory_id": ids[1]}));
    let left = done(
        &mut session,
        "think",
        json!({"keywords": ["allergic", "tiles"]}),
    );
    assert_eq!(stores(&left), ["own"]);
}

#[test]
fn a_memory_goes_to_the_store_of_its_namespace_and_the_reply_tells_which() {
    let (home, store) = with_project();
    let mut session = Session::open_on(home.command(&["mcp"]));
    let stored = |folder: &Path| std::fs::read_dir(folder.join("files")).unwrap().count();
    let own = home.store();
    assert_eq!((stored(&own), stored(&store)), (1, 1));
    let reply = remember(&mut session, json!({"content": "Mira likes tea."}));
    assert_eq!((reply["store"].as_str(), stored(&own)), (Some("own"), 2));
    let reply = remember(
        &mut session,
        json!({"content": "Tiles are rendered at night.", "namespace": "atlas/tiles"}),
    );
    assert_eq!(
        (reply["store"].as_str(), stored(&store)),
        (Some("atlas"), 2)
    );
    let corrected = remember(
        &mut session,
        json!({"content": "Tiles are rendered at noon.", "supersedes": [reply["memory_id"]]}),
    );
    assert_eq!(corrected["store"], "atlas", "{corrected}");
    let elsewhere = remember(
        &mut session,
        json!({"content": "Harbor is grey.", "namespace": "harbor"}),
    );
    assert_eq!(elsewhere["store"], "own");
}

#[test]
fn a_session_in_the_project_has_the_users_own_store_beside_it() {
    let (home, store) = with_project();
    let mut command = in_project(&home, &store);
    command.arg("mcp");
    let mut session = Session::open_on(command);
    let reply = remember(
        &mut session,
        json!({"content": "Atlas is deployed on Fridays."}),
    );
    assert_eq!(reply["store"], "atlas", "{reply}");
    let reply = remember(
        &mut session,
        json!({"content": "Mira is left-handed.", "namespace": "global"}),
    );
    assert_eq!(reply["store"], "own", "{reply}");
    let found = done(
        &mut session,
        "think",
        json!({"keywords": ["peanuts", "tiles"]}),
    );
    assert_eq!(found["total"], 2);
}

#[test]
fn a_store_that_was_not_agreed_to_is_not_used_and_named() {
    let (home, store) = with_project();
    home.run(&["trust", "--revoke", store.to_str().unwrap()])
        .done();
    let mut session = Session::open_on(home.command(&["mcp"]));
    let found = done(&mut session, "think", json!({"keywords": ["tiles"]}));
    assert_eq!(found["total"], 0, "{found}");
    let said = found.to_string();
    assert!(said.contains("you have not agreed to this store"), "{said}");
}

#[test]
fn setup_for_a_project_names_its_store_and_takes_it_back() {
    let (home, store) = with_project();
    home.run(&["config", "unset", "stores.also"]).done();
    let setup = |words: &[&str]| {
        let mut command = in_project(&home, &store);
        run(command
            .args(["setup", "cursor", "--project", "--yes"])
            .args(words))
    };
    let said = setup(&[]);
    assert!(said.stderr.contains("and from your own store"), "{said:?}");
    let also = || {
        let lines = home.run(&["config"]).text();
        let mut lines = lines.lines().map(str::to_owned);
        lines.find(|line| line.starts_with("stores.also")).unwrap()
    };
    assert!(also().contains(store.to_str().unwrap()), "{}", also());
    assert!(!setup(&[]).stderr.contains("from your own store"));
    let said = setup(&["--uninstall"]);
    assert!(said.stderr.contains("no longer"), "{said:?}");
    assert!(!also().contains("memory"), "{}", also());
}
