//! Hints at memories that contradict each other: given where they do, hardly ever elsewhere, and
//! never in the way of writing.

use std::fs;

use serde_json::{Value, json};

use crate::support::program::Home;
use crate::support::session::Session;
use crate::support::{TestStore, new_memory, query};
use memdir::engine::{Contradicted, Engine, Stored, WriteOutcome, WritePolicy, ops};
use memdir::model::{NewMemory, Stem};

/// Stores a memory as agents do; its stem, and what it may contradict.
#[track_caller]
fn stored(engine: &Engine, memory: NewMemory) -> (Stem, Vec<Contradicted>) {
    let policy = WritePolicy::default();
    match ops::remember_as(engine, memory, None, &policy).unwrap() {
        Stored::Written(done) => {
            assert_eq!(done.became, WriteOutcome::Added);
            (done.stem, done.contradicted)
        }
        Stored::Suggested(suggestions) => panic!("{suggestions:?}"),
    }
}

/// The pairs of the fixture: whether they contradict, and both memories.
fn pairs() -> Vec<(bool, [NewMemory; 2])> {
    let text = fs::read_to_string(crate::support::fixture("contradictions.jsonl")).unwrap();
    let rows = text.lines().map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let side = |key: &str, at: usize| NewMemory {
            topics: serde_json::from_value(row["topics"].clone()).unwrap(),
            title: row["title"][at].as_str().map(str::to_owned),
            ..new_memory(row[key].as_str().unwrap())
        };
        let contradicts = row["contradicts"].as_bool().unwrap();
        (contradicts, [side("first", 0), side("second", 1)])
    });
    rows.collect()
}

/// Second sides of pairs that contradict, which is known not to be seen.
const MISSED: [&str; 6] = [
    "Priya would like all replies in Hindi.",
    "Who is on call in even calendar weeks: Priya.",
    "We publish the client library under the Apache 2.0 license.",
    "The data team has nine members, two of them in Lisbon.",
    "Bob eats meat every day.",
    "The primary key of the orders table is an integer.",
];
/// Second sides of pairs that do not contradict and are known to be taken for it.
const IMAGINED: [&str; 2] = [
    "Benchmark run of 2026-03-08: 1,450 requests per second.",
    "The team uses Notion.",
];

#[test]
fn planted_contradictions_are_hinted_at_among_all_the_others() {
    let store = TestStore::new();
    let engine = store.engine();
    let pairs = pairs();
    assert_eq!(
        pairs.iter().filter(|(contradicts, _)| *contradicts).count(),
        100
    );
    assert_eq!(pairs.len(), 200);
    // All first sides, then all second sides: what is contradicted lies far back.
    let firsts: Vec<Stem> = pairs
        .iter()
        .map(|(_, [first, _])| stored(&engine, first.clone()).0)
        .collect();
    let (mut missed, mut imagined) = (Vec::new(), Vec::new());
    for ((contradicts, [_, second]), first) in pairs.iter().zip(&firsts) {
        let (_, hints) = stored(&engine, second.clone());
        let of_pair = hints.iter().any(|hint| hint.stem == *first);
        match (contradicts, of_pair) {
            (true, false) => missed.push(second.content.as_str()),
            (false, true) => imagined.push(second.content.as_str()),
            _ => {}
        }
    }
    assert_eq!(
        store.texts().len(),
        400,
        "a hint keeps nothing from being stored"
    );
    assert_eq!(missed, MISSED);
    assert_eq!(imagined, IMAGINED);
}

#[test]
fn what_is_named_forgotten_or_superseded_is_not_hinted_at() {
    let store = TestStore::new();
    let engine = store.engine();
    let port = |port: u16| new_memory(&format!("The gateway of atlas listens on port {port}."));
    let hinted = |memory: NewMemory| -> Vec<Stem> {
        let (_, hints) = stored(&engine, memory);
        hints.into_iter().map(|hint| hint.stem).collect()
    };
    let first = stored(&engine, port(1)).0;
    assert_eq!(hinted(port(2)), std::slice::from_ref(&first));
    let both = NewMemory {
        supersedes: ops::search(&engine, &query("gateway"))
            .unwrap()
            .hits
            .iter()
            .map(|hit| hit.memory.stem.as_str().to_owned())
            .collect(),
        ..port(3)
    };
    assert_eq!(hinted(both), []);
    let hints = hinted(port(4));
    assert_eq!(hints.len(), 1, "those that were superseded are out of it");
    for hit in ops::search(&engine, &query("gateway")).unwrap().hits {
        ops::forget(&engine, hit.memory.stem.as_str()).unwrap();
    }
    assert_eq!(hinted(port(5)), []);
    let quiet = WritePolicy {
        contradictions: false,
        ..WritePolicy::default()
    };
    let Stored::Written(done) = ops::remember_as(&engine, port(6), None, &quiet).unwrap() else {
        panic!("it is stored");
    };
    assert_eq!(done.contradicted, []);
}

