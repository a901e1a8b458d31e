//! The prefixed tool set: many memories at once, lives, the archive, links and standards.

use serde_json::{Value, json};

use super::ai_memory::{get, is_invalid, json_of, open, refused, store, text_of};
use crate::support::program::Home;
use crate::support::session::Session;

fn seconds_left(memory: &Value) -> i64 {
    let at = memory["expires_at"].as_str().expect("it ends");
    let at = chrono::DateTime::parse_from_rfc3339(at).unwrap().to_utc();
    (at - chrono::Utc::now()).num_seconds()
}

#[test]
fn a_use_never_shortens_a_life() {
    let home = Home::new();
    let mut session = open(&home);
    let id = store(&mut session, "Port", "It is 8080.", json!({}));
    let before = get(&mut session, &id)["expires_at"].clone();
    text_of(&mut session, "recall", json!({"context": "port"}));
    let memory = get(&mut session, &id);
    assert_eq!(memory["expires_at"], before);
    assert_eq!(memory["access_count"], 1);
    assert!(seconds_left(&memory) > 6 * 24 * 3600);
}

#[test]
fn hundreds_of_recalls_in_a_day_make_nothing_permanent() {
    let home = Home::new();
    let mut session = open(&home);
    let id = store(&mut session, "Port", "It is 8080.", json!({"priority": 4}));
    for _ in 0..20 {
        text_of(&mut session, "recall", json!({"context": "port"}));
    }
    let memory = get(&mut session, &id);
    assert_eq!(
        (&memory["tier"], &memory["access_count"]),
        (&json!("mid"), &json!(20))
    );
    assert_eq!(memory["priority"], 6, "every tenth use adds one");
    let searched = json_of(
        &mut session,
        "search",
        json!({"query": "port", "format": "json"}),
    );
    assert_eq!(
        searched["results"][0]["access_count"], 20,
        "a search is no use"
    );
}

#[test]
fn uses_count_as_uses_and_raise_no_confidence() {
    let home = Home::new();
    let mut session = open(&home);
    let rumour = json!({"confidence": 0.3, "tags": ["tree"]});
    let id = store(&mut session, "Rumour", "The oak may be felled.", rumour);
    let search = json!({"query": "oak", "format": "json"});
    let before = json_of(&mut session, "search", search.clone())["results"][0].clone();
    for _ in 0..5 {
        text_of(&mut session, "recall", json!({"context": "oak"}));
    }
    let memory = get(&mut session, &id);
    assert_eq!(memory["confidence"], 0.3);
    assert_eq!(memory["access_count"], 5);
    // Each use adds a tenth, and nothing by way of the confidence.
    let after = json_of(&mut session, "search", search)["results"][0].clone();
    let risen = after["score"].as_f64().unwrap() - before["score"].as_f64().unwrap();
    assert!((risen - 0.5).abs() < 0.01, "{risen}");
}

#[test]
fn a_ttl_is_a_life_of_its_own() {
    let home = Home::new();
    let mut session = open(&home);
    let id = store(
        &mut session,
        "Port",
        "It is 8080.",
        json!({"ttl_secs": 7200}),
    );
    let left = seconds_left(&get(&mut session, &id));
    assert!((7000..=7200).contains(&left), "{left}");
    let said = json_of(&mut session, "promote", json!({"id": id}));
    assert_eq!(said, json!({"promoted": true, "id": id, "tier": "long"}));
    let memory = get(&mut session, &id);
    assert_eq!(
        (&memory["tier"], &memory["expires_at"]),
        (&json!("long"), &Value::Null)
    );
}

/// The fault of contradictions that are none.
#[test]
fn only_claims_against_each_other_are_told() {
    let home = Home::new();
    let mut session = open(&home);
    let one = store(
        &mut session,
        "Port of atlas",
        "Atlas listens on port 8080.",
        json!({}),
    );
    let said = json_of(
        &mut session,
        "store",
        json!({
            "title": "Port of atlas now", "content": "Atlas listens on port 9090.",
        }),
    );
    assert_eq!(said["potential_contradictions"], json!([one]));
    let said = json_of(
        &mut session,
        "store",
        json!({
            "title": "Port of atlas in tests", "content": "Tests of atlas draw a free one.",
        }),
    );
    assert_eq!(said.get("potential_contradictions"), None, "{said}");
}

