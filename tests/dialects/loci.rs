//! The typed set, tool by tool: what its specification shows, what it demands, what is refused.

use serde_json::{Value, json};

use crate::support::dialect::{done, open, refused};
use crate::support::program::Home;
use crate::support::session::Session;

/// A session of the typed set on the store of `home`.
pub fn loci(home: &Home) -> Session {
    open(home, "loci", &[])
}

/// Stores a memory and returns its id.
#[track_caller]
pub fn store(session: &mut Session, kind: &str, content: &str, more: Value) -> String {
    let mut arguments = json!({"type": kind, "content": content});
    let entries = arguments.as_object_mut().unwrap();
    entries.extend(more.as_object().unwrap().clone());
    let said = done(session, "store_memory", arguments);
    said["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn inspect(session: &mut Session, id: &str) -> Value {
    done(
        session,
        "memory_inspect",
        json!({"memory_id": id, "include_log": true}),
    )
}

/// The ids that a query finds, best first.
#[track_caller]
fn found(session: &mut Session, arguments: Value) -> Vec<String> {
    let said = done(session, "recall_memory", arguments);
    let results = said["results"].as_array().unwrap().iter();
    results
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

mod storing {
    use super::*;

    #[test]
    fn the_reply_is_the_one_of_the_specification() {
        let home = Home::new();
        let said = done(
            &mut loci(&home),
            "store_memory",
            json!({
                "content": "User prefers Rust over Go for systems programming",
                "type": "semantic",
                "metadata": {"category": "preference", "subject": "programming_language"},
            }),
        );
        let id = said["id"].as_str().unwrap();
        let expected =
            json!({"id": id, "type": "semantic", "deduplicated": false, "superseded": null});
        assert_eq!(said, expected);
        let text = home.text_of(id);
        for line in [
            "agent: old-client",
            "topics: [preference, programming_language]",
            "kind: semantic",
            "namespace: default",
            "scope: global",
        ] {
            assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
        }
    }

    #[test]
    fn metadata_of_every_type_comes_back_as_it_was_given() {
        let home = Home::new();
        let mut session = loci(&home);
        for (kind, metadata) in [
            (
                "episodic",
                json!({"event_date": "2026-02-21", "session_id": "sess_abc123", "summary": true}),
            ),
            (
                "semantic",
                json!({"category": "preference", "subject": "programming_language"}),
            ),
            (
                "procedural",
                json!({"trigger": "deployment", "steps": ["test", "build", "deploy", "verify"], "version": 2}),
            ),
            (
                "entity",
                json!({
                    "entity_type": "person",
                    "name": "John Smith",
                    "aliases": ["John", "JS"],
                    "properties": {"role": "engineering_manager", "team": "platform"},
                }),
            ),
            (
                "semantic",
                json!({"nothing": null, "deep": {"list": [1, 2.5, {"x": false}]}}),
            ),
        ] {
            let id = store(
                &mut session,
                kind,
                &format!("{metadata}"),
                json!({"metadata": metadata}),
            );
            let shown = inspect(&mut session, &id);
            assert_eq!(shown["memory"]["metadata"], metadata);
            assert_eq!(shown["memory"]["type"], kind);
            let scope = if kind == "episodic" {
                "group"
            } else {
                "global"
            };
            assert_eq!(shown["memory"]["scope"], scope);
        }
    }

    #[test]
    fn a_stated_scope_counts() {
        let home = Home::new();
        let mut session = loci(&home);
        let id = store(
            &mut session,
            "episodic",
            "Moved to Linz.",
            json!({"scope": "global"}),
        );
        assert_eq!(inspect(&mut session, &id)["memory"]["scope"], "global");
        let id = store(
            &mut session,
            "entity",
            "The red printer.",
            json!({"scope": "group"}),
        );
        assert_eq!(inspect(&mut session, &id)["memory"]["scope"], "group");
    }

    #[test]
    fn what_is_superseded_is_named_marked_and_no_longer_found() {
        let home = Home::new();
        let mut session = loci(&home);
        let old = store(
            &mut session,
            "semantic",
            "The database is MySQL.",
            json!({}),
        );
        let said = done(
            &mut session,
            "store_memory",
            json!({"type": "semantic", "content": "The database is Postgres.", "supersedes": old}),
        );
        assert_eq!(said["superseded"], old.as_str());
        let new = said["id"].as_str().unwrap();
        assert_eq!(found(&mut session, json!({"query": "database"})), [new]);
        assert_eq!(inspect(&mut session, &old)["memory"]["superseded_by"], new);
        let by_id = done(&mut session, "recall_memory", json!({"ids": [old]}));
        assert_eq!(by_id["results"][0]["content"], "The database is MySQL.");
        assert_eq!(by_id["results"][0]["superseded_by"], new);
    }

    #[test]
    fn bad_calls_are_refused_and_store_nothing() {
        let home = Home::new();
        let mut session = loci(&home);
        for (arguments, why) in [
            (json!({"type": "semantic"}), "`content` is missing"),
            (
                json!({"type": "semantic", "content": " "}),
                "`content` is missing",
            ),
            (json!({"content": "x"}), "`type` is missing"),
            (
                json!({"content": "x", "type": "fact"}),
                "none of episodic, semantic, procedural, entity",
            ),
            (
                json!({"content": "x", "type": "semantic", "scope": "team"}),
                "none of group, global",
            ),
            (
                json!({"content": "x", "type": "procedural", "metadata": {"steps": "one"}}),
                "`metadata.steps`",
            ),
            (
                json!({"content": "x", "type": "episodic", "metadata": {"event_date": "soon"}}),
                "`metadata.event_date`",
            ),
            (
                json!({"content": "x", "type": "entity", "metadata": {"name": 7}}),
                "`metadata.name`",
            ),
            (
                json!({"content": "x", "type": "semantic", "supersedes": "abababab"}),
                "no memory is called `abababab`",
            ),
            (
                json!({"content": "x", "kind": "semantic"}),
                "there is no argument `kind`",
            ),
        ] {
            let error = refused(&mut session, "store_memory", arguments.clone());
            assert!(error.contains(why), "{arguments}: {error}");
        }
        let stats = done(&mut session, "memory_stats", json!({}));
        assert_eq!(stats["total_memories"], 0);
    }
}

mod duplicates {
    use super::*;

    const LONG: &str = "The release train of the atlas project leaves every second Thursday at noon from the main branch";

    #[test]
    fn the_very_same_text_is_one_memory_and_counts_as_a_use() {
        let home = Home::new();
        let mut session = loci(&home);
        let id = store(&mut session, "semantic", LONG, json!({}));
        let said = done(
            &mut session,
            "store_memory",
            json!({"type": "semantic", "content": LONG, "metadata": {"category": "release"}}),
        );
        assert_eq!(said["id"], id.as_str());
        assert_eq!(said["deduplicated"], true);
        assert_eq!(said["superseded"], Value::Null);
        assert_eq!(said["changed"], json!(["topics", "metadata"]));
        let shown = inspect(&mut session, &id);
        assert_eq!(shown["memory"]["access_count"], 1);
        assert_eq!(shown["memory"]["metadata"]["category"], "release");
    }

    #[test]
    fn a_near_duplicate_keeps_both_texts_and_says_so() {
        let home = Home::new();
        let mut session = loci(&home);
        let old = store(&mut session, "semantic", LONG, json!({}));
        let text = format!("{LONG}, but not in December");
        let said = done(
            &mut session,
            "store_memory",
            json!({"type": "semantic", "content": text}),
        );
        assert_eq!(said["deduplicated"], false);
        assert_ne!(said["id"], old.as_str());
        assert_eq!(said["similar"][0]["id"], old.as_str());
        assert_eq!(said["similar"][0]["linked"], "related-to");
        assert!(
            said["similar"][0]["reason"]
                .as_str()
                .unwrap()
                .contains("same")
        );
        assert!(home.text_of(&old).ends_with(LONG));
        let new = said["id"].as_str().unwrap();
        assert!(home.text_of(new).ends_with(&text));
        let shown = inspect(&mut session, new);
        assert_eq!(shown["relations"][0]["object"]["id"], old.as_str());
    }

    #[test]
    fn a_correction_is_stored_although_it_is_like_what_it_corrects() {
        let home = Home::new();
        let mut session = loci(&home);
        let old = store(&mut session, "semantic", LONG, json!({}));
        let said = done(
            &mut session,
            "store_memory",
            json!({"type": "semantic", "content": format!("{LONG}!"), "supersedes": old}),
        );
        assert_eq!(
            (&said["deduplicated"], &said["superseded"]),
            (&json!(false), &json!(old))
        );
        assert_eq!(
            found(&mut session, json!({"query": "release train"})),
            [said["id"].as_str().unwrap()]
        );
    }

    #[test]
    fn another_type_scope_or_group_is_another_memory() {
        let home = Home::new();
        let mut ids = Vec::new();
        let mut session = loci(&home);
        for (kind, scope) in [
            ("semantic", "global"),
            ("semantic", "group"),
            ("entity", "global"),
        ] {
            ids.push(store(&mut session, kind, LONG, json!({"scope": scope})));
        }
        let mut other = open(&home, "loci", &["--group", "other"]);
        ids.push(store(&mut other, "semantic", LONG, json!({})));
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 4);
    }
}

mod forgetting {
    use super::*;

    #[test]
    fn what_is_forgotten_is_not_found_and_still_there() {
        let home = Home::in_folder("the command line works on a folder");
        let mut session = loci(&home);
        let id = store(
            &mut session,
            "semantic",
            "The badge number is 4711.",
            json!({}),
        );
        let said = done(
            &mut session,
            "forget_memory",
            json!({"memory_id": id, "reason": "no longer needed"}),
        );
        assert_eq!(said["id"], id.as_str());
        assert_eq!(said["superseded_by"], "forgotten");
        assert_eq!(
            (&said["hard_delete"], &said["already"]),
            (&json!(false), &json!(false))
        );
        assert!(found(&mut session, json!({"query": "badge"})).is_empty());
        let hydrated = done(&mut session, "recall_memory", json!({"ids": [id]}));
        let hydrated = &hydrated["results"][0];
        assert_eq!(hydrated["content"], "The badge number is 4711.");
        assert_eq!(hydrated["superseded_by"], "forgotten");
        assert_eq!(hydrated["forgotten"]["reason"], "no longer needed");

        let shown = inspect(&mut session, &id);
        assert_eq!(shown["memory"]["content"], "The badge number is 4711.");
        assert_eq!(shown["memory"]["superseded_by"], "forgotten");
        assert_eq!(shown["memory"]["forgotten"]["reason"], "no longer needed");
        let log = shown["log"].as_array().unwrap();
        let last = log.last().unwrap();
        assert_eq!(last["operation"], "supersede");
        assert_eq!(last["details"]["reason"], "no longer needed");

        let again = done(&mut session, "forget_memory", json!({"memory_id": id}));
        assert_eq!(again["already"], true);
        home.run(&["restore", &id]).done();
        assert_eq!(found(&mut session, json!({"query": "badge"})), [id]);
    }

    #[test]
    fn a_hard_delete_takes_text_and_relations_away_for_good() {
        let home = Home::in_folder("the command line works on a folder");
        let mut session = loci(&home);
        let john = store(&mut session, "entity", "John Smith", json!({}));
        let acme = store(&mut session, "entity", "Acme Corp", json!({}));
        let relation = json!({"subject_id": john, "predicate": "works_at", "object_id": acme});
        done(&mut session, "store_relation", relation);
        let said = done(
            &mut session,
            "forget_memory",
            json!({"memory_id": acme, "hard_delete": true, "reason": "asked for"}),
        );
        assert_eq!(said["hard_delete"], true);
        assert_eq!(said["relations_removed"], 1);
        assert!(!home.text_of(&john).contains("works_at"));
        let error = refused(&mut session, "memory_inspect", json!({"memory_id": acme}));
        assert!(error.contains("deleted for good"), "{error}");
        let shown = inspect(&mut session, &john);
        assert_eq!(shown["relations"], json!([]));
        let stats = done(&mut session, "memory_stats", json!({}));
        assert_eq!(
            (&stats["total_memories"], &stats["entity_relations"]),
            (&json!(1), &json!(0))
        );
        let again = json!({"memory_id": acme, "hard_delete": true});
        assert_eq!(done(&mut session, "forget_memory", again)["already"], true);
        let log = home.run(&["log", "--audit"]).done();
        assert!(log.contains("purge") && log.contains("asked for"), "{log}");
    }

    #[test]
    fn what_was_forgotten_can_be_deleted_for_good() {
        let home = Home::new();
        let mut session = loci(&home);
        let id = store(&mut session, "semantic", "The old address.", json!({}));
        done(&mut session, "forget_memory", json!({"memory_id": id}));
        let said = done(
            &mut session,
            "forget_memory",
            json!({"memory_id": id, "hard_delete": "true"}),
        );
        assert_eq!(said["already"], false);
        let stats = done(&mut session, "memory_stats", json!({}));
        assert_eq!(stats["total_memories"], 0);
    }

    #[test]
    fn unknown_memories_are_refused() {
        let home = Home::new();
        let mut session = loci(&home);
        for hard in [false, true] {
            let arguments = json!({"memory_id": "abababab", "hard_delete": hard});
            let error = refused(&mut session, "forget_memory", arguments);
            assert!(error.contains("no memory is called `abababab`"), "{error}");
        }
        let error = refused(&mut session, "forget_memory", json!({}));
        assert!(error.contains("`memory_id` is missing"), "{error}");
        let error = refused(
            &mut session,
            "memory_inspect",
            json!({"memory_id": "abababab"}),
        );
        assert!(error.contains("no memory is called"), "{error}");
    }
}

mod relations {
    use super::*;

    /// John Smith, who manages the platform team and works at Acme Corp.
    fn people(session: &mut Session) -> [String; 3] {
        let john = store(
            session,
            "entity",
            "John Smith is the engineering manager on the platform team",
            json!({"metadata": {"entity_type": "person", "name": "John Smith"}}),
        );
        let team = store(session, "entity", "Platform team", json!({}));
        let acme = store(session, "entity", "Acme Corp", json!({}));
        for (predicate, object) in [("manages", &team), ("works_at", &acme)] {
            let relation = json!({"subject_id": john, "predicate": predicate, "object_id": object});
            done(session, "store_relation", relation);
        }
        [john, team, acme]
    }

    #[test]
    fn inspect_shows_what_the_specification_shows() {
        let home = Home::new();
        let mut session = loci(&home);
        let [john, team, acme] = people(&mut session);
        let shown = done(&mut session, "memory_inspect", json!({"memory_id": john}));
        let memory = &shown["memory"];
        assert_eq!(memory["id"], john.as_str());
        assert_eq!(memory["type"], "entity");
        assert_eq!(
            memory["content"],
            "John Smith is the engineering manager on the platform team"
        );
        assert_eq!(memory["confidence"], 1.0);
        assert_eq!(memory["access_count"], 0);
        assert_eq!(
            memory["metadata"],
            json!({"entity_type": "person", "name": "John Smith"})
        );
        let expected = json!([
            {"predicate": "manages", "object": {"id": team, "preview": "Platform team"}},
            {"predicate": "works_at", "object": {"id": acme, "preview": "Acme Corp"}},
        ]);
        assert_eq!(shown["relations"], expected);
        assert_eq!(shown["log"], json!([]));
        let bare = json!({"memory_id": john, "include_relations": false});
        assert_eq!(
            done(&mut session, "memory_inspect", bare)["relations"],
            json!([])
        );
        let incoming = inspect(&mut session, &team);
        assert_eq!(incoming["relations"], json!([]));
        assert_eq!(incoming["incoming"][0]["predicate"], "manages");
        assert_eq!(incoming["incoming"][0]["subject"]["id"], john.as_str());
    }

    #[test]
    fn the_log_names_operations_as_the_specification_does() {
        let home = Home::new();
        let mut session = loci(&home);
        let [john, _, _] = people(&mut session);
        let log = inspect(&mut session, &john)["log"].clone();
        let operations: Vec<&Value> = log
            .as_array()
            .unwrap()
            .iter()
            .map(|one| &one["operation"])
            .collect();
        assert_eq!(json!(operations), json!(["create", "update", "update"]));
        assert_eq!(log[0]["memory_id"], john.as_str());
        assert_eq!(log[0]["details"]["client"], "old-client");
        assert!(log[0]["created_at"].as_str().unwrap().starts_with('2'));
    }

    #[test]
    fn a_relation_is_stored_once() {
        let home = Home::new();
        let mut session = loci(&home);
        let [john, team, _] = people(&mut session);
        let relation = json!({"subject_id": john, "predicate": "manages", "object_id": team});
        let said = done(&mut session, "store_relation", relation.clone());
        let expected = json!({"subject_id": john, "predicate": "manages", "object_id": team, "deduplicated": true});
        assert_eq!(said, expected);
        // The other way round it is another one.
        let back = json!({"subject_id": team, "predicate": "manages", "object_id": john});
        assert_eq!(
            done(&mut session, "store_relation", back)["deduplicated"],
            false
        );
        let stats = done(&mut session, "memory_stats", json!({}));
        assert_eq!(stats["entity_relations"], 3);
    }

    #[test]
    fn only_entities_that_are_there_can_be_related() {
        let home = Home::new();
        let mut session = loci(&home);
        let [john, team, _] = people(&mut session);
        let fact = store(
            &mut session,
            "semantic",
            "Water boils at 100 degrees.",
            json!({}),
        );
        for (subject, predicate, object, why) in [
            (
                john.as_str(),
                "knows",
                fact.as_str(),
                "`object_id` must be an entity",
            ),
            (&fact, "knows", &john, "is of type semantic"),
            (&john, "knows", "abababab", "no memory is called"),
            (&john, " ", &team, "`predicate` is missing"),
            (&john, "supersedes", &team, "is no relation of entities"),
            (&john, "knows", &john, "linked to itself"),
            (&john, "a\nb", &team, "line break"),
        ] {
            let relation =
                json!({"subject_id": subject, "predicate": predicate, "object_id": object});
            let error = refused(&mut session, "store_relation", relation);
            let is_control = why == "line break" && error.contains("control character");
            assert!(error.contains(why) || is_control, "{error}");
        }
    }

    #[test]
    fn relations_of_a_forgotten_entity_are_out_of_sight() {
        let home = Home::new();
        let mut session = loci(&home);
        let [john, team, acme] = people(&mut session);
        done(&mut session, "forget_memory", json!({"memory_id": team}));
        let shown = inspect(&mut session, &john);
        assert_eq!(shown["relations"].as_array().unwrap().len(), 1);
        assert_eq!(shown["relations"][0]["object"]["id"], acme.as_str());
        let stats = done(&mut session, "memory_stats", json!({}));
        assert_eq!(stats["entity_relations"], 1);
    }

    #[test]
    fn a_recalled_entity_brings_its_relations_within_the_budget() {
        let home = Home::new();
        let mut session = loci(&home);
        let [john, ..] = people(&mut session);
        let said = done(&mut session, "recall_memory", json!({"ids": [john]}));
        assert_eq!(said["results"][0]["relations"].as_array().unwrap().len(), 2);
        let whole = said["token_estimate"].as_u64().unwrap();
        let less = json!({"ids": [john], "token_budget": whole - 1});
        let said = done(&mut session, "recall_memory", less);
        assert_eq!(said["results"][0]["relations"], Value::Null);
        assert!(said["token_estimate"].as_u64().unwrap() < whole);
        let previews = done(
            &mut session,
            "recall_memory",
            json!({"query": "John Smith", "summary_only": true}),
        );
        assert_eq!(previews["results"][0]["relations"], Value::Null);
    }

    #[test]
    fn what_is_linked_with_a_named_entity_follows_the_hits() {
        let home = Home::new();
        let mut session = loci(&home);
        let [john, team, acme] = people(&mut session);
        let said = done(
            &mut session,
            "recall_memory",
            json!({"query": "Where does John Smith work?"}),
        );
        let results = said["results"].as_array().unwrap();
        assert_eq!(results[0]["id"], john.as_str());
        let brought: Vec<&Value> = results
            .iter()
            .filter(|one| one["related_to"] == john.as_str())
            .collect();
        let ids: Vec<&Value> = brought.iter().map(|one| &one["id"]).collect();
        assert_eq!(json!(ids), json!([team, acme]));
        let few = found(
            &mut session,
            json!({"query": "Where does John Smith work?", "max_results": 1}),
        );
        assert_eq!(few, [john]);
        // The filters count for them, too.
        let facts = json!({"query": "Where does John Smith work?", "type": "semantic"});
        assert!(found(&mut session, facts).is_empty());
    }
}

mod statistics {
    use super::*;

    #[test]
    fn the_reply_has_the_fields_of_the_specification() {
        let home = Home::new();
        let mut session = loci(&home);
        let empty = done(&mut session, "memory_stats", json!({}));
        let expected = json!({
            "total_memories": 0,
            "active_memories": 0,
            "superseded_memories": 0,
            "by_type": {"episodic": 0, "semantic": 0, "procedural": 0, "entity": 0},
            "by_scope": {"global": 0, "group": 0},
            "entity_relations": 0,
            "db_size_bytes": 0,
            "oldest_memory": null,
            "newest_memory": null,
        });
        assert_eq!(empty, expected);

        store(&mut session, "episodic", "We met on Monday.", json!({}));
        store(&mut session, "procedural", "Test, then deploy.", json!({}));
        let old = store(&mut session, "semantic", "Tea.", json!({}));
        store(
            &mut session,
            "semantic",
            "Coffee.",
            json!({"supersedes": old}),
        );
        let gone = store(&mut session, "entity", "A ghost.", json!({}));
        done(&mut session, "forget_memory", json!({"memory_id": gone}));
        home.remember(&["Written by another tool set."]);
        let mut other = open(&home, "loci", &["--group", "other"]);
        store(&mut other, "episodic", "Elsewhere.", json!({}));

        let stats = done(&mut session, "memory_stats", json!({}));
        assert_eq!(stats["total_memories"], 7);
        assert_eq!(stats["active_memories"], 5);
        assert_eq!(stats["superseded_memories"], 2);
        let by_type = json!({"episodic": 2, "semantic": 2, "procedural": 1, "entity": 0});
        assert_eq!(stats["by_type"], by_type);
        assert_eq!(stats["by_scope"], json!({"global": 3, "group": 2}));
        assert!(stats["db_size_bytes"].as_u64().unwrap() > 500);
        assert!(stats["oldest_memory"].as_str() <= stats["newest_memory"].as_str());
        let group = done(&mut session, "memory_stats", json!({"group": "other"}));
        assert_eq!(group["total_memories"], 1);
        assert_eq!(group["by_scope"], json!({"global": 0, "group": 1}));
        let group = done(&mut session, "memory_stats", json!({"group": "default"}));
        assert_eq!(
            (&group["total_memories"], &group["active_memories"]),
            (&json!(5), &json!(3))
        );
        let none = done(&mut session, "memory_stats", json!({"group": "nowhere"}));
        assert_eq!(none["total_memories"], 0);
    }
}

mod together {
    use super::*;

    #[test]
    fn other_tool_sets_read_what_this_one_stores_and_the_reverse() {
        let home = Home::new();
        let mut typed = loci(&home);
        let id = store(
            &mut typed,
            "entity",
            "John Smith leads the platform team.",
            json!({"metadata": {"name": "John Smith"}}),
        );
        let mut core = Session::on(&home);
        let hits = core.tool("think", json!({"keywords": ["platform"], "kind": "entity"}));
        assert_eq!(hits["structuredContent"]["results"][0]["id"], id.as_str());
        let memory = core.tool("recall", json!({"memory_ids": [id]}));
        let memory = &memory["structuredContent"]["results"][0];
        assert_eq!(memory["kind"], "entity");
        assert_eq!(memory["topics"], json!(["John Smith"]));
        assert_eq!(memory["metadata"], json!({"name": "John Smith"}));

        let stored = core.tool(
            "remember",
            json!({"agent": "claude", "user": "mira", "topics": ["tea"], "content": "Mira drinks green tea."}),
        );
        let other = stored["structuredContent"]["memory_id"].as_str().unwrap();
        let said = done(
            &mut typed,
            "recall_memory",
            json!({"query": "green tea", "type": "semantic"}),
        );
        assert_eq!(said["results"][0]["id"], other);
        assert_eq!(said["results"][0]["type"], "semantic");
        assert_eq!(said["results"][0]["metadata"], json!({}));
        // The recall by the other tool set was a use.
        assert_eq!(inspect(&mut typed, &id)["memory"]["access_count"], 1);
    }
}
