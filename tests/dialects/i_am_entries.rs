//! What the category set makes of entries, on an engine whose clock stands still.

use std::fs;

use serde_json::{Value, json};

use crate::support::program::names;
use crate::support::{TestStore, at, memory_text, new_memory, noon, touch};
use memdir::dialect::{Call, Caller, Preferences, named};
use memdir::engine::{Engine, ops};
use memdir::model::NewMemory;

/// Calls a tool; what it answers, error or not.
#[track_caller]
pub(super) fn run(engine: &Engine, tool: &str, arguments: Value) -> Value {
    let dialect = named("i-am").unwrap();
    let tools = dialect.tools();
    let tool = tools.iter().find(|one| one.name == tool).unwrap();
    let (caller, preferences) = (Caller::default(), Preferences::default());
    let call = Call {
        engine,
        caller: &caller,
        preferences: &preferences,
        stores: &[],
    };
    let reply = tool.call(&call, arguments.as_object().unwrap().clone());
    assert_eq!(reply.is_error, reply.structured.contains_key("error"));
    Value::Object(reply.structured)
}

pub(super) fn entry(category: &str, key: &str, value: &str, tags: &[&str]) -> Value {
    json!({"category": category, "key": key, "value": value, "tags": tags})
}

/// Stores an entry, whatever it resembles.
#[track_caller]
pub(super) fn remember(
    engine: &Engine,
    category: &str,
    key: &str,
    value: &str,
    tags: &[&str],
) -> Value {
    let mut arguments = entry(category, key, value, tags);
    arguments["force"] = json!(true);
    let said = run(engine, "remember", arguments);
    assert!(said["action"].is_string(), "{said}");
    said
}

#[track_caller]
pub(super) fn recall(engine: &Engine, category: &str, key: &str) -> Value {
    let said = run(engine, "recall", json!({"category": category, "key": key}));
    assert!(said["error"].is_null(), "{said}");
    said["entry"].clone()
}

/// The keys that a search finds, best first.
#[track_caller]
pub(super) fn found(engine: &Engine, arguments: Value) -> Vec<String> {
    let said = run(engine, "search", arguments);
    let results = said["results"].as_array().expect("there are results");
    let key = |result: &Value| result["key"].as_str().unwrap().to_owned();
    results.iter().map(key).collect()
}

#[track_caller]
pub(super) fn link(
    engine: &Engine,
    tool: &str,
    from: [&str; 2],
    to: [&str; 2],
    relation: Option<&str>,
) -> Value {
    let mut arguments = json!({
        "source_category": from[0], "source_key": from[1],
        "target_category": to[0], "target_key": to[1],
    });
    if let Some(relation) = relation {
        arguments["relation"] = json!(relation);
    }
    run(engine, tool, arguments)
}

#[test]
fn a_key_that_is_there_is_updated_and_its_earlier_text_kept() {
    let store = TestStore::in_folder("looks into the archive of a folder");
    let engine = store.engine();
    let mut first = entry("user", "home", "Mira lives in Lübeck.", &["home", "city"]);
    first["importance"] = json!(9);
    first["confidence"] = json!(0.7);
    first["source_type"] = json!("user-stated");
    assert_eq!(run(&engine, "remember", first)["action"], "ADD");
    let second = entry("user", "home", "Mira lives in Kiel.", &["City", "move"]);
    let said = run(&engine, "remember", second);
    assert_eq!(said["action"], "UPDATE");
    let told = &said["entry"];
    assert_eq!(told["value"], "Mira lives in Kiel.");
    assert_eq!(told["tags"], json!(["home", "city", "move"]));
    assert_eq!(
        (&told["importance"], &told["confidence"]),
        (&json!(5), &json!(0.7))
    );
    assert_eq!(told["source"]["type"], "user-stated");
    assert_eq!(store.names().len(), 1);
    let archive = store.root().join("archive");
    let earlier = said["earlier"]
        .as_str()
        .unwrap()
        .strip_prefix("archive/")
        .unwrap();
    let name = &names(&archive)[0];
    assert!(name.contains(earlier), "{name} {earlier}");
    let text = fs::read_to_string(archive.join(name)).unwrap();
    assert!(text.ends_with("Mira lives in Lübeck."), "{text}");
    // Another category is another entry, and keys are told apart by case.
    assert_eq!(
        remember(&engine, "project", "home", "A page.", &[])["action"],
        "ADD"
    );
    assert_eq!(
        remember(&engine, "user", "Home", "Another.", &[])["action"],
        "ADD"
    );
    assert_eq!(
        recall(&engine, "user", "home")["value"],
        "Mira lives in Kiel."
    );
}

