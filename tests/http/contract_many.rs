//! The REST interface as it is documented: many memories at once, and stores that move.

use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};

use crate::support::TestStore;
use crate::support::rest::Api;

#[test]
fn many_memories_are_stored_at_once_and_a_bad_one_costs_only_itself() {
    let api = Api::start();
    let documented = json!([
        {"title": "Memory 1", "content": "One."},
        {"title": "Memory 2", "content": "Two."},
    ]);
    let said = api.post("/memories/bulk", &documented).done(200).body;
    assert_eq!((&said["created"], &said["errors"]), (&json!(2), &json!([])));
    let mixed = json!([
        {"title": "", "content": "x"},
        {"title": "Good", "content": "x"},
        7,
        {"title": "Bad", "content": "x", "priority": 99},
        {"title": "Worse", "content": "x", "expires_at": "2020-01-01T00:00:00Z"},
        {"title": "Fine", "content": "x", "tags": ["a"]},
    ]);
    let said = api.post("/memories/bulk", &mixed).done(200).body;
    assert_eq!(said["created"], 2);
    let errors = json!([
        "[0]: title cannot be empty",
        "[2]: it is no object",
        "[3]: `priority` must be a whole number from 1 to 10",
        "[4]: expires_at is in the past",
    ]);
    assert_eq!(said["errors"], errors);
    let ids = said["ids"].as_array().unwrap();
    assert_eq!(api.memory(ids[1].as_str().unwrap())["title"], "Fine");
    assert_eq!(api.get("/stats").done(200).body["total"], 4);
    let empty = api.post("/memories/bulk", &json!([])).done(200).body;
    assert_eq!(empty["created"], 0);
    api.post("/memories/bulk", &json!({"title": "x"}))
        .is_bad("a JSON array");
}

#[test]
fn a_thousand_are_taken_at_once_and_one_more_is_refused_before_any() {
    let api = Api::start();
    let items = |count: usize| -> Value {
        let item = |number: usize| json!({"title": "", "content": format!("{number}")});
        (0..count).map(item).collect()
    };
    let said = api.post("/memories/bulk", &items(1_000)).done(200).body;
    assert_eq!(said["errors"].as_array().unwrap().len(), 1_000);
    let good = |count: usize| -> Value {
        let item = |number: usize| json!({"title": format!("{number}"), "content": "x"});
        (0..count).map(item).collect()
    };
    api.post("/memories/bulk", &good(1_001))
        .is_bad("at most 1000 items, not 1001");
    let said = api
        .post("/import", &json!({"memories": items(1_000)}))
        .done(200)
        .body;
    assert_eq!(said["errors"].as_array().unwrap().len(), 1_000);
    let much = json!({"memories": good(1_001)});
    api.post("/import", &much)
        .is_bad("at most 1000 items, not 1001");
    assert_eq!(api.get("/stats").done(200).body["total"], 0);
}

#[test]
fn what_is_forgotten_is_named_by_namespace_words_and_tier() {
    let api = Api::start();
    let make = |title: &str, tier: &str, namespace: &str| {
        let body = json!({
            "title": title, "content": "The deprecated API.", "tier": tier, "namespace": namespace,
        });
        api.make(&body)
    };
    let one = make("One", "short", "my-app");
    make("Two", "long", "my-app");
    make("Three", "short", "other");
    for nothing in [json!({}), json!({"pattern": " "}), json!({"dry_run": true})] {
        api.post("/forget", &nothing).is_bad("at least one of");
    }
    api.post_nothing("/forget").is_bad("at least one of");
    api.post("/forget", &json!({"tier": "huge"})).is_bad("");
    let documented = json!({"namespace": "my-app", "pattern": "deprecated API", "tier": "short"});
    let mut only_said = documented.clone();
    only_said["dry_run"] = json!(true);
    let said = api.post("/forget", &only_said).done(200).body;
    assert_eq!(
        (&said["deleted"], &said["would_delete"]),
        (&json!(0), &json!(1))
    );
    let said = api.post("/forget", &documented).done(200).body;
    assert_eq!((&said["deleted"], &said["ids"]), (&json!(1), &json!([one])));
    let none = json!({"pattern": "deprecated elsewhere"});
    assert_eq!(api.post("/forget", &none).done(200).body["deleted"], 0);
    // However much is asked for, what does not hold it stays.
    let long = json!({"pattern": "deprecated ".repeat(1_000) + "nowhere"});
    assert_eq!(api.post("/forget", &long).done(200).body["deleted"], 0);
    let rest = json!({"pattern": "api"});
    assert_eq!(api.post("/forget", &rest).done(200).body["deleted"], 2);
    assert_eq!(api.get("/archive").done(200).body["total"], 3);
}

