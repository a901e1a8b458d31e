//! The same files in a folder and in rows answer the same questions with the same bytes.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use memdir::engine::{Engine, Import, ImportDefaults, Query, QueryKind, live, ops};
use memdir::eval::Dataset;
use memdir::files::{Place, Storage, Store, WritableStorage};
use memdir::model::Filter;
use memdir::rows;
use memdir::rows::Rows;

use crate::postgres::{TestDatabase, engine};
use crate::support::{TestStore, fixture, keywords, new_memory, query, regular_files};

/// Returns everything that a caller can see of the answers to `queries`.
fn answers(engine: &Engine, queries: &[Query]) -> Vec<String> {
    let answer = |query: &Query| {
        let found = ops::think(engine, query).unwrap();
        let hits = found.hits.iter().map(|hit| {
            let parts = (hit.score.to_bits(), &hit.matched, &hit.parts, &hit.lines);
            format!("{} {parts:?} {:?}", hit.name, *hit.memory)
        });
        let hits: Vec<String> = hits.collect();
        format!(
            "{query:?}: {} {:?}\n{}",
            found.total,
            found.people,
            hits.join("\n")
        )
    };
    queries.iter().map(answer).collect()
}

/// Compares the answers of the folder at `root` with those of its copy in rows: without an index, with one that a
/// server made, and with that of another server.
fn compare(root: &TestStore, queries: &[Query]) {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    rows::import(&rows, &Store::at(root.root()), None).unwrap();
    let folder = root.engine();
    let expected = answers(&folder, queries);
    assert!(expected.iter().any(|answer| answer.lines().count() > 2));
    for _server in 0..2 {
        let cache = tempfile::tempdir().unwrap();
        let server = engine(&Rows::open(&test.open(), "atlas").unwrap(), cache.path());
        live::follow_events(&server.live);
        for state in ["scanned", "indexed"] {
            let given = answers(&server, queries);
            for (given, expected) in given.iter().zip(&expected) {
                assert_eq!(given, expected, "{state}");
            }
            live::reindex(&server.live, false, &mut |_| {}).unwrap();
        }
    }
}

/// Asks the questions of a development set of the repository, each with and without its namespace.
fn compare_set(name: &str) {
    let dataset = Dataset::read(&fixture("eval").join(name)).unwrap();
    let store = TestStore::new();
    let defaults = ImportDefaults {
        agent: "eval".to_owned(),
        user: "unknown".to_owned(),
        namespace: None,
    };
    let memories = memdir::import::jsonl(&dataset.corpus, &defaults).unwrap();
    let import = Import::default();
    ops::import(&store.engine(), memories, import, &mut |_| ()).unwrap();
    let mut queries = Vec::new();
    for question in &dataset.questions {
        let limited = |filter: Filter| Query {
            kind: QueryKind::Text(question.query.clone()),
            ..Query::everything(filter, 10)
        };
        queries.push(limited(Filter::default()));
        queries.push(limited(Filter {
            namespaces: question.scope.clone().into_iter().collect(),
            ..Filter::default()
        }));
    }
    assert!(queries.len() >= 200, "{}", queries.len());
    compare(&store, &queries);
}

#[test]
fn questions_of_chats_with_assistants_are_answered_alike() {
    compare_set("assistant-chats");
}

#[test]
fn questions_of_documents_are_answered_alike() {
    compare_set("documents");
}

#[test]
fn questions_in_other_words_are_answered_alike() {
    compare_set("paraphrases");
}

#[test]
fn questions_of_talks_between_people_are_answered_alike() {
    compare_set("people-talks");
}

#[test]
fn damaged_and_foreign_files_are_answered_alike() {
    for name in ["damage", "aiaml", "obsidian"] {
        let store = TestStore::of_fixture(name);
        let everything = Query::everything(Filter::default(), 100);
        let words = ["the", "memory", "tag", "note"].map(|word| keywords(&[word]));
        let texts = ["what is damaged", "a note"].map(query);
        let all: Vec<Query> = [everything].into_iter().chain(words).chain(texts).collect();
        compare(&store, &all);
    }
}

#[test]
fn a_folder_comes_back_from_rows_byte_for_byte() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let store = TestStore::of_fixture("damage");
    let first = store.engine();
    let kept = ops::remember(&first, new_memory("zebra"), None).unwrap();
    let gone = ops::remember(&first, new_memory("okapi"), None).unwrap();
    ops::forget(&first, gone.stem.as_str()).unwrap();
    let recalled = ops::recall(&first, &[kept.stem.as_str().to_owned()]);
    first.writer.count_uses(&recalled);
    store.put("../memdir.toml", "[search]\nlimit = 7\n");
    let rows = test.workspace("atlas");
    let copied = rows::import(&rows, &Store::at(store.root()), None).unwrap();
    assert!(copied.added > 5 && copied.known == 0, "{copied:?}");
    // Once more: everything is known, and uses count once.
    let again = rows::import(&rows, &Store::at(store.root()), None).unwrap();
    assert_eq!((again.added, again.known), (0, copied.added));
    let back = TestStore::new();
    std::fs::remove_dir(back.files()).unwrap();
    let exported = rows::export(&rows, &Store::at(back.root()), None).unwrap();
    assert_eq!(exported.added, copied.added);
    for top in ["files", "archive", "memdir.toml"] {
        assert_eq!(tree(back.root(), top), tree(store.root(), top));
    }
    let usage = |store: &TestStore| {
        let engine = store.engine();
        let (memory, _) = ops::recall_one(&engine, kept.stem.as_str()).unwrap();
        let records = live::records_of(&engine.live, &kept.stem).unwrap();
        (live::state_of(&engine.live, &memory), records)
    };
    assert_eq!(usage(&back), usage(&store));
    assert_eq!(usage(&back).0.1.count(), 1);
    let full = rows::export(&rows, &Store::at(back.root()), None).unwrap_err();
    assert!(full.to_string().ends_with("is not empty"), "{full}");
}

#[test]
fn an_import_overwrites_nothing() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let name = "20260101_000000_aaaaaaaa.md";
    let store = TestStore::new();
    store.put(name, "of the folder");
    let rows = test.workspace("atlas");
    rows.add(Place::Files, name, b"of the team").unwrap();
    let copied = rows::import(&rows, &Store::at(store.root()), None).unwrap();
    assert_eq!(copied.different, [format!("files/{name}")]);
    let version = rows.reader(Place::Files).read(name, u64::MAX).unwrap();
    assert_eq!(version.bytes, b"of the team");
}

/// Returns the memories in a folder, or one file, each with the hash of its bytes and its time.
fn tree(root: &Path, top: &str) -> Vec<(PathBuf, u128, SystemTime)> {
    let top = root.join(top);
    let files = match top.is_dir() {
        true => regular_files(&top),
        false => vec![top],
    };
    // Settings have no time of their own.
    let time = |path: &Path| match path.extension().is_some_and(|end| end == "toml") {
        true => SystemTime::UNIX_EPOCH,
        false => path.metadata().unwrap().modified().unwrap(),
    };
    let file = |path: PathBuf| {
        let below = path.strip_prefix(root).unwrap().to_owned();
        let hash = memdir::files::digest(&std::fs::read(&path).unwrap());
        (below, hash, time(&path))
    };
    let is_kept = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name == "memdir.toml" || memdir::format::is_memory_name(name)
    };
    files.into_iter().filter(is_kept).map(file).collect()
}
