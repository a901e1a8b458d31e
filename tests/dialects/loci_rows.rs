//! Memories of the typed set that replace others: who sees them, what they take over, what goes.

use serde_json::{Value, json};

use super::loci::{loci, store};
use crate::support::dialect::{done, open};
use crate::support::program::Home;
use crate::support::session::Session;

#[track_caller]
fn say(session: &mut Session, kind: &str, content: &str, more: Value) -> Value {
    let mut arguments = json!({"type": kind, "content": content});
    let entries = arguments.as_object_mut().unwrap();
    entries.extend(more.as_object().unwrap().clone());
    done(session, "store_memory", arguments)
}

#[track_caller]
fn inspect(session: &mut Session, id: &str) -> Value {
    done(session, "memory_inspect", json!({"memory_id": id}))
}

#[track_caller]
fn found(session: &mut Session, query: &str) -> Vec<String> {
    let said = done(session, "recall_memory", json!({"query": query}));
    let results = said["results"].as_array().unwrap().iter();
    results
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

#[track_caller]
fn relate(session: &mut Session, subject: &str, predicate: &str, object: &str) {
    let relation = json!({"subject_id": subject, "predicate": predicate, "object_id": object});
    done(session, "store_relation", relation);
}

/// The ids at the other ends of what is shown under a key.
fn ends(said: &Value, key: &str, end: &str) -> Vec<String> {
    let all = said[key].as_array().cloned().unwrap_or_default();
    let ids = all.iter().map(|one| one[end]["id"].as_str().unwrap());
    ids.map(str::to_owned).collect()
}

#[test]
fn what_is_current_again_is_named_and_what_is_gone_replaces_nothing() {
    let home = Home::new();
    let mut session = loci(&home);
    let mut ids: Vec<String> = Vec::new();
    for number in 0..4 {
        let more = match ids.last() {
            Some(before) => json!({"supersedes": before}),
            None => json!({}),
        };
        ids.push(store(
            &mut session,
            "semantic",
            &format!("Heron {number}."),
            more,
        ));
    }
    let said = done(&mut session, "forget_memory", json!({"memory_id": ids[1]}));
    assert_eq!(said["current_again"], Value::Null);
    assert_eq!(found(&mut session, "heron"), [ids[3].as_str()]);
    let by = inspect(&mut session, &ids[0])["memory"]["superseded_by"].clone();
    assert_eq!(by, ids[2].as_str());
    let said = done(&mut session, "forget_memory", json!({"memory_id": ids[3]}));
    assert_eq!(said["current_again"], json!([ids[2]]));
    let hard = json!({"memory_id": ids[2], "hard_delete": true});
    let said = done(&mut session, "forget_memory", hard);
    assert_eq!(said["current_again"], json!([ids[0]]));
    let by = inspect(&mut session, &ids[0])["memory"]["superseded_by"].clone();
    assert_eq!(by, Value::Null);
    let read = done(&mut session, "recall_memory", json!({"ids": [ids[0]]}));
    assert!(read["results"][0].get("superseded_by").is_none());
}

#[test]
fn what_replaces_a_memory_is_seen_by_whoever_saw_that_one() {
    let home = Home::new();
    let mut here = open(&home, "loci", &["--group", "here"]);
    let mut there = open(&home, "loci", &["--group", "there"]);
    let old = store(&mut here, "semantic", "The harbour is open.", json!({}));
    // An episodic memory would be of the group alone.
    let more = json!({"supersedes": old});
    let new = store(&mut here, "episodic", "The harbour was closed.", more);
    assert_eq!(found(&mut there, "harbour"), [new.as_str()]);

    let private = json!({"scope": "group"});
    let old = store(&mut here, "semantic", "The lighthouse key.", private);
    let more = json!({"supersedes": old});
    let new = store(&mut there, "semantic", "The lighthouse code.", more);
    assert_eq!(found(&mut here, "lighthouse"), [new.as_str()]);
    assert!(found(&mut there, "lighthouse").is_empty());

    let old = store(&mut here, "semantic", "The pier is long.", json!({}));
    let narrower = json!({"supersedes": old, "scope": "group"});
    let said = say(&mut here, "semantic", "The pier is short.", narrower);
    let warning = said["warnings"][0].as_str().unwrap();
    assert!(warning.contains("seen by everybody"), "{warning}");
    assert!(found(&mut there, "pier").is_empty());
}

#[test]
fn relations_show_nothing_that_the_group_does_not_see() {
    let home = Home::new();
    let mut here = open(&home, "loci", &["--group", "here"]);
    let mut there = open(&home, "loci", &["--group", "there"]);
    let named = json!({"metadata": {"name": "John Smith"}});
    let john = store(&mut here, "entity", "John Smith", named);
    let plan = store(
        &mut here,
        "entity",
        "The secret plan",
        json!({"scope": "group"}),
    );
    let acme = store(&mut here, "entity", "Acme Corp", json!({}));
    relate(&mut here, &john, "leads", &plan);
    relate(&mut here, &plan, "needs", &john);
    relate(&mut here, &john, "works_at", &acme);
    let shown = inspect(&mut here, &john);
    assert_eq!(
        ends(&shown, "relations", "object"),
        [plan.as_str(), acme.as_str()]
    );
    assert_eq!(ends(&shown, "incoming", "subject"), [plan.as_str()]);
    let read = json!({"ids": [john]});
    for said in [
        inspect(&mut there, &john),
        done(&mut there, "recall_memory", read)["results"][0].clone(),
        done(&mut there, "recall_memory", json!({"query": "John Smith"})),
    ] {
        let text = said.to_string();
        assert!(text.contains("Acme"), "{text}");
        assert!(!text.contains("secret") && !text.contains(&plan), "{text}");
    }
}

#[test]
fn a_corrected_entity_keeps_its_relations() {
    let home = Home::new();
    let mut session = loci(&home);
    let named = json!({"metadata": {"name": "John Smith"}});
    let john = store(&mut session, "entity", "John Smith is a manager", named);
    let acme = store(&mut session, "entity", "Acme Corp", json!({}));
    let mira = store(&mut session, "entity", "Mira", json!({}));
    relate(&mut session, &john, "works_at", &acme);
    relate(&mut session, &mira, "knows", &john);
    let more = json!({"supersedes": john, "metadata": {"name": "John Smith"}});
    let john = store(&mut session, "entity", "John Smith is a director", more);
    let more = json!({"supersedes": acme});
    let acme = store(&mut session, "entity", "Acme Limited", more);

    let shown = inspect(&mut session, &john);
    let expected = json!([
        {"predicate": "works_at", "object": {"id": acme, "preview": "Acme Limited"}},
    ]);
    assert_eq!(shown["relations"], expected);
    assert_eq!(ends(&shown, "incoming", "subject"), [mira.as_str()]);
    let shown = inspect(&mut session, &mira);
    assert_eq!(ends(&shown, "relations", "object"), [john.as_str()]);
    let stats = done(&mut session, "memory_stats", json!({}));
    assert_eq!(stats["entity_relations"], 2);
    let near = done(
        &mut session,
        "recall_memory",
        json!({"query": "John Smith"}),
    );
    let results = near["results"].as_array().unwrap();
    let related = results.iter().find(|one| one["id"] == acme.as_str());
    assert_eq!(related.unwrap()["related_to"], john.as_str());
    // Said again of the current ones it is the same relation.
    relate(&mut session, &john, "works_at", &acme);
    let shown = inspect(&mut session, &john);
    assert_eq!(ends(&shown, "relations", "object"), [acme.as_str()]);
    done(&mut session, "forget_memory", json!({"memory_id": mira}));
    let stats = done(&mut session, "memory_stats", json!({}));
    assert_eq!(stats["entity_relations"], 1);
}

#[test]
fn a_hard_delete_takes_the_earlier_texts_with_it() {
    let home = Home::in_folder("the command line works on a folder");
    let mut session = loci(&home);
    let id = store(
        &mut session,
        "semantic",
        "The badge number is 4711.",
        json!({}),
    );
    let other = store(&mut session, "semantic", "A heron stands still.", json!({}));
    let mut tier = open(&home, "ai-memory", &[]);
    let change = |id: &str, content: &str| json!({"id": id, "content": content});
    done(
        &mut tier,
        "memory_update",
        change(&id, "The badge is lost."),
    );
    done(&mut tier, "memory_update", change(&other, "A heron flies."));
    let hard = json!({"memory_id": id, "hard_delete": true});
    let said = done(&mut session, "forget_memory", hard);
    let earlier = said["earlier"].as_array().unwrap();
    assert_eq!(earlier.len(), 1, "{said}");
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("earlier"), "{message}");
    let archived = home.run(&["archived", "--json"]).json();
    let archived = archived["archived"].as_array().unwrap();
    assert_eq!(archived.len(), 1, "{archived:?}");
    assert!(!format!("{archived:?}").contains("4711"));
}

