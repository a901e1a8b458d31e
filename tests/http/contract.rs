//! The REST interface as it is documented: single memories and their links. Every answer is held
//! against the description by the client.

use chrono::{DateTime, TimeDelta};
use serde_json::{Value, json};

use memdir::engine::write;

use crate::support::rest::Api;
use crate::support::{TestStore, memory_text};

#[test]
fn health_says_whether_the_store_can_be_read_and_nothing_is_told_of_where_it_lies() {
    let api = Api::start();
    let well = api.get("/health").done(200).body;
    assert_eq!(
        (&well["status"], &well["service"]),
        (&json!("ok"), &json!("ai-memory"))
    );
    let id = api.make(&json!({"title": "One", "content": "Text."}));
    let root = api.server.store.root().to_owned();
    let away = root.with_extension("away");
    std::fs::rename(&root, &away).unwrap();
    let unwell = api.get("/health").done(503).body;
    assert_eq!(
        (&unwell["status"], &unwell["service"]),
        (&json!("error"), &json!("ai-memory"))
    );
    let one = json!({"title": "Two", "content": "Text."});
    let import = json!({"memories": [one]});
    let id_path = format!("/memories/{id}");
    for said in [
        api.get("/memories"),
        api.get(&id_path),
        api.get("/search?q=text"),
        api.get("/stats"),
        api.get("/export"),
        api.post("/memories/bulk", &json!([one])),
        api.post("/import", &import),
        api.delete(&id_path),
    ] {
        assert!(
            !said.body.to_string().contains(root.to_str().unwrap()),
            "{}",
            said.body
        );
        said.refused(500, "DATABASE_ERROR", "Internal server error");
    }
    std::fs::rename(&away, &root).unwrap();
    api.get("/health").done(200);
    assert_eq!(api.memory(&id)["title"], "One");
}

#[test]
fn a_title_that_another_call_holds_is_refused_as_a_conflict_and_stored_later() {
    let api = Api::start();
    api.make(&json!({"title": "One", "content": "Text."}));
    let engine = api.server.store.engine();
    let held = write::hold_title(&engine.writer, "Two").unwrap();
    let two = json!({"title": "Two", "content": "Text."});
    let said = api.post("/memories", &two);
    let message = "another call writes the title: try again in a moment";
    said.refused(409, "CONFLICT", message);
    drop(held);
    api.post("/memories", &two).done(201);
}

#[test]
fn a_memory_has_the_documented_defaults() {
    let api = Api::start();
    let made = api.post(
        "/memories",
        &json!({"title": "A title", "content": "A text."}),
    );
    let made = made.done(201);
    let expected = json!({
        "id": made.id(), "tier": "mid", "namespace": "global", "title": "A title",
    });
    assert_eq!(made.body, expected);
    let memory = api.memory(&made.id());
    for (field, value) in [
        ("tier", json!("mid")),
        ("namespace", json!("global")),
        ("content", json!("A text.")),
        ("tags", json!([])),
        ("priority", json!(5)),
        ("confidence", json!(1.0)),
        ("source", json!("api")),
        ("access_count", json!(0)),
        ("last_accessed_at", Value::Null),
        ("metadata", json!({})),
    ] {
        assert_eq!(memory[field], value, "{field}");
    }
    assert_eq!(life(&memory), TimeDelta::days(7));
    let short = json!({"title": "Short", "content": "x", "tier": "short"});
    assert_eq!(life(&api.memory(&api.make(&short))), TimeDelta::hours(6));
    let long = json!({"title": "Long", "content": "x", "tier": "long"});
    assert_eq!(api.memory(&api.make(&long))["expires_at"], Value::Null);
    let hour = json!({"title": "Hour", "content": "x", "ttl_secs": 3600});
    let spread = life(&api.memory(&api.make(&hour))) - TimeDelta::hours(1);
    assert!(spread.abs() < TimeDelta::seconds(60), "{spread}");
}

/// How long a memory lives from its making on.
#[track_caller]
fn life(memory: &Value) -> TimeDelta {
    let at = |field: &str| DateTime::parse_from_rfc3339(memory[field].as_str().unwrap()).unwrap();
    at("expires_at") - at("created_at")
}

/// The documented example, with a time that has not passed.
fn example() -> Value {
    json!({
        "title": "Project uses Axum",
        "content": "The HTTP server is built with Axum 0.8.",
        "tier": "mid",
        "namespace": "ai-memory",
        "tags": ["rust", "web"],
        "priority": 6,
        "confidence": 1.0,
        "source": "api",
        "expires_at": "2096-04-06T00:00:00Z",
        "ttl_secs": 86400,
    })
}

