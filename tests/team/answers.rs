//! The same files in a folder and in rows answer the same questions with the same bytes.

use std::path::Path;
use std::time::UNIX_EPOCH;

use memdir::engine::{Engine, Import, ImportDefaults, Query, QueryKind, live, ops};
use memdir::eval::Dataset;
use memdir::files::Storage;
use memdir::model::Filter;
use memdir::rows::Rows;

use crate::postgres::{TestDatabase, engine};
use crate::support::{TestStore, fixture, keywords, query, regular_files};

/// Copies all files of a folder into a workspace, with their times.
fn copy_into(rows: &Rows, root: &Path) {
    let files: Vec<(String, Vec<u8>, i64)> = regular_files(root)
        .into_iter()
        .filter_map(|path| {
            let name = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            let is_derived = name.starts_with(".memdir");
            let modified = path.metadata().unwrap().modified().unwrap();
            let nanos = modified.duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
            (!is_derived).then(|| (name, std::fs::read(&path).unwrap(), nanos))
        })
        .collect();
    for added in rows.add_files(&files).unwrap() {
        added.unwrap();
    }
}

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
    copy_into(&rows, root.root());
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
    let import = Import { dry_run: false };
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
    ops::remember(&store.engine(), crate::support::new_memory("zebra"), None).unwrap();
    let rows = test.workspace("atlas");
    copy_into(&rows, store.root());
    let paths = rows.paths().unwrap();
    let own = |path: &std::path::PathBuf| !path.starts_with(store.state());
    let expected = regular_files(store.root()).into_iter().filter(own).count();
    assert_eq!(paths.len(), expected);
    for path in paths {
        let version = rows.version_at(&path).unwrap().unwrap();
        assert_eq!(
            version.bytes,
            std::fs::read(store.root().join(&path)).unwrap(),
            "{path}"
        );
    }
}
