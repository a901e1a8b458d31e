//! The rankings of other memory servers: their formulas, by hand, against what a search says.

use crate::support::{TestStore, at, clock, new_memory, query, touch};
use memdir::engine::{Engine, Method, Query, Ranking, Recalled, live, ops};
use memdir::model::{NewMemory, Stem, Tier, Timestamp};

const WRITTEN: &str = "2026-05-22T12:00:00Z";
/// Ten days later.
const NOW: &str = "2026-06-01T12:00:00Z";

fn engine(store: &TestStore) -> Engine {
    Engine::open(store.options(), clock(at(NOW))).unwrap()
}

/// Stores a memory as it was written and last changed ten days ago.
fn put(store: &TestStore, engine: &Engine, memory: NewMemory) -> Stem {
    let memory = NewMemory {
        timestamp: Timestamp::parse(WRITTEN),
        ..memory
    };
    let stem = ops::remember(engine, memory, None).unwrap().stem;
    touch(&store.files().join(format!("{stem}.md")), at(WRITTEN));
    stem
}

fn by(method: Method, text: &str) -> Query {
    Query {
        ranking: Ranking {
            method,
            ..Ranking::default()
        },
        ..query(text)
    }
}

fn scores(engine: &Engine, method: Method, text: &str) -> Vec<(Stem, f64)> {
    let results = ops::search(engine, &by(method, text)).unwrap();
    let hits = results.hits.into_iter();
    hits.map(|hit| (hit.memory.stem.clone(), hit.score))
        .collect()
}

fn score_of(scores: &[(Stem, f64)], stem: &Stem) -> f64 {
    let mut found = scores.iter().filter(|(of, _)| of == stem);
    found.next().expect("it is found").1
}

#[track_caller]
fn near(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-4, "{one} is not {other}");
}

fn use_it(engine: &Engine, stem: &Stem, times: usize) {
    for _ in 0..times {
        let recalled = ops::recall(engine, &[stem.as_str().to_owned()]);
        assert!(matches!(recalled[0], Recalled::Found { .. }));
        engine.writer.count_uses(&recalled);
    }
}

#[test]
fn six_factors_decide_and_one_less_in_a_search() {
    let store = TestStore::new();
    let engine = engine(&store);
    let of = |content: &str, importance, confidence, tier| NewMemory {
        importance: Some(importance),
        confidence: Some(confidence),
        tier: Some(tier),
        expires: Timestamp::parse("2027-01-01T00:00:00Z"),
        ..new_memory(content)
    };
    let plain = put(&store, &engine, of("herons wade slowly", 1, 0.5, Tier::Mid));
    let dear = put(
        &store,
        &engine,
        of("herons wade quietly", 9, 1.0, Tier::Long),
    );
    put(
        &store,
        &engine,
        of("owls hoot at night", 10, 1.0, Tier::Long),
    );
    use_it(&engine, &dear, 3);
    let words = scores(&engine, Method::Bm25, "herons");
    let six = scores(&engine, Method::SixFactor, "herons");
    let five = scores(&engine, Method::FiveFactor, "herons");
    assert_eq!(
        (six.len(), five.len()),
        (2, 2),
        "what holds no word is not found"
    );
    let worth = |importance: f64, uses: f64, confidence: f64| {
        0.5 * importance + 0.1 * uses + 2.0 * confidence + 1.0 / (1.0 + 0.1 * 10.0)
    };
    let state = live::state_of(
        &engine.live,
        &ops::search(&engine, &by(Method::Bm25, "quietly"))
            .unwrap()
            .hits[0]
            .memory,
    );
    let dear_worth = worth(f64::from(state.0.importance), 3.0, state.0.confidence);
    near(
        score_of(&six, &dear),
        score_of(&words, &dear) + dear_worth + 3.0,
    );
    near(score_of(&five, &dear), score_of(&words, &dear) + dear_worth);
    let unused = worth(1.0, 0.0, 0.5);
    near(
        score_of(&six, &plain),
        score_of(&words, &plain) + unused + 1.0,
    );
    assert_eq!(six[0].0, dear);
    assert_eq!(scores(&engine, Method::SixFactorWords, "herons"), six);
}

#[test]
fn the_weighted_ranking_goes_by_name_tags_importance_and_last_use() {
    let store = TestStore::new();
    let engine = engine(&store);
    let of = |title: &str, topics: &[&str], importance, content: &str| NewMemory {
        title: Some(title.to_owned()),
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        importance: Some(importance),
        ..new_memory(content)
    };
    let exact = put(&store, &engine, of("editor", &["tools"], 5, "Helix it is."));
    let part = put(
        &store,
        &engine,
        of("editor-theme", &["colours"], 5, "Dark."),
    );
    let tagged = put(
        &store,
        &engine,
        of("shell", &["editor-line"], 10, "fish, with vi keys"),
    );
    let told = put(
        &store,
        &engine,
        of("meeting", &[], 2, "We talked of the editor."),
    );
    use_it(&engine, &told, 1);
    let found = scores(&engine, Method::Weighted, "Editor");
    let aged = 0.15 * (-10.0_f64 / 30.0).exp();
    near(score_of(&found, &exact), 0.4 + 0.25 * 0.5 + aged);
    near(score_of(&found, &part), 0.4 * 0.7 + 0.25 * 0.5 + aged);
    near(score_of(&found, &tagged), 0.4 * 0.5 + 0.2 + 0.25 + aged);
    near(score_of(&found, &told), 0.4 * 0.5 + 0.25 * 0.2 + 0.15);
    // Half of the words stand in a tag, and one of two is enough to be found.
    let found = scores(&engine, Method::Weighted, "editor colours");
    near(
        score_of(&found, &part),
        0.4 * 0.7 + 0.2 * 0.5 + 0.25 * 0.5 + aged,
    );
    assert_eq!(found.len(), 4);
}

#[test]
fn they_say_the_same_with_and_without_an_index() {
    let store = TestStore::new();
    let engine = engine(&store);
    for (count, word) in ["heron", "owl", "crane", "stork"].iter().enumerate() {
        let memory = NewMemory {
            importance: Some(count as u8 + 2),
            title: Some(format!("{word} notes")),
            ..new_memory(&format!("The {word} and the pond."))
        };
        put(&store, &engine, memory);
    }
    for method in [Method::SixFactor, Method::FiveFactor, Method::Weighted] {
        // Four files lie in an overlay over an empty index.
        let before = scores(&engine, method, "pond heron");
        live::reindex(&engine.live, true, &mut |_| {}).unwrap();
        let after = scores(&self::engine(&store), method, "pond heron");
        assert_eq!(before.len(), 4);
        for ((one, score), (other, than)) in before.iter().zip(&after) {
            assert_eq!(one, other);
            near(*score, *than);
        }
    }
}
