//! Names of people in questions.

use crate::support::{TestStore, at, clock, new_memory, query};
use memdir::engine::{Engine, Hit, ops};
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
