//! How sure an answer is: the relevance of its hits, and the note where none is likely to answer.

use serde_json::Value;

use crate::support::program::{Home, Ran};

fn home() -> Home {
    let home = Home::new();
    for text in [
        "The ferry to the island sails at nine from pier four.",
        "Atlas keeps its tiles in PostgreSQL, on two machines.",
        "Mira plays the cello in an orchestra on Thursdays.",
        "The oven of the bakery must be cleaned every Sunday.",
        "Invoices are sent on the first working day of a month.",
    ] {
        home.remember(&[text]);
    }
    home
}

fn best(ran: &Ran) -> f64 {
    let hits = ran.json();
    let chances = hits.as_array().unwrap().iter();
    chances
        .map(|hit| hit["relevance"].as_f64().unwrap())
        .fold(0.0, f64::max)
}

#[test]
fn an_answer_is_surer_than_the_hits_of_a_question_that_nothing_answers() {
    let home = home();
    let known = home.run(&["think", "--json", "when does the ferry sail to the island?"]);
    assert_eq!(known.json()[0]["relevance"], best(&known), "{known:?}");
    assert!(best(&known) > 0.3, "{known:?}");
    assert!(!known.stderr.contains("likely"), "{known:?}");
    let unknown = home.run(&["think", "--json", "how tall is the giraffe of the zoo?"]);
    assert!(best(&unknown) < 0.08, "{unknown:?}");
    assert!(
        unknown.stderr.contains("no hit is likely to answer"),
        "{unknown:?}"
    );
}

#[test]
fn keywords_lists_of_words_and_other_rankings_state_no_relevance() {
    let home = home();
    for arguments in [
        vec!["-k", "ferry"],
        vec!["ferry island"],
        vec!["--ranking", "bm25", "when does the ferry sail?"],
    ] {
        let ran = home.run(&[vec!["think", "--json"], arguments].concat());
        assert_eq!(ran.json()[0]["relevance"], Value::Null, "{ran:?}");
        assert!(!ran.stderr.contains("likely"), "{ran:?}");
    }
}

#[test]
fn the_explanation_states_it() {
    let ran = home().run(&["think", "--explain", "when does the ferry sail?"]);
    let shown = String::from_utf8(ran.stdout).unwrap();
    assert!(shown.contains("relevance 0."), "{shown}");
}