#[test]
fn several_become_one() {
    let api = Api::start();
    let make = |title: &str, tag: &str, priority: u8| {
        let body = json!({
            "title": title, "content": "JWT.", "tags": [tag], "priority": priority,
            "namespace": "my-app",
        });
        api.make(&body)
    };
    let ids = [
        make("One", "a", 3),
        make("Two", "b", 8),
        make("Three", "a", 5),
    ];
    let documented = json!({
        "ids": ids,
        "title": "Auth system summary",
        "summary": "JWT with refresh tokens, RBAC middleware, Redis sessions.",
        "namespace": "my-app",
        "tier": "long",
    });
    let with = |field: &str, value: Value| {
        let mut body = documented.clone();
        body[field] = value;
        api.post("/consolidate", &body)
    };
    with("ids", json!([ids[0]])).is_bad("from 2 to 100, not 1");
    let many: Vec<String> = (0..101).map(|number| format!("{number:08}")).collect();
    with("ids", json!(many)).is_bad("from 2 to 100, not 101");
    with("ids", Value::Null).is_bad("from 2 to 100");
    with("ids", json!([ids[0], "ffffffff"])).is_not_there();
    with("title", json!("t".repeat(513))).is_bad("at most 512");
    with("title", Value::Null).is_bad("`title` is missing");
    with("summary", json!("s".repeat(65_537))).is_bad("at most 65536");
    with("namespace", json!("a/b")).is_bad("slashes");
    let taken = json!({"title": "Taken", "content": "x", "namespace": "my-app"});
    api.make(&taken);
    with("title", json!("Taken")).is_conflict("is taken");

    let said = api.post("/consolidate", &documented).done(201);
    assert_eq!(
        (&said.body["consolidated"], &said.body["summary_by"]),
        (&json!(3), &json!("caller"))
    );
    let one = api.memory(&said.id());
    assert_eq!(one["content"], documented["summary"]);
    assert_eq!(
        (&one["tags"], &one["priority"]),
        (&json!(["a", "b"]), &json!(8))
    );
    assert_eq!(
        (&one["tier"], &one["namespace"]),
        (&json!("long"), &json!("my-app"))
    );
    api.get(&format!("/memories/{}", ids[0])).is_not_there();
}

#[test]
fn what_has_ended_is_collected() {
    let store = TestStore::new();
    // So young that the server leaves it to whoever asks.
    let ended = Utc::now() - TimeDelta::seconds(5);
    let made = ended - TimeDelta::seconds(5);
    let text = format!(
        "---\nid: abcd0001\ntimestamp: {}\nagent: a\nuser: u\ntopics: []\nexpires: {}\n---\n\nText.",
        made.to_rfc3339(),
        ended.to_rfc3339()
    );
    let name = format!("{}_abcd0001.md", made.format("%Y%m%d_%H%M%S"));
    store.put(&name, text);
    let api = Api::on(store);
    api.make(&json!({"title": "One", "content": "It lives."}));
    let said = api.post("/gc", &json!({"dry_run": true})).done(200).body;
    assert_eq!(
        (&said["expired_deleted"], &said["would_delete"]),
        (&json!(0), &json!(1))
    );
    let said = api.post_nothing("/gc").done(200).body;
    assert_eq!(
        (&said["expired_deleted"], &said["ids"]),
        (&json!(1), &json!(["abcd0001"]))
    );
    let archive = api.get("/archive").done(200);
    assert_eq!(archive.texts("archived", "id"), ["abcd0001"]);
    assert_eq!(archive.texts("archived", "archive_reason"), ["gc"]);
    assert_eq!(api.post_nothing("/gc").done(200).body["expired_deleted"], 0);
    let left = api.get("/memories").done(200);
    assert_eq!(left.texts("memories", "title"), ["One"]);
}