#[test]
fn nothing_goes_past_the_archive() {
    let home = Home::new();
    let mut session = open(&home);
    let id = store(&mut session, "Port", "It is 8080.", json!({}));
    let said = json_of(&mut session, "delete", json!({"id": id}));
    assert_eq!(said, json!({"deleted": true, "id": id, "archived": true}));
    assert_eq!(
        refused(&mut session, "get", json!({"id": id})).0,
        "NOT_FOUND"
    );
    assert_eq!(
        refused(&mut session, "delete", json!({"id": id})).0,
        "NOT_FOUND"
    );
    let stats = json_of(&mut session, "archive_stats", json!({}));
    assert_eq!(stats["archived_total"], 1);
    assert_eq!(
        stats["by_namespace"],
        json!([{"namespace": "global", "count": 1}])
    );
    assert!(stats["size_bytes"].as_u64().unwrap() > 50);
    let listed = json_of(&mut session, "archive_list", json!({"namespace": "global"}));
    assert_eq!(listed["archived"][0]["archive_reason"], "forget");
    assert_eq!(
        json_of(&mut session, "archive_list", json!({"namespace": "x"}))["count"],
        0
    );
    let said = json_of(&mut session, "archive_restore", json!({"id": id}));
    assert_eq!(said, json!({"restored": true, "id": id}));
    assert_eq!(get(&mut session, &id)["content"], "It is 8080.");
    assert_eq!(
        refused(&mut session, "archive_restore", json!({"id": id})).0,
        "NOT_FOUND"
    );
}

#[test]
fn the_archive_is_purged_only_as_far_as_asked() {
    let home = Home::new();
    let mut session = open(&home);
    let id = store(&mut session, "Port", "It is 8080.", json!({}));
    json_of(&mut session, "delete", json!({"id": id}));
    let old = json_of(&mut session, "archive_purge", json!({"older_than_days": 1}));
    assert_eq!(old["purged"], 0);
    let shown = json_of(&mut session, "archive_purge", json!({"dry_run": true}));
    assert_eq!(
        (&shown["purged"], &shown["would_purge"]),
        (&json!(0), &json!(1))
    );
    let said = json_of(&mut session, "archive_purge", json!({}));
    assert_eq!(said["purged"], 1);
    assert_eq!(
        json_of(&mut session, "archive_stats", json!({}))["archived_total"],
        0
    );
}

#[test]
fn many_are_forgotten_by_what_they_are() {
    let home = Home::new();
    let mut session = open(&home);
    store(
        &mut session,
        "One",
        "The old api is deprecated.",
        json!({"namespace": "app", "tier": "short"}),
    );
    store(
        &mut session,
        "Two",
        "The api is deprecated.",
        json!({"namespace": "app", "tier": "long"}),
    );
    store(
        &mut session,
        "Three",
        "The api is deprecated.",
        json!({"namespace": "other", "tier": "short"}),
    );
    is_invalid(&mut session, "forget", json!({}), "at least one");
    is_invalid(
        &mut session,
        "forget",
        json!({"pattern": " ", "dry_run": true}),
        "at least one",
    );
    let arguments = json!({"namespace": "app", "pattern": "deprecated API", "tier": "short"});
    let mut shown = arguments.clone();
    shown["dry_run"] = json!(true);
    let shown = json_of(&mut session, "forget", shown);
    assert_eq!(
        (&shown["deleted"], &shown["would_delete"]),
        (&json!(0), &json!(1))
    );
    let said = json_of(&mut session, "forget", arguments);
    assert_eq!((&said["deleted"], &said["ids"]), (&json!(1), &shown["ids"]));
    let said = json_of(&mut session, "forget", json!({"tier": "long"}));
    assert_eq!(said["deleted"], 1);
    assert_eq!(
        json_of(&mut session, "archive_stats", json!({}))["archived_total"],
        2
    );
}

