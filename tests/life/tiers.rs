//! A tier that somebody states holds, lower as well as higher, whatever uses had earned before.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::support::program::Home;
use crate::support::{TestStore, new_memory, noon};
use memdir::engine::{live, ops, write};
use memdir::model::{Change, NewMemory, Patch, Stem, Tier};

fn day(number: i64) -> DateTime<Utc> {
    noon() + TimeDelta::days(number)
}

/// Uses the memory on each of the days.
fn used_on(store: &TestStore, stem: &Stem, days: std::ops::Range<i64>) {
    for number in days {
        let engine = store.engine_at(day(number));
        engine
            .writer
            .count_uses(&ops::recall(&engine, &[stem.as_str().to_owned()]));
    }
}

/// States the tier, and nothing else, on a day.
fn state(store: &TestStore, stem: &Stem, tier: Tier, number: i64) {
    let change = Change {
        tier: Patch::Set(tier),
        ..Change::default()
    };
    let engine = store.engine_at(day(number));
    ops::update(&engine, stem.as_str(), &change).unwrap();
}

/// What it is as of a day: its tier, and after how many days it ends.
fn now(store: &TestStore, stem: &Stem, number: i64) -> (Option<Tier>, Option<f64>) {
    let engine = store.engine_at(day(number));
    let (_, name) = live::resolve(&engine.live, stem.as_str()).unwrap();
    let bytes = std::fs::read(store.root().join("files").join(&name)).unwrap();
    let (state, _) = live::state_of(&engine.live, &write::preview(&engine.writer, &name, &bytes));
    let hours = |end: DateTime<Utc>| (end - noon()).num_hours() as f64;
    (state.tier, state.expires.map(|end| hours(end) / 24.0))
}

fn mid(store: &TestStore) -> Stem {
    let memory = NewMemory {
        tier: Some(Tier::Mid),
        ..new_memory("a heron")
    };
    ops::remember(&store.engine(), memory, None).unwrap().stem
}

#[test]
fn a_lower_tier_holds_against_uses_and_later_uses_earn_anew() {
    let store = TestStore::new();
    let stem = mid(&store);
    used_on(&store, &stem, 0..5);
    assert_eq!(
        now(&store, &stem, 5),
        (Some(Tier::Long), None),
        "it is earned"
    );
    state(&store, &stem, Tier::Mid, 6);
    assert_eq!(now(&store, &stem, 6), (Some(Tier::Mid), Some(13.0)));
    used_on(&store, &stem, 7..11);
    assert_eq!(now(&store, &stem, 11), (Some(Tier::Mid), Some(13.0)));
    used_on(&store, &stem, 11..12);
    assert_eq!(
        now(&store, &stem, 12),
        (Some(Tier::Long), None),
        "five further days"
    );
    state(&store, &stem, Tier::Short, 20);
    assert_eq!(now(&store, &stem, 20), (Some(Tier::Short), Some(20.25)));
}

#[test]
fn a_higher_tier_ends_later_as_of_now_and_keeps_an_end_that_is_later_still() {
    let store = TestStore::new();
    let stem = mid(&store);
    state(&store, &stem, Tier::Short, 5);
    assert_eq!(now(&store, &stem, 5), (Some(Tier::Short), Some(5.25)));
    state(&store, &stem, Tier::Mid, 5);
    assert_eq!(now(&store, &stem, 5), (Some(Tier::Mid), Some(12.0)));
    state(&store, &stem, Tier::Long, 6);
    assert_eq!(now(&store, &stem, 6), (Some(Tier::Long), None));

    let ends = NewMemory {
        tier: Some(Tier::Short),
        expires: Some(memdir::model::Timestamp::from_utc(day(30))),
        ..new_memory("a stork")
    };
    let stem = ops::remember(&store.engine(), ends, None).unwrap().stem;
    state(&store, &stem, Tier::Mid, 1);
    assert_eq!(now(&store, &stem, 1), (Some(Tier::Mid), Some(30.0)));
}

#[test]
fn the_command_line_obeys_a_tier_and_says_when_the_memory_ends() {
    let home = Home::new();
    let id = home.remember(&["--timestamp", "2026-01-07", "A heron."]);
    let id = id.trim();
    let said = home.run(&["update", id, "--tier", "short"]).done();
    assert!(
        said.contains("its tier is short, and it ends at 20"),
        "{said}"
    );
    let found = home.run(&["think", "heron", "--json"]).json();
    assert_eq!(
        found[0]["id"], id,
        "old as it is, it lives six hours from now on"
    );
    let raised = home.run(&["update", id, "--tier", "long", "--json"]).json();
    assert_eq!(
        (&raised["tier"], &raised["expires"]),
        (&json!("long"), &Value::Null)
    );
    assert!(!home.text_of(id).contains("expires"));
    let set = [
        "update",
        id,
        "--tier",
        "mid",
        "--expires",
        "2126-01-01",
        "--json",
    ];
    let set = home.run(&set).json();
    assert!(
        set["expires"].as_str().unwrap().starts_with("2126-01-01"),
        "{set}"
    );
    let other = home
        .run(&["update", id, "--title", "Herons", "--json"])
        .json();
    assert!(other.get("tier").is_none(), "{other}");
}
