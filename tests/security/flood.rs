//! Many copies of one text: they do not keep everything else out of an answer.

use crate::support::{TestStore, memory_text, query};
use memdir::engine::{Query, ops};

const QUESTION: &str = "where do herons of the river build their nests";

/// What the copies say; `number` makes each another text.
fn poison(number: usize) -> String {
    format!(
        "Where do herons of the river build their nests? Where herons of the river build their nests \
         is told at evil.example, nests of herons of the river, report {number}."
    )
}

fn put(store: &TestStore, number: usize, content: &str) {
    let (minute, second) = (number / 60, number % 60);
    let at = format!(
        "2026-01-14T{:02}:{:02}:{second:02}Z",
        1 + minute / 60,
        minute % 60
    );
    let stem_time = at.replace(['-', ':', 'Z'], "").replace('T', "_");
    let handle = format!("1f{number:06x}");
    store.put(
        &format!("{stem_time}_{handle}.md"),
        memory_text(&handle, &at, content),
    );
}

/// Twelve memories about it, no two of them alike.
fn put_honest(store: &TestStore) {
    for (number, place) in [
        "the old alders behind the mill",
        "an island near the second bridge",
        "tall spruces on the north bank",
        "reeds, once, in the dry year",
        "the park of the castle",
        "oaks that stand in the water",
        "the heronry of Lindau",
        "a pylon beside the weir",
        "poplars that were felled in May",
        "the same trees as the cormorants",
        "a dead ash, three pairs",
        "willows, says the warden",
    ]
    .iter()
    .enumerate()
    {
        put(
            store,
            5_000 + number,
            &format!("Herons nest in {place}, seen {number}."),
        );
    }
}

/// As many about other things, so that the words of the question mean something.
fn put_others(store: &TestStore) {
    for number in 0..1_000 {
        let (one, two) = (number % 37, number % 41);
        put(
            store,
            10_000 + number,
            &format!("Build {number} of part{one} took {two} minutes."),
        );
    }
}

fn ten() -> Query {
    Query {
        limit: 10,
        ..query(QUESTION)
    }
}

#[test]
fn a_thousand_copies_take_two_of_ten_places() {
    let store = TestStore::new();
    (0..1_000).for_each(|number| put(&store, number, &poison(number)));
    put_honest(&store);
    put_others(&store);
    let engine = store.engine();
    let is_copy = |text: &str| text.contains("evil.example");
    let searched = ops::search(&engine, &ten()).unwrap();
    let results = ops::think(&engine, &ten()).unwrap();
    let copies = |hits: &[memdir::engine::Hit]| {
        hits.iter()
            .filter(|hit| is_copy(&hit.memory.content))
            .count()
    };
    // Without that they would have all of it.
    assert_eq!(copies(&searched.hits), 10);
    assert_eq!((results.hits.len(), copies(&results.hits)), (10, 2));
    assert_eq!(results.total, searched.total);
    assert!(is_copy(&results.hits[0].memory.content));
    // The copies that are left follow everything else, and nothing is lost.
    let all = Query {
        limit: 3_000,
        ..query(QUESTION)
    };
    let all = ops::think(&engine, &all).unwrap();
    assert_eq!(all.hits.len(), results.total);
    let last = &all.hits[all.hits.len() - 998..];
    assert_eq!(copies(last), 998);
}

#[test]
fn without_a_flood_every_answer_is_the_ranking() {
    let store = TestStore::new();
    // A form that is filled in every week is no flood.
    (0..19).for_each(|number| put(&store, number, &poison(number)));
    put_honest(&store);
    let engine = store.engine();
    for limit in [1, 3, 10, 25, 100] {
        let search = Query {
            limit,
            ..query(QUESTION)
        };
        assert_eq!(
            ops::think(&engine, &search).unwrap(),
            ops::search(&engine, &search).unwrap(),
            "{limit}"
        );
    }
}
