//! Questions find the turns of talks.

use std::fs::{self, DirEntry};
use std::path::Path;

use serde_json::Value;

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

/// Returns the hits of a question.
fn hits_of(home: &Home, arguments: &[&str]) -> Vec<Value> {
    let asked = [&["think", "--json", "--limit", "5"], arguments].concat();
    home.run(&asked).json().as_array().unwrap().clone()
}

#[test]
fn a_talk_is_found_as_its_file_is_now() {
    let home = Home::new();
    zoo(&home);
    let question = ["what does the capybara of house 40 eat?"];
    let shows = |hits: &[Value]| {
        hits.iter().any(|hit| {
            hit["content_preview"]
                .as_str()
                .unwrap()
                .contains("capybara")
        })
    };
    assert!(!shows(&hits_of(&home, &question)));
    let talk = home.run(&["list", "--talks", "--json"]).json()["memories"][0].clone();
    let path = home.store().join(talk["file"].as_str().unwrap());
    let before = fs::read_to_string(&path).unwrap();
    let more = "\n**User**\n\nThe capybara of house 40 eats reed.\n";
    fs::write(&path, format!("{before}{more}")).unwrap();
    let found = hits_of(&home, &question);
    assert!(shows(&found[..1]), "{found:?}");
    let at = found[0]["at"].as_str().unwrap();
    let name = format!("{}:{at}", talk["id"].as_str().unwrap());
    let told = home.run(&["recall", &name]).text();
    assert!(
        told.contains("The capybara of house 40 eats reed."),
        "{told}"
    );
    fs::write(&path, before).unwrap();
    assert!(!shows(&hits_of(&home, &question)));
    home.run(&["forget", "--yes", talk["id"].as_str().unwrap()]);
    assert_eq!(
        hits_of(&home, &["where does the numbat sleep?"]),
        [] as [Value; 0]
    );
}

#[test]
fn what_a_filter_asks_for_is_asked_of_the_talk() {
    let home = Home::new();
    zoo(&home);
    let question = "where does the numbat of house 11 sleep?";
    let all = hits_of(&home, &[question]);
    assert_eq!(hits_of(&home, &["--topics", "plain", question]), all);
    for other in [
        ["--topics", "birds"],
        ["--since", "tomorrow"],
        ["--user", "somebody"],
    ] {
        let hits = hits_of(&home, &[&other[..], &[question]].concat());
        assert_eq!(hits, [] as [Value; 0], "{other:?}");
    }
}

#[test]
fn damage_to_the_index_of_turns_costs_no_answer() {
    let home = Home::new();
    zoo(&home);
    let question = ["where does the numbat of house 11 sleep?"];
    let whole = hits_of(&home, &question);
    let state = home.store().join(".memdir");
    let folder = |entry: DirEntry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("turns-v")
            .then(|| entry.path())
    };
    let index = fs::read_dir(&state)
        .unwrap()
        .find_map(|entry| folder(entry.unwrap()))
        .unwrap();
    let files = || {
        fs::read_dir(&index)
            .unwrap()
            .map(|entry| entry.unwrap().path())
    };
    let damages: [fn(&Path); 3] = [
        |path| fs::write(path, b"").unwrap(),
        |path| fs::write(path, [0; 100]).unwrap(),
        |path| fs::remove_file(path).unwrap(),
    ];
    for damage in damages {
        for path in files().collect::<Vec<_>>() {
            if path.is_file() && !path.to_string_lossy().ends_with(".lock") {
                damage(&path);
            }
        }
        // The first answer may show talks as they are.
        hits_of(&home, &question);
        assert_eq!(hits_of(&home, &question), whole);
    }
}