#[test]
fn importance_is_kept_within_its_bounds() {
    let store = TestStore::new();
    let engine = store.engine();
    for (given, kept) in [
        (json!(0), 1),
        (json!(-3), 1),
        (json!(1), 1),
        (json!(10), 10),
        (json!(99), 10),
        (json!(null), 5),
    ] {
        let mut arguments = entry("user", "k", "A value.", &[]);
        arguments["importance"] = given;
        assert_eq!(
            run(&engine, "remember", arguments)["entry"]["importance"],
            kept
        );
    }
}

#[test]
fn what_may_be_meant_is_shown_and_nothing_stored() {
    let store = TestStore::new();
    let engine = store.engine();
    let deploys = "We deploy atlas from the main branch every Tuesday morning.";
    remember(
        &engine,
        "project",
        "deploys",
        deploys,
        &["deploy", "atlas", "ci"],
    );
    let before = store.texts();
    let check = |arguments: Value, expected: &str| {
        let said = run(&engine, "remember", arguments);
        assert_eq!(said["action"], "candidates", "{said}");
        assert_eq!(said["recommendation"], expected, "{said}");
        assert_eq!(said["candidates"][0]["key"], "deploys");
        assert_eq!(said["candidates"][0]["recommendation"], expected);
        assert_eq!(store.texts(), before);
    };
    // The same words, in whatever order.
    let same = "Every Tuesday morning we deploy the main branch from atlas.";
    check(entry("project", "new", same, &[]), "NOOP");
    let most = "We deploy atlas from the main branch every Friday morning.";
    check(entry("project", "new", most, &[]), "UPDATE");
    check(
        entry(
            "project",
            "new",
            "Something else entirely.",
            &["CI", "atlas", "deploy"],
        ),
        "UPDATE",
    );
    check(
        entry(
            "project",
            "new",
            "Something else entirely.",
            &["ci", "deploy"],
        ),
        "ADD",
    );
    // One tag, or two words, say nothing; neither does another category.
    let stored = |mut arguments: Value, more: Option<&str>| {
        if let Some(more) = more {
            arguments[more] = json!(true);
        }
        run(&engine, "remember", arguments)["action"].clone()
    };
    assert_eq!(
        stored(
            entry("project", "one-tag", "Nothing in common.", &["ci"]),
            None
        ),
        "ADD"
    );
    assert_eq!(
        stored(entry("project", "two-words", "deploy atlas", &[]), None),
        "ADD"
    );
    let elsewhere = || entry("learnings", "elsewhere", most, &[]);
    assert_eq!(stored(elsewhere(), Some("broad")), "candidates");
    assert_eq!(stored(elsewhere(), None), "ADD");
    let forced = || entry("project", "forced", most, &["deploy", "ci"]);
    assert_eq!(stored(forced(), None), "candidates");
    assert_eq!(stored(forced(), Some("force")), "ADD");
}

#[test]
fn a_new_entry_is_linked_with_at_most_three_of_its_category() {
    let store = TestStore::new();
    let engine = store.engine();
    remember(
        &engine,
        "tools",
        "other",
        "Of another category.",
        &["net", "gate"],
    );
    let first = remember(&engine, "project", "a", "Alpha.", &["net", "gate", "x"]);
    assert_eq!(first["entry"]["links"], json!([]));
    remember(&engine, "project", "b", "Beta.", &["Net", "Gate"]);
    remember(&engine, "project", "c", "Gamma.", &["net", "y"]);
    let linked = remember(&engine, "project", "d", "Delta.", &["net", "gate"]);
    let mut targets: Vec<&str> = linked["entry"]["links"]
        .as_array()
        .unwrap()
        .iter()
        .map(|link| {
            assert_eq!(link["relation"], "related-to");
            link["target"].as_str().unwrap()
        })
        .collect();
    targets.sort();
    assert_eq!(targets, ["project.a", "project.b"]);
    remember(&engine, "project", "e", "Epsilon.", &["net", "gate"]);
    let most = remember(&engine, "project", "f", "Zeta.", &["net", "gate"]);
    assert_eq!(most["entry"]["links"].as_array().unwrap().len(), 3);
}

