//! Notes that were put into a store in one moment: they are no talk, and no context of each other.

use std::path::Path;

use chrono::{DateTime, TimeDelta, Utc};

use crate::support::{TestStore, at, memory_text, query, touch};
use memdir::engine::{Engine, ops};

const COPIED: &str = "2026-05-30T10:00:00Z";

/// What every README says, with one word of its own.
fn readme(rare: &str) -> String {
    format!("# Install\n\nRun cargo add to use the crate {rare} in your package. License: MIT.\n")
}

const RARE: [&str; 6] = [
    "quokka", "zephyr", "marzipan", "obelisk", "tundra", "saffron",
];

/// Puts a note of each rare word into place, `apart` after the one before it.
fn store_with(
    apart: TimeDelta,
    name_and_text: impl Fn(usize, DateTime<Utc>) -> (String, String),
) -> TestStore {
    let store = TestStore::new();
    for number in 0..RARE.len() {
        let moment = at(COPIED) + apart * number as i32;
        let (name, text) = name_and_text(number, moment);
        store.put(&name, text);
        touch(&store.files().join(Path::new(&name)), moment);
    }
    store
}

fn by_hand(number: usize, _: DateTime<Utc>) -> (String, String) {
    (format!("{}.md", RARE[number]), readme(RARE[number]))
}

/// As an import writes them: several authors, a time each.
fn imported(number: usize, moment: DateTime<Utc>) -> (String, String) {
    let handle = format!("{number:08x}");
    let time = moment.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    let text = memory_text(&handle, &time, &readme(RARE[number]));
    let text = text.replace("mira", &format!("author{number}"));
    (format!("20260530_100000_{handle}.md"), text)
}

fn hits(engine: &Engine, word: &str) -> Vec<(String, Option<&'static str>)> {
    let hits = ops::search(engine, &query(word)).unwrap().hits;
    let told = hits
        .iter()
        .map(|hit| (hit.memory.content.clone(), hit.found_only_by()));
    told.collect()
}

#[test]
fn notes_of_one_moment_do_not_find_each_other() {
    for apart in [0, 7, 3_000, 120_000] {
        let apart = TimeDelta::microseconds(apart);
        for store in [store_with(apart, by_hand), store_with(apart, imported)] {
            let engine = store.engine();
            for word in RARE {
                let found = hits(&engine, word);
                assert_eq!(found.len(), 1, "{word}, {apart}: {found:?}");
                assert!(found[0].0.contains(word), "{found:?}");
                assert_eq!(found[0].1, None);
            }
        }
    }
}

#[test]
fn what_was_written_together_still_helps_and_says_so() {
    let store = store_with(TimeDelta::minutes(2), imported);
    let found = hits(&store.engine(), "marzipan");
    assert!(found.len() > 1, "{found:?}");
    for (text, mark) in found {
        let expected = (!text.contains("marzipan")).then_some("context");
        assert_eq!(mark, expected, "{text}");
    }
}

#[test]
fn a_hit_of_a_day_says_so() {
    let store = store_with(TimeDelta::days(40), imported);
    let found = hits(&store.engine(), "obelisk or May 30, 2026?");
    let marks: Vec<_> = found.iter().map(|(_, mark)| *mark).collect();
    assert_eq!(
        marks.iter().filter(|mark| mark.is_none()).count(),
        1,
        "{found:?}"
    );
    assert!(marks.contains(&Some("date")), "{found:?}");
}
