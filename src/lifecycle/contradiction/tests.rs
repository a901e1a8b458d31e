use super::*;
use crate::model::{NewMemory, Stem, Timestamp};

fn memory(content: &str) -> Memory {
    let new = NewMemory {
        agent: "claude".to_owned(),
        user: "mira".to_owned(),
        content: content.to_owned(),
        ..NewMemory::default()
    };
    let timestamp = Timestamp::parse("2026-06-01T12:00:00Z").unwrap();
    new.into_memory(Stem::from_file_name("20260601_120000_aaaaaaaa"), timestamp)
}

fn found(older: &str, newer: &str) -> String {
    match contradiction(&memory(older), &memory(newer)) {
        None => String::new(),
        Some(evidence) => format!("{}: {evidence}", evidence.difference.word()),
    }
}

#[test]
fn one_difference_in_what_is_the_same_otherwise_is_evidence() {
    for (older, newer, expected) in [
        (
            "The gateway listens on port 8080.",
            "The gateway listens on port 9090.",
            "number: there \"8080\", here \"9090\"",
        ),
        (
            "Atlas uses Postgres.",
            "Atlas uses MySQL.",
            "value: there \"Postgres\", here \"MySQL\"",
        ),
        (
            "The flag fast-path is enabled.",
            "The flag fast-path is disabled.",
            "opposite: there \"enabled\", here \"disabled\"",
        ),
        (
            "Mira prefers tabs over spaces.",
            "Mira prefers spaces over tabs.",
            "order: there \"Mira prefers tabs over spaces\", here \"Mira prefers spaces over tabs\"",
        ),
        (
            "The flag fast-path is enabled.",
            "The flag fast-path is not enabled.",
            "negation: there \"The flag fast-path is enabled\", here \"The flag fast-path is not enabled\"",
        ),
        (
            "Lena is the owner of the billing module.",
            "Marek is the owner of the billing module.",
            "value: there \"Lena\", here \"Marek\"",
        ),
        (
            "The format of exports is JSON with a header.",
            "The format of exports is CSV with a footer.",
            "value: there \"JSON with a header\", here \"CSV with a footer\"",
        ),
    ] {
        assert_eq!(found(older, newer), expected);
    }
}

#[test]
fn what_can_both_be_is_none() {
    for (older, newer) in [
        (
            "The gateway listens on port 8080.",
            "The gateway listens on port 8080 at night.",
        ),
        (
            "The gateway listens on port 8080.",
            "The importer listens on port 9090.",
        ),
        (
            "The gateway listens on port 8080.",
            "The gateway no longer listens on port 8080.",
        ),
        (
            "The gateway listens on port 8080.",
            "Since May the gateway listens on port 9090.",
        ),
        (
            "The gateway listens on port 8080.",
            "Does the gateway listen on port 9090?",
        ),
        (
            "The gateway listens on port 8080 on staging.",
            "The gateway listens on port 8080 on production.",
        ),
        (
            "Jonas walked 5 km in the woods.",
            "Jonas walked 8 km in the woods.",
        ),
        ("Mira is proud of Tom.", "Mira is proud of Ann."),
        ("Mira likes Rust.", "Mira likes Python."),
        (
            "The flag fast-path is enabled.",
            "The flag slow-path is not enabled.",
        ),
    ] {
        assert_eq!(found(older, newer), "", "{older} {newer}");
    }
}

#[test]
fn other_namespaces_people_and_events_are_other_things() {
    let pair = |change: &dyn Fn(&mut Memory)| {
        let older = memory("My favourite editor is Helix.");
        let mut newer = memory("My favourite editor is Neovim.");
        change(&mut newer);
        contradiction(&older, &newer).is_some()
    };
    assert!(pair(&|_| ()));
    assert!(!pair(&|newer| newer.user = "jonas".to_owned()));
    assert!(!pair(&|newer| newer.namespace = Some("atlas".to_owned())));
    let mut older = memory("The result of the benchmark is 1200.");
    let mut newer = memory("The result of the benchmark is 1450.");
    assert!(contradiction(&older, &newer).is_some());
    older.kind = Some(Kind::Episodic);
    newer.kind = Some(Kind::Episodic);
    assert_eq!(contradiction(&older, &newer), None);
}

/// Returns the pairs of the fixture, as the memories that would be stored.
fn fixture() -> Vec<(bool, Memory, Memory)> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/contradictions.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().map(|line| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let side = |key: &str, at: usize| {
            let mut memory = memory(row[key].as_str().unwrap());
            memory.title = row["title"][at].as_str().map(str::to_owned);
            memory
        };
        let contradicts = row["contradicts"].as_bool().unwrap();
        (contradicts, side("first", 0), side("second", 1))
    });
    rows.collect()
}