#[test]
fn what_has_ended_is_collected() {
    let home = Home::new();
    // Ended, and so lately that a server does not touch it unasked.
    let at = chrono::Utc::now() - chrono::TimeDelta::hours(10);
    let text = crate::support::memory_text("abcd1111", &at.to_rfc3339(), "Gone.");
    home.put(
        &format!("{}_abcd1111.md", at.format("%Y%m%d_%H%M%S")),
        text.replace("\n---\n\n", "\ntier: short\n---\n\n"),
    );
    let mut session = open(&home);
    assert_eq!(
        json_of(&mut session, "gc", json!({"dry_run": true}))["would_delete"],
        1
    );
    let said = json_of(&mut session, "gc", json!({}));
    assert_eq!(
        (&said["expired_deleted"], &said["ids"]),
        (&json!(1), &json!(["abcd1111"]))
    );
    let listed = json_of(&mut session, "archive_list", json!({}));
    assert_eq!(listed["archived"][0]["archive_reason"], "gc");
}

#[test]
fn links_have_the_four_words() {
    let home = Home::new();
    let mut session = open(&home);
    let one = store(&mut session, "One", "First.", json!({}));
    let two = store(&mut session, "Two", "Second.", json!({}));
    let link = |relation: &str| json!({"source_id": one, "target_id": two, "relation": relation});
    for relation in ["related_to", "contradicts", "derived_from", "supersedes"] {
        let said = json_of(&mut session, "link", link(relation));
        assert_eq!(
            (&said["linked"], &said["relation"], &said["existed"]),
            (&json!(true), &json!(relation), &json!(false))
        );
    }
    assert_eq!(
        json_of(
            &mut session,
            "link",
            json!({"source_id": one, "target_id": two})
        )["existed"],
        true
    );
    let said = json_of(&mut session, "get_links", json!({"id": two}));
    assert_eq!(said["count"], 4);
    let links = said["links"].as_array().unwrap();
    let mut words: Vec<&str> = links
        .iter()
        .map(|link| link["relation"].as_str().unwrap())
        .collect();
    words.sort_unstable();
    assert_eq!(
        words,
        ["contradicts", "derived_from", "related_to", "supersedes"]
    );
    assert!(
        links
            .iter()
            .all(|link| link["source_id"] == json!(one) && link["target_id"] == json!(two))
    );
    let whole = json_of(&mut session, "get", json!({"id": one}));
    assert_eq!(whole["links"].as_array().unwrap().len(), 4);
    is_invalid(
        &mut session,
        "link",
        json!({"source_id": one, "target_id": one}),
        "itself",
    );
    is_invalid(
        &mut session,
        "link",
        link("likes"),
        "must be one of related_to",
    );
    let (code, _) = refused(
        &mut session,
        "link",
        json!({"source_id": one, "target_id": "ffffffff"}),
    );
    assert_eq!(code, "NOT_FOUND");
}

#[test]
fn several_become_one_and_go_to_the_archive() {
    let home = Home::new();
    let mut session = open(&home);
    let one = store(
        &mut session,
        "JWT",
        "Tokens are refreshed.",
        json!({"tags": ["a", "b"], "priority": 3, "namespace": "app"}),
    );
    let two = store(
        &mut session,
        "RBAC",
        "Roles are checked.",
        json!({"tags": ["b", "c"], "priority": 9, "namespace": "app"}),
    );
    let said = json_of(
        &mut session,
        "consolidate",
        json!({
            "ids": [one, two], "title": "Auth system summary",
            "summary": "JWT with refresh tokens, RBAC middleware.", "namespace": "my-app", "tier": "long",
        }),
    );
    assert_eq!(
        (&said["consolidated"], &said["summary_by"]),
        (&json!(2), &json!("caller"))
    );
    let memory = get(&mut session, said["id"].as_str().unwrap());
    for (key, value) in [
        ("title", json!("Auth system summary")),
        (
            "content",
            json!("JWT with refresh tokens, RBAC middleware."),
        ),
        ("namespace", json!("my-app")),
        ("tier", json!("long")),
        ("priority", json!(9)),
        ("tags", json!(["b", "a", "c"])),
    ] {
        assert_eq!(memory[key], value, "{key}");
    }
    let archived = json_of(&mut session, "archive_list", json!({}));
    assert_eq!(archived["count"], 2);
    // Without a summary it is made of what they say.
    let one = store(
        &mut session,
        "One",
        "The port is 8080.",
        json!({"namespace": "x"}),
    );
    let two = store(
        &mut session,
        "Two",
        "The host is atlas.",
        json!({"namespace": "x"}),
    );
    let said = json_of(
        &mut session,
        "consolidate",
        json!({"ids": [one, two], "title": "Both"}),
    );
    assert_eq!(said["summary_by"], "sentences");
    let memory = get(&mut session, said["id"].as_str().unwrap());
    let content = memory["content"].as_str().unwrap();
    assert!(
        content.contains("8080") && content.contains("atlas"),
        "{content}"
    );
    assert_eq!(memory["namespace"], "x");
    let id = said["id"].clone();
    is_invalid(
        &mut session,
        "consolidate",
        json!({"ids": [id], "title": "x"}),
        "from 2 to 100",
    );
    is_invalid(
        &mut session,
        "consolidate",
        json!({"ids": vec!["a"; 101], "title": "x"}),
        "from 2 to 100",
    );
    is_invalid(
        &mut session,
        "consolidate",
        json!({"ids": [id, id]}),
        "title",
    );
    let (code, _) = refused(
        &mut session,
        "consolidate",
        json!({"ids": [id, "ffffffff"], "title": "x"}),
    );
    assert_eq!(code, "NOT_FOUND");
}

