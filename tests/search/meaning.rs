//! Meaning in whole stores, with the tiny model: what is found by it, and when vectors are made.
//!
//! The tiny model takes words apart: `breadous` is near to `bread`, which stemming does not see.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::support::program::Home;
use crate::support::{TestStore, clock, fixture, memory_text, new_memory, noon, query, until};
use memdir::clock::SystemClock;
use memdir::embed::{EmbedError, Embedder, Local, LocalSettings, Vector};
use memdir::engine::{
    Background, Engine, Hit, Likeness, Method, Models, Options, Query, Ranking, live, meaning, ops,
};
use memdir::model::Filter;

const BREAD: &str = "20260101_000000_aaaaaaaa.md";
const RIVER: &str = "20260102_000000_bbbbbbbb.md";

/// The tiny model, counting how many texts it embeds and questions it is asked.
struct Counting {
    model: Local,
    id: String,
    passages: Arc<AtomicUsize>,
    /// After so many texts it fails.
    most: usize,
}

impl Embedder for Counting {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn query(&self, text: &str) -> Result<Vector, EmbedError> {
        self.model.query(text)
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError> {
        let before = self.passages.fetch_add(texts.len(), Ordering::SeqCst);
        if before + texts.len() > self.most {
            return Err(EmbedError::Failed("it is gone".to_owned()));
        }
        self.model.passages(texts)
    }

    fn rest(&self, idle: Duration) {
        self.model.rest(idle);
    }

    fn host(&self) -> Option<String> {
        None
    }

    fn describe(&self) -> String {
        self.model.describe()
    }
}

/// The tiny model under several names.
struct Named {
    id: String,
    passages: Arc<AtomicUsize>,
    /// What it was called before, where that can still be had.
    had: Vec<&'static str>,
    /// As in [`Counting`].
    most: usize,
}

impl Named {
    fn called(&self, id: &str) -> Arc<dyn Embedder> {
        Arc::new(Counting {
            model: local(&tiny()),
            id: id.to_owned(),
            passages: Arc::clone(&self.passages),
            most: self.most,
        })
    }
}

impl Models for Named {
    fn set(&self) -> Option<Arc<dyn Embedder>> {
        Some(self.called(&self.id))
    }