#[test]
fn what_is_stated_is_kept_and_the_moment_counts_before_the_span() {
    let api = Api::start();
    let memory = api.memory(&api.make(&example()));
    for field in [
        "title",
        "content",
        "tier",
        "namespace",
        "tags",
        "priority",
        "source",
    ] {
        assert_eq!(memory[field], example()[field], "{field}");
    }
    assert_eq!(memory["expires_at"], "2096-04-06T00:00:00+00:00");
}

#[test]
fn what_cannot_be_meant_is_refused_and_nothing_is_stored() {
    let api = Api::start();
    let long = |length: usize| "x".repeat(length);
    let tags = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
    let bad = [
        ("title", Value::Null, "`title` is missing"),
        ("title", json!(" "), "title cannot be empty"),
        ("title", json!(long(513)), "at most 512"),
        ("title", json!("a\u{0}b"), "null bytes"),
        ("title", json!({"no": "text"}), "`title` must be a text"),
        ("content", Value::Null, "`content` is missing"),
        ("content", json!(""), "content cannot be empty"),
        ("content", json!(long(65_537)), "at most 65536"),
        ("namespace", json!("a/b"), "slashes"),
        ("namespace", json!("a b"), "spaces"),
        ("namespace", json!(""), "cannot be empty"),
        ("namespace", json!(long(129)), "at most 128"),
        ("tier", json!("huge"), ""),
        ("tags", json!(tags(51)), "too many tags"),
        ("tags", json!([long(129)]), "at most 128"),
        ("tags", json!([""]), "empty strings"),
        ("priority", json!(0), "from 1 to 10"),
        ("priority", json!(11), "from 1 to 10"),
        ("priority", json!(5.5), "from 1 to 10"),
        ("confidence", json!(1.1), "from 0.0 to 1.0"),
        ("confidence", json!(-0.1), "from 0.0 to 1.0"),
        ("source", json!("nobody"), "invalid source"),
        ("expires_at", json!("2020-01-01T00:00:00Z"), "in the past"),
        ("expires_at", json!("soon"), "RFC3339"),
        ("ttl_secs", json!(0), "ttl_secs"),
        ("ttl_secs", json!(31_536_001), "ttl_secs"),
        ("metadata", json!([1]), "must be an object"),
        ("colour", json!("red"), "there is no argument `colour`"),
    ];
    for (field, value, part) in bad {
        let mut body = example();
        body.as_object_mut().unwrap().shift_remove("expires_at");
        body[field] = value;
        api.post("/memories", &body).is_bad(part);
    }
    api.ask("POST", "/memories", b"{\"title\": ")
        .is_bad("no JSON");
    api.post("/memories", &json!([])).is_bad("a JSON object");
    api.post_nothing("/memories").is_bad("`title` is missing");
    assert_eq!(api.get("/memories").done(200).body["total"], 0);
}

#[test]
fn values_at_the_limits_are_taken() {
    let api = Api::start();
    let tags: Vec<String> = (0..50).map(|n| format!("{n:0>128}")).collect();
    let body = json!({
        "title": "t".repeat(512),
        "content": "c".repeat(65_536),
        "namespace": "n".repeat(128),
        "tags": tags,
        "priority": 10,
        "confidence": 0.0,
        "ttl_secs": 31_536_000,
    });
    let memory = api.memory(&api.make(&body));
    for field in [
        "title",
        "content",
        "namespace",
        "tags",
        "priority",
        "confidence",
    ] {
        assert_eq!(memory[field], body[field], "{field}");
    }
}

#[test]
fn the_same_title_and_namespace_replace_the_content() {
    let api = Api::start();
    let id = api.make(&json!({"title": "Port", "content": "It is 9077.", "tags": ["net"]}));
    let again = json!({"title": "Port", "content": "It is 9078.", "priority": 9, "tags": ["now"]});
    let said = api.post("/memories", &again).done(201);
    assert_eq!(
        (said.id(), &said.body["action"]),
        (id.clone(), &json!("updated"))
    );
    let memory = api.memory(&id);
    assert_eq!(memory["content"], "It is 9078.");
    assert_eq!(
        (&memory["priority"], &memory["tags"]),
        (&json!(9), &json!(["net", "now"]))
    );
    let archive = api.get("/archive").done(200);
    assert_eq!(archive.texts("archived", "content"), ["It is 9077."]);
    // Another namespace is another memory.
    let other = json!({"title": "Port", "content": "It is 80.", "namespace": "web"});
    assert_ne!(api.make(&other), id);
}