#[test]
fn standards_stand_first() {
    let home = Home::new();
    let mut session = open(&home);
    let rule = store(
        &mut session,
        "Rules",
        "Tabs, never spaces.",
        json!({"namespace": "app"}),
    );
    let all = store(&mut session, "For all", "Be kind.", json!({}));
    let new = store(
        &mut session,
        "Port",
        "It is 8080.",
        json!({"namespace": "app"}),
    );
    let said = json_of(
        &mut session,
        "namespace_set_standard",
        json!({"namespace": "app", "id": rule}),
    );
    assert_eq!(
        said,
        json!({"set": true, "namespace": "app", "standard_id": rule})
    );
    json_of(
        &mut session,
        "namespace_set_standard",
        json!({"namespace": "global", "id": all}),
    );
    let said = json_of(
        &mut session,
        "namespace_get_standard",
        json!({"namespace": "app"}),
    );
    assert_eq!(
        (&said["standard_id"], &said["content"]),
        (&json!(rule), &json!("Tabs, never spaces."))
    );
    assert_eq!(
        said["inherited"],
        json!([{"namespace": "global", "id": all}])
    );
    let ids = |said: Value| -> Vec<String> {
        let rows = said["memories"].as_array().unwrap().clone();
        rows.iter()
            .map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    let started = json_of(
        &mut session,
        "session_start",
        json!({"namespace": "app", "format": "json"}),
    );
    assert_eq!(
        (&started["standards"], &started["mode"]),
        (&json!(2), &json!("session_start"))
    );
    assert_eq!(ids(started), [all.clone(), rule.clone(), new.clone()]);
    let recalled = json_of(
        &mut session,
        "recall",
        json!({"context": "port", "namespace": "app", "format": "json"}),
    );
    assert_eq!(ids(recalled), [all.clone(), rule.clone(), new.clone()]);
    assert_eq!(
        get(&mut session, &rule)["access_count"],
        0,
        "what is always there is not used"
    );
    let everywhere = json_of(
        &mut session,
        "recall",
        json!({"context": "port", "format": "json"}),
    );
    assert_eq!(ids(everywhere), [new]);
    let said = json_of(
        &mut session,
        "namespace_clear_standard",
        json!({"namespace": "app"}),
    );
    assert_eq!(
        (&said["cleared"], &said["ids"]),
        (&json!(true), &json!([rule]))
    );
    let again = json_of(
        &mut session,
        "namespace_clear_standard",
        json!({"namespace": "app"}),
    );
    assert_eq!(again["cleared"], false);
    is_invalid(
        &mut session,
        "namespace_set_standard",
        json!({"namespace": "a b", "id": rule}),
        "namespace cannot contain",
    );
}

#[test]
fn the_numbers_add_up() {
    let home = Home::new();
    let mut session = open(&home);
    let one = store(
        &mut session,
        "One",
        "First.",
        json!({"tier": "long", "namespace": "app"}),
    );
    let two = store(
        &mut session,
        "Two",
        "Second.",
        json!({"tier": "short", "ttl_secs": 600}),
    );
    json_of(
        &mut session,
        "link",
        json!({"source_id": one, "target_id": two}),
    );
    let said = json_of(&mut session, "stats", json!({}));
    assert_eq!(said["total"], 2);
    assert_eq!(
        said["by_tier"],
        json!([
            {"tier": "long", "count": 1}, {"tier": "mid", "count": 0}, {"tier": "short", "count": 1},
        ])
    );
    assert_eq!(
        said["by_namespace"],
        json!([
            {"namespace": "app", "count": 1}, {"namespace": "global", "count": 1},
        ])
    );
    assert_eq!(
        (&said["expiring_soon"], &said["links_count"]),
        (&json!(1), &json!(1))
    );
    assert!(said["db_size_bytes"].as_u64().unwrap() > 200);
}

#[test]
fn a_server_without_a_model_says_so_and_answers_all_the_same() {
    let home = Home::new();
    let mut session = open(&home);
    let said = json_of(&mut session, "capabilities", json!({}));
    assert_eq!(
        (&said["tier"], &said["models"]["llm"]),
        (&json!("semantic"), &json!("none"))
    );
    assert_eq!(said["features"]["auto_tagging"], false);
    store(
        &mut session,
        "One",
        "Deploys of atlas run by jenkins.",
        json!({"tags": ["jenkins"]}),
    );
    store(
        &mut session,
        "Two",
        "Deploys of borealis run by jenkins.",
        json!({"tags": ["ci"]}),
    );
    let said = json_of(&mut session, "expand_query", json!({"query": "deploys"}));
    assert_eq!(
        (&said["original"], &said["by"]),
        (&json!("deploys"), &json!("index"))
    );
    let terms: Vec<&str> = said["expanded_terms"]
        .as_array()
        .unwrap()
        .iter()
        .map(|term| term.as_str().unwrap())
        .collect();
    assert!(
        terms.contains(&"jenkins") && !terms.contains(&"deploys"),
        "{said}"
    );
    let id = store(
        &mut session,
        "Three",
        "What jenkins did yesterday.",
        json!({"tags": ["old"]}),
    );
    let said = json_of(&mut session, "auto_tag", json!({"id": id}));
    assert_eq!(said["proposed_tags"], json!(["jenkins"]), "{said}");
    assert_eq!(
        (&said["new_tags"], &said["tags"]),
        (&json!([]), &json!(["old"]))
    );
    assert_eq!(get(&mut session, &id)["tags"], json!(["old"]));
    let one = store(
        &mut session,
        "Port",
        "Atlas listens on port 8080.",
        json!({"namespace": "a"}),
    );
    let two = store(
        &mut session,
        "Port",
        "Atlas listens on port 9090.",
        json!({"namespace": "b"}),
    );
    let said = json_of(
        &mut session,
        "detect_contradiction",
        json!({"id_a": one, "id_b": two}),
    );
    assert_eq!(
        (&said["contradicts"], &said["by"]),
        (&json!(true), &json!("index"))
    );
    assert!(said["note"].as_str().unwrap().contains("no language model"));
    let said = json_of(
        &mut session,
        "detect_contradiction",
        json!({"id_a": one, "id_b": id}),
    );
    assert_eq!(said["contradicts"], false);
    is_invalid(
        &mut session,
        "detect_contradiction",
        json!({"id_a": one, "id_b": one}),
        "itself",
    );
    let command = home.command(&["mcp", "--dialect", "ai-memory", "--tier", "keyword"]);
    let said = json_of(&mut Session::open_on(command), "capabilities", json!({}));
    assert_eq!(said["tier"], "keyword");
}

#[test]
fn a_title_is_taken_once_however_many_want_it() {
    let home = Home::new();
    let (mut one, mut other) = (open(&home), open(&home));
    for round in 0..10 {
        let title = format!("Wanted {round}");
        let id = store(&mut one, &format!("First {round}"), "One.", json!({}));
        let wanted = json!({"id": id, "title": title});
        one.call("update", "memory_update", wanted);
        let wanted = json!({"title": title, "content": "Two."});
        other.call("store", "memory_store", wanted);
        let update = one.answer("update");
        assert!(other.answer("store")["result"]["isError"].is_null());
        let listed = json_of(&mut one, "list", json!({"limit": 200, "format": "json"}));
        let has = |memory: &&Value| memory["title"] == title.as_str();
        let titled = listed["memories"].as_array().unwrap().iter().filter(has);
        assert_eq!(titled.count(), 1, "{update}");
    }
}

#[test]
fn a_namespace_is_one_whatever_its_case() {
    let home = Home::new();
    let mut session = open(&home);
    let id = store(&mut session, "Port", "8000", json!({"namespace": "NsX"}));
    let again = store(&mut session, "port", "8001", json!({"namespace": "nsx"}));
    assert_eq!(id, again);
    let said = json_of(&mut session, "update", json!({"id": id, "title": "Port"}));
    assert_eq!(said["id"], id.as_str());
}

#[test]
fn a_standard_says_what_it_was_before_and_ends_with_its_life() {
    let home = Home::new();
    let mut session = open(&home);
    let id = store(&mut session, "Rules", "Be brief.", json!({}));
    let set = |session: &mut Session, namespace: &str| {
        json_of(
            session,
            "namespace_set_standard",
            json!({"namespace": namespace, "id": id}),
        )
    };
    assert!(set(&mut session, "global")["was_standard_of"].is_null());
    assert_eq!(set(&mut session, "atlas")["was_standard_of"], "global");
    home.put(
        "20260114_091500_c0000001.md",
        "---\nid: c0000001\ntimestamp: 2026-01-14T09:15:00\nagent: a\nuser: u\ntopics: []\n\
         expires: 2026-01-15\nmetadata:\n  standard_of: mill\n---\n\nOver.",
    );
    let said = json_of(
        &mut session,
        "namespace_get_standard",
        json!({"namespace": "mill"}),
    );
    assert!(!said.to_string().contains("c0000001"), "{said}");
}

#[test]
fn settings_of_the_original_that_want_deletion_are_refused_in_words() {
    let home = Home::in_folder("has settings of its own");
    let settings = ".config/ai-memory/config.toml";
    home.write(
        settings,
        "tier = \"smart\"\narchive_on_gc = false # save space\n",
    );
    let log = |more: &[(&str, &str)]| {
        let mut command = home.command(&["mcp", "--dialect", "ai-memory"]);
        command.envs(more.iter().copied());
        Session::open_on(command).log()
    };
    let said = log(&[]);
    assert_eq!(
        said.matches("config.toml is not followed").count(),
        1,
        "{said}"
    );
    assert_eq!(
        said.matches("`archive_on_gc = false` is refused").count(),
        1,
        "{said}"
    );
    assert!(!log(&[("AI_MEMORY_NO_CONFIG", "1")]).contains("archive_on_gc"));
    home.write(settings, "archive_on_gc = true\n# archive_on_gc = false\n");
    let said = log(&[]);
    assert!(
        said.contains("is not followed") && !said.contains("archive_on_gc"),
        "{said}"
    );
}

#[test]
fn entries_that_several_servers_set_at_once_are_all_there() {
    let home = Home::new();
    let mut servers = [(); 3].map(|()| {
        let mut command = home.command(&["mcp", "--dialect", "ai-memory"]);
        command.env("MEMDIR_RELAY", "off");
        Session::open_on(command)
    });
    let id = store(
        &mut servers[0],
        "Port",
        "8000",
        json!({"metadata": {"first": true}}),
    );
    for round in 0..6 {
        for (at, server) in servers.iter_mut().enumerate() {
            let metadata = json!({format!("k{at}x{round}"): round});
            let wanted = json!({"id": id, "metadata": metadata});
            server.call(format!("u{round}"), "memory_update", wanted);
        }
        for server in &mut servers {
            let said = server.answer(format!("u{round}"));
            assert!(said["result"]["isError"].is_null(), "{said}");
        }
    }
    let memory = json_of(&mut servers[0], "get", json!({"id": id}));
    let metadata = memory["memory"]["metadata"].as_object().unwrap();
    let set = metadata.keys().filter(|key| key.starts_with('k'));
    assert_eq!(set.count(), 18, "{memory}");
    assert_eq!(metadata["first"], true);
}
