//! The first hits of a search are re-ranked by a cross-encoder: the tiny one in `fixtures/models/`.
//!
//! It takes words apart, and counts the parts that a query and a text share: `milkous` holds `milk`, which
//! no search by words sees. No ONNX Runtime is offered, so the one built in runs it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::support::program::Home;
use crate::support::{TestStore, clock, fixture, memory_text, noon, query, until};
use memdir::embed::{CrossEncoder, CrossEncoderSettings, Local, LocalSettings, Unranked};
use memdir::engine::{
    Background, Engine, Hit, Method, Options, Query, Ranking, SearchResults, ops,
};

const COLD: &str = "20260101_000000_aaaaaaaa.md";
const PARTLY: &str = "20260102_000000_bbbbbbbb.md";
const PARTS: &str = "a cold river and some milk: milkous milkous milkous milkous";
const QUERY: &str = "cold river milk";

fn tiny_cross() -> PathBuf {
    fixture("models/tiny_cross")
}

fn cross_encoder(folder: &Path, budget: Duration) -> Arc<CrossEncoder> {
    Arc::new(CrossEncoder::new(CrossEncoderSettings {
        folder: folder.to_owned(),
        threads: 2,
        libraries: Vec::new(),
        budget,
    }))
}

/// Longer than any test takes.
fn ample() -> Duration {
    Duration::from_secs(600)
}

/// A memory that words rank first, one that the cross-encoder does, and `others` that are behind them.
fn store_with(others: u32) -> TestStore {
    let store = TestStore::new();
    let put = |name: &str, text: &str| {
        let (day, handle) = (&name[6..8], &name[16..24]);
        let at = format!("2026-01-{day}T00:00:00Z");
        store.put(name, memory_text(handle, &at, text));
    };
    put(COLD, "cold river, milk\n");
    put(PARTLY, PARTS);
    for number in 0..others {
        let name = format!("20260103_000000_{number:08x}.md");
        put(
            &name,
            &format!("a river {number} {}\n", "train street ".repeat(20)),
        );
    }
    store
}

fn engine(store: &TestStore, reranker: Option<Arc<CrossEncoder>>) -> Engine {
    let options = Options {
        reranker,
        ..store.options()
    };
    Engine::open(options, clock(noon())).unwrap()
}

fn found(engine: &Engine, text: &str) -> SearchResults {
    ops::search(engine, &query(text)).unwrap()
}

fn names(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.name.as_str()).collect()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

#[test]
fn logits_are_those_of_the_reference() {
    let text = fs::read_to_string(tiny_cross().join("reference.json")).unwrap();
    let reference: Vec<Value> = serde_json::from_str(&text).unwrap();
    let model = cross_encoder(&tiny_cross(), ample());
    model.load().unwrap();
    let found = reference.iter().map(|row| {
        let [question, text] = [0, 1].map(|at| row["pair"][at].as_str().unwrap());
        model.scores(question, &mut || texts(&[text])).unwrap()[0]
    });
    let found: Vec<f32> = found.collect();
    let expected = reference
        .iter()
        .map(|row| row["logit"].as_f64().unwrap() as f32);
    assert_eq!(found, expected.collect::<Vec<f32>>());
    assert_eq!(model.name(), "tiny_cross");
    assert!(model.describe().ends_with("tiny_cross (built in)"));
}

#[test]
fn scores_are_in_the_order_of_the_texts_and_wait_for_no_loading() {
    let model = cross_encoder(&tiny_cross(), ample());
    let mut given = || texts(&["bread and bread", "", "bread"]);
    assert_eq!(model.scores("bread", &mut given), Err(Unranked::NotLoaded));
    model.load().unwrap();
    assert_eq!(
        model.scores("bread", &mut given),
        Ok(vec![-1.0, -5.0, -3.0])
    );
    assert_eq!(model.scores("bread", &mut Vec::new), Ok(Vec::new()));
}