#[test]
fn what_a_new_memory_may_contradict_is_named() {
    let api = Api::start();
    let one = api.make(&json!({
        "title": "Port of atlas", "content": "Atlas listens on port 8080.",
    }));
    let other = json!({"title": "Port of atlas now", "content": "Atlas listens on port 9090."});
    let said = api.post("/memories", &other).done(201).body;
    assert_eq!(said["potential_contradictions"], json!([one]));
}

#[test]
fn a_memory_is_read_with_its_links_by_its_id_or_a_beginning_of_it() {
    let store = TestStore::new();
    for handle in ["abcd0001", "abcd0002"] {
        let text = memory_text(handle, "2026-01-14T09:15:00Z", "Text.");
        store.put(&format!("20260114_091500_{handle}.md"), text);
    }
    let api = Api::on(store);
    let said = api.get("/memories/abcd0001").done(200).body;
    assert_eq!(
        (&said["memory"]["id"], &said["links"]),
        (&json!("abcd0001"), &json!([]))
    );
    api.get("/memories/abcd000").is_bad("abcd0002");
    assert_eq!(api.memory("20260114_091500_abcd0002")["id"], "abcd0002");
    api.get("/memories/ffffffff").is_not_there();
    let path = |length: usize| format!("/memories/{}", "a".repeat(length));
    api.get(&path(128)).is_not_there();
    let long = path(129);
    api.get(&long).is_bad("at most 128");
    api.delete(&long).is_bad("at most 128");
    api.put(&long, &json!({"content": "x"}))
        .is_bad("at most 128");
    api.post_nothing(&format!("{long}/promote"))
        .is_bad("at most 128");
    api.get("/memories/%00%00%00%00").is_bad("null bytes");
    api.get("/memories/%FF%FE").is_bad("UTF-8");
}

#[test]
fn only_what_is_given_changes() {
    let api = Api::start();
    let id = api.make(&json!({"title": "One", "content": "Old.", "tags": ["a"], "priority": 3}));
    let path = format!("/memories/{id}");
    let before = api.memory(&id);
    let change = json!({
        "content": "Updated content",
        "priority": 8,
        "expires_at": "2096-06-01T00:00:00Z",
    });
    let after = api.put(&path, &change).done(200).body;
    assert_eq!(after["content"], "Updated content");
    assert_eq!(
        (&after["priority"], &after["expires_at"]),
        (&json!(8), &json!("2096-06-01T00:00:00+00:00"))
    );
    for field in [
        "id",
        "title",
        "tags",
        "tier",
        "namespace",
        "confidence",
        "created_at",
    ] {
        assert_eq!(after[field], before[field], "{field}");
    }
    assert_eq!(api.put(&path, &json!({})).done(200).body["updated"], false);
    // What the memory is shown with can be given back; what nobody sets is passed over.
    let mut whole = api.memory(&id);
    whole["content"] = json!("As it was shown.");
    let said = api.put(&path, &whole).done(200).body;
    assert_eq!(said["content"], "As it was shown.");
    assert_eq!(said["created_at"], before["created_at"]);
    whole["title"] = json!("A copy");
    whole["metadata"] = json!({});
    assert_ne!(api.make(&whole), id);
    // A tier that is stated holds, down as well as up; the highest takes the end away.
    let short = api.put(&path, &json!({"tier": "short"})).done(200).body;
    assert_eq!(short["tier"], "short");
    let end = short["expires_at"].as_str().unwrap();
    assert!(short["note"].as_str().unwrap().contains(end), "{short}");
    let long = api.put(&path, &json!({"tier": "long"})).done(200).body;
    assert_eq!(
        (&long["tier"], &long["expires_at"]),
        (&json!("long"), &Value::Null)
    );
    api.make(&json!({"title": "Two", "content": "x"}));
    api.put(&path, &json!({"title": "Two"}))
        .is_conflict("is taken");
    api.put(&path, &json!({"title": ""}))
        .is_bad("cannot be empty");
    api.put(&path, &json!({"priority": 11}))
        .is_bad("from 1 to 10");
    api.put(&path, &json!({"expires_at": "2020-01-01T00:00:00Z"}))
        .is_bad("in the past");
    api.put(&path, &json!({"id": "ffffffff"}))
        .is_bad("stands in the address");
    api.put("/memories/ffffffff", &json!({"content": "x"}))
        .is_not_there();
}

