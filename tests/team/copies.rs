//! Copies of indexes in the database: a server that has no index takes another one's, and reads what changed since.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use memdir::clock::SystemClock;
use memdir::engine::{Backend, Background, Engine, Options, Query, live, ops};
use memdir::files::{Lock, Place, WritableStorage};
use memdir::index::{CopyState, IncomingIndex, IndexCopies};
use memdir::model::{Filter, NewMemory};
use memdir::rows::Rows;

use crate::postgres::{Session, TestDatabase, backend, query};
use crate::support::until;
use crate::support::{keywords, new_memory};

/// Number of memories of which an index is published.
const MANY: usize = 600;

/// A word that nothing else holds.
pub const SECRET: &str = "zyxommaquintarg";

/// Opens the workspace with the clock of the machine, which is that of the database: what was written lately would be read
/// again otherwise.
pub fn engine(rows: &Rows, cache: &Path) -> Engine {
    let options = Options {
        backend: Some(backend(rows)),
        ..Options::new(cache)
    };
    Engine::open(options, Box::new(SystemClock)).unwrap()
}

/// Adds memories with the numbers `numbers`.
fn fill(rows: &Rows, numbers: std::ops::Range<usize>) {
    let file = |number: usize| {
        let name = format!(
            "20260102_{:02}{:02}{:02}_a{number:07x}.md",
            number / 3600,
            number / 60 % 60,
            number % 60
        );
        let text = format!(
            "The heron number {number} stands at lake {}.\n",
            number % 17
        );
        (name, text.into_bytes())
    };
    let files: Vec<_> = numbers.map(file).collect();
    for added in rows.add_many(Place::Files, &files) {
        added.unwrap();
    }
}

/// A workspace whose index a server has published.
struct Published {
    test: TestDatabase,
    rows: Rows,
    server: Arc<Engine>,
    _background: Background,
    cache: tempfile::TempDir,
}

/// The newest copy, and the number of its last change.
const COPY: &str = "SELECT number FROM index_copy WHERE number IS NOT NULL AND claim IS NULL";

impl Published {
    fn new(prepare: impl FnOnce(&Engine)) -> Option<Published> {
        let test = TestDatabase::new()?;
        let rows = test.workspace("atlas");
        fill(&rows, 0..MANY);
        // What was written just before an index was made is read again.
        let minute = "UPDATE memory SET changed = changed - 60000000000";
        query(&test.address(), minute);
        let cache = tempfile::tempdir().unwrap();
        let server = Arc::new(engine(&rows, cache.path()));
        prepare(&server);
        let background = Background::start(&server).unwrap();
        let published = Published {
            test,
            rows,
            server,
            _background: background,
            cache,
        };
        published.wait();
        Some(published)
    }

    /// Waits until there is a copy, and returns the number of its last change.
    fn wait(&self) -> i64 {
        Session::new(&self.test.address()).until(COPY)[0].get(0)
    }

    /// Opens the workspace as another server does, in an empty cache.
    fn open(&self) -> (Engine, tempfile::TempDir) {
        let cache = tempfile::tempdir().unwrap();
        let rows = Rows::open(&self.test.open(), "atlas").unwrap();
        (engine(&rows, cache.path()), cache)
    }
}

/// Returns the folder of the index in a cache; `None` if there is none.
fn index_in(cache: &Path) -> Option<PathBuf> {
    let state = std::fs::read_dir(cache.join(".memdir")).unwrap();
    let names = state.map(|entry| entry.unwrap().path());
    let mut indexes: Vec<PathBuf> = names
        .filter(|path| {
            path.file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with("index-v")
        })
        .collect();
    assert!(indexes.len() <= 1, "{indexes:?}");
    indexes.pop()
}

/// Returns all that is found by some questions.
fn answers(engine: &Engine) -> Vec<String> {
    let everything = Query::everything(Filter::default(), 60);
    let mut queries = vec![everything];
    queries.extend(["heron", "lake", "16", SECRET].map(|word| keywords(&[word])));
    let answer = |query: &Query| {
        let found = ops::think(engine, query).unwrap();
        let hits = found.hits.iter();
        let hits: Vec<String> = hits
            .map(|hit| format!("{} {:?} {}", hit.name, hit.score, hit.memory.content))
            .collect();
        format!("{} {}", found.total, hits.join("\n"))
    };
    queries.iter().map(answer).collect()
}

/// Returns the number of memories that a server must read to have an index.
fn read_by(engine: &Engine) -> usize {
    live::reindex(&engine.live, false, &mut |_| {})
        .unwrap()
        .read
}