#[test]
fn a_hint_shows_no_credential() {
    let store = TestStore::new();
    let engine = store.engine();
    let secret = |end: &str| format!("ghp_{}{end}", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6".to_owned());
    let token = |end: &str| new_memory(&format!("The deploy token of atlas is {}", secret(end)));
    stored(&engine, token("Q7r8"));
    let (_, hints) = stored(&engine, token("S9t0"));
    let [hint] = hints.as_slice() else {
        panic!("{hints:?}");
    };
    assert!(!hint.evidence.older.contains("ghp_A1"), "{hint:?}");
    assert!(!hint.evidence.newer.contains("ghp_A1"), "{hint:?}");
}

#[test]
fn agents_and_people_are_told_and_can_decide() {
    let home = Home::new();
    let mut session = Session::on(&home);
    let mut remember = |content: &str| -> Value {
        let arguments =
            json!({"agent": "claude", "user": "mira", "topics": ["net"], "content": content});
        session.tool("remember", arguments)["structuredContent"].clone()
    };
    let first = remember("The gateway listens on port 8080.");
    assert_eq!(first.get("may_contradict"), None);
    let second = remember("The gateway listens on port 9090.");
    let (old, new) = (
        first["memory_id"].as_str().unwrap(),
        second["memory_id"].as_str().unwrap(),
    );
    assert_eq!(
        second["may_contradict"],
        json!([{"id": old, "headline": "The gateway listens on port 8080.",
            "difference": "number", "there": "8080", "here": "9090"}])
    );
    let message = second["message"].as_str().unwrap();
    let advice = format!("may contradict {old} (there \"8080\", here \"9090\")");
    assert!(message.contains(&advice), "{message}");
    drop(session);
    let ran = home.run(&["remember", "The gateway listens on port 7070."]);
    ran.complains(0, &["hint: it may contradict", "memdir resolve"]);
    let third = ran.text().trim().to_owned();
    home.run(&["link", &third, old, "--type", "contradicts"])
        .done();
    assert_eq!(home.run(&["resolve", &third, old]).code, 0);
    assert_eq!(home.run(&["resolve", &third, new]).code, 0);
    let found = home.run(&["think", "gateway port"]).text();
    assert!(
        found.contains("7070") && !found.contains("8080") && !found.contains("9090"),
        "{found}"
    );
}

#[test]
fn a_decision_keeps_both_texts_takes_the_links_away_and_can_be_turned_round() {
    let store = TestStore::new();
    let engine = store.engine();
    let remember = |text: &str| ops::remember(&engine, new_memory(text), None).unwrap().stem;
    let (one, other) = (remember("heron one"), remember("heron other"));
    let third = remember("heron third");
    let (a, b) = (one.as_str(), other.as_str());
    ops::link(&engine, a, b, "contradicts").unwrap();
    ops::link(&engine, b, a, "conflicts-with").unwrap();
    ops::link(&engine, a, third.as_str(), "contradicts").unwrap();
    ops::link(&engine, a, b, "related-to").unwrap();
    let current = || -> Vec<String> {
        let hits = ops::search(&engine, &query("heron"))
            .unwrap()
            .hits
            .into_iter();
        let mut texts: Vec<String> = hits.map(|hit| hit.memory.content.clone()).collect();
        texts.sort();
        texts
    };
    let decided = ops::decide_between(&engine, a, b).unwrap();
    assert_eq!((decided.is_new, decided.unlinked), (true, 2));
    assert_eq!(current(), ["heron one", "heron third"]);
    let relations = ops::relations_of(&engine, one.as_str()).unwrap().to;
    let relations: Vec<&str> = relations.iter().map(|one| one.relation.as_str()).collect();
    assert_eq!(relations, ["supersedes", "contradicts", "related-to"]);
    assert!(ops::conflicts(&engine).unwrap().is_empty());
    let again = ops::decide_between(&engine, a, b).unwrap();
    assert_eq!((again.is_new, again.unlinked), (false, 0));
    ops::decide_between(&engine, b, a).unwrap();
    assert_eq!(current(), ["heron other", "heron third"]);
    assert_eq!(store.texts().len(), 3);
    assert!(ops::decide_between(&engine, a, a).is_err());
    assert!(ops::decide_between(&engine, a, "nobody").is_err());
}