#[test]
fn arguments_in_the_wrong_place_are_refused_and_nothing_is_done() {
    let api = Api::start();
    let id = api.make(&json!({"title": "Giraffe", "content": "Text."}));
    let path = format!("/memories/{id}");
    let gone = api.make(&json!({"title": "Gone", "content": "Text."}));
    api.delete(&format!("/memories/{gone}")).done(200);
    for (method, path, body) in [
        (
            "DELETE",
            "/archive",
            r#"{"dry_run":true,"older_than_days":0}"#,
        ),
        ("DELETE", path.as_str(), r#"{"dry_run":true}"#),
        ("GET", path.as_str(), r#"{"limit":1}"#),
        ("POST", "/forget?dry_run=true", r#"{"pattern":"giraffe"}"#),
        ("POST", "/gc?dry_run=true", ""),
        ("POST", "/undo?dry_run=true", "{}"),
        (
            "POST",
            "/memories?tier=long",
            r#"{"title":"Two","content":"x"}"#,
        ),
        ("PUT", &format!("{path}?priority=9"), r#"{"title":"New"}"#),
    ] {
        let said = api.ask(method, path, body.as_bytes());
        assert_eq!(said.status, 400, "{method} {path}: {said:?}");
        let why = said.body["error"].to_string();
        assert!(why.contains("arguments"), "{why}");
    }
    // A flag without a value was meant to say something.
    for path in ["/archive?dry_run", "/archive?dry_run="] {
        api.delete(path).is_bad("`dry_run` must be true or false");
    }
    assert_eq!(api.memory(&id)["title"], "Giraffe");
    let archived = api.get("/archive").done(200).body;
    assert!(archived.to_string().contains(&gone), "{archived}");
    // What says nothing is no argument.
    api.ask("DELETE", &path, b"{}").done(200);
}

#[test]
fn what_is_deleted_is_in_the_archive() {
    let api = Api::start();
    let id = api.make(&json!({"title": "One", "content": "Text."}));
    let path = format!("/memories/{id}");
    assert_eq!(api.delete(&path).done(200).body["deleted"], true);
    api.get(&path).is_not_there();
    api.delete(&path).is_not_there();
    assert_eq!(api.get("/archive").done(200).texts("archived", "id"), [id]);
}

#[test]
fn a_promoted_memory_never_ends() {
    let api = Api::start();
    let id = api.make(&json!({"title": "One", "content": "Text.", "tier": "short"}));
    let said = api
        .post_nothing(&format!("/memories/{id}/promote"))
        .done(200);
    assert_eq!(said.body["promoted"], true);
    let memory = api.memory(&id);
    assert_eq!(
        (&memory["tier"], &memory["expires_at"]),
        (&json!("long"), &Value::Null)
    );
    api.post("/memories/ffffffff/promote", &json!({}))
        .is_not_there();
}

#[test]
fn links_lead_from_one_memory_to_another() {
    let api = Api::start();
    let make = |title: &str| api.make(&json!({"title": title, "content": "Text."}));
    let (one, two, three) = (make("One"), make("Two"), make("Three"));
    let link = |source: &str, target: &str, relation: Option<&str>| {
        api.post(
            "/links",
            &json!({"source_id": source, "target_id": target, "relation": relation}),
        )
    };
    assert_eq!(link(&one, &two, None).done(201).body["linked"], true);
    assert_eq!(link(&one, &two, None).done(201).body["existed"], true);
    for relation in ["supersedes", "contradicts", "derived_from"] {
        link(&two, &three, Some(relation)).done(201);
    }
    let links = api.get(&format!("/links/{two}")).done(200);
    assert_eq!(links.body["count"], 4);
    let mut relations = links.texts("links", "relation");
    relations.sort();
    assert_eq!(
        relations,
        ["contradicts", "derived_from", "related_to", "supersedes"]
    );
    assert_eq!(
        links.body["links"],
        api.get(&format!("/memories/{two}")).body["links"]
    );
    link(&one, &two, Some("likes")).is_bad("invalid relation");
    link(&one, &one, None).is_bad("to itself");
    link(&one, "ffffffff", None).is_not_there();
    link("ffffffff", &one, None).is_not_there();
    link(&"a".repeat(129), &one, None).is_bad("at most 128");
    api.post("/links", &json!({"source_id": one}))
        .is_bad("`target_id` is missing");
    api.get("/links/ffffffff").is_not_there();
    // A memory that is gone has no links, and leaves none.
    api.delete(&format!("/memories/{one}")).done(200);
    let left = api.get(&format!("/links/{two}")).done(200);
    assert!(
        !left
            .texts("links", "relation")
            .contains(&"related_to".to_owned())
    );
}

#[test]
fn the_store_is_told_in_numbers() {
    let api = Api::start();
    for (title, tier, namespace) in [
        ("One", "long", "my-app"),
        ("Two", "long", "my-app"),
        ("Three", "mid", "other"),
    ] {
        let body = json!({"title": title, "content": "x", "tier": tier, "namespace": namespace});
        api.make(&body);
    }
    api.make(&json!({"title": "Four", "content": "x", "namespace": "my-app", "ttl_secs": 600}));
    let stats = api.get("/stats").done(200).body;
    assert_eq!(stats["total"], 4);
    let tiers = json!([
        {"tier": "long", "count": 2}, {"tier": "mid", "count": 2}, {"tier": "short", "count": 0},
    ]);
    assert_eq!(stats["by_tier"], tiers);
    let namespaces = json!([
        {"namespace": "my-app", "count": 3}, {"namespace": "other", "count": 1},
    ]);
    assert_eq!(stats["by_namespace"], namespaces);
    assert_eq!(
        (&stats["expiring_soon"], &stats["links_count"]),
        (&json!(1), &json!(0))
    );
    assert!(stats["db_size_bytes"].as_u64().unwrap() > 0);
    let said = api.get("/namespaces").done(200).body;
    assert_eq!(said, json!({"namespaces": namespaces}));
}

#[test]
fn a_store_that_can_only_be_read_refuses_to_be_changed() {
    let store = TestStore::new();
    let text = memory_text("abcd0001", "2026-01-14T09:15:00Z", "Text.");
    store.put("20260114_091500_abcd0001.md", text);
    let api = Api::with(store, &["--read-only"]);
    let one = json!({"title": "One", "content": "Text."});
    let of = |path: &str| format!("/memories/abcd0001{path}");
    let link = json!({"source_id": "abcd0001", "target_id": "abcd0001"});
    for said in [
        api.post("/memories", &one),
        api.post("/memories/bulk", &json!([one])),
        api.put(&of(""), &json!({"content": "x"})),
        api.delete(&of("")),
        api.post_nothing(&of("/promote")),
        api.post("/forget", &json!({"pattern": "text"})),
        api.post_nothing("/gc"),
        api.post("/import", &json!({"memories": [one]})),
        api.delete("/archive"),
    ] {
        said.is_conflict("can only be read");
    }
    api.post("/links", &link).is_bad("to itself");
    let found = api.get("/recall?context=text").done(200);
    assert_eq!(found.texts("memories", "id"), ["abcd0001"]);
    assert_eq!(api.get("/export").done(200).body["count"], 1);
    assert_eq!(api.get("/health").done(200).body["status"], "ok");
}

#[test]
fn what_get_answers_is_taken_as_it_is() {
    let api = Api::start();
    let id = api.make(&json!({"title": "One", "content": "Text.", "tier": "long"}));
    let other = api.make(&json!({"title": "Two", "content": "Words.", "tier": "long"}));
    let link = json!({"source_id": id, "target_id": other});
    api.post("/links", &link).done(201);
    let path = format!("/memories/{id}");
    let mut got = api.get(&path).done(200).body;
    assert_eq!(got["links"].as_array().unwrap().len(), 1);
    let put = api.put(&path, &got).done(200).body;
    assert_eq!(put["content"], "Text.", "{put}");
    got["memory"]["content"] = json!("New text.");
    assert_eq!(api.put(&path, &got).done(200).body["updated"], true);
    assert_eq!(api.memory(&id)["content"], "New text.");
    got["memory"]["title"] = json!("Three");
    let posted = api.post("/memories", &got).done(201);
    assert_eq!(posted.body["title"], "Three");
    got["memory"]["title"] = json!("Four");
    let many = api.post("/memories/bulk", &json!([got])).done(200).body;
    assert_eq!(many["created"], 1, "{many}");
    // What stands in it and beside it is not guessed.
    got["title"] = json!("Five");
    let refused = api.put(&path, &got).done(400).body;
    assert!(
        refused.to_string().contains("`title` stands in"),
        "{refused}"
    );
}
