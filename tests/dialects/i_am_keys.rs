//! Which entry a key of the category set means, and which it never does.

use std::fs;

use serde_json::json;

use super::i_am_entries::{entry, found, link, recall, remember, run};
use crate::support::{TestStore, at, clock, memory_text, new_memory, noon};
use memdir::engine::{Engine, Options, ops};
use memdir::secrets::Policy;

/// The listed keys of a category.
fn keys(engine: &Engine, category: &str) -> Vec<String> {
    let all = run(engine, "recall", json!({"category": category}));
    let entries = all["entries"].as_object().expect("there are entries");
    entries.keys().cloned().collect()
}

/// The id of the memory that says so.
fn id_of(store: &TestStore, value: &str) -> String {
    let names = store.names().into_iter();
    let mut holding = names.filter(|name| {
        let text = String::from_utf8(store.read(name)).unwrap();
        text.contains(value)
    });
    let name = holding.next().expect("one says so");
    name.trim_end_matches(".md")[16..].to_owned()
}

#[test]
fn a_key_that_merely_ends_with_an_id_is_a_new_entry() {
    let store = TestStore::new();
    store.put(
        "todo.md",
        memory_text("todo", "2026-01-14T09:15:00Z", "Buy milk."),
    );
    let engine = store.engine();
    let release = remember(&engine, "learnings", "release-todo", "Tag it.", &[]);
    assert_eq!(release["action"], "ADD");
    assert_eq!(
        recall(&engine, "learnings", "buy-milk-todo")["value"],
        "Buy milk."
    );

    remember(&engine, "user", "foo", "First.", &[]);
    let id = id_of(&store, "First.");
    let key = format!("foo-{id}");
    let second = remember(&engine, "user", &key, "Second.", &[]);
    assert_eq!(
        (&second["action"], &second["key"]),
        (&json!("ADD"), &json!(key))
    );
    assert_eq!(recall(&engine, "user", "foo")["value"], "First.");
    assert_eq!(recall(&engine, "user", &key)["value"], "Second.");
    // Nor is another one forgotten or linked by it.
    let wrong = json!({"category": "user", "key": format!("bar-{id}")});
    assert!(run(&engine, "forget", wrong)["error"].is_string());
}

#[test]
fn a_file_that_takes_no_frontmatter_leaves_every_key_usable() {
    let store = TestStore::new();
    store.put("notes.md", b"\xff");
    let engine = store.engine();
    assert_eq!(keys(&engine, "learnings"), ["notes"]);
    let said = remember(&engine, "learnings", "notes", "A value.", &[]);
    assert_eq!(said["action"], "ADD", "{said}");
    assert_eq!(recall(&engine, "learnings", "notes")["value"], "A value.");
    assert_eq!(
        recall(&engine, "learnings", "notes-notes")["value"],
        "\u{fffd}"
    );
}

#[test]
fn a_key_made_of_the_text_is_told_anew_when_the_text_is_another() {
    let store = TestStore::new();
    let engine = store.engine();
    let stem = ops::remember(&engine, new_memory("Old words."), None)
        .unwrap()
        .stem;
    let key = format!("old-words-{}", stem.short());
    let said = run(
        &engine,
        "remember",
        entry("learnings", &key, "New ones.", &[]),
    );
    let now = format!("new-ones-{}", stem.short());
    assert_eq!(
        (&said["action"], &said["key"]),
        (&json!("UPDATE"), &json!(now))
    );
    // Who reads may still use the old one.
    let said = run(
        &engine,
        "recall",
        json!({"category": "learnings", "key": key}),
    );
    assert_eq!(
        (&said["key"], &said["entry"]["value"]),
        (&json!(now), &json!("New ones."))
    );
}