    fn earlier(&self, id: &str) -> Option<Arc<dyn Embedder>> {
        self.had.contains(&id).then(|| self.called(id))
    }
}

fn tiny() -> PathBuf {
    fixture("models/tiny")
}

fn local(folder: &Path) -> Local {
    let settings = LocalSettings {
        folder: folder.to_owned(),
        threads: 1,
        ..LocalSettings::default()
    };
    Local::new(settings).unwrap()
}

/// How `store` is opened with the tiny model, by the name of `id`; and its count.
fn options(store: &TestStore, id: &str) -> (Options, Arc<AtomicUsize>) {
    let passages = Arc::<AtomicUsize>::default();
    let named = Named {
        id: id.to_owned(),
        passages: Arc::clone(&passages),
        had: Vec::new(),
        most: usize::MAX,
    };
    let options = Options {
        models: Some(Arc::new(named)),
        ..store.options()
    };
    (options, passages)
}

fn engine(store: &TestStore) -> (Engine, Arc<AtomicUsize>) {
    let (options, passages) = options(store, "tiny");
    (Engine::open(options, clock(noon())).unwrap(), passages)
}

fn embed(engine: &Engine) -> usize {
    meaning::embed_all(&engine.meaning, &mut |_| {}).unwrap()
}

fn found(engine: &Engine, text: &str) -> Vec<String> {
    let hits = ops::search(engine, &query(text)).unwrap().hits;
    hits.into_iter().map(|hit| hit.name).collect()
}

fn store_of_two() -> TestStore {
    let store = TestStore::new();
    let at = "2026-01-01T00:00:00Z";
    store.put(BREAD, memory_text("aaaaaaaa", at, "bread book\n"));
    let at = "2026-01-02T00:00:00Z";
    store.put(RIVER, memory_text("bbbbbbbb", at, "the river was cold\n"));
    store
}

#[test]
fn what_no_word_finds_is_found_by_its_meaning() {
    let store = store_of_two();
    let (engine, _) = engine(&store);
    assert_eq!(found(&engine, "breadous bookous"), Vec::<String>::new());
    assert_eq!(embed(&engine), 2);
    assert_eq!(found(&engine, "breadous bookous")[0], BREAD);
    let hits = ops::search(&engine, &query("breadous bookous"))
        .unwrap()
        .hits;
    let own: Vec<f32> = hits.iter().map(|hit| hit.parts.unwrap().own).collect();
    assert!(own[0] > 0.2 && own[0] > own[1] + 0.01, "{own:?}");
    let words = Query {
        ranking: Ranking {
            method: Method::Words,
            ..Ranking::default()
        },
        ..query("breadous bookous")
    };
    assert!(ops::search(&engine, &words).unwrap().hits.is_empty());
}

#[test]
fn what_only_its_meaning_finds_stands_behind_what_words_find_and_says_so() {
    let store = store_of_two();
    // It holds one of the words asked for among a hundred others: near to it in meaning it is not.
    let (name, at) = ("20260103_000000_cccccccc.md", "2026-01-03T00:00:00Z");
    let text = format!("{} bookous", "the river was cold and deep ".repeat(20));
    store.put(name, memory_text("cccccccc", at, &text));
    let (engine, _) = engine(&store);
    assert_eq!(embed(&engine), 3);
    let hits = ops::search(&engine, &query("breadous bookous"))
        .unwrap()
        .hits;
    assert_eq!(hits[0].name, name);
    assert_eq!(hits[0].found_only_by(), None);
    assert_eq!(hits[1].name, BREAD);
    assert_eq!(hits[1].found_only_by(), Some("meaning"));
    assert!(hits.is_sorted_by(|one, next| one.score >= next.score));
    // A question asks for what is meant.
    let hits = ops::search(&engine, &query("what is breadous bookous?"))
        .unwrap()
        .hits;
    assert!(hits.iter().any(|hit| hit.name == BREAD));
}

#[test]
fn meaning_counts_more_where_no_memory_holds_the_words_of_a_question() {
    let store = store_of_two();
    let (engine, _) = engine(&store);
    assert_eq!(embed(&engine), 2);
    let nearness = |text: &str| {
        let hits = ops::search(&engine, &query(text)).unwrap().hits;
        let bread = hits.iter().find(|hit| hit.name == BREAD).unwrap();
        bread.parts.unwrap().nearness
    };
    assert!(nearness("what is the breadous bookous?") > 0.5);
    // One memory holds all that is asked for.
    assert_eq!(nearness("what is a bread book?"), 0.0);
}

#[test]
fn a_filter_holds_for_what_is_found_by_meaning() {
    let store = store_of_two();
    let (engine, _) = engine(&store);
    embed(&engine);
    let only = Query {
        filter: Filter {
            users: vec!["nobody".to_owned()],
            ..Filter::default()
        },
        ..query("breadous bookous")
    };
    assert!(ops::search(&engine, &only).unwrap().hits.is_empty());
}

#[test]
fn vectors_outlive_names_topics_and_the_index() {
    let store = store_of_two();
    let (engine, passages) = engine(&store);
    assert_eq!((embed(&engine), embed(&engine)), (2, 0));
    // Renamed, moved, given other topics, indexed anew: nothing is embedded again.
    let text = String::from_utf8(store.read(BREAD)).unwrap();
    fs::remove_file(store.files().join(BREAD)).unwrap();
    store.put(
        "below/20260301_000000_cccccccc.md",
        text.replace("[test]", "[other, topics]"),
    );
    assert_eq!(embed(&engine), 0);
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    assert_eq!(embed(&engine), 0);
    assert_eq!(
        found(&engine, "breadous bookous")[0],
        "below/20260301_000000_cccccccc.md"
    );
    assert_eq!(passages.load(Ordering::SeqCst), 2);
    // Another text is.
    store.put(
        RIVER,
        memory_text("bbbbbbbb", "2026-01-02T00:00:00Z", "a bread river\n"),
    );
    assert_eq!(embed(&engine), 1);
}

#[test]
fn a_window_is_made_anew_when_what_goes_before_changes() {
    let store = TestStore::new();
    let names: Vec<String> = (0..3)
        .map(|number| format!("20260101_00000{number}_aaaaaaa{number}.md"))
        .collect();
    let put = |number: usize, content: &str| {
        let at = format!("2026-01-01T00:0{number}:00Z");
        let user = ["ana", "ben"][number % 2];
        let text = memory_text(&names[number][16..24], &at, content);
        store.put(
            &names[number],
            text.replace("user: mira", &format!("user: {user}")),
        );
    };
    put(0, "the dog likes bread\n");
    put(1, "which dog is it\n");
    put(2, "the old one of the family\n");
    let (engine, _) = engine(&store);
    // Each memory, and two of them together with the one before.
    assert_eq!(embed(&engine), 5);
    put(0, "the cat likes bread\n");
    assert_eq!(embed(&engine), 2);
    put(1, "the cat is here\n");
    assert_eq!(embed(&engine), 3);
}

#[test]
fn vectors_of_two_models_are_not_mixed() {
    let store = store_of_two();
    let (first, _) = options(&store, "one");
    let engine = Engine::open(first, clock(noon())).unwrap();
    assert_eq!(embed(&engine), 2);
    fs::create_dir(store.state().join("vectors-v1-two")).unwrap();
    let (second, _) = options(&store, "two");
    let other = Engine::open(second, clock(noon())).unwrap();
    assert!(
        found(&other, "breadous bookous").is_empty(),
        "the vectors are the first model's"
    );
    assert_eq!(embed(&other), 2);
    assert_eq!(found(&other, "breadous bookous")[0], BREAD);
    let left = folders_of_vectors(&store);
    assert_eq!(left, ["vectors-v2-two"], "former formats go, too");
}

fn folders_of_vectors(store: &TestStore) -> Vec<String> {
    let folders = fs::read_dir(store.state()).unwrap();
    let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut of_vectors: Vec<String> = names.filter(|name| name.starts_with("vectors-")).collect();
    of_vectors.sort_unstable();
    of_vectors
}

#[test]
fn the_former_model_answers_until_the_new_one_has_made_its_vectors() {
    let store = store_of_two();
    let (first, _) = options(&store, "one");
    embed(&Engine::open(first, clock(noon())).unwrap());
    let named = Named {
        id: "two".to_owned(),
        passages: Arc::default(),
        had: vec!["one"],
        most: usize::MAX,
    };
    let models: Arc<dyn Models> = Arc::new(named);
    let options = Options {
        models: Some(models),
        ..store.options()
    };
    let engine = Arc::new(Engine::open(options.clone(), clock(noon())).unwrap());
    assert_eq!(found(&engine, "breadous bookous")[0], BREAD);
    let bread = ops::search(&engine, &query("bread"))
        .unwrap()
        .hits
        .remove(0);
    let similar = ops::similar(&engine, &bread.memory, &Filter::default(), 5);
    assert_eq!(similar.unwrap()[0].by, Likeness::Meaning);
    let status = meaning::meaning_status(&engine.meaning).unwrap().unwrap();
    assert_eq!(
        (status.model.as_str(), status.coverage.complete),
        ("two", 0)
    );
    assert_eq!(status.answered_by.as_deref(), Some("one"));
    // A server makes the new ones, and removes the old ones when it has them all.
    let server = Arc::new(Engine::open(options, Box::new(SystemClock)).unwrap());
    let _background = Background::start(&server).unwrap();
    until("the new vectors are the only ones", || {
        folders_of_vectors(&store) == ["vectors-v2-two"]
    });
    assert_eq!(found(&engine, "breadous bookous")[0], BREAD);
    let status = meaning::meaning_status(&engine.meaning).unwrap().unwrap();
    assert_eq!((status.coverage.complete, status.answered_by), (2, None));
}

#[test]
fn commands_find_the_former_model_again() {
    let home = Home::new();
    let folder = tempfile::tempdir().unwrap();
    for name in ["first", "second"] {
        let copy = folder.path().join(name);
        fs::create_dir(&copy).unwrap();
        for file in fs::read_dir(tiny()).unwrap() {
            let file = file.unwrap();
            if file.file_type().unwrap().is_file() {
                fs::copy(file.path(), copy.join(file.file_name())).unwrap();
            }
        }
    }
    let with = |model: &str, arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("MEMDIR_MODEL_DIR", folder.path().join(model));
        let output = command.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    with("first", &["remember", "--topics", "home", "bread book"]);
    for number in 0..40 {
        let text = format!("river number {number}");
        with("first", &["remember", "--topics", "home", &text]);
    }
    with("first", &["reindex"]);
    // More than a command makes at once, so the first model's vectors are all there are.
    assert!(with("second", &["think", "breadous bookous"]).contains("bread book"));
    let status = with("second", &["status"]);
    assert!(
        status.contains("0 of 41") && status.contains("first-"),
        "{status}"
    );
    with("second", &["reindex"]);
    let status = with("second", &["status"]);
    assert!(
        status.contains("41 of 41") && !status.contains("first-"),
        "{status}"
    );
    // What is not there any more is of no use, and no error.
    fs::remove_dir_all(folder.path().join("second")).unwrap();
    assert!(!with("first", &["think", "breadous bookous"]).contains("bread book"));
}

#[test]
fn damaged_vectors_cost_nothing_but_making_them_again() {
    let store = store_of_two();
    let (engine, passages) = engine(&store);
    embed(&engine);
    let folder = store.state().join("vectors-v2-tiny");
    let file = fs::read_dir(&folder)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let bytes = fs::read(&file).unwrap();
    fs::remove_file(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let (engine, _) = self::engine(&store);
    assert!(found(&engine, "breadous bookous").is_empty());
    assert_eq!(embed(&engine), 2);
    assert_eq!(found(&engine, "breadous bookous")[0], BREAD);
    assert_eq!(passages.load(Ordering::SeqCst), 2);
}

#[test]
fn verify_names_damaged_vectors_and_reindex_makes_them_anew() {
    let store = store_of_two();
    let (engine, _) = engine(&store);
    embed(&engine);
    live::settle(&engine.live, true).unwrap();
    let folder = store.state().join("vectors-v2-tiny");
    let entry = fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
    let mut bytes = fs::read(entry.path()).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(entry.path(), bytes).unwrap();
    let (engine, _) = self::engine(&store);
    let faults = ops::verify(&engine).unwrap().index_faults;
    let name = entry.file_name().into_string().unwrap();
    assert_eq!(faults, [format!("vectors-v2-tiny/{name} is damaged")]);
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    assert_eq!(embed(&engine), 2);
    assert_eq!(
        ops::verify(&engine).unwrap().index_faults,
        Vec::<String>::new()
    );
}

#[test]
fn a_long_memory_is_found_by_one_of_its_lines() {
    let store = store_of_two();
    let mut lines: Vec<String> = (0..60)
        .map(|n| format!("cold river number {n} again"))
        .collect();
    lines[40] = "bread book".to_owned();
    let text = memory_text("bbbbbbbb", "2026-01-02T00:00:00Z", &lines.join("\n"));
    store.put(RIVER, text);
    let (engine, passages) = engine(&store);
    assert_eq!(embed(&engine), 2);
    assert!(passages.load(Ordering::SeqCst) > 5, "it is cut into pieces");
    let hits = ops::search(&engine, &query("breadous bookous"))
        .unwrap()
        .hits;
    let long = hits.iter().find(|hit| hit.name == RIVER).unwrap();
    assert!(long.parts.unwrap().own > 0.1, "{:?}", long.parts);
}

#[test]
fn the_turns_of_a_talk_are_embedded_and_not_the_talk() {
    let store = store_of_two();
    let head = "---\nid: cccccccc\ntimestamp: 2026-01-03T00:00:00+00:00\nsource: codex\nmetadata: {\"talk\": true}\n---\n\n";
    let text = format!(
        "{head}**User**\n\nthe river was cold again\n\n**Codex**\n\nbread book of mine\n\n**User**\n\nthe lake was warm\n"
    );
    store.put("talks/2026/20260103_000000_cccccccc.md", text);
    let (engine, passages) = engine(&store);
    // The two memories, and each turn by itself and with the one before.
    embed(&engine);
    assert_eq!(passages.load(Ordering::SeqCst), 2 + 3 + 2);
    let state = meaning::meaning_status(&engine.meaning).unwrap().unwrap();
    assert_eq!((state.coverage.complete, state.coverage.memories), (5, 5));
    let hits = ops::think_in_talks(&engine, &query("breadous bookous"))
        .unwrap()
        .hits;
    let turns: Vec<&Hit> = hits.iter().filter(|hit| hit.lines.is_some()).collect();
    assert_eq!(turns.len(), 3, "{hits:?}");
    let is_near = |turn: &&Hit| turn.parts.unwrap().message > 0.1;
    assert!(turns.iter().all(is_near), "{turns:?}");
    // What is still asked for is kept.
    embed(&engine);
    assert_eq!(passages.load(Ordering::SeqCst), 2 + 3 + 2);
}

#[test]
fn what_was_made_before_a_failure_is_not_made_again() {
    let store = TestStore::new();
    for number in 0..40 {
        let at = format!("2026-01-{:02}T00:00:00Z", number % 28 + 1);
        let id = format!("{number:08x}");
        let name = format!("202601{:02}_000000_{id}.md", number % 28 + 1);
        store.put(
            &name,
            memory_text(&id, &at, &format!("bread number {number}\n")),
        );
    }
    let (options, passages) = options(&store, "tiny");
    let failing = Named {
        id: "tiny".to_owned(),
        passages: Arc::default(),
        had: Vec::new(),
        most: 20,
    };
    let with_failing = Options {
        models: Some(Arc::new(failing)),
        ..store.options()
    };
    let engine = Engine::open(with_failing, clock(noon())).unwrap();
    assert!(meaning::embed_all(&engine.meaning, &mut |_| {}).is_err());
    drop(engine);
    let engine = Engine::open(options, clock(noon())).unwrap();
    let missing = embed(&engine);
    assert_eq!(passages.load(Ordering::SeqCst), missing);
    let coverage = meaning::meaning_status(&engine.meaning)
        .unwrap()
        .unwrap()
        .coverage;
    assert_eq!((coverage.complete, coverage.memories), (40, 40));
    live::reindex(&engine.live, true, &mut |_| {}).unwrap();
    assert_eq!(embed(&engine), 0);
    assert!(missing <= 80 - 16 && missing > 0, "{missing}");
}

#[test]
fn a_server_embeds_what_is_written_while_it_runs() {
    let store = store_of_two();
    let (options, _) = options(&store, "tiny");
    let engine = Arc::new(Engine::open(options, Box::new(SystemClock)).unwrap());
    let _background = Background::start(&engine).unwrap();
    until("what was there is embedded", || {
        found(&engine, "breadous bookous")
            .first()
            .is_some_and(|name| name == BREAD)
    });
    let new = new_memory("a family with a dog");
    let stem = ops::remember(&engine, new, None).unwrap().stem;
    let name = format!("{stem}.md");
    until("what is new is embedded", || {
        found(&engine, "familyous dogous").first() == Some(&name)
    });
    let coverage = meaning::meaning_status(&engine.meaning)
        .unwrap()
        .unwrap()
        .coverage;
    assert_eq!((coverage.complete, coverage.memories), (3, 3));
}

#[test]
fn without_words_or_without_a_model_nothing_goes_wrong() {
    let store = store_of_two();
    let (engine, _) = engine(&store);
    embed(&engine);
    assert!(found(&engine, "?!").is_empty());
    assert_eq!(
        meaning::embed_all(&store.engine().meaning, &mut |_| {}).unwrap(),
        0
    );
    assert_eq!(
        meaning::meaning_status(&store.engine().meaning).unwrap(),
        None
    );
    assert!(found(&store.engine(), "breadous bookous").is_empty());
}

#[test]
fn every_ranking_answers_and_says_what_its_scores_are_made_of() {
    let store = store_of_two();
    let (engine, _) = engine(&store);
    embed(&engine);
    for (name, method) in Method::ALL {
        let ranking = Ranking {
            method,
            ..Ranking::default()
        };
        let search = Query {
            ranking,
            ..query("was the river cold?")
        };
        let hits = ops::search(&engine, &search).unwrap().hits;
        assert_eq!(hits[0].name, RIVER, "{name}");
        let parts = hits[0].parts.unwrap();
        assert!(
            parts.words > 0.99 && parts.coverage > 0.99,
            "{name}: {parts:?}"
        );
        if matches!(method, Method::Fused | Method::Words) {
            let total = f64::from(parts.total(&ranking.weights));
            assert!((hits[0].score - total).abs() < 1e-6, "{name}");
        }
    }
}

#[test]
fn commands_embed_explain_and_count() {
    let home = Home::new();
    let run = |arguments: &[&str]| {
        let mut command = home.command(arguments);
        command.env("MEMDIR_MODEL_DIR", tiny());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    run(&["remember", "--topics", "home", "bread book"]);
    // A few are embedded by whoever asks.
    let (shown, _) = run(&["think", "--explain", "breadous bookous"]);
    assert!(
        shown.contains("bread book") && shown.contains("own +"),
        "{shown}"
    );
    let (shown, _) = run(&["--json", "think", "--explain", "breadous bookous"]);
    let hits: Value = serde_json::from_str(&shown).unwrap();
    assert!(
        hits[0]["score_parts"]["own"].as_f64().unwrap() > 0.1,
        "{shown}"
    );
    let (shown, said) = run(&["think", "--ranking", "words", "breadous bookous"]);
    assert_eq!((shown.as_str(), said.contains("nothing found")), ("", true));
    for number in 0..40 {
        run(&[
            "remember",
            "--topics",
            "home",
            &format!("river number {number}"),
        ]);
    }
    let (_, said) = run(&["think", "breadous bookous"]);
    assert!(said.contains("reindex"), "{said}");
    let (said, _) = run(&["reindex"]);
    assert!(said.contains("passages were embedded"), "{said}");
    let (_, said) = run(&["think", "breadous bookous"]);
    assert!(!said.contains("reindex"), "{said}");
    let (said, _) = run(&["--json", "status"]);
    let status: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(status["embedded"]["complete"], 41, "{said}");
}

#[test]
fn questions_with_known_answers_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("a set");
    fs::create_dir(&set).unwrap();
    let corpus = [
        r#"{"id":"1","timestamp":"2026-01-01T00:00:00Z","user":"ana","text":"The river was cold.","scope":"a"}"#,
        r#"{"id":"2","timestamp":"2026-01-02T00:00:00Z","user":"ana","text":"Bread and a book.","scope":"b"}"#,
    ];
    fs::write(set.join("corpus.jsonl"), corpus.join("\n")).unwrap();
    let questions = [
        r#"{"qid":"q1","query":"was the river cold?","relevant_ids":["1"],"type":"easy","scope":"a"}"#,
        r#"{"qid":"q2","query":"was the river cold?","relevant_ids":["2"],"type":"wrong","scope":"b"}"#,
    ];
    fs::write(set.join("queries.jsonl"), questions.join("\n")).unwrap();
    let home = Home::new();
    let runs = folder.path().join("runs");
    let mut command = home.command(&["--json", "eval", "--ranking", "words", "--pooled"]);
    let output = command
        .arg("--run-dir")
        .arg(&runs)
        .arg(&set)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let tables: Value = serde_json::from_slice(&output.stdout).unwrap();
    let types = &tables[0]["types"];
    assert_eq!(
        (&types["easy"]["R@1"], &types["wrong"]["R@1"]),
        (&1.0.into(), &0.0.into())
    );
    assert_eq!(types["all"]["questions"], 2);
    let run = fs::read_to_string(runs.join("a set.pooled.jsonl")).unwrap();
    let first: Value = serde_json::from_str(run.lines().next().unwrap()).unwrap();
    assert_eq!(first["ranked"][0], "1");
    assert!(!home.store().join("files").join("1").exists());
    // What is no data set, or no constant, is an error that says so.
    let bad = home.command(&["eval"]).arg(folder.path()).output().unwrap();
    assert!(String::from_utf8_lossy(&bad.stderr).contains("corpus.jsonl"));
    let bad = home
        .command(&["eval", "--set", "nothing=1"])
        .arg(&set)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&bad.stderr).contains("NAME=NUMBER"));
}

