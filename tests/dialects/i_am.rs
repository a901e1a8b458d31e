//! The category set over the pipes of `memdir mcp --dialect i-am`.

use std::fs;

use serde_json::{Value, json};

use crate::support::dialect::{check_tools, done as reply, listed, refused as error, said};

use crate::support::program::{Home, names};
use crate::support::session::Session;

fn open(home: &Home) -> Session {
    crate::support::dialect::open(home, "i-am", &[])
}

#[test]
fn the_list_of_tools_is_always_the_same() {
    let home = Home::in_folder("the command line works on a folder");
    let tools = listed(&mut open(&home));
    home.run(&["remember", "--topics", "a", "A memory."]).done();
    assert_eq!(listed(&mut open(&home)), tools);
    check_tools("i-am", &tools);
    let listed: Value = serde_json::from_str(&tools).unwrap();
    let listed: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        listed,
        [
            "session_start",
            "remember",
            "forget",
            "recall",
            "search",
            "status",
            "export_memories",
            "about_me",
            "about_us",
            "reflect",
            "connections",
            "add_link",
            "remove_link",
        ]
    );
}

#[test]
fn every_tool_answers_as_it_is_specified() {
    let home = Home::in_folder("looks at the files of a folder");
    let mut session = open(&home);
    let started = reply(&mut session, "session_start", json!({}));
    assert_eq!(started["session_count"], 1);
    assert_eq!(started["total"], 0);
    let none = json!({
        "user": 0, "assistant": 0, "project": 0, "relationships": 0, "tools": 0, "learnings": 0,
    });
    assert_eq!(started["categories"], none);

    let added = reply(
        &mut session,
        "remember",
        json!({
            "category": "tools",
            "key": "preferred_editor",
            "value": "Mira edits with Helix.",
            "tags": ["editor", "preferences"],
            "importance": 8,
            "source_type": "user-stated",
            "confidence": 0.95,
        }),
    );
    assert_eq!(added["action"], "ADD");
    let entry = &added["entry"];
    assert_eq!(entry["value"], "Mira edits with Helix.");
    assert_eq!(entry["tags"], json!(["editor", "preferences"]));
    assert_eq!(
        (&entry["importance"], &entry["confidence"]),
        (&json!(8), &json!(0.95))
    );
    assert_eq!(
        entry["source"],
        json!({"type": "user-stated", "detail": null})
    );
    assert_eq!(
        (&entry["access_count"], &entry["last_accessed"]),
        (&json!(0), &json!(null))
    );
    assert_eq!(
        (&entry["status"], &entry["links"]),
        (&json!("active"), &json!([]))
    );
    assert_eq!(entry["created_at"], entry["updated_at"]);
    assert!(
        entry["created_at"].as_str().unwrap().ends_with("+00:00"),
        "{entry}"
    );

    let key = json!({"category": "tools", "key": "preferred_editor"});
    let recalled = reply(&mut session, "recall", key.clone());
    assert_eq!(recalled["entry"]["access_count"], 1);
    assert_ne!(recalled["entry"]["last_accessed"], Value::Null);
    let all = reply(&mut session, "recall", json!({"category": "tools"}));
    assert_eq!(all["count"], 1);
    assert_eq!(all["entries"]["preferred_editor"]["access_count"], 2);

    let found = reply(&mut session, "search", json!({"query": "Helix"}));
    assert_eq!((&found["count"], &found["total"]), (&json!(1), &json!(1)));
    assert_eq!(found["results"][0]["key"], "preferred_editor");
    assert_eq!(found["results"][0]["category"], "tools");
    assert_eq!(found["results"][0]["access_count"], 3);
    assert!(found["results"][0]["score"].is_number(), "{found}");

    let atlas = json!({"category": "project", "key": "atlas", "value": "A tracker in Rust."});
    reply(&mut session, "remember", atlas);
    let ends = json!({
        "source_category": "project", "source_key": "atlas",
        "target_category": "tools", "target_key": "preferred_editor",
    });
    let mut link = ends.clone();
    link["relation"] = json!("depends-on");
    let linked = reply(&mut session, "add_link", link.clone());
    let is_linked = json!([{"target": "tools.preferred_editor", "relation": "depends-on"}]);
    assert_eq!(
        (&linked["action"], &linked["links"]),
        (&json!("LINK"), &is_linked)
    );
    assert_eq!(reply(&mut session, "add_link", link)["action"], "NOOP");
    let connections = reply(&mut session, "connections", key.clone());
    let incoming = json!([{"source": "project.atlas", "relation": "depends-on"}]);
    assert_eq!(
        (&connections["outgoing"], &connections["incoming"]),
        (&json!([]), &incoming)
    );
    let atlas = json!({"category": "project", "key": "atlas"});
    let connections = reply(&mut session, "connections", atlas.clone());
    assert_eq!(
        (&connections["outgoing"], &connections["incoming"]),
        (&is_linked, &json!([]))
    );
    assert_eq!(
        reply(&mut session, "remove_link", ends.clone())["links"],
        json!([])
    );
    assert_eq!(
        error(&mut session, "remove_link", ends),
        "no link from 'project.atlas' to 'tools.preferred_editor'"
    );

    let status = reply(&mut session, "status", json!({}));
    assert_eq!(status["schema_version"], "1.2");
    assert_eq!(
        (&status["total"], &status["session_count"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(status["categories"]["project"], 1);
    let size: u64 = fs::read_dir(home.files())
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert_eq!(status["file_size"], size);

    let me = reply(&mut session, "about_me", json!({}));
    let tools = json!({"preferred_editor": "Mira edits with Helix."});
    assert_eq!(
        me["memories"],
        json!({"user": {}, "relationships": {}, "tools": tools})
    );
    let us = reply(&mut session, "about_us", json!({}));
    assert_eq!(
        us["memories"],
        json!({"relationships": {}, "assistant": {}, "user": {}})
    );
    assert_eq!(us["session_count"], 1);
    let reflected = reply(&mut session, "reflect", json!({}));
    assert_eq!(reflected["stale"], json!([]));

    let exported = reply(
        &mut session,
        "export_memories",
        json!({"output_format": "json"}),
    );
    assert_eq!(exported["schema_version"], "1.2");
    assert_eq!(
        exported["memories"]["project"]["atlas"]["value"],
        "A tracker in Rust."
    );
    let markdown = reply(&mut session, "export_memories", json!({}));
    let text = markdown["content"].as_str().unwrap();
    assert!(
        text.contains("## tools\n\n### preferred_editor\n\nMira edits"),
        "{text}"
    );

    let forgotten = reply(&mut session, "forget", key.clone());
    assert_eq!(forgotten["entry"]["value"], "Mira edits with Helix.");
    assert_eq!(
        error(&mut session, "recall", key),
        "no entry 'preferred_editor' in category 'tools'"
    );
    let started = reply(&mut session, "session_start", json!({}));
    assert_eq!(started["session_count"], 2);
    let told = json!({
        "key": "atlas", "value": "A tracker in Rust.", "truncated": false, "importance": 5,
    });
    assert_eq!(started["memories"], json!({"project": [told]}));
}

#[test]
fn what_cannot_be_meant_is_refused_with_one_text() {
    let home = Home::new();
    let mut session = open(&home);
    let all = "valid are: user, assistant, project, relationships, tools, learnings";
    let mut check = |tool: &str, arguments: Value, expected: &str| {
        let text = error(&mut session, tool, arguments);
        assert!(text.contains(expected), "{text}");
    };
    let entry = json!({"category": "user", "key": "name", "value": "Mira"});
    let with = |key: &str, value: Value| {
        let mut entry = entry.clone();
        entry[key] = value;
        entry
    };
    check("remember", with("category", json!("people")), all);
    check(
        "remember",
        with("category", json!(null)),
        "`category` is missing",
    );
    check("remember", with("key", json!(" ")), "`key` is empty");
    check("remember", with("key", json!(null)), "`key` is missing");
    check("remember", with("key", json!("k".repeat(2000))), "title");
    check("remember", with("value", json!("")), "`value` is empty");
    check("remember", with("value", json!(null)), "`value` is missing");
    check("remember", with("confidence", json!(1.5)), "0.0 to 1.0");
    check(
        "remember",
        with("importance", json!("high")),
        "must be a number",
    );
    check("remember", with("tags", json!({"a": 1})), "must be a list");
    check("remember", with("force", json!("maybe")), "true or false");
    let sources =
        "invalid source_type 'rumour', valid are: session, user-stated, inferred, codebase";
    check("remember", with("source_type", json!("rumour")), sources);
    check(
        "remember",
        with("tag", json!(["a"])),
        "Did you mean `tags`?",
    );
    check(
        "forget",
        json!({"category": "user", "key": "x"}),
        "no entry 'x' in category 'user'",
    );
    check("forget", json!({"category": "x", "key": "x"}), all);
    check("recall", json!({"category": "x"}), all);
    check(
        "recall",
        json!({"category": "user", "key": "x"}),
        "no entry 'x'",
    );
    check("search", json!({"query": " "}), "`query` is empty");
    check("search", json!({}), "`query` is missing");
    check("search", json!({"query": "a", "category": "x"}), all);
    check(
        "export_memories",
        json!({"output_format": "xml"}),
        "valid are: markdown, json",
    );
    check(
        "connections",
        json!({"category": "user", "key": "x"}),
        "no entry 'x'",
    );
    check("status", json!({"verbose": true}), "it takes none");

    reply(&mut session, "remember", entry);
    let link = |target: &str, key: &str, relation: &str| {
        json!({
            "source_category": "user", "source_key": "name",
            "target_category": target, "target_key": key, "relation": relation,
        })
    };
    let mut check = |arguments: Value, expected: &str| {
        let text = error(&mut session, "add_link", arguments);
        assert!(text.contains(expected), "{text}");
    };
    check(link("people", "x", "related-to"), all);
    check(
        link("user", "x", "likes"),
        "invalid relation 'likes', valid are: supersedes, elabo",
    );
    check(
        link("user", "x", "related-to"),
        "no entry 'x' in category 'user'",
    );
    check(
        link("user", "name", "related-to"),
        "cannot link 'user.name' to itself",
    );
    let mut missing = link("user", "name", "related-to");
    missing["source_key"] = json!("y");
    check(missing, "no entry 'y' in category 'user'");
    assert_eq!(home.names().len(), 1);
}

#[test]
fn two_servers_that_store_one_key_at_once_make_one_entry() {
    let home = Home::in_folder("looks at the files of a folder");
    let mut sessions = [open(&home), open(&home)];
    let calls = 8;
    for round in 0..calls {
        for (number, session) in sessions.iter_mut().enumerate() {
            let arguments = json!({
                "category": "user",
                "key": format!("key{round}"),
                "value": format!("alpha{round}x{number} beta{round}x{number} gamma{round}x{number}"),
            });
            session.call(1000 + round, "remember", arguments);
        }
    }
    let mut actions = Vec::new();
    for round in 0..calls {
        for session in &mut sessions {
            let answer = session.answer(1000 + round);
            let said = said(&answer["result"]);
            let action = said["action"].as_str();
            actions.push(action.unwrap_or_else(|| panic!("{said}")).to_owned());
        }
    }
    actions.sort();
    let expected = [vec!["ADD"; calls as usize], vec!["UPDATE"; calls as usize]].concat();
    assert_eq!(actions, expected);
    assert_eq!(home.names().len(), calls as usize);
    // No text is lost.
    assert_eq!(names(&home.store().join("archive")).len(), calls as usize);
}

#[test]
fn sessions_of_several_servers_are_all_counted() {
    let home = Home::new();
    let mut sessions = [open(&home), open(&home), open(&home)];
    for round in 0..5 {
        for session in &mut sessions {
            session.call(500 + round, "session_start", json!({}));
        }
    }
    for session in &mut sessions {
        for round in 0..5 {
            session.answer(500 + round);
        }
    }
    let status = reply(&mut sessions[0], "status", json!({}));
    assert_eq!(status["session_count"], 15);
}