#[test]
fn what_comes_back_from_the_archive_takes_no_key() {
    let store = TestStore::new();
    let key = json!({"category": "user", "key": "home"});
    let past = store.engine_at(at("2026-01-01T12:00:00Z"));
    remember(&past, "user", "home", "Lübeck.", &[]);
    let old = id_of(&store, "Lübeck.");
    run(&past, "forget", key.clone());
    let engine = store.engine_at(noon());
    remember(&engine, "user", "home", "Kiel.", &[]);
    ops::restore(&engine, &old).unwrap();
    assert_eq!(recall(&engine, "user", "home")["value"], "Kiel.");
    let old_key = format!("home-{old}");
    assert_eq!(recall(&engine, "user", &old_key)["value"], "Lübeck.");
    // Nor do earlier texts of it, which are as old as itself.
    let mut earlier = Vec::new();
    for value in ["Bonn.", "Graz.", "Oslo.", "Rome.", "Nice.", "Cork."] {
        let said = remember(&engine, "user", "home", value, &[]);
        let kept = said["earlier"].as_str().unwrap();
        earlier.push(kept.trim_start_matches("archive/").to_owned());
    }
    for id in &earlier {
        ops::restore(&engine, id).unwrap();
        assert_eq!(recall(&engine, "user", "home")["value"], "Cork.");
        assert!(keys(&engine, "user").contains(&format!("home-{id}")));
    }
    let said = remember(&engine, "user", "home", "Pisa.", &[]);
    assert_eq!(said["action"], "UPDATE");
    assert_eq!(recall(&engine, "user", "home")["value"], "Pisa.");
    // Without it and the one that was stored apart, they have the key.
    run(&engine, "forget", key.clone());
    assert_eq!(recall(&engine, "user", "home")["value"], "Lübeck.");
    run(&engine, "forget", key);
    assert_ne!(recall(&engine, "user", "home")["value"], "Lübeck.");
}

#[test]
fn every_listed_key_is_that_of_one_entry_and_is_taken() {
    let store = TestStore::new();
    let text = |id: &str, value: &str, named: &str| {
        let text = memory_text(id, "2026-01-14T09:15:00Z", value);
        text.replacen("---\n\n", &format!("{named}---\n\n"), 1)
    };
    let key = |key: &str| format!("metadata: {{\"category\": \"user\", \"key\": \"{key}\"}}\n");
    store.put(
        "20260114_091500_aaaaaaa1.md",
        text("aaaaaaa1", "One.", &key("home")),
    );
    store.put(
        "20260114_091500_aaaaaaa2.md",
        text("aaaaaaa2", "Two.", &key("home")),
    );
    // It is called as the second one would be.
    let taken = key("home-aaaaaaa2");
    store.put(
        "20260114_091500_aaaaaaa3.md",
        text("aaaaaaa3", "Three.", &taken),
    );
    store.put(
        "20260114_091500_aaaaaaa4.md",
        text("aaaaaaa4", "Four.", &key(" blank ")),
    );
    let learning = "metadata: {\"category\": \" user \", \"key\": \"x\"}\n";
    store.put(
        "20260114_091500_aaaaaaa5.md",
        text("aaaaaaa5", "Five.", learning),
    );
    let long = "a-file-that-has-a-name-of-many-more-words-than-any-key-has";
    store.put(&format!("{long}.md"), text(long, "Six.", ""));
    for folder in ["a", "b"] {
        let path = format!("{folder}/readme.md");
        store.put(&path, text("readme", "Read me.", ""));
    }
    let engine = store.engine();
    let mut count = 0;
    for category in ["user", "learnings"] {
        let all = run(&engine, "recall", json!({"category": category}));
        for (key, told) in all["entries"].as_object().unwrap() {
            let one = recall(&engine, category, key);
            assert_eq!(one["value"], told["value"], "{key}");
            count += 1;
        }
    }
    assert_eq!(count, 8);
    let exported = run(&engine, "export_memories", json!({"output_format": "json"}));
    assert_eq!(exported["memories"]["user"].as_object().unwrap().len(), 4);
    assert_eq!(
        exported["memories"]["learnings"].as_object().unwrap().len(),
        4
    );
}

#[test]
fn what_is_stored_under_a_superseded_key_is_found() {
    let store = TestStore::new();
    let engine = store.engine();
    remember(&engine, "tools", "old", "We used the harbour crane.", &[]);
    remember(&engine, "tools", "new", "We use the harbour lift.", &[]);
    let ends = (["tools", "new"], ["tools", "old"]);
    link(&engine, "add_link", ends.0, ends.1, Some("supersedes"));
    let said = remember(&engine, "tools", "old", "We use the quay crane again.", &[]);
    assert_eq!(said["action"], "UPDATE");
    assert_eq!(said["superseded_no_more_by"], json!(["tools.new"]));
    assert_eq!(said["entry"]["status"], "active");
    assert_eq!(found(&engine, json!({"query": "quay"})), ["old"]);
    assert_eq!(recall(&engine, "tools", "new")["links"], json!([]));
    let again = remember(&engine, "tools", "old", "We use the quay crane.", &[]);
    assert!(again["superseded_no_more_by"].is_null(), "{again}");
}