#[test]
fn the_archive_holds_an_entry_before_it_is_gone() {
    let store = TestStore::in_folder("looks into the archive of a folder");
    let engine = store.engine();
    remember(&engine, "project", "atlas", "A tracker.", &[]);
    let file = store.names()[0].clone();
    remember(&engine, "user", "job", "Mira runs atlas.", &[]);
    remember(&engine, "tools", "next", "The next tracker.", &[]);
    link(
        &engine,
        "add_link",
        ["user", "job"],
        ["project", "atlas"],
        Some("elaborates"),
    );
    link(
        &engine,
        "add_link",
        ["tools", "next"],
        ["project", "atlas"],
        Some("supersedes"),
    );
    let before = store.read(&file);
    let said = run(
        &engine,
        "forget",
        json!({"category": "project", "key": "atlas"}),
    );
    assert_eq!(said["backup"], format!("archive/{file}"));
    assert_eq!(said["links_removed"], json!(["tools.next", "user.job"]));
    let archived = fs::read(store.root().join("archive").join(&file)).unwrap();
    assert_eq!(archived, before);
    assert_eq!(recall(&engine, "user", "job")["links"], json!([]));
    assert_eq!(recall(&engine, "tools", "next")["links"], json!([]));
    assert_eq!(recall(&engine, "user", "job")["value"], "Mira runs atlas.");
    let texts = store.texts();
    assert!(
        texts
            .values()
            .all(|text| !String::from_utf8_lossy(text).contains("links"))
    );
    // It comes back as it was.
    ops::restore(&engine, file.trim_end_matches(".md")).unwrap();
    assert_eq!(recall(&engine, "project", "atlas")["value"], "A tracker.");
}

#[test]
fn a_search_changes_no_memory_file() {
    let store = TestStore::new();
    let engine = store.engine();
    remember(&engine, "user", "pet", "Mira has a cat.", &["cat"]);
    let before = store.texts();
    assert_eq!(found(&engine, json!({"query": "cat"})), ["pet"]);
    run(&engine, "recall", json!({"category": "user"}));
    assert_eq!(store.texts(), before);
    assert_eq!(recall(&engine, "user", "pet")["access_count"], 3);
}

#[test]
fn words_that_stand_apart_are_found() {
    let store = TestStore::new();
    let engine = store.engine();
    let value = "The gateway of atlas is reached through the tunnel in Oslo only.";
    remember(&engine, "project", "network", value, &["infra"]);
    remember(&engine, "project", "lunch", "At noon.", &[]);
    assert_eq!(
        found(&engine, json!({"query": "gateway Oslo"})),
        ["network"]
    );
    // Any of them is enough.
    assert_eq!(
        found(&engine, json!({"query": "gateway submarine"})),
        ["network"]
    );
    assert_eq!(found(&engine, json!({"query": "infra"})), ["network"]);
    assert_eq!(found(&engine, json!({"query": "network"})), ["network"]);
    assert_eq!(found(&engine, json!({"query": "submarine"})), [""; 0]);
}

#[test]
fn a_category_is_asked_for_before_the_results_are_cut() {
    let store = TestStore::new();
    let engine = store.engine();
    for number in 0..30 {
        remember(
            &engine,
            "project",
            &format!("p{number}"),
            "harbour harbour harbour",
            &[],
        );
    }
    remember(
        &engine,
        "tools",
        "crane",
        "Lifts things in a large harbour.",
        &[],
    );
    ops::remember(
        &engine,
        new_memory("A harbour that another tool set stored."),
        None,
    )
    .unwrap();
    let of = |category: &str| found(&engine, json!({"query": "harbour", "category": category}));
    assert_eq!(of("tools"), ["crane"]);
    assert_eq!(of("learnings").len(), 1);
    assert_eq!(of("user"), [""; 0]);
    assert_eq!(of("project").len(), 20);
    let all = run(&engine, "search", json!({"query": "harbour"}));
    assert_eq!((&all["count"], &all["total"]), (&json!(20), &json!(32)));
}