#[test]
fn an_export_makes_the_same_store_elsewhere_and_adds_nothing_here() {
    let store = TestStore::new();
    // Of another tool set, with limits of its own.
    let text = "---\nid: abcd0001\ntimestamp: 2026-01-14T09:15:00Z\nagent: a\nuser: u\ntopics: []\nnamespace: a/b\nsource: obsidian\n---\n\nOf elsewhere.";
    store.put("20260114_091500_abcd0001.md", text);
    let api = Api::on(store);
    let one = api.make(&json!({
        "title": "One", "content": "Text.", "tags": ["a"], "priority": 7, "tier": "long",
        "namespace": "my-app", "metadata": {"k": [1, {"deep": true}]},
    }));
    let two = api.make(&json!({"title": "Two", "content": "See [[One]].", "source": "claude"}));
    let link = json!({"source_id": one, "target_id": two, "relation": "derived_from"});
    api.post("/links", &link).done(201);
    let export = api.get("/export").done(200).body;
    assert_eq!(
        (&export["count"], export["links"].as_array().unwrap().len()),
        (&json!(3), 1)
    );
    let later = memories(&export)
        .iter()
        .filter_map(|memory| memory["created_at"].as_str())
        .max();
    assert!(export["links"][0]["created_at"].as_str() <= later);
    let link = json!({
        "source_id": one, "target_id": two, "relation": "derived_from",
        "created_at": export["links"][0]["created_at"].as_str().unwrap(),
    });
    assert_eq!(export["links"][0], link);

    let known = api.post("/import", &export).done(200).body;
    assert_eq!(
        (&known["imported"], &known["known"]),
        (&json!(0), &json!(3))
    );
    assert_eq!(api.get("/stats").done(200).body["total"], 3);

    let other = Api::start();
    let said = other.post("/import", &export).done(200).body;
    assert_eq!(
        (&said["imported"], &said["errors"]),
        (&json!(3), &json!([]))
    );
    assert_eq!(said["linked"], 1);
    let again = other.get("/export").done(200).body;
    assert_eq!(again["links"], export["links"]);
    for (before, after) in memories(&export).iter().zip(memories(&again)) {
        for field in [
            "id",
            "title",
            "content",
            "tags",
            "priority",
            "tier",
            "namespace",
            "source",
            "created_at",
            "expires_at",
        ] {
            assert_eq!(before[field], after[field], "{field}");
        }
        // Beside it stands when it was changed there.
        assert_eq!(before["metadata"]["k"], after["metadata"]["k"]);
    }
}

#[test]
fn an_export_that_comes_in_parts_has_all_of_its_links() {
    let api = Api::start();
    let ids: Vec<String> = (0..4)
        .map(|number| api.make(&json!({"title": format!("{number}"), "content": "Text."})))
        .collect();
    for (from, to) in [(0, 1), (1, 2), (2, 3), (3, 0)] {
        let link = json!({"source_id": ids[from], "target_id": ids[to]});
        api.post("/links", &link).done(201);
    }
    let export = api.get("/export").done(200).body;
    let other = Api::start();
    let mut linked = Vec::new();
    for part in memories(&export).chunks(2) {
        let part = json!({"memories": part, "links": export["links"]});
        let said = other.post("/import", &part).done(200).body;
        linked.push(said["linked"].as_u64().unwrap());
    }
    assert_eq!(linked, [1, 3]);
    assert_eq!(
        other.get("/export").done(200).body["links"],
        export["links"]
    );
}

fn memories(export: &Value) -> &Vec<Value> {
    export["memories"].as_array().unwrap()
}