#[test]
fn what_a_cross_encoder_says_is_one_more_part_of_the_score() {
    let store = store_with(8);
    let before = found(&engine(&store, None), QUERY).hits;
    assert_eq!(names(&before)[..2], [COLD, PARTLY]);
    assert!(before.iter().all(|hit| hit.parts.unwrap().rerank == 0.0));

    let with = engine(&store, Some(cross_encoder(&tiny_cross(), ample())));
    let after = found(&with, QUERY);

    assert_eq!(names(&after.hits)[..2], [PARTLY, COLD]);
    assert_eq!(after.not_reranked, None);
    assert!(after.hits.is_sorted_by(|one, next| one.score >= next.score));
    let weights = Ranking::default().weights;
    for hit in &after.hits {
        let was = before.iter().find(|one| one.name == hit.name).unwrap();
        let added = f64::from(weights.rerank * hit.parts.unwrap().rerank);
        assert!((hit.score - was.score - added).abs() < 1e-5, "{hit:?}");
        assert!((hit.score - f64::from(hit.parts.unwrap().total(&weights))).abs() < 1e-5);
    }
}

#[test]
fn hits_after_the_fiftieth_stay_behind_as_they_are() {
    let store = store_with(70);
    let before = found(&engine(&store, None), QUERY).hits;
    let with = engine(&store, Some(cross_encoder(&tiny_cross(), ample())));
    let after = found(&with, QUERY).hits;
    assert_eq!(after.len(), 72);
    assert_eq!(names(&after[50..]), names(&before[50..]));
    let scores = |hits: &[Hit]| hits[50..].iter().map(|hit| hit.score).collect::<Vec<f64>>();
    assert_eq!(scores(&after), scores(&before));
    assert!(
        after[..50]
            .iter()
            .any(|hit| hit.parts.unwrap().rerank > 0.0)
    );
}

#[test]
fn what_would_pass_the_budget_is_skipped_as_a_whole() {
    let store = store_with(8);
    let before = found(&engine(&store, None), QUERY);
    let with = engine(&store, Some(cross_encoder(&tiny_cross(), Duration::ZERO)));
    let after = found(&with, QUERY);
    assert_eq!(after.hits, before.hits);
    let why = after.not_reranked.unwrap();
    assert!(why.starts_with("10 texts would take"), "{why}");
    assert!(why.ends_with("the budget is 0 ms"), "{why}");
}

#[test]
fn a_model_that_cannot_be_used_costs_no_answer() {
    let store = store_with(8);
    let before = found(&engine(&store, None), QUERY);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("model.onnx"), "no model").unwrap();
    fs::write(folder.path().join("tokenizer.json"), "{}").unwrap();
    let with = engine(&store, Some(cross_encoder(folder.path(), ample())));
    let after = found(&with, QUERY);
    assert_eq!(after.hits, before.hits);
    let why = after.not_reranked.unwrap();
    assert!(why.contains("no whole model in ONNX"), "{why}");
}

#[test]
fn an_embedding_model_is_no_cross_encoder_and_the_other_way_round() {
    let model = cross_encoder(&fixture("models/tiny"), ample());
    let error = model.load().unwrap_err().to_string();
    assert!(
        error.contains("does not give one number for a pair"),
        "{error}"
    );
    let settings = LocalSettings {
        folder: tiny_cross(),
        ..LocalSettings::default()
    };
    let error = Local::new(settings).err().unwrap().to_string();
    assert!(
        error.contains("scores pairs of texts and makes no vectors"),
        "{error}"
    );
}

#[test]
fn rankings_by_words_are_not_reranked() {
    let store = store_with(8);
    let with = engine(&store, Some(cross_encoder(&tiny_cross(), ample())));
    for method in [Method::Words, Method::Bm25, Method::SixFactor] {
        let query = Query {
            ranking: Ranking {
                method,
                ..Ranking::default()
            },
            ..query(QUERY)
        };
        let hits = ops::search(&with, &query).unwrap().hits;
        assert!(hits.iter().all(|hit| hit.parts.unwrap().rerank == 0.0));
    }
}

#[test]
fn a_long_text_is_compared_by_the_piece_that_holds_most_of_the_query() {
    let store = store_with(8);
    let name = "20260104_000000_cccccccc.md";
    let filler = "a street and a train go to the station of the city. ".repeat(40);
    let text = format!("{filler} The cold river has milk milk milk milk milk milk. {filler}\n");
    store.put(name, memory_text("cccccccc", "2026-01-04T00:00:00Z", &text));
    let with = engine(&store, Some(cross_encoder(&tiny_cross(), ample())));
    let hits = found(&with, QUERY).hits;
    let hit = hits.iter().find(|hit| hit.name == name).unwrap();
    let most = hits.iter().map(|hit| hit.parts.unwrap().rerank);
    assert_eq!(hit.parts.unwrap().rerank, most.fold(0.0, f32::max));
}