#[test]
fn memories_of_other_tool_sets_are_entries_with_which_every_tool_works() {
    let store = TestStore::new();
    let engine = store.engine();
    let memory = NewMemory {
        title: Some("How we deploy atlas".to_owned()),
        topics: vec!["deploy".to_owned(), "atlas".to_owned()],
        source: Some("a wiki page".to_owned()),
        ..new_memory("With a tag.")
    };
    let stem = ops::remember(&engine, memory, None).unwrap().stem;
    let key = format!("how-we-deploy-atlas-{}", stem.short());
    assert_eq!(found(&engine, json!({"query": "deploy"})), [key.as_str()]);
    let told = recall(&engine, "learnings", &key);
    assert_eq!(told["value"], "With a tag.");
    assert_eq!(
        told["source"],
        json!({"type": "session", "detail": "a wiki page"})
    );
    assert_eq!(
        (&told["importance"], &told["confidence"]),
        (&json!(5), &json!(null))
    );
    remember(&engine, "user", "job", "Mira deploys.", &[]);
    link(
        &engine,
        "add_link",
        ["user", "job"],
        ["learnings", &key],
        Some("depends-on"),
    );
    let target = format!("learnings.{key}");
    assert_eq!(recall(&engine, "user", "job")["links"][0]["target"], target);
    link(
        &engine,
        "add_link",
        ["learnings", &key],
        ["user", "job"],
        Some("related-to"),
    );
    let arguments = json!({"category": "learnings", "key": key});
    let connections = run(&engine, "connections", arguments.clone());
    assert_eq!(connections["incoming"][0]["source"], "user.job");
    assert_eq!(connections["outgoing"][0]["target"], "user.job");
    link(
        &engine,
        "remove_link",
        ["learnings", &key],
        ["user", "job"],
        None,
    );
    let updated = run(
        &engine,
        "remember",
        entry("learnings", &key, "With two tags.", &["ci"]),
    );
    assert_eq!(updated["action"], "UPDATE");
    assert_eq!(updated["entry"]["tags"], json!(["deploy", "atlas", "ci"]));
    let exported = run(&engine, "export_memories", json!({"output_format": "json"}));
    assert_eq!(
        exported["memories"]["learnings"][&key]["value"],
        "With two tags."
    );
    let started = run(&engine, "session_start", json!({}));
    assert_eq!(started["memories"]["learnings"][0]["key"], key);
    assert_eq!(
        run(&engine, "status", json!({}))["categories"]["learnings"],
        1
    );
    let said = run(&engine, "forget", arguments.clone());
    assert_eq!(said["links_removed"], json!(["user.job"]));
    assert!(!run(&engine, "recall", arguments)["error"].is_null());
    // What this set stored is whole for others.
    let job = &ops::recall(
        &engine,
        &[store.names()[0].trim_end_matches(".md").to_owned()],
    )[0];
    let memdir::engine::Recalled::Found { memory, .. } = job else {
        panic!("{job:?}")
    };
    assert_eq!(
        (memory.title.as_deref(), memory.user.as_str()),
        (Some("job"), "unknown")
    );
}

#[test]
fn a_memory_without_words_in_its_first_line_is_called_by_its_id() {
    let store = TestStore::new();
    let engine = store.engine();
    let stem = ops::remember(&engine, new_memory("…\n…"), None)
        .unwrap()
        .stem;
    assert_eq!(recall(&engine, "learnings", stem.short())["value"], "…\n…");
    // A part of an id is none.
    let part = &stem.short()[..6];
    let said = run(
        &engine,
        "recall",
        json!({"category": "learnings", "key": part}),
    );
    assert!(!said["error"].is_null(), "{said}");
}

#[test]
fn two_machines_may_store_one_key_and_both_entries_are_reached() {
    let store = TestStore::new();
    let text = |handle: &str, value: &str| {
        let text = memory_text(handle, "2026-01-14T09:15:00Z", value);
        let named = "metadata: {\"category\": \"user\", \"key\": \"home\"}\n---\n\n";
        text.replacen("---\n\n", named, 1)
    };
    store.put("20260114_091500_aaaaaaa1.md", text("aaaaaaa1", "Kiel."));
    store.put("20260114_091500_aaaaaaa2.md", text("aaaaaaa2", "Bonn."));
    let engine = store.engine();
    assert_eq!(recall(&engine, "user", "home")["value"], "Kiel.");
    assert_eq!(recall(&engine, "user", "home-aaaaaaa2")["value"], "Bonn.");
    let all = run(&engine, "recall", json!({"category": "user"}));
    let keys: Vec<&String> = all["entries"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["home", "home-aaaaaaa2"]);
    assert_eq!(found(&engine, json!({"query": "Bonn"})), ["home-aaaaaaa2"]);
    // Without the first one, the other has the key.
    run(
        &engine,
        "forget",
        json!({"category": "user", "key": "home"}),
    );
    assert_eq!(recall(&engine, "user", "home")["value"], "Bonn.");
}