#[test]
fn what_is_stored_under_a_key_whose_life_has_ended_is_found() {
    let store = TestStore::new();
    let text = memory_text("aaaaaaa1", "2026-01-14T09:15:00Z", "Sun.");
    let more =
        "expires: 2026-02-01T00:00:00Z\nmetadata: {\"category\": \"user\", \"key\": \"k\"}\n";
    let text = text.replacen("---\n\n", &format!("{more}---\n\n"), 1);
    store.put("20260114_091500_aaaaaaa1.md", text);
    let engine = store.engine();
    assert_eq!(recall(&engine, "user", "k")["status"], "archived");
    let said = remember(&engine, "user", "k", "Rain.", &[]);
    assert_eq!(said["entry"]["status"], "active", "{said}");
    assert_eq!(found(&engine, json!({"query": "rain"})), ["k"]);
}

#[test]
fn a_credential_in_a_value_is_told() {
    let store = TestStore::new();
    let options = Options {
        secrets: Policy::Warn,
        ..store.options()
    };
    let engine = Engine::open(options, clock(noon())).unwrap();
    let token = ["ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    let value = format!("The token is {token}.");
    let plainly = "It will be told.";
    remember(&engine, "tools", "UPDATE", plainly, &[]);
    for action in ["ADD", "UPDATE"] {
        let value = format!("{value} By {action}.");
        let said = remember(&engine, "tools", action, &value, &[]);
        assert_eq!(said["action"], action);
        let warning = said["warnings"][0].as_str().expect("it warns");
        assert!(warning.contains("token"), "{warning}");
        assert!(!warning.contains(&token), "{warning}");
    }
    let said = remember(&engine, "tools", "plain", "Nothing.", &[]);
    assert!(said["warnings"].is_null(), "{said}");
}

#[test]
fn the_same_text_is_told_in_any_script() {
    let store = TestStore::new();
    let engine = store.engine();
    for (key, value) in [("zh", "我们每周二早上部署服务器"), ("short", "Tea.")] {
        remember(&engine, "user", key, value, &[]);
        let said = run(&engine, "remember", entry("user", "other", value, &[]));
        assert_eq!(said["action"], "candidates", "{said}");
        assert_eq!(said["recommendation"], "NOOP", "{said}");
        assert_eq!(said["candidates"][0]["key"], key);
    }
}

#[test]
fn a_reply_about_many_entries_keeps_to_its_size() {
    let store = TestStore::new();
    let engine = store.engine();
    for number in 0..80 {
        let value = "many words ".repeat(20);
        let mut arguments = entry("user", &format!("key{number}"), &value, &[]);
        arguments["importance"] = json!(if number == 70 { 10 } else { 5 });
        arguments["force"] = json!(true);
        run(&engine, "remember", arguments);
    }
    let mut huge = entry("user", "huge", &"words ".repeat(9_000), &[]);
    huge["importance"] = json!(9);
    huge["force"] = json!(true);
    run(&engine, "remember", huge);
    let mut all_told = std::collections::HashSet::new();
    for (tool, arguments, tokens) in [
        ("about_me", json!({}), 2_000),
        ("about_us", json!({}), 2_000),
        ("recall", json!({"category": "user"}), 4_000),
    ] {
        let said = run(&engine, tool, arguments);
        let told = match tool {
            "recall" => &said["entries"],
            _ => &said["memories"]["user"],
        };
        let told = told.as_object().unwrap();
        all_told.extend(told.keys().cloned());
        assert_eq!(said["total"], 81, "{tool}");
        assert_eq!(said["shown"], told.len(), "{tool}");
        assert!(told.len() > 10, "{tool}: {}", told.len());
        let first: Vec<&String> = told.keys().take(2).collect();
        assert_eq!(first, ["key70", "huge"], "{tool}");
        assert!(said.to_string().len() < tokens * 5, "{tool}");
    }
    // What was not told was not used. Which those are is by chance among what was made at once.
    let keys = (0..80).map(|number| format!("key{number}"));
    for untold in keys.filter(|key| !all_told.contains(key)).take(3) {
        assert_eq!(recall(&engine, "user", &untold)["access_count"], 1);
    }
    assert!(all_told.len() < 78, "{}", all_told.len());
    let said = run(&engine, "search", json!({"query": "words ".repeat(9_000)}));
    assert_eq!(said["query"].as_str().unwrap().len(), 200);
}

#[test]
fn each_project_has_keys_of_its_own() {
    let store = TestStore::new();
    let of = |project: &str| {
        let options = Options {
            namespace: Some(project.to_owned()),
            ..store.options()
        };
        Engine::open(options, clock(noon())).unwrap()
    };
    let (atlas, bolt) = (of("atlas"), of("bolt"));
    let said = remember(&atlas, "user", "editor", "Vim, for atlas.", &[]);
    assert_eq!(said["action"], "ADD");
    // What only another project has is found, and not changed.
    assert_eq!(recall(&bolt, "user", "editor")["value"], "Vim, for atlas.");
    let wrong = json!({"category": "user", "key": "editor"});
    let refused = run(&bolt, "forget", wrong.clone());
    assert!(
        refused["error"].as_str().unwrap().contains("atlas"),
        "{refused}"
    );
    let said = remember(&bolt, "user", "editor", "Emacs, for bolt.", &[]);
    assert_eq!(
        (&said["action"], &said["key"]),
        (&json!("ADD"), &json!("editor"))
    );
    assert_eq!(recall(&atlas, "user", "editor")["value"], "Vim, for atlas.");
    assert_eq!(recall(&bolt, "user", "editor")["value"], "Emacs, for bolt.");
    let said = remember(&bolt, "user", "editor", "Helix, for bolt.", &[]);
    assert_eq!(said["action"], "UPDATE");
    assert_eq!(recall(&atlas, "user", "editor")["value"], "Vim, for atlas.");
    assert!(run(&bolt, "forget", wrong)["error"].is_null());
    assert_eq!(recall(&atlas, "user", "editor")["value"], "Vim, for atlas.");
}

#[test]
fn folders_outside_of_git_are_projects_as_well() {
    let home = crate::support::program::Home::in_folder("has settings of its own");
    let store = |folder: &str, value: &str| {
        let mut command = home.command(&["mcp", "--dialect", "i-am"]);
        command.current_dir(home.make(folder));
        let mut session = crate::support::session::Session::open_on(command);
        let entry = json!({"category": "user", "key": "editor", "value": value, "force": true});
        session.tool("remember", entry)["structuredContent"]["action"].clone()
    };
    assert_eq!(store("one", "Vim."), "ADD");
    assert_eq!(store("two", "Emacs."), "ADD");
    assert_eq!(store("two", "Helix."), "UPDATE");
    // Folders of one name are two projects.
    assert_eq!(store("work/two", "Nano."), "ADD");
    let texts = home.names().into_iter();
    let texts = texts.map(|name| fs::read_to_string(home.files().join(name)).unwrap());
    let texts: Vec<String> = texts.collect();
    assert!(texts.iter().any(|text| text.contains("Vim.")), "{texts:?}");
}

#[test]
fn the_file_that_the_original_keeps_names_the_project() {
    let home = crate::support::program::Home::in_folder("has settings of its own");
    home.make("one/src");
    home.make("two");
    home.write("two/.ai-state/memory.json", "{}");
    let store = |folder: &str, file: &str, value: &str| {
        let mut command = home.command(&["mcp", "--dialect", "i-am"]);
        command.current_dir(home.root().join(folder));
        command.env("MEMORY_FILE", file);
        let mut session = crate::support::session::Session::open_on(command);
        let entry = json!({"category": "user", "key": "editor", "value": value, "force": true});
        let said = session.tool("remember", entry)["structuredContent"]["action"].clone();
        (said, session.log())
    };
    assert_eq!(store("one", ".ai-state/memory.json", "Vim.").0, "ADD");
    // The same file, named from elsewhere.
    assert_eq!(
        store("one/src", "../.ai-state/memory.json", "Vi.").0,
        "UPDATE"
    );
    let (action, log) = store("one", "../two/.ai-state/memory.json", "Emacs.");
    assert_eq!(action, "ADD");
    let said = "is not read: the namespace `two` takes its place, and `memdir import --from i-am ";
    assert_eq!(log.matches(said).count(), 1, "{log}");
}