#[test]
fn a_server_without_an_index_takes_a_copy_and_reads_what_changed_since() {
    let Some(published) = Published::new(|_| ()) else {
        return;
    };
    let (second, cache) = published.open();
    let meta = |cache: &Path| std::fs::read(index_in(cache).unwrap().join("meta.json")).unwrap();
    assert_eq!(meta(cache.path()), meta(published.cache.path()));
    assert_eq!(read_by(&second), 0);
    assert_eq!(answers(&second), answers(&published.server));

    fill(&published.rows, MANY..MANY + 10);
    let everything = Query::everything(Filter::default(), 1);
    let gone = ops::think(&second, &everything).unwrap().hits[0]
        .memory
        .stem
        .clone();
    ops::forget(&second, gone.as_str()).unwrap();
    let (third, _cache) = published.open();
    assert_eq!(answers(&third), answers(&published.server));
    let (fourth, _cache) = published.open();
    // One of the ten is in the archive.
    assert_eq!(read_by(&fourth), 9);
    assert_eq!(answers(&fourth), answers(&published.server));
    // A few changes are no reason for another copy.
    assert_eq!(published.wait(), MANY as i64);
}

#[test]
fn a_check_finds_a_copy_that_holds_another_text() {
    let Some(published) = Published::new(|_| ()) else {
        return;
    };
    let faults = || {
        let checked = memdir::rows::check(&published.rows).unwrap();
        assert_eq!((checked.findings, checked.memories.len()), (vec![], MANY));
        let (server, _cache) = published.open();
        ops::verify_index(&server, &checked.memories).unwrap()
    };
    assert!(faults().is_empty());
    // Behind the program, of the same size, and as the feed has it.
    let (name, text) = (
        "20260102_000003_a0000003.md",
        "The stork number 3 stands at lake 3.\n",
    );
    let hash = memdir::files::digest(text.as_bytes()).to_le_bytes();
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    for (table, more) in [
        ("memory", format!(", bytes = convert_to(E'{text}', 'UTF8')")),
        ("change", String::new()),
    ] {
        let sql = format!(
            "UPDATE {table} SET hash = decode('{hash}', 'hex'){more} WHERE name = '{name}'"
        );
        query(&published.test.address(), &sql);
    }
    assert_eq!(faults(), [format!("{name} is indexed with another text")]);
}

#[test]
fn many_changes_are_a_reason_for_another_copy_that_shares_pieces() {
    let Some(published) = Published::new(|_| ()) else {
        return;
    };
    fill(&published.rows, MANY..MANY + 600);
    let sql = format!("{COPY} AND number >= {}", MANY + 500);
    Session::new(&published.test.address()).until(&sql);
    let (second, _cache) = published.open();
    // Those of the first copy are not read.
    assert!(read_by(&second) <= 600);
    assert_eq!(answers(&second), answers(&published.server));
    // What only the first copy had is gone.
    let unused = "SELECT 1 FROM index_piece p, index_copy c WHERE NOT p.hash = ANY(c.pieces)";
    let all = "SELECT 1 WHERE NOT EXISTS (SELECT FROM index_piece p, index_copy c WHERE NOT p.hash = ANY(c.pieces))";
    Session::new(&published.test.address()).until(all);
    assert!(query(&published.test.address(), unused).is_empty());
}

#[test]
fn what_a_server_began_to_publish_and_could_not_end_it_begins_anew() {
    let Some(published) = Published::new(|_| ()) else {
        return;
    };
    let mut session = Session::new(&published.test.address());
    // Whatever ends a claim fails, also the attempt to give it up.
    let refuse = "CREATE SEQUENCE refused; CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql \
         SECURITY DEFINER AS $$ BEGIN PERFORM nextval('refused'); RAISE 'refused'; END $$; \
         CREATE TRIGGER refuse BEFORE UPDATE ON index_copy FOR EACH ROW WHEN (new.claim IS NULL) \
         EXECUTE FUNCTION refuse()";
    session.execute(refuse).unwrap();
    fill(&published.rows, MANY..MANY + 600);
    session.until("SELECT FROM refused WHERE last_value >= 2");
    session
        .execute("DROP TRIGGER refuse ON index_copy")
        .unwrap();
    session.until(&format!("{COPY} AND number >= {}", MANY + 500));
}