#[test]
fn a_server_loads_it_in_the_background() {
    let store = store_with(8);
    let model = cross_encoder(&tiny_cross(), ample());
    let server = Arc::new(engine(&store, Some(Arc::clone(&model))));
    let _background = Background::start(&server).unwrap();
    until("the answer is re-ranked", || {
        let results = found(&server, QUERY);
        let loading = Some(Unranked::NotLoaded.to_string());
        assert!(results.not_reranked.is_none() || results.not_reranked == loading);
        names(&results.hits)[0] == PARTLY
    });
}

/// A home with the memories of [`store_with`], and the cross-encoder in its folder `cross`.
fn home() -> Home {
    let home = Home::new();
    let store = store_with(8);
    for file in fs::read_dir(store.files()).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        home.put(&name, fs::read(file.path()).unwrap());
    }
    for name in ["model.onnx", "tokenizer.json"] {
        home.write(
            &format!("cross/{name}"),
            fs::read(tiny_cross().join(name)).unwrap(),
        );
    }
    home
}

#[test]
fn a_folder_that_holds_a_cross_encoder_is_used_to_re_rank() {
    let home = home();
    let ran = home.run(&["model", "use", "cross"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.text().contains("re-ranks from now on"), "{ran:?}");
    let settings = fs::read_to_string(home.root().join("config/memdir/config.toml")).unwrap();
    let folder = home.root().join("cross");
    // Without escapes where the path holds backslashes.
    let quote = if cfg!(windows) { '\'' } else { '"' };
    assert_eq!(
        settings,
        format!("[rerank]\nmodel = {quote}{}{quote}\n", folder.display())
    );
    let status = home.run(&["model", "status", "--json"]).json();
    assert_eq!(
        (&status["state"], &status["reranker"]["error"]),
        (&"off".into(), &Value::Null)
    );

    home.run(&["config", "set", "rerank.budget_ms", "60000"])
        .done();
    let shown = home.run(&["think", "--explain", QUERY]).done();
    assert!(shown.contains("rerank +"), "{shown}");
    let hits = home.run(&["think", "--explain", "--json", QUERY]).json();
    assert_eq!(hits[0]["id"], "bbbbbbbb");
    assert!(hits[0]["score_parts"]["rerank"].as_f64().unwrap() > 0.0);

    home.run(&["config", "unset", "rerank.model"]).done();
    let hits = home.run(&["think", "--json", QUERY]).json();
    assert_eq!(hits[0]["id"], "aaaaaaaa");
}

#[test]
fn a_broken_model_gives_one_warning_and_answers() {
    let home = home();
    home.write("cross/model.onnx", "no model");
    home.write(
        "config/memdir/config.toml",
        "[rerank]\nmodel = \"../../cross\"\n",
    );
    let ran = home.run(&["think", "--explain", "--json", QUERY]);
    assert_eq!(ran.json()[0]["id"], "aaaaaaaa");
    assert_eq!(
        ran.stderr.matches("results are not re-ranked").count(),
        1,
        "{ran:?}"
    );
    assert!(
        ran.stderr.contains("\"not_reranked\":\"the model"),
        "{ran:?}"
    );
    home.run(&["model", "status"]).complains(1, &[]);
    home.run(&["model", "use", "cross"])
        .complains(2, &["no whole model in ONNX"]);
}

#[test]
fn a_store_does_not_choose_the_cross_encoder() {
    let home = home();
    home.write("store/memdir.toml", "[rerank]\nmodel = \"../cross\"\n");
    let ran = home.run(&["think", "--json", QUERY]);
    assert_eq!(ran.json()[0]["id"], "aaaaaaaa");
    ran.complains(0, &["`rerank` may not be set by a store"]);
}

#[test]
fn a_download_names_the_files_of_a_reranker() {
    let home = Home::new();
    let list = home.run(&["model", "download", "--list", "--json"]).json();
    let rerankers: Vec<&Value> = list
        .as_array()
        .unwrap()
        .iter()
        .filter(|model| model["kind"] == "reranker")
        .collect();
    assert_eq!(rerankers[0]["name"], "ms-marco-MiniLM-L-6-v2");
    assert_eq!(rerankers[0]["bytes"], 23_143_499 + 711_396);
    assert_eq!(rerankers[0]["dimensions"], Value::Null);
    assert_eq!(rerankers[1]["name"], "mmarco-mMiniLMv2-L12-H384-v1");
}