#[test]
fn an_export_of_the_original_comes_in_one_by_one() {
    let api = Api::start();
    let memory = |id: &str, title: &str, more: Value| {
        let mut memory = json!({
            "id": id, "tier": "long", "namespace": "my-app", "title": title, "content": "Text.",
            "tags": ["a"], "priority": 6, "confidence": 0.9, "source": "claude",
            "access_count": 2, "created_at": "2026-01-14T09:15:00+00:00",
            "updated_at": "2026-01-15T09:15:00+00:00",
            "last_accessed_at": "2026-01-16T09:15:00+00:00", "expires_at": null,
        });
        for (name, value) in more.as_object().unwrap() {
            memory[name] = value.clone();
        }
        memory
    };
    let (one, two) = (
        "a1b2c3d4-0000-4000-8000-000000000001",
        "a1b2c3d4-0000-4000-8000-000000000002",
    );
    let export = json!({
        "exported_at": "2026-02-01T00:00:00Z",
        "memories": [
            memory(one, "One", json!({"metadata": "{\"k\": 1}"})),
            memory("x", "", json!({})),
            memory("x", "Bad", json!({"namespace": "a b"})),
            memory("x", "Bad", json!({"priority": 11})),
            memory("x", "Bad", json!({"source": "nobody"})),
            memory("x", "Bad", json!({"created_at": "yesterday"})),
            memory("x", "Bad", json!({"content": "x".repeat(65_537)})),
            "nothing",
            memory(two, "Two", json!({"expires_at": "2026-01-20T00:00:00Z"})),
        ],
        "links": [
            {"source_id": one, "target_id": two, "relation": "supersedes", "created_at": "2026-01-15T00:00:00Z"},
            {"source_id": one},
        ],
    });
    let said = api.post("/import", &export).done(200).body;
    assert_eq!(
        (&said["imported"], &said["known"], &said["linked"]),
        (&json!(2), &json!(0), &json!(1))
    );
    let errors = said["errors"].as_array().unwrap();
    let places = [
        "memories[1]",
        "memories[2]",
        "memories[3]",
        "memories[4]",
        "memories[5]",
        "memories[6]",
        "memories[7]",
        "links[1]",
    ];
    assert_eq!(errors.len(), places.len(), "{errors:?}");
    for (error, place) in errors.iter().zip(places) {
        assert!(
            error.as_str().unwrap().starts_with(&format!("{place}: ")),
            "{error}"
        );
    }
    let listed = api.get("/memories").done(200);
    // The life of the second is over.
    assert_eq!(listed.texts("memories", "title"), ["One"]);
    let memory = &listed.body["memories"][0];
    assert_eq!(memory["created_at"], "2026-01-14T09:15:00+00:00");
    assert_eq!(
        (&memory["priority"], &memory["metadata"]["k"]),
        (&json!(6), &json!(1))
    );
    assert_eq!(memory["metadata"]["source_id"], one);
    let again = api.post("/import", &export).done(200).body;
    assert_eq!(
        (&again["imported"], &again["known"]),
        (&json!(0), &json!(2))
    );
    for bad in [json!({}), json!({"links": []}), json!({"memories": "none"})] {
        api.post("/import", &bad).is_bad("`memories`");
    }
    api.post("/import", &json!([])).is_bad("a JSON object");
}

#[test]
fn of_a_title_that_an_import_brings_again_one_memory_is_listed() {
    let api = Api::start();
    let given = json!({"title": "Deploy", "content": "By a tag.", "namespace": "atlas"});
    let stored = api.post("/memories", &given).done(201).body["id"].clone();
    let export = json!({"memories": [{
        "id": "5d0c6a52-1111-4222-8333-944445555666", "title": "Deploy", "content": "By hand.",
        "namespace": "atlas", "tier": "long", "created_at": "2025-01-01T00:00:00Z",
    }]});
    let said = api.post("/import", &export).done(200).body;
    assert_eq!(said["imported"], 1, "{said}");
    let listed = api.get("/memories").done(200).body;
    let shown = &listed["memories"][0];
    assert_eq!((&listed["total"], &shown["id"]), (&json!(1), &stored));
    let others = shown["same_title"].as_array().unwrap();
    let other = api.memory(others[0].as_str().unwrap());
    assert_eq!(other["content"], "By hand.");
    // What a list shows is taken as it is.
    let put = api.put(&format!("/memories/{}", stored.as_str().unwrap()), shown);
    put.done(200);
}
