//! Questions find the turns of talks.

use crate::support::program::Home;

/// Mines a talk in which each answer is about another animal.
fn zoo(home: &Home) {
    let animals = ["wombat", "numbat", "quokka", "dingo", "emu"];
    let about = |number: usize| {
        let animal = animals[number % animals.len()];
        let what = "It sleeps in the day, and what it eats grows near the river. ".repeat(12);
        format!(
            "User: Tell me of the {animal}, number {number}.\nAssistant: The {animal} of house {number}. {what}\n"
        )
    };
    let text: String = (0..25).map(about).collect();
    home.write("zoo.txt", text);
    home.run(&["mine", "zoo.txt"]);
}

#[test]
fn the_turns_that_answer_are_hits_of_their_own() {
    let home = Home::new();
    zoo(&home);
    let hits = home
        .run(&[
            "think",
            "--json",
            "--limit",
            "4",
            "where does the numbat of house 11 sleep?",
        ])
        .json();
    let hits = hits.as_array().unwrap();
    assert!(!hits.is_empty());
    let mut lines = Vec::new();
    for hit in hits {
        let at = hit["at"].as_str().unwrap();
        let name = format!("{}:{at}", hit["id"].as_str().unwrap());
        assert!(
            home.run(&["recall", &name]).text().contains("numbat"),
            "{hit}"
        );
        lines.push(at.to_owned());
    }
    lines.sort();
    lines.dedup();
    assert_eq!(lines.len(), hits.len(), "{hits:?}");
    let first = hits[0]["content_preview"].as_str().unwrap();
    assert!(first.contains("11"), "{first}");
}

#[test]
fn memories_keep_their_places_among_talks() {
    let home = Home::new();
    let id = home.remember(&["--topics", "zoo", "The numbat sleeps in house 99."]);
    let ask = || {
        home.run(&["think", "--json", "in which house does the numbat sleep?"])
            .json()
    };
    assert_eq!(ask().as_array().unwrap().len(), 1);
    zoo(&home);
    let hits = ask();
    let hits = hits.as_array().unwrap();
    let places: Vec<bool> = hits.iter().map(|hit| hit["at"].is_null()).collect();
    assert_eq!(
        places.iter().filter(|is_memory| **is_memory).count(),
        1,
        "{hits:?}"
    );
    assert!(hits.iter().any(|hit| hit["id"] == id.as_str()), "{hits:?}");
    let alone = home
        .run(&["think", "--json", "--keywords", "numbat"])
        .json();
    assert_eq!(alone.as_array().unwrap().len(), 1);
}
