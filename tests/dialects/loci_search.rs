//! `recall_memory`: what is found, in which order, how much of it.

use serde_json::{Value, json};

use super::loci::loci;
use crate::support::dialect::{done, open, refused};
use crate::support::program::Home;
use crate::support::session::Session;
use memdir::engine::ops;

#[track_caller]
fn store(session: &mut Session, kind: &str, content: &str) -> String {
    let said = done(
        session,
        "store_memory",
        json!({"type": kind, "content": content}),
    );
    said["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn found(session: &mut Session, arguments: Value) -> Vec<String> {
    ids(&done(session, "recall_memory", arguments))
}

fn ids(said: &Value) -> Vec<String> {
    let results = said["results"].as_array().unwrap().iter();
    results
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

/// A memory file of the typed set, made at a time.
fn put(home: &Home, handle: &str, timestamp: &str, more: &str, content: &str) {
    let stem = timestamp
        .replace(['-', ':'], "")
        .replace('T', "_")
        .replace('Z', "");
    home.put(
        &format!("{stem}_{handle}.md"),
        format!("---\nid: {handle}\ntimestamp: {timestamp}\nagent: a\nuser: u\ntopics: []\n{more}---\n\n{content}"),
    );
}

#[test]
fn the_replies_are_those_of_the_specification() {
    let home = Home::new();
    let mut session = loci(&home);
    let said = done(
        &mut session,
        "store_memory",
        json!({
            "content": "User prefers Rust over Go for systems programming",
            "type": "semantic",
            "metadata": {"category": "preference"},
        }),
    );
    let id = &said["id"];
    let said = done(
        &mut session,
        "recall_memory",
        json!({"query": "Rust or Go?"}),
    );
    let result = &said["results"][0];
    let expected = json!({
        "results": [{
            "id": id,
            "type": "semantic",
            "content": "User prefers Rust over Go for systems programming",
            "confidence": 1.0,
            // First by words, 1 / (60 + 1); there is no model here.
            "score": 0.016393,
            "created_at": result["created_at"],
            "metadata": {"category": "preference"},
        }],
        "total_matched": 1,
        "token_estimate": said["token_estimate"],
    });
    assert_eq!(said, expected);
    assert!(result["created_at"].as_str().unwrap().starts_with('2'));
    let tokens = result.to_string().chars().count().div_ceil(4);
    assert_eq!(said["token_estimate"], tokens);

    let said = done(
        &mut session,
        "recall_memory",
        json!({"query": "Rust or Go?", "summary_only": true}),
    );
    let expected = json!([{
        "id": id,
        "type": "semantic",
        "preview": "User prefers Rust over Go for systems programming",
        "score": 0.016393,
    }]);
    assert_eq!(said["results"], expected);
}

#[test]
fn previews_come_first_and_whole_memories_by_their_ids() {
    let home = Home::new();
    let mut session = loci(&home);
    let texts: Vec<String> = (0..6)
        .map(|n| {
            format!(
                "Deployment {n} of atlas: {}.",
                format!("step{n} ").repeat(60)
            )
        })
        .collect();
    let stored: Vec<String> = texts
        .iter()
        .map(|text| store(&mut session, "procedural", text))
        .collect();
    let index = done(
        &mut session,
        "recall_memory",
        json!({"query": "deployment of atlas", "summary_only": true, "max_results": 10}),
    );
    assert_eq!(index["total_matched"], 6);
    let results = index["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    for result in results {
        assert_eq!(result["preview"].as_str().unwrap().chars().count(), 80);
        assert_eq!(result["truncated"], true);
        assert_eq!(result["content"], Value::Null);
    }
    // In the order asked, which is not that of the store.
    let wanted = [&stored[4], &stored[1]];
    let whole = done(&mut session, "recall_memory", json!({"ids": wanted}));
    assert_eq!(ids(&whole), [stored[4].clone(), stored[1].clone()]);
    assert_eq!(whole["results"][0]["content"], texts[4].as_str());
    assert_eq!(whole["total_matched"], 2);
    assert_eq!(whole["results"][0]["score"], 1.0);
}

#[test]
fn ids_are_read_whatever_the_filters_say() {
    let home = Home::new();
    put(
        &home,
        "1f3a9c01",
        "2026-01-14T09:15:00Z",
        "kind: episodic\nnamespace: elsewhere\nconfidence: 0.05\n",
        "Far away.",
    );
    let mut session = loci(&home);
    let wanted = json!({"ids": ["1f3a9c01", "abababab"], "type": "entity", "scope": "global", "summary_only": true});
    let said = done(&mut session, "recall_memory", wanted);
    assert_eq!(said["results"][0]["content"], "Far away.");
    assert_eq!(said["results"][1]["id"], "abababab");
    assert_eq!(
        said["results"][1]["error"],
        "no memory is called `abababab`"
    );
    assert_eq!(said["total_matched"], 1);
    let many: Vec<String> = (0..101).map(|n| format!("{n:08x}")).collect();
    let error = refused(&mut session, "recall_memory", json!({"ids": many}));
    assert!(error.contains("at most 100"), "{error}");
}

#[test]
fn a_budget_cuts_the_answer_and_names_what_is_missing() {
    let home = Home::new();
    let mut session = loci(&home);
    for n in 0..5 {
        store(
            &mut session,
            "semantic",
            &format!("Budget {n}: {}", format!("word{n} ").repeat(100)),
        );
    }
    let whole = done(&mut session, "recall_memory", json!({"query": "budget"}));
    let all = ids(&whole);
    assert_eq!(all.len(), 5);
    let tokens = whole["token_estimate"].as_u64().unwrap();
    let said = done(
        &mut session,
        "recall_memory",
        json!({"query": "budget", "token_budget": tokens / 2}),
    );
    assert_eq!(ids(&said), all[..2]);
    assert_eq!(said["left_out"], json!(all[2..]));
    assert_eq!(said["total_matched"], 5);
    assert!(said["token_estimate"].as_u64().unwrap() <= tokens / 2);
    let exact = json!({"query": "budget", "token_budget": tokens});
    assert_eq!(found(&mut session, exact).len(), 5);
    // The first one is cut rather than left out.
    let said = done(
        &mut session,
        "recall_memory",
        json!({"ids": [all[0]], "token_budget": 80}),
    );
    assert_eq!(said["results"][0]["truncated"], true);
    assert!(said["token_estimate"].as_u64().unwrap() <= 80, "{said}");
}

#[test]
fn the_usual_budgets_are_two_thousand_and_four_thousand_tokens() {
    let home = Home::new();
    let mut session = loci(&home);
    for n in 0..20 {
        store(
            &mut session,
            "semantic",
            &format!("Ledger {n}: {}", format!("entry{n} ").repeat(300)),
        );
    }
    let said = done(
        &mut session,
        "recall_memory",
        json!({"query": "ledger", "max_results": 20}),
    );
    let tokens = said["token_estimate"].as_u64().unwrap();
    assert!((2_000..=4_000).contains(&tokens), "{tokens}");
    let said = done(
        &mut session,
        "recall_memory",
        json!({"query": "ledger", "max_results": 20, "summary_only": true}),
    );
    assert_eq!(said["results"].as_array().unwrap().len(), 20);
    assert!(said["token_estimate"].as_u64().unwrap() <= 2_000);
}

#[test]
fn the_number_of_results_has_bounds() {
    let home = Home::new();
    let mut session = loci(&home);
    for n in 0..22 {
        store(&mut session, "semantic", &format!("Tower {n}."));
    }
    assert_eq!(found(&mut session, json!({"query": "tower"})).len(), 5);
    assert_eq!(
        found(&mut session, json!({"query": "tower", "max_results": 1})).len(),
        1
    );
    assert_eq!(
        found(&mut session, json!({"query": "tower", "max_results": 20})).len(),
        20
    );
    for bad in [0, 21] {
        let error = refused(
            &mut session,
            "recall_memory",
            json!({"query": "tower", "max_results": bad}),
        );
        assert!(error.contains("from 1 to 20"), "{error}");
    }
}

#[test]
fn bad_calls_are_refused() {
    let home = Home::new();
    let mut session = loci(&home);
    for (arguments, why) in [
        (json!({}), "`query` is missing"),
        (json!({"query": "  "}), "`query` is missing"),
        (json!({"ids": []}), "`query` is missing"),
        (json!({"query": "x", "type": "fact"}), "none of episodic"),
        (
            json!({"query": "x", "scope": "all"}),
            "none of group, global",
        ),
        (
            json!({"query": "x", "min_confidence": 1.1}),
            "from 0.0 to 1.0",
        ),
        (json!({"query": "x", "token_budget": 0}), "at least 1"),
        (
            json!({"query": "x", "summary_only": "maybe"}),
            "true or false",
        ),
        (json!({"query": "x", "group": "a\nb"}), "`group` must be"),
        (
            json!({"query": "x", "group": "g".repeat(513)}),
            "`group` must be",
        ),
        (
            json!({"query": "x", "limit": 3}),
            "there is no argument `limit`",
        ),
    ] {
        let error = refused(&mut session, "recall_memory", arguments.clone());
        assert!(error.contains(why), "{arguments}: {error}");
    }
}

#[test]
fn groups_see_their_own_memories_and_global_ones() {
    let home = Home::new();
    let mut here = open(&home, "loci", &["--group", "/home/mira/code/atlas"]);
    let mut above = open(&home, "loci", &["--group", "/home/mira"]);
    let own = store(&mut here, "episodic", "Chose Postgres for the orders.");
    let global = store(&mut here, "semantic", "Postgres listens on 5432.");
    let others = store(&mut above, "episodic", "Backed up Postgres at home.");
    let query = |more: Value| {
        let mut query = json!({"query": "Postgres"});
        query
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        query
    };
    let sorted = |mut ids: Vec<String>| {
        ids.sort();
        ids
    };
    let both = |a: &String, b: &String| sorted(vec![a.clone(), b.clone()]);
    assert_eq!(
        sorted(found(&mut here, query(json!({})))),
        both(&own, &global)
    );
    assert_eq!(
        sorted(found(&mut above, query(json!({})))),
        both(&others, &global)
    );
    let asked = query(json!({"group": "/home/mira/code/atlas/"}));
    assert_eq!(sorted(found(&mut above, asked)), both(&own, &global));
    assert_eq!(
        found(&mut here, query(json!({"scope": "group"}))),
        [own.as_str()]
    );
    assert_eq!(
        found(&mut here, query(json!({"scope": "global"}))),
        [global.as_str()]
    );
    assert_eq!(found(&mut loci(&home), query(json!({}))), [global]);
    let shown = done(&mut here, "memory_inspect", json!({"memory_id": own}));
    assert_eq!(shown["memory"]["source_group"], "/home/mira/code/atlas");
}

#[test]
fn the_group_may_come_from_the_environment() {
    let home = Home::in_folder("a server of workspaces has one environment for all clients");
    let mut command = home.command(&["mcp", "--dialect", "loci"]);
    command.env("LOCI_GROUP", r"C:\Users\mira\atlas");
    let mut session = Session::open_on(command);
    let id = store(&mut session, "episodic", "Began the port.");
    assert_eq!(found(&mut session, json!({"query": "port"})), [id.as_str()]);
    assert!(found(&mut loci(&home), json!({"query": "port"})).is_empty());
    let named = json!({"query": "port", "group": r"C:\Users\mira\atlas\"});
    assert_eq!(found(&mut loci(&home), named), [id]);
}

#[test]
fn a_filter_narrows_the_search_and_not_its_cut_answer() {
    let home = Home::new();
    let mut session = loci(&home);
    let wanted = store(
        &mut session,
        "procedural",
        "A long note that says harbour only once, among many other words about ships.",
    );
    for n in 0..30 {
        store(
            &mut session,
            "semantic",
            &format!("Harbour harbour harbour {n}."),
        );
    }
    let asked = json!({"query": "harbour", "type": "procedural", "max_results": 1});
    let said = done(&mut session, "recall_memory", asked);
    assert_eq!(ids(&said), [wanted]);
    assert_eq!(said["total_matched"], 1);
}

#[test]
fn any_word_of_a_query_finds_a_memory() {
    let home = Home::new();
    let mut session = loci(&home);
    let id = store(&mut session, "semantic", "Invoices are sent on Fridays.");
    let asked = json!({"query": "When do we mail out invoices to customers?"});
    assert_eq!(found(&mut session, asked), [id]);
}

#[test]
fn what_is_unsure_expired_or_of_another_type_is_not_found() {
    let home = Home::new();
    put(
        &home,
        "1f3a9c01",
        "2026-01-14T09:15:00Z",
        "kind: semantic\nconfidence: 0.09\n",
        "Lighthouse one.",
    );
    put(
        &home,
        "1f3a9c02",
        "2026-01-14T09:15:01Z",
        "kind: semantic\nexpires: 2026-01-15\n",
        "Lighthouse two.",
    );
    put(
        &home,
        "1f3a9c03",
        "2026-01-14T09:15:02Z",
        "kind: entity\nconfidence: 0.5\n",
        "Lighthouse three.",
    );
    put(
        &home,
        "1f3a9c04",
        "2026-01-14T09:15:03Z",
        "",
        "Lighthouse four.",
    );
    let mut session = loci(&home);
    let mut sorted = |more: Value| {
        let mut asked = json!({"query": "lighthouse"});
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let mut ids = found(&mut session, asked);
        ids.sort();
        ids
    };
    assert_eq!(sorted(json!({})), ["1f3a9c03", "1f3a9c04"]);
    // One that states no type counts as knowledge.
    assert_eq!(sorted(json!({"type": "semantic"})), ["1f3a9c04"]);
    assert_eq!(sorted(json!({"type": "entity"})), ["1f3a9c03"]);
    // Each of these was a use, which makes a memory a little surer.
    assert_eq!(sorted(json!({"min_confidence": 0.9})), ["1f3a9c04"]);
    assert_eq!(
        sorted(json!({"min_confidence": 0})),
        ["1f3a9c01", "1f3a9c03", "1f3a9c04"]
    );
}

#[test]
fn every_memory_that_is_returned_is_used() {
    let home = Home::new();
    let mut session = loci(&home);
    let id = store(&mut session, "semantic", "The kettle is blue.");
    let other = store(&mut session, "semantic", "The fridge is white.");
    done(&mut session, "recall_memory", json!({"query": "kettle"}));
    done(
        &mut session,
        "recall_memory",
        json!({"query": "kettle", "summary_only": true}),
    );
    done(&mut session, "recall_memory", json!({"ids": [id]}));
    let mut uses = |id: &str| {
        let shown = done(&mut session, "memory_inspect", json!({"memory_id": id}));
        shown["memory"]["access_count"].clone()
    };
    assert_eq!((uses(&id), uses(&other)), (json!(3), json!(0)));
}

mod times {
    use memdir::model::{Filter, Kind, Stem};

    use super::*;
    use crate::support::TestStore;

    #[test]
    fn words_for_a_time_narrow_the_search_to_it() {
        let home = Home::new();
        put(
            &home,
            "1f3a9c01",
            "2020-01-14T09:15:00Z",
            "kind: semantic\n",
            "We discussed the budget of atlas.",
        );
        let mut session = loci(&home);
        let today = store(&mut session, "semantic", "Chose a new logo.");
        let said = done(
            &mut session,
            "recall_memory",
            json!({"query": "What did we discuss in the last 2 days?"}),
        );
        assert_eq!(ids(&said), [today.as_str()]);
        assert_eq!(said["total_matched"], 1);
        let window = &said["time_window"];
        assert!(
            window["since"].as_str() < window["until"].as_str(),
            "{window}"
        );
        let said = done(
            &mut session,
            "recall_memory",
            json!({"query": "past two days"}),
        );
        assert_eq!(ids(&said), [today]);
    }

    #[test]
    fn where_nothing_is_of_that_time_the_words_are_words() {
        let home = Home::new();
        let mut session = loci(&home);
        let id = store(&mut session, "semantic", "The vault was opened last year.");
        let said = done(
            &mut session,
            "recall_memory",
            json!({"query": "vault 30 years ago"}),
        );
        assert_eq!(ids(&said), [id]);
        assert_eq!(said["time_window"], Value::Null);
    }

    #[test]
    fn what_happened_then_counts_although_it_was_written_later() {
        let store = TestStore::new();
        let text = |more: &str| {
            format!(
                "---\nid: x\ntimestamp: 2026-06-01T08:00:00Z\nkind: episodic\n{more}---\n\nSigned."
            )
        };
        store.put(
            "20260601_080000_1f3a9c01.md",
            text("metadata: {event_date: 2026-05-15}\n"),
        );
        store.put(
            "20260601_080000_1f3a9c02.md",
            text("metadata: {event_date: 2026-04-15}\n"),
        );
        store.put("20260601_080000_1f3a9c03.md", text(""));
        store.put(
            "20260515_080000_1f3a9c04.md",
            text("").replace("2026-06-01", "2026-05-15"),
        );
        // The clock stands at noon on 1 June.
        let engine = store.engine();
        let time = ops::asked_time(&engine, "what was signed last month").unwrap();
        assert_eq!(time.rest.trim(), "what was signed");
        for text in [
            "what was signed in May",
            "signed on 15 May 2026?",
            "since 2026-05-15",
        ] {
            let time = ops::asked_time(&engine, text).unwrap();
            let stems = ops::of_time(&engine, &time, &Filter::default()).unwrap();
            let is_found = |id: &str| stems.iter().any(|stem| stem.short() == id);
            assert!(is_found("1f3a9c01") && is_found("1f3a9c04"), "{text}");
            // Since then it was written, whatever day it tells of.
            assert_eq!(is_found("1f3a9c02"), text.starts_with("since"), "{text}");
        }
        for text in ["what was signed recently", "signed this morning"] {
            let time = ops::asked_time(&engine, text).unwrap();
            let stems = ops::of_time(&engine, &time, &Filter::default()).unwrap();
            assert!(
                stems.iter().any(|stem| stem.short() == "1f3a9c03"),
                "{text}"
            );
            assert!(
                stems.iter().all(|stem| stem.short() != "1f3a9c04"),
                "{text}"
            );
        }
        let of = |filter: &Filter| -> Vec<String> {
            let stems = ops::of_time(&engine, &time, filter).unwrap();
            stems.iter().map(|stem| stem.short().to_owned()).collect()
        };
        assert_eq!(of(&Filter::default()), ["1f3a9c04", "1f3a9c01"]);
        let only = Filter {
            stems: Some(vec![Stem::from_file_name("20260601_080000_1f3a9c01")]),
            ..Filter::default()
        };
        assert_eq!(of(&only), ["1f3a9c01"]);
        let entities = Filter {
            kinds: vec![Kind::Entity],
            ..Filter::default()
        };
        assert!(of(&entities).is_empty());
    }
}

#[test]
fn what_the_original_would_follow_and_this_does_not_is_said_once() {
    let home = Home::in_folder("has settings of its own");
    home.write(".loci/config.toml", "[retrieval]\nrrf_k = 30\n");
    let mut command = home.command(&["mcp", "--dialect", "loci", "--group", "a"]);
    command.env("LOCI_DB", "/old.db").env("HOME", home.root());
    let mut session = Session::open_on(command);
    session.tool("memory_stats", json!({}));
    let log = session.log();
    for said in [
        "LOCI_DB names a database",
        "memdir import --from loci",
        ".loci/config.toml is not followed",
    ] {
        assert_eq!(log.matches(said).count(), 1, "{log}");
    }
    let command = home.command(&["mcp"]);
    assert!(!Session::open_on(command).log().contains("loci"));
}