#[test]
fn a_damaged_copy_is_not_used() {
    let Some(published) = Published::new(|_| ()) else {
        return;
    };
    let damage = "UPDATE index_piece SET bytes = set_byte(bytes, 9, get_byte(bytes, 9) # 1) \
         WHERE hash = (SELECT hash FROM index_piece WHERE length(bytes) > 9 ORDER BY hash LIMIT 1) RETURNING 1";
    assert_eq!(query(&published.test.address(), damage).len(), 1);
    let (second, cache) = published.open();
    assert_eq!(index_in(cache.path()), None);
    assert_eq!(answers(&second), answers(&published.server));

    query(
        &published.test.address(),
        "UPDATE index_copy SET files = '[[\"../../escaped\", 1]]'",
    );
    let (third, cache) = published.open();
    assert_eq!(index_in(cache.path()), None);
    assert!(!cache.path().join("escaped").exists());
    assert_eq!(answers(&third), answers(&published.server));
}

#[test]
fn no_copy_holds_the_words_of_what_was_purged() {
    let secret = |content: &str| NewMemory {
        content: content.to_owned(),
        ..new_memory("secret")
    };
    let text = format!("The code is {SECRET}.");
    let mut id = String::new();
    let prepare = |engine: &Engine| {
        let stored = ops::remember(engine, secret(&text), None).unwrap();
        id = stored.stem.as_str().to_owned();
    };
    let Some(published) = Published::new(prepare) else {
        return;
    };
    // Another server has a copy with the word, too.
    let (second, _second_cache) = published.open();
    assert!(completes(&second));
    let second = Arc::new(second);
    let background = Background::start(&second).unwrap();
    ops::purge(&second, &id).unwrap();
    let copies = query(
        &published.test.address(),
        "SELECT 1 FROM index_copy UNION ALL SELECT 1 FROM index_piece",
    );
    assert!(copies.is_empty());
    published.wait();
    let (third, _third_cache) = published.open();
    assert_eq!(read_by(&third), 0);
    assert!(!completes(&third));
    assert_eq!(answers(&third), answers(&published.server));
    until("no server has the word", || {
        !completes(&published.server) && !completes(&second)
    });
    drop(background);
}

/// Returns whether the dictionary of an index has the secret word.
pub fn completes(engine: &Engine) -> bool {
    !ops::completions(engine, &SECRET[..9], 5)
        .unwrap()
        .is_empty()
}

/// Copies in the database, each look at which is disturbed before it is answered.
struct Disturbed {
    rows: Rows,
    looks: AtomicUsize,
    disturb: Box<dyn Fn(usize) -> std::io::Result<()> + Send + Sync>,
}

impl IndexCopies for Disturbed {
    fn state(&self, name: &str) -> std::io::Result<CopyState> {
        (self.disturb)(self.looks.fetch_add(1, Ordering::SeqCst))?;
        self.rows.state(name)
    }

    fn fetch(&self, name: &str, into: &mut dyn IncomingIndex) -> std::io::Result<Option<u64>> {
        self.rows.fetch(name, into)
    }

    fn publish(&self, name: &str, number: u64, files: &[(String, File)]) -> std::io::Result<bool> {
        self.rows.publish(name, number, files)
    }
}

/// Checks that the second look publishes a copy though nothing changes after the first one, which is disturbed. `disturb`
/// gets the path of the lock of the index, and the number of the look.
#[track_caller]
fn check_second_look(
    disturb: impl Fn(&Path, usize) -> std::io::Result<()> + Send + Sync + 'static,
) {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    fill(&rows, 0..MANY);
    let minute = "UPDATE memory SET changed = changed - 60000000000";
    query(&test.address(), minute);
    let cache = tempfile::tempdir().unwrap();
    let lock = cache.path().join(".memdir/writer.lock");
    let copies = Arc::new(Disturbed {
        rows: rows.clone(),
        looks: AtomicUsize::new(0),
        disturb: Box::new(move |look| disturb(&lock, look)),
    });
    let backend = Backend {
        copies: Some(Arc::clone(&copies) as Arc<dyn IndexCopies>),
        ..backend(&rows)
    };
    let options = Options {
        backend: Some(backend),
        ..Options::new(cache.path())
    };
    let server = Arc::new(Engine::open(options, Box::new(SystemClock)).unwrap());
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Where no notification comes for 5 s, everybody is woken, as by a change.
        scope.spawn(|| {
            let mut session = Session::new(&test.address());
            while !ends.load(Ordering::SeqCst) {
                session.query("SELECT pg_notify('memdir', '*nobody') FROM pg_sleep(0.5)");
            }
        });
        let background = Background::start(&server).unwrap();
        Session::new(&test.address()).until(COPY);
        drop(background);
        ends.store(true, Ordering::SeqCst);
    });
    assert_eq!(copies.looks.load(Ordering::SeqCst), 2);
}