#[test]
fn keys_hold_whatever_is_written() {
    let store = TestStore::new();
    let engine = store.engine();
    for key in [
        "api.v2.limits",
        "größe",
        "a b",
        "x-y-z",
        "007",
        "\"quoted\"",
    ] {
        assert_eq!(remember(&engine, "project", key, key, &[])["action"], "ADD");
        assert_eq!(recall(&engine, "project", key)["value"], key);
    }
    link(
        &engine,
        "add_link",
        ["project", "a b"],
        ["project", "api.v2.limits"],
        Some("contradicts"),
    );
    let links = json!([{"target": "project.api.v2.limits", "relation": "contradicts"}]);
    assert_eq!(recall(&engine, "project", "a b")["links"], links);
}

#[test]
fn what_was_superseded_says_so_and_can_be_had_back() {
    let store = TestStore::new();
    let engine = store.engine();
    remember(&engine, "tools", "old", "We used the harbour crane.", &[]);
    remember(&engine, "tools", "new", "We use the harbour lift.", &[]);
    let ends = (["tools", "new"], ["tools", "old"]);
    link(&engine, "add_link", ends.0, ends.1, Some("supersedes"));
    assert_eq!(recall(&engine, "tools", "old")["status"], "superseded");
    let all = run(&engine, "recall", json!({"category": "tools"}));
    assert_eq!(all["entries"]["old"]["status"], "superseded");
    assert_eq!(all["entries"]["new"]["status"], "active");
    assert_eq!(found(&engine, json!({"query": "harbour"})), ["new"]);
    let connections = run(
        &engine,
        "connections",
        json!({"category": "tools", "key": "old"}),
    );
    assert_eq!(
        connections["incoming"],
        json!([{"source": "tools.new", "relation": "supersedes"}])
    );
    let me = run(&engine, "about_me", json!({}));
    assert_eq!(me["memories"]["tools"].as_object().unwrap().len(), 1);
    assert_eq!(
        link(&engine, "remove_link", ends.0, ends.1, None)["links"],
        json!([])
    );
    assert_eq!(recall(&engine, "tools", "old")["status"], "active");
    assert_eq!(found(&engine, json!({"query": "harbour"})).len(), 2);
}

#[test]
fn a_look_back_finds_what_nobody_uses_and_changes_nothing() {
    let store = TestStore::in_folder("sets the times of files");
    let month_ago = at("2026-05-01T12:00:00Z");
    let past = store.engine_at(month_ago);
    let store_one = |key: &str, importance: u8, confidence: Value, source: &str| {
        let mut arguments = entry("learnings", key, &format!("The {key} value."), &[]);
        arguments["importance"] = json!(importance);
        arguments["confidence"] = confidence;
        arguments["source_type"] = json!(source);
        arguments["force"] = json!(true);
        run(&past, "remember", arguments);
    };
    store_one("unused", 5, json!(0.8), "session");
    store_one("minor", 3, json!(null), "session");
    store_one("doubted", 5, json!(0.2), "session");
    store_one("stated", 5, json!(0.5), "user-stated");
    store_one("used", 5, json!(0.5), "session");
    (0..5).for_each(|_| drop(recall(&past, "learnings", "used")));
    for name in store.names() {
        touch(&store.files().join(name), month_ago);
    }
    let engine = store.engine_at(noon());
    let mut young = entry("learnings", "young", "Fresh and minor.", &[]);
    young["importance"] = json!(1);
    run(&engine, "remember", young);
    let newest = store.names().pop().unwrap();
    touch(&store.files().join(newest), noon());
    let before = store.texts();
    let said = run(&engine, "reflect", json!({}));
    let keys = |list: &str| -> Vec<String> {
        let mut keys: Vec<String> = said[list]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["key"].as_str().unwrap().to_owned())
            .collect();
        keys.sort();
        keys
    };
    assert_eq!(keys("stale"), ["doubted", "minor", "stated", "unused"]);
    assert_eq!(keys("archival_candidates"), ["minor", "young"]);
    assert_eq!(keys("confidence_adjustments"), ["stated", "unused", "used"]);
    let adjustments = said["confidence_adjustments"].as_array().unwrap();
    let proposed = |key: &str| {
        let one = adjustments.iter().find(|one| one["key"] == key).unwrap();
        (one["current"].clone(), one["proposed"].clone())
    };
    assert_eq!(proposed("stated"), (json!(0.5), json!(0.9)));
    assert_eq!(proposed("used"), (json!(0.5), json!(0.8)));
    assert_eq!(proposed("unused"), (json!(0.8), json!(0.65)));
    assert_eq!(store.texts(), before);
}

