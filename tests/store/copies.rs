//! A copy of a store says what the store says: times are those of the texts and of what was done, not
//! those that a copy gives to its files.

use std::fs;

use chrono::{DateTime, TimeDelta, Utc};

use crate::support::{TestStore, at, new_memory, noon, query, touch};
use memdir::engine::{Engine, Method, Query, Ranking, Recalled, live, ops};
use memdir::lifecycle::Cleanup;
use memdir::model::{Change, Filter, Memory, NewMemory};

fn copy_of(store: &TestStore, written: DateTime<Utc>) -> TestStore {
    let copy = TestStore::new();
    for folder in ["files", "journal"] {
        let Ok(files) = fs::read_dir(store.root().join(folder)) else {
            continue;
        };
        fs::create_dir_all(copy.root().join(folder)).unwrap();
        for file in files {
            let file = file.unwrap();
            let to = copy.root().join(folder).join(file.file_name());
            fs::copy(file.path(), &to).unwrap();
            touch(&to, written);
        }
    }
    copy
}

fn memory(engine: &Engine, id: &str) -> Memory {
    match ops::recall(engine, &[id.to_owned()]).remove(0) {
        Recalled::Found { memory, .. } => *memory,
        Recalled::Failed { error, .. } => panic!("{id}: {error}"),
    }
}

fn changed(engine: &Engine, id: &str) -> DateTime<Utc> {
    live::state_of(&engine.live, &memory(engine, id)).0.changed
}

fn content(text: &str) -> Change {
    Change {
        content: Some(text.to_owned()),
        ..Change::default()
    }
}

#[test]
fn a_copy_answers_as_the_store_does_to_the_score() {
    let store = TestStore::new();
    for (day, word) in [(1, "oak"), (40, "elm"), (300, "ash")] {
        let engine = store.engine_at(noon() - TimeDelta::days(day));
        let text = format!("the tree in the yard is an {word}");
        let stem = ops::remember(&engine, new_memory(&text), None)
            .unwrap()
            .stem;
        if word == "ash" {
            let later = store.engine_at(noon() - TimeDelta::days(2));
            ops::update(
                &later,
                stem.as_str(),
                &content("the tree is an ash, felled"),
            )
            .unwrap();
        }
    }
    let by_hand =
        "---\ntitle: Trees\ncreated: 2024-03-01\nupdated: 2025-01-07\n---\n\nmy tree list\n";
    store.put("trees.md", by_hand);
    let copy = copy_of(&store, noon());
    let (one, other) = (store.engine(), copy.engine());
    for (name, method) in Method::ALL {
        let asked = Query {
            ranking: Ranking {
                method,
                ..Ranking::default()
            },
            ..query("tree")
        };
        let scores = |engine: &Engine| -> Vec<(String, f64)> {
            let hits = ops::search(engine, &asked).unwrap().hits;
            hits.into_iter().map(|hit| (hit.name, hit.score)).collect()
        };
        let here = scores(&one);
        assert_eq!(here, scores(&other), "{name}");
        assert_eq!(here.len(), 4, "{name}");
    }
    for file in store.texts().keys() {
        let id = file.file_stem().unwrap().to_str().unwrap();
        assert_eq!(changed(&one, id), changed(&other, id), "{id}");
    }
}

#[test]
fn what_a_note_states_of_its_times_comes_before_those_of_its_file() {
    let store = TestStore::new();
    let day = |text: &str| memdir::model::Timestamp::parse(text).unwrap().utc();
    let notes = [
        (
            "both",
            "created: 2024-03-01\nupdated: 2025-01-07",
            "2024-03-01",
            "2025-01-07",
        ),
        (
            "created",
            "created: \"2024-03-01\"",
            "2024-03-01",
            "2024-03-01",
        ),
        ("date", "date: 2023-02-03", "2023-02-03", "2023-02-03"),
        (
            "first",
            "date: 2020-01-01\ncreated: 2019-01-01\ntimestamp: 2021-05-05T10:00:00Z",
            "2021-05-05T10:00:00Z",
            "2021-05-05T10:00:00Z",
        ),
        ("updated", "updated: 2022-02-02", "2022-02-02", "2022-02-02"),
        (
            "mistaken",
            "created: some day\ndate: 2023-02-03",
            "2023-02-03",
            "2023-02-03",
        ),
    ];
    for (name, keys, ..) in notes {
        store.put(
            &format!("{name}.md"),
            format!("---\n{keys}\n---\n\nnote {name}\n"),
        );
    }
    store.put("nothing.md", "no time at all\n");
    let written = at("2026-05-01T08:00:00Z");
    touch(&store.files().join("nothing.md"), written);
    let engine = store.engine();
    for (name, _, made, updated) in notes {
        assert_eq!(memory(&engine, name).timestamp.utc(), day(made), "{name}");
        assert_eq!(changed(&engine, name), day(updated), "{name}");
    }
    assert_eq!(memory(&engine, "nothing").timestamp.utc(), written);
    // An update is a change now, and moves no note.
    ops::update(&engine, "both", &content("another text")).unwrap();
    assert_eq!(memory(&engine, "both").timestamp.utc(), day("2024-03-01"));
    assert_eq!(changed(&engine, "both"), noon());
}

#[test]
fn a_copy_makes_nothing_young_for_cleanup() {
    let store = TestStore::new();
    let old = store.engine_at(noon() - TimeDelta::days(900));
    let of = NewMemory {
        confidence: Some(0.01),
        importance: Some(1),
        ..new_memory("a passing remark about lunch")
    };
    ops::remember(&old, of, None).unwrap();
    let copy = copy_of(&store, noon());
    for store in [&store, &copy] {
        let planned = ops::plan_cleanup(&store.engine(), &Filter::default(), &Cleanup::default());
        assert_eq!(planned.unwrap().plan.proposals.len(), 1);
    }
}