#[test]
fn most_planted_contradictions_are_seen_and_hardly_anything_else() {
    let (mut seen, mut missed, mut imagined) = (0, Vec::new(), Vec::new());
    for (contradicts, older, newer) in fixture() {
        let evidence = contradiction(&older, &newer);
        match (contradicts, evidence) {
            (true, Some(_)) => seen += 1,
            (true, None) => missed.push((older.content, newer.content)),
            (false, Some(evidence)) => imagined.push((older.content, evidence)),
            (false, None) => {}
        }
    }
    assert!(seen >= 90, "{seen} of 100 seen, missed: {missed:#?}");
    assert!(imagined.len() <= 2, "{imagined:#?}");
}

#[test]
fn short_statements_contradict_each_other_where_they_say_so() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/short_contradictions.jsonl"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let pairs = text.lines().map(|line| {
        let pair: serde_json::Value = serde_json::from_str(line).unwrap();
        let said = |key: &str| pair[key].as_str().unwrap().to_owned();
        let contradicts = pair["contradicts"].as_bool().unwrap();
        (contradicts, found(&said("first"), &said("second")), pair)
    });
    let pairs: Vec<_> = pairs.collect();
    let hinted = |contradicts: bool| -> Vec<&serde_json::Value> {
        let is_it = |one: &&(bool, String, _)| one.0 == contradicts && !one.1.is_empty();
        pairs.iter().filter(is_it).map(|one| &one.2).collect()
    };
    assert!(hinted(true).len() >= 130, "{} of 150", hinted(true).len());
    assert!(hinted(false).len() <= 3, "{:?}", hinted(false));
}

/// Returns the pairs in the fixture of plain statements: which half they are of, whether they contradict each
/// other, and both memories.
fn plain_pairs() -> Vec<(usize, bool, Memory, Memory)> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/fixtures/plain_contradictions.jsonl"
    );
    let text = std::fs::read_to_string(path).unwrap();
    let rows = text.lines().enumerate().map(|(line, text)| {
        let row: serde_json::Value = serde_json::from_str(text).unwrap();
        let side = |key: &str, at: usize| {
            let mut memory = memory(row[key].as_str().unwrap());
            memory.title = row["title"][at].as_str().map(str::to_owned);
            memory
        };
        let contradicts = row["contradicts"].as_bool().unwrap();
        (
            line / 4 % 2,
            contradicts,
            side("first", 0),
            side("second", 1),
        )
    });
    rows.collect()
}

#[test]
fn plain_opposites_are_seen_and_what_looks_like_them_is_not() {
    let pairs = plain_pairs();
    let hinted = |half: usize, contradicts: bool| -> Vec<&str> {
        let of_half = pairs
            .iter()
            .filter(|one| (one.0, one.1) == (half, contradicts));
        let hinted = of_half.filter(|(.., older, newer)| contradiction(older, newer).is_some());
        hinted.map(|(.., newer)| newer.content.as_str()).collect()
    };
    for half in [0, 1] {
        let (seen, imagined) = (hinted(half, true), hinted(half, false));
        assert!(
            seen.len() >= 24,
            "half {half}: {} of 30: {seen:#?}",
            seen.len()
        );
        assert!(imagined.len() <= 1, "half {half}: {imagined:#?}");
    }
    assert!(hinted(0, false).len() + hinted(1, false).len() <= 1);
}

#[test]
fn a_not_is_quoted_where_it_stands() {
    let (one, other) = ("We use Postgres.", "We do not use Postgres.");
    let told = |older: &str, newer: &str| {
        contradiction(&memory(older), &memory(newer))
            .unwrap()
            .to_string()
    };
    assert_eq!(
        told(one, other),
        "there \"We use Postgres\", here \"We do not use Postgres\""
    );
    assert_eq!(
        told(other, one),
        "there \"We do not use Postgres\", here \"We use Postgres\""
    );
}

#[test]
fn titles_that_name_one_thing_make_its_values_comparable() {
    let of = |title: &str, text: &str| Memory {
        title: Some(title.to_owned()),
        ..memory(text)
    };
    let found = |one: &Memory, other: &Memory| contradiction(one, other).is_some();
    let port = of("API port", "port 8080");
    assert!(found(&port, &of("Port of the API", "port 9090")));
    assert!(!found(&port, &of("Port of the database", "port 5432")));
    assert!(!found(&port, &of("Port of the API", "port 8080")));
    assert!(!found(&port, &memory("port 9090")));
    assert!(found(
        &of("Indentation", "tabs"),
        &of("Indentation style", "spaces")
    ));
}