#[test]
fn an_export_has_the_shape_of_the_original_file() {
    let store = TestStore::new();
    let engine = store.engine();
    run(&engine, "session_start", json!({}));
    remember(&engine, "user", "a.b", "A value.", &["t"]);
    let exported = run(&engine, "export_memories", json!({"output_format": "json"}));
    let now = "2026-06-01T12:00:00.000000+00:00";
    let expected = json!({
        "schema_version": "1.2",
        "session_count": 1,
        "memories": {
            "user": {"a.b": {
                "value": "A value.",
                "created_at": now,
                "updated_at": now,
                "tags": ["t"],
                "confidence": null,
                "importance": 5,
                "source": {"type": "session", "detail": null},
                "access_count": 0,
                "last_accessed": null,
                "status": "active",
                "links": [],
            }},
            "assistant": {}, "project": {}, "relationships": {}, "tools": {}, "learnings": {},
        },
    });
    assert_eq!(exported, expected);
    // A change has its own moment, a use has not.
    let later = store.engine_at(at("2026-06-02T12:00:00Z"));
    recall(&later, "user", "a.b");
    remember(&later, "user", "a.b", "Another value.", &[]);
    let told = recall(&store.engine_at(at("2026-06-03T12:00:00Z")), "user", "a.b");
    assert_eq!(told["created_at"], now);
    assert_eq!(told["updated_at"], "2026-06-02T12:00:00.000000+00:00");
    assert_eq!(told["last_accessed"], "2026-06-03T12:00:00.000000+00:00");
}

#[test]
fn the_resources_say_the_schema_and_the_numbers() {
    let store = TestStore::new();
    let engine = store.engine();
    remember(&engine, "user", "name", "Mira.", &[]);
    let dialect = named("i-am").unwrap();
    let (caller, preferences) = (Caller::default(), Preferences::default());
    let call = Call {
        engine: &engine,
        caller: &caller,
        preferences: &preferences,
        stores: &[],
    };
    let read = |uri: &str| -> Value {
        let resources = dialect.resources();
        let resource = resources.iter().find(|one| one.uri == uri).unwrap();
        assert!(!resource.is_template());
        let text = (resource.read)(&call, "").unwrap().unwrap();
        serde_json::from_str(&text).unwrap()
    };
    let schema = read("memory://schema");
    assert_eq!(schema["schema_version"], "1.2");
    assert_eq!(schema["categories"][5], "learnings");
    assert_eq!(
        schema["statuses"],
        json!(["active", "archived", "superseded"])
    );
    assert_eq!(schema["relations"].as_array().unwrap().len(), 5);
    assert_eq!(schema["fields"].as_object().unwrap().len(), 11);
    let stats = read("memory://stats");
    assert_eq!(
        (&stats["total"], &stats["session_count"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(stats["categories"]["user"], 1);
    assert!(stats["file_size"].as_u64().unwrap() > 0);
}

#[test]
fn the_summary_of_a_session_keeps_to_its_size() {
    let store = TestStore::new();
    let engine = store.engine();
    for number in 0..110 {
        let mut arguments = entry(
            "project",
            &format!("key{number}"),
            &"words ".repeat(100),
            &[],
        );
        arguments["importance"] = json!(if number == 90 { 10 } else { 5 });
        arguments["force"] = json!(true);
        run(&engine, "remember", arguments);
    }
    let said = run(&engine, "session_start", json!({}));
    let told = said["memories"]["project"].as_array().unwrap();
    assert_eq!(
        (&said["total"], &said["shown"]),
        (&json!(110), &json!(told.len()))
    );
    assert!(told.len() > 10 && told.len() < 100, "{}", told.len());
    assert_eq!(told[0]["key"], "key90");
    assert_eq!(told[0]["truncated"], true);
}