#[test]
fn a_look_that_fails_is_repeated_without_a_change() {
    check_second_look(|_, look| match look {
        0 => Err(std::io::Error::other("of a test")),
        _ => Ok(()),
    });
}

#[test]
fn a_look_while_another_process_indexes_is_repeated_without_a_change() {
    let held = Mutex::new(None);
    check_second_look(move |path, look| {
        *held.lock().unwrap() = (look == 0).then(|| Lock::take(path, "the index").unwrap());
        Ok(())
    });
}

/// Files that were fetched, with their contents.
#[derive(Default)]
struct Fetched(Vec<(String, Vec<u8>)>);

impl IncomingIndex for Fetched {
    fn add(&mut self, name: &str, bytes: &[u8]) -> std::io::Result<()> {
        match self.0.last_mut().filter(|(last, _)| last == name) {
            Some((_, text)) => text.extend(bytes),
            None => self.0.push((name.to_owned(), bytes.to_owned())),
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> std::io::Result<()> {
        Ok(())
    }
}

fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

#[test]
fn fetching_a_damaged_copy_of_many_pieces_fails_and_does_not_hang() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let atlas = test.workspace("atlas");
    let one = |number: usize| (format!("{number}"), file(format!("{number}").as_bytes()));
    let files: Vec<_> = (0..40).map(one).collect();
    assert!(atlas.publish("one", 0, &files).unwrap());
    query(&test.address(), "UPDATE index_piece SET bytes = 'damaged'");
    let error = atlas.fetch("one", &mut Fetched::default()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
}

#[test]
fn one_server_publishes_and_only_its_workspace_sees_it() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let (atlas, other) = (test.workspace("atlas"), test.workspace("other"));
    fill(&atlas, 0..5);
    let large = vec![7; 9 << 20];
    let files = [
        ("empty".to_owned(), file(b"")),
        ("large".to_owned(), file(&large)),
        ("meta.json".to_owned(), file(b"{}")),
    ];
    assert!(atlas.publish("one", 3, &files).unwrap());
    let state = |number| CopyState { number, erased: 0 };
    assert_eq!(atlas.state("one").unwrap(), state(Some(3)));
    let mut fetched = Fetched::default();
    assert_eq!(atlas.fetch("one", &mut fetched).unwrap(), Some(3));
    let sizes: Vec<_> = fetched
        .0
        .iter()
        .map(|(name, text)| (name.as_str(), text.len()))
        .collect();
    assert_eq!(sizes, [("empty", 0), ("large", 9 << 20), ("meta.json", 2)]);
    assert!(fetched.0[1].1 == large);

    for (rows, name) in [(&other, "one"), (&atlas, "two")] {
        assert_eq!(rows.state(name).unwrap(), state(None));
        assert_eq!(rows.fetch(name, &mut Fetched::default()).unwrap(), None);
    }
    let address = test.address();
    // Another server is about to publish; it was killed, and nobody waits for it for ever.
    query(&address, "UPDATE index_copy SET claim = 1, claimed = now()");
    assert!(!atlas.publish("one", 4, &files).unwrap());
    assert_eq!(atlas.state("one").unwrap(), state(Some(3)));
    query(
        &address,
        "UPDATE index_copy SET claimed = now() - interval '16 minutes'",
    );
    assert!(atlas.publish("one", 4, &files).unwrap());
    assert_eq!(atlas.state("one").unwrap(), state(Some(4)));
    // A state before an erasure is no state to publish.
    query(
        &address,
        "UPDATE workspace SET erased = 5 WHERE name = 'atlas'",
    );
    assert!(!atlas.publish("one", 4, &files).unwrap());
    assert!(atlas.publish("one", 5, &files).unwrap());
    // A copy of a program that nobody has used for long goes.
    assert!(atlas.publish("two", 5, &files).unwrap());
    query(
        &address,
        "UPDATE index_copy SET published = now() - interval '31 days' WHERE name = 'one'",
    );
    assert!(atlas.publish("two", 5, &files).unwrap());
    let names = query(&address, "SELECT DISTINCT name FROM index_piece");
    assert_eq!(names.len(), 1);
    test.open().drop_workspace("atlas").unwrap();
    assert!(query(&address, "SELECT 1 FROM index_piece").is_empty());
}