#[test]
fn inspect_says_what_has_expired() {
    let home = Home::new();
    home.put(
        "20260114_091501_1f3a9c02.md",
        "---\nid: 1f3a9c02\ntimestamp: 2026-01-14T09:15:01Z\nagent: a\nuser: u\ntopics: []\nexpires: 2026-01-15\n---\n\nLighthouse.",
    );
    let mut session = loci(&home);
    assert_eq!(inspect(&mut session, "1f3a9c02")["memory"]["expired"], true);
    let id = store(&mut session, "semantic", "A heron.", json!({}));
    assert_eq!(inspect(&mut session, &id)["memory"]["expired"], Value::Null);
}

#[test]
fn a_memory_is_created_once_in_its_log() {
    let home = Home::new();
    let mut session = loci(&home);
    let id = store(&mut session, "semantic", "A heron.", json!({}));
    let more = json!({"metadata": {"subject": "birds"}});
    assert_eq!(store(&mut session, "semantic", "A heron.", more), id);
    let asked = json!({"memory_id": id, "include_log": true});
    let log = done(&mut session, "memory_inspect", asked)["log"].clone();
    let operations = log.as_array().unwrap().iter().map(|one| &one["operation"]);
    let operations: Vec<&Value> = operations.collect();
    assert_eq!(json!(operations), json!(["create", "update"]));
}

#[test]
fn a_budget_leaves_room_for_a_beginning() {
    let home = Home::new();
    let mut session = loci(&home);
    let lines = store(&mut session, "semantic", &"line\n".repeat(6000), json!({}));
    let metadata = json!({"metadata": {"note": "much ".repeat(2000)}});
    let noted = store(&mut session, "semantic", "Herons stand still.", metadata);
    let mut read = |id: &str| {
        let asked = json!({"ids": [id], "token_budget": 1000});
        let said = done(&mut session, "recall_memory", asked);
        assert!(said["token_estimate"].as_u64().unwrap() <= 1000);
        said["results"][0].clone()
    };
    let cut = read(&lines);
    assert!(cut["content"].as_str().unwrap().len() > 3000, "{cut}");
    assert_eq!(cut["truncated"], true);
    let whole = read(&noted);
    assert_eq!(whole["content"], "Herons stand still.");
    assert_eq!(whole["omitted"], json!(["metadata"]));
}
