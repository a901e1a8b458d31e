//! What was imported is found by the id that it had where it comes from: asked for, linked, and named
//! in texts.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::dialect;
use crate::support::program::Home;

const OLD: &str = "5d0c6a52-1111-4222-8333-944445555666";
const OTHER: &str = "77aa0b1c-2222-4333-8444-9abcdef01234";

fn export(home: &Home) -> PathBuf {
    let memory = |id: &str, title: &str| {
        json!({
            "id": id, "title": title, "content": format!("What {title} says."), "tier": "long",
            "namespace": "atlas", "created_at": "2025-03-01T10:00:00Z",
        })
    };
    let memories = json!({"memories": [memory(OLD, "Deploy"), memory(OTHER, "Rollback")]});
    home.write("export.json", memories.to_string())
}

/// A store with two imported memories, and their new ids.
fn imported() -> (Home, String, String) {
    let home = Home::in_folder("the command line works on a folder");
    let export = export(&home);
    let export = export.to_str().unwrap();
    home.run(&["import", "--from", "ai-memory", export]).done();
    let id = |old: &str| {
        let found = home.run(&["recall", old, "--json"]).json();
        found[0]["id"].as_str().expect("it is found").to_owned()
    };
    let ids = (id(OLD), id(OTHER));
    (home, ids.0, ids.1)
}

fn links_of(home: &Home, id: &str) -> Value {
    home.run(&["links", id, "--json"]).json()
}

#[test]
fn an_id_of_the_former_system_finds_the_memory_wherever_ids_are_taken() {
    let (home, new, _) = imported();
    assert_eq!(new.len(), 8, "it has an id of its own");
    let capitals = format!("[[{}]]", OLD.to_uppercase());
    let found = home.run(&["recall", &capitals, "--json"]).json();
    assert_eq!(found[0]["id"], new);
    let thought = home.run(&["think", "what", "--ids", OLD, "--json"]).json();
    assert_eq!(thought.as_array().unwrap().len(), 1, "{thought}");
    assert_eq!(thought[0]["id"], new);

    let mut session = dialect::open(&home, "ai-memory", &[]);
    let got = dialect::done(&mut session, "memory_get", json!({"id": OLD}));
    assert_eq!(got["memory"]["id"], new);
    let mut session = dialect::open(&home, "loci", &[]);
    let arguments = json!({"ids": [OLD]});
    let got = dialect::done(&mut session, "recall_memory", arguments);
    assert_eq!(got["results"][0]["id"], new, "{got}");
    home.run(&["recall", &OLD[..30]])
        .complains(1, &["no memory"]);
}

#[test]
fn links_and_texts_with_former_ids_lead_to_the_memory_and_are_seen_from_it() {
    let (home, deploy, rollback) = imported();
    home.run(&[
        "remember",
        "--link",
        &format!("{OLD}:refines"),
        "By the former id.",
    ])
    .done();
    home.run(&[
        "remember",
        &format!("Compare [[{OLD}|the old note]] before."),
    ])
    .done();
    home.run(&[
        "remember",
        &format!("Ticket 7 follows {OTHER}, says the log."),
    ])
    .done();
    home.run(&[
        "remember",
        "Nothing is called 11111111-2222-4333-8444-555555555555.",
    ])
    .done();
    let of_deploy = links_of(&home, &deploy);
    let relations: Vec<&Value> = of_deploy["from"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| &link["type"])
        .collect();
    assert_eq!(relations.len(), 2, "{of_deploy}");
    assert!(relations.contains(&&json!("refines")) && relations.contains(&&json!("mentions")));
    let of_rollback = links_of(&home, &rollback);
    let text = of_rollback["from"][0]["headline"].as_str().unwrap();
    assert!(text.starts_with("Ticket 7 follows"), "{of_rollback}");
    // None of it points to nothing, and an id of something else is no link.
    assert_eq!(home.run(&["links", "--json"]).json()["to"], json!([]));
    home.run(&["verify"]).done();
}

#[test]
fn a_link_by_a_former_id_is_known_and_taken_away_by_the_new_one() {
    let (home, deploy, rollback) = imported();
    let file = home.file_of(&rollback);
    let text = home.text_of(&rollback);
    let linked = text.replace(
        "title: Rollback",
        &format!("title: Rollback\nlinks:\n  - {{to: {OLD}, type: refines}}"),
    );
    home.put(file.file_name().unwrap().to_str().unwrap(), linked);
    assert_eq!(links_of(&home, &rollback)["to"][0]["type"], "refines");
    let again = home.run(&["link", &rollback, &deploy, "--type", "refines", "--json"]);
    assert_eq!(again.json(), json!({"linked": false}));
    home.run(&["unlink", &rollback, &deploy]).done();
    assert_eq!(links_of(&home, &rollback)["to"], json!([]));
}

#[test]
fn a_forgotten_memory_is_restored_by_its_former_id() {
    let (home, new, _) = imported();
    home.run(&["forget", OLD]).done();
    home.run(&["recall", OLD]).complains(1, &[]);
    let restored = home.run(&["restore", OLD]).done();
    assert_eq!(restored, format!("restored {new}\n"));
}

#[test]
fn an_earlier_text_does_not_take_the_former_id_and_two_of_it_are_named() {
    let (home, new, _) = imported();
    let mut session = dialect::open(&home, "ai-memory", &[]);
    let changed = json!({"id": OLD, "content": "It says more."});
    let earlier = dialect::done(&mut session, "memory_update", changed)["earlier_id"].clone();
    home.run(&["restore", earlier.as_str().unwrap()]).done();
    let found = home.run(&["recall", OLD, "--json"]).json();
    assert_eq!(found[0]["id"], new);

    let copy = home.text_of(&new).replace(&format!("id: {new}\n"), "");
    home.put("20250301_100000_0badcafe.md", copy);
    home.run(&["recall", OLD])
        .complains(1, &["could mean", &new, "0badcafe"]);
}
