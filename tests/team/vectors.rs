//! Vectors in the database: a passage is embedded by one server, whoever it is, and by no other one.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use memdir::clock::SystemClock;
use memdir::embed::{EmbedError, Embedder, Local, LocalSettings, Vector};
use memdir::engine::{Background, Engine, Models, Options, meaning, ops};
use memdir::files::{FilesOf, Place, WritableStorage};
use memdir::rows::Rows;
use memdir::vectors::{SharedVectors, VectorEntry, VectorKey};

use crate::postgres::{TestDatabase, backend, query};
use crate::support::{TestStore, fixture, memory_text, query as question, until};

/// The tiny model, which counts the texts that it embeds.
#[derive(Clone)]
struct Counted {
    model: Arc<Local>,
    texts: Arc<AtomicUsize>,
    /// Whether it can be asked for passages.
    works: bool,
}

impl Counted {
    fn new(works: bool) -> Counted {
        let settings = LocalSettings {
            folder: fixture("models/tiny"),
            threads: 1,
            ..LocalSettings::default()
        };
        Counted {
            model: Arc::new(Local::new(settings).unwrap()),
            texts: Arc::default(),
            works,
        }
    }

    fn count(&self) -> usize {
        self.texts.load(Ordering::SeqCst)
    }
}

impl Embedder for Counted {
    fn id(&self) -> &str {
        self.model.id()
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions()
    }

    fn query(&self, text: &str) -> Result<Vector, EmbedError> {
        self.model.query(text)
    }