#[test]
fn what_says_nearly_the_same_is_found_with_and_without_a_model() {
    let store = store_of_two();
    let at = "2026-01-03T00:00:00Z";
    let third = "20260103_000000_cccccccc.md";
    store.put(
        third,
        memory_text("cccccccc", at, "The river was very cold today.\n"),
    );
    let read = |engine: &Engine, name: &str| {
        let hits = ops::search(engine, &query("river cold")).unwrap().hits;
        hits.into_iter()
            .find(|hit| hit.name == name)
            .unwrap()
            .memory
    };
    // Without a model, by runs of words; what shares none is not like it.
    let plain = store.engine();
    let similar = ops::similar(&plain, &read(&plain, RIVER), &Filter::default(), 5).unwrap();
    let [only] = similar.as_slice() else {
        panic!("{similar:?}");
    };
    assert_eq!(
        (only.hit.name.as_str(), only.by),
        (third, Likeness::Shingles)
    );
    assert!(only.similarity > 0.1 && only.similarity < 0.9);
    // With one, by vectors; the memory itself is no answer.
    let (engine, _) = engine(&store);
    embed(&engine);
    let similar = ops::similar(&engine, &read(&engine, RIVER), &Filter::default(), 5).unwrap();
    let names: Vec<&str> = similar.iter().map(|one| one.hit.name.as_str()).collect();
    assert_eq!(names, [third, BREAD]);
    assert!(similar.iter().all(|one| one.by == Likeness::Meaning));
    assert!(similar[0].similarity > 0.9 && similar[0].similarity <= 1.001);
    let nobody = Filter {
        users: vec!["nobody".to_owned()],
        ..Filter::default()
    };
    assert!(
        ops::similar(&engine, &read(&engine, RIVER), &nobody, 5)
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_very_long_memory_is_better_where_one_place_answers() {
    let store = TestStore::new();
    let filler: Vec<String> = (0..120)
        .map(|n| format!("line {n} of the book about a dog"))
        .collect();
    let mut together = filler.clone();
    together[60] = "the purple falcon sings".to_owned();
    let mut apart = filler;
    (apart[10], apart[60], apart[110]) = (
        "a purple line".to_owned(),
        "a falcon line".to_owned(),
        "it sings".to_owned(),
    );
    let at = "2026-01-01T00:00:00Z";
    store.put(BREAD, memory_text("aaaaaaaa", at, &apart.join("\n")));
    store.put(RIVER, memory_text("bbbbbbbb", at, &together.join("\n")));
    let hits = ops::search(&store.engine(), &query("purple falcon sings"))
        .unwrap()
        .hits;
    assert_eq!(hits[0].name, RIVER);
    let passages: Vec<f32> = hits.iter().map(|hit| hit.parts.unwrap().passage).collect();
    assert!(passages[0] > 0.99 && passages[1] < 0.7, "{passages:?}");
}

#[test]
fn published_sets_are_read_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("talks.json");
    let text = r#"[{"sample_id":"c1","conversation":{"session_1_date_time":"1:56 pm on 8 May, 2023",
        "session_1":[{"speaker":"Ana","dia_id":"D1:1","text":"The river was cold."},
                     {"speaker":"Ben","dia_id":"D1:2","text":"I read a book."}]},
        "qa":[{"question":"What did Ben read?","evidence":["D1:2"],"category":4}]}]"#;
    fs::write(&file, text).unwrap();
    let home = Home::new();
    let arguments = ["--json", "eval", "--pooled", "--from", "locomo"];
    let output = home.command(&arguments).arg(&file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let tables: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(tables[0]["types"]["single-hop"]["R@1"], 1.0);
    let output = home
        .command(&["eval", "--from", "longmemeval"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("talks.json is not of that form"), "{said}");
}

/// A model on a host that answers or not, counting how often it is asked.
#[derive(Clone, Default)]
struct Far {
    answers: Arc<std::sync::atomic::AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl Far {
    fn ask<T>(&self, answer: impl FnOnce() -> T) -> Result<T, EmbedError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        match self.answers.load(Ordering::SeqCst) {
            true => Ok(answer()),
            false => Err(EmbedError::Failed("nobody listens there".to_owned())),
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn options(&self, store: &TestStore) -> Options {
        Options {
            models: Some(Arc::new(self.clone())),
            ..store.options()
        }
    }

    /// A command at `seconds` after noon, which has no background.
    fn command(&self, store: &TestStore, seconds: i64) -> Engine {
        let now = noon() + chrono::TimeDelta::seconds(seconds);
        Engine::open(self.options(store), clock(now)).unwrap()
    }
}

impl Models for Far {
    fn set(&self) -> Option<Arc<dyn Embedder>> {
        Some(Arc::new(self.clone()))
    }
}

impl Embedder for Far {
    fn id(&self) -> &str {
        "far"
    }

    fn dimensions(&self) -> usize {
        2
    }

    fn query(&self, _: &str) -> Result<Vector, EmbedError> {
        self.ask(|| vec![1.0, 0.0])
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError> {
        self.ask(|| texts.iter().map(|_| vec![vec![1.0, 0.0]]).collect())
    }

    fn rest(&self, _: Duration) {}

    fn host(&self) -> Option<String> {
        Some("models.example".to_owned())
    }

    fn describe(&self) -> String {
        "far".to_owned()
    }
}

#[test]
fn a_host_that_is_down_is_asked_after_growing_pauses_and_words_answer_at_once() {
    let store = store_of_two();
    let far = Far::default();
    let command = far.command(&store, 0);
    for _ in 0..5 {
        assert_eq!(found(&command, "bread")[0], BREAD);
        let bread = ops::search(&command, &query("bread"))
            .unwrap()
            .hits
            .remove(0);
        ops::similar(&command, &bread.memory, &Filter::default(), 5).unwrap();
        meaning::embed_few(&command.meaning).unwrap();
    }
    assert_eq!(far.asked(), 1);
    let outage = meaning::meaning_status(&command.meaning)
        .unwrap()
        .unwrap()
        .outage
        .unwrap();
    assert_eq!(outage.host, "models.example");
    assert!(outage.reason.contains("nobody listens there"), "{outage:?}");
    // The next command knows of it, and one of them tries again when the pause is over.
    for (seconds, asked) in [
        (29, 1),
        (31, 2),
        (32, 2),
        (90, 2),
        (92, 3),
        (200, 3),
        (213, 4),
    ] {
        assert_eq!(found(&far.command(&store, seconds), "bread")[0], BREAD);
        assert_eq!(far.asked(), asked, "at {seconds} s");
    }
    far.answers.store(true, Ordering::SeqCst);
    let healed = far.command(&store, 1_000);
    found(&healed, "bread");
    assert_eq!(
        meaning::meaning_status(&healed.meaning)
            .unwrap()
            .unwrap()
            .outage,
        None
    );
    meaning::embed_all(&healed.meaning, &mut |_| {}).unwrap();
}

#[test]
fn a_question_that_is_asked_again_costs_no_model() {
    let store = store_of_two();
    let far = Far::default();
    far.answers.store(true, Ordering::SeqCst);
    let engine = far.command(&store, 0);
    meaning::embed_all(&engine.meaning, &mut |_| {}).unwrap();
    let before = far.asked();
    let first = found(&engine, "bread of the river");
    assert_eq!(far.asked(), before + 1);
    for _ in 0..3 {
        assert_eq!(found(&engine, "bread of the river"), first);
    }
    assert_eq!(far.asked(), before + 1);
    found(&engine, "another question about the river");
    assert_eq!(far.asked(), before + 2);
}

#[test]
fn a_server_asks_a_host_that_is_down_in_the_background_only() {
    let store = store_of_two();
    let far = Far::default();
    found(&far.command(&store, -100_000), "bread");
    assert_eq!(far.asked(), 1);
    far.answers.store(true, Ordering::SeqCst);
    let server = Engine::open(far.options(&store), Box::new(SystemClock)).unwrap();
    let server = Arc::new(server);
    let _background = Background::start(&server).unwrap();
    until("the host is known to answer", || {
        found(&server, "bread");
        meaning::outage(&server.meaning).is_none()
    });
}
