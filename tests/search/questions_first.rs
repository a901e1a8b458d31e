//! A question does not wait for texts that are being embedded.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::support::{TestStore, fixture, memory_text, query, until};
use memdir::clock::SystemClock;
use memdir::embed::{EmbedError, Embedder, Local, LocalSettings, Vector};
use memdir::engine::{Background, Engine, Models, Options, ops};

const BREAD: &str = "20260101_000000_aaaaaaaa.md";

/// Embeds no text before a question was asked.
struct Waiting {
    model: Local,
    state: Mutex<WaitingState>,
    changed: Condvar,
}

#[derive(Default)]
struct WaitingState {
    embeds: bool,
    was_asked: bool,
}

struct Shared(Arc<Waiting>);

impl Models for Shared {
    fn set(&self) -> Option<Arc<dyn Embedder>> {
        Some(Arc::clone(&self.0) as Arc<dyn Embedder>)
    }
}

impl Embedder for Waiting {
    fn id(&self) -> &str {
        "waiting"
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn query(&self, text: &str) -> Result<Vector, EmbedError> {
        self.state.lock().unwrap().was_asked = true;
        self.changed.notify_all();
        self.model.query(text)
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError> {
        let mut state = self.state.lock().unwrap();
        state.embeds = true;
        self.changed.notify_all();
        let state = self.changed.wait_while(state, |state| !state.was_asked);
        drop(state.unwrap());
        self.model.passages(texts)
    }

    fn rest(&self, _: Duration) {}

    fn host(&self) -> Option<String> {
        None
    }

    fn describe(&self) -> String {
        "waiting".to_owned()
    }
}

fn model() -> Waiting {
    Waiting {
        model: Local::new(LocalSettings {
            folder: fixture("models/tiny"),
            ..LocalSettings::default()
        })
        .unwrap(),
        state: Mutex::default(),
        changed: Condvar::new(),
    }
}

fn engine_with(store: &TestStore, model: &Arc<Waiting>) -> Engine {
    let options = Options {
        models: Some(Arc::new(Shared(Arc::clone(model)))),
        ..store.options()
    };
    Engine::open(options, Box::new(SystemClock)).unwrap()
}

#[test]
fn a_question_is_answered_while_texts_are_embedded() {
    let store = TestStore::new();
    let bread = memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "bread book\n");
    store.put(BREAD, bread);
    let model = Arc::new(model());
    let engine = Arc::new(engine_with(&store, &model));
    let _background = Background::start(&engine).unwrap();
    let state = model.state.lock().unwrap();
    let embeds = model.changed.wait_while(state, |state| !state.embeds);
    drop(embeds.unwrap());

    let found = |text: &str| ops::search(&engine, &query(text)).unwrap().hits;
    assert_eq!(found("bread")[0].name, BREAD);

    // No word of it stands in the memory.
    until("the text is embedded", || {
        found("breadous bookous")
            .first()
            .is_some_and(|hit| hit.name == BREAD)
    });
}

#[test]
fn a_closed_engine_is_held_by_no_thread() {
    let store = TestStore::new();
    store.put(
        BREAD,
        memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "bread book\n"),
    );
    let embedder = Arc::new(model());
    let engine = Arc::new(engine_with(&store, &embedder));
    let background = Background::start(&engine).unwrap();
    let state = embedder.state.lock().unwrap();
    let embeds = embedder.changed.wait_while(state, |state| !state.embeds);
    drop(embeds.unwrap());
    ops::search(&engine, &query("bread")).unwrap();
    drop(background);
    drop(engine);
    until("the last thread is over", || {
        Arc::strong_count(&embedder) == 1
    });
}