    fn passages(&self, texts: &[&str]) -> Result<Vec<Vec<Vector>>, EmbedError> {
        self.texts.fetch_add(texts.len(), Ordering::SeqCst);
        match self.works {
            true => self.model.passages(texts),
            false => Err(EmbedError::Failed("it is not asked".to_owned())),
        }
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

impl Models for Counted {
    fn set(&self) -> Option<Arc<dyn Embedder>> {
        Some(Arc::new(self.clone()))
    }
}

/// A server of a workspace with a model.
struct Server {
    engine: Arc<Engine>,
    _background: Background,
}

impl Server {
    fn start(test: &TestDatabase, cache: &Path, model: &Counted) -> Server {
        let rows = Rows::open(&test.open(), "atlas").unwrap();
        let options = Options {
            backend: Some(backend(&rows)),
            models: Some(Arc::new(model.clone())),
            ..Options::new(cache)
        };
        let engine = Arc::new(Engine::open(options, Box::new(SystemClock)).unwrap());
        Server {
            _background: Background::start(&engine).unwrap(),
            engine,
        }
    }

    fn await_vectors(&self, memories: usize) {
        until("every memory has its vectors", || {
            let status = meaning::meaning_status(&self.engine.meaning).unwrap();
            let coverage = status.unwrap().coverage;
            (coverage.complete, coverage.memories) == (memories, memories)
        });
    }

    fn found(&self, text: &str) -> Vec<(String, u64)> {
        let hits = ops::search(&self.engine, &question(text)).unwrap().hits;
        let found = hits.into_iter().map(|hit| (hit.name, hit.score.to_bits()));
        found.collect()
    }
}

/// Names and texts of memories, each text another one.
fn memories(count: usize) -> Vec<(String, Vec<u8>)> {
    let memory = |number: usize| {
        let (id, at) = (format!("a{number:07x}"), "2026-01-02T00:00:00Z");
        let (day, minute) = (number / 60 + 1, number % 60);
        let text = format!("the heron {number} waits at lake {}\n", number * number);
        (
            format!("202601{day:02}_00{minute:02}00_{id}.md"),
            memory_text(&id, at, &text).into_bytes(),
        )
    };
    (0..count).map(memory).collect()
}

fn add(rows: &Rows, memories: &[(String, Vec<u8>)]) {
    for added in rows.add_many(Place::Files, memories) {
        added.unwrap();
    }
}

/// Returns the number of texts that a store of these memories has embedded.
fn texts_of(memories: &[(String, Vec<u8>)]) -> usize {
    let store = TestStore::new();
    for (name, bytes) in memories {
        store.put(name, std::str::from_utf8(bytes).unwrap());
    }
    let model = Counted::new(true);
    let options = Options {
        models: Some(Arc::new(model.clone())),
        ..store.options()
    };
    let engine = Engine::open(options, Box::new(SystemClock)).unwrap();
    meaning::embed_all(&engine.meaning, &mut |_| {}).unwrap();
    model.count()
}

fn caches() -> [tempfile::TempDir; 3] {
    std::array::from_fn(|_| tempfile::tempdir().unwrap())
}

#[test]
fn two_servers_embed_each_passage_once_and_a_third_one_none() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let memories = memories(300);
    add(&test.workspace("atlas"), &memories);
    let caches = caches();
    let models = [true, true, false].map(Counted::new);
    let [first, second] =
        [0, 1].map(|server| Server::start(&test, caches[server].path(), &models[server]));
    for server in [&first, &second] {
        server.await_vectors(memories.len());
    }
    let embedded = models[0].count() + models[1].count();
    assert_eq!(embedded, texts_of(&memories));
    // Its model works for questions alone.
    let third = Server::start(&test, caches[2].path(), &models[2]);
    third.await_vectors(memories.len());
    assert_eq!(models[2].count(), 0);
    let found = first.found("heronous lakeous 7");
    assert!(!found.is_empty());
    for other in [&second, &third] {
        assert_eq!(other.found("heronous lakeous 7"), found);
    }
}

/// Returns an entry of one piece.
fn entry(key: VectorKey) -> VectorEntry {
    VectorEntry {
        key,
        pieces: vec![vec![0.6, 0.8]],
        tokens: vec![1, 2],
    }
}

#[test]
fn a_claim_keeps_others_from_a_vector_until_it_is_made_or_five_minutes_are_over() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let (rows, other) = (test.workspace("atlas"), test.workspace("other"));
    let second = Rows::open(&test.open(), "atlas").unwrap();
    let sorted = |mut keys: Vec<VectorKey>| {
        keys.sort_unstable();
        keys
    };
    let claimed = rows.fetch_or_claim("tiny", &[1, 2, 3]).unwrap();
    assert_eq!(
        (claimed.made.len(), sorted(claimed.claimed)),
        (0, vec![1, 2, 3])
    );
    let asked = second.fetch_or_claim("tiny", &[2, 3, 4]).unwrap();
    assert_eq!((asked.made.len(), asked.claimed), (0, vec![4]));
    rows.keep("tiny", &[entry(2)]).unwrap();
    let asked = second.fetch_or_claim("tiny", &[2, 3]).unwrap();
    assert_eq!((asked.made, asked.claimed), (vec![entry(2)], Vec::new()));
    // Another model and another workspace have vectors of their own.
    for (rows, model) in [(&second, "small"), (&other, "tiny")] {
        let asked = rows.fetch_or_claim(model, &[2]).unwrap();
        assert_eq!((asked.made.len(), asked.claimed), (0, vec![2]));
    }
    // Whoever claimed it has died.
    let later =
        "UPDATE vector SET claimed = claimed - interval '6 minutes' WHERE workspace = 'atlas'";
    query(&test.address(), later);
    let asked = second.fetch_or_claim("tiny", &[2, 3]).unwrap();
    assert_eq!((asked.made, asked.claimed), (vec![entry(2)], vec![3]));
    // A late answer of the first one does no harm.
    rows.keep("tiny", &[entry(3)]).unwrap();
    second.keep("tiny", &[entry(3)]).unwrap();
    let damage =
        r"UPDATE vector SET bytes = '\x0100' WHERE key = decode(lpad('2', 32, '0'), 'hex')";
    query(&test.address(), damage);
    let asked = rows.fetch_or_claim("tiny", &[2, 3]).unwrap();
    assert_eq!((asked.made, asked.claimed), (vec![entry(3)], vec![2]));
}

#[test]
fn erased_and_unwanted_vectors_go_and_do_not_come_back() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    rows.fetch_or_claim("tiny", &[1, 2]).unwrap();
    rows.keep("tiny", &[entry(1)]).unwrap();
    let count = || {
        let rows = query(&test.address(), "SELECT count(*) FROM vector");
        rows[0].get::<_, i64>(0)
    };
    assert_eq!(count(), 2);
    rows.erase_former(FilesOf::Stem("20260102_000000_aaaaaaaa"))
        .unwrap();
    // It was claimed before.
    rows.keep("tiny", &[entry(2)]).unwrap();
    assert_eq!(count(), 0);
    rows.fetch_or_claim("tiny", &[1, 2, 3]).unwrap();
    rows.keep("tiny", &[entry(1), entry(2), entry(3)]).unwrap();
    let wanted = HashSet::from([1, 2]);
    rows.tidy("tiny", &wanted).unwrap();
    assert_eq!(count(), 3, "what is new stays");
    let later = "UPDATE vector SET claimed = claimed - interval '2 days'";
    query(&test.address(), later);
    rows.tidy("small", &HashSet::new()).unwrap();
    assert_eq!(count(), 3, "another model's are kept for a month");
    rows.tidy("tiny", &wanted).unwrap();
    assert_eq!(count(), 2);
}
