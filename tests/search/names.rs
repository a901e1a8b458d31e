//! Names of people in questions.

use crate::support::{TestStore, at, clock, new_memory, query};
use memdir::engine::{Engine, Hit, Options, ops};
use memdir::model::{NewMemory, Timestamp};

/// A talk of Akib and Marina, who both grow something.
fn talk(store: &TestStore) -> Engine {
    let engine = Engine::open(store.options(), clock(at("2026-06-01T12:00:00Z"))).unwrap();
    for (minute, (user, text)) in (0..).zip([
        ("Marina", "I grow beans on the balcony."),
        ("Akib", "I grow melons behind the shed."),
        ("Marina", "The marine museum opens on Sunday."),
    ]) {
        let memory = NewMemory {
            timestamp: Timestamp::parse(&format!("2026-05-20T10:{minute:02}:00Z")),
            user: user.to_owned(),
            ..new_memory(text)
        };
        ops::remember(&engine, memory, None).unwrap();
    }
    engine
}

fn scores(engine: &Engine, question: &str) -> Vec<(String, f64)> {
    let hits: Vec<Hit> = ops::search(engine, &query(question)).unwrap().hits;
    let scored = hits
        .iter()
        .map(|hit| (hit.memory.content.clone(), hit.score));
    scored.collect()
}

#[test]
fn a_name_in_another_spelling_is_the_name() {
    let store = TestStore::new();
    let engine = talk(&store);
    let right = scores(&engine, "What does Akib grow?");
    assert_eq!(right[0].0, "I grow melons behind the shed.");
    assert_eq!(scores(&engine, "What does Aqib grow?"), right);
    // Without a capital it is a word, and so is one that a memory holds.
    assert_ne!(scores(&engine, "What does aqib grow?"), right);
    let marina = scores(&engine, "What does Marina grow?");
    assert_ne!(scores(&engine, "What does Marine grow?"), marina);
}

#[test]
fn a_name_of_the_settings_is_the_user() {
    let store = TestStore::new();
    let options = |people: &str| Options {
        people: people.parse().unwrap(),
        ..store.options()
    };
    let right = scores(&talk(&store), "What does Akib grow?");
    let clock = || clock(at("2026-06-01T12:00:00Z"));
    let engine =
        Engine::open(options("akib = Kit, Mister Moon; nobody = Marine"), clock()).unwrap();
    for question in [
        "What does Kit grow?",
        "What does kit grow?",
        "What does Mister Moon grow?",
    ] {
        assert_eq!(scores(&engine, question), right, "{question}");
    }
    assert_ne!(scores(&engine, "What does Moon grow?"), right);
    let marina = scores(&engine, "What does Marina grow?");
    assert_ne!(scores(&engine, "What does Marine grow?"), marina);
    // An index that is made anew knows it, too.
    std::fs::remove_dir_all(store.state()).unwrap();
    let engine = Engine::open(options("akib = Kit"), clock()).unwrap();
    assert_eq!(scores(&engine, "What does Kit grow?"), right);
}
