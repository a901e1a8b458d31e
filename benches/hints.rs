//! How many hints at contradictions ordinary memories bring.
//!
//! `cargo bench --bench hints -- FOLDER`, a folder of corpora as `memdir eval` reads them:
//! `*/corpus.jsonl`, one memory a line with `text`, perhaps `agent` and `user`. Each is stored in
//! its order in a store of its own. Prints the hints, and fails if a corpus brings more than two to
//! a thousand memories.

#![allow(clippy::print_stdout, reason = "it prints what it measured")]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use memdir::clock::SystemClock;
use memdir::engine::{Engine, Options, Stored, ops};
use memdir::lifecycle::WritePolicy;
use memdir::model::NewMemory;

fn main() {
    // `cargo bench` adds an option of its own.
    let mut folders = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let Some(folder) = folders.next() else {
        println!("no folder of corpora is named, so nothing is measured");
        return;
    };
    let entries = fs::read_dir(folder).expect("a folder");
    let paths = entries.map(|entry| entry.expect("an entry").path().join("corpus.jsonl"));
    let mut corpora: Vec<PathBuf> = paths.filter(|path| path.exists()).collect();
    corpora.sort();
    assert!(!corpora.is_empty(), "there is no */corpus.jsonl in it");
    for corpus in corpora {
        let (count, hints) = hints_of(&corpus);
        let name = corpus.display();
        println!("{name}: {count} memories, {} with a hint", hints.len());
        hints.iter().for_each(|hint| println!("  {hint}"));
        assert!(hints.len() * 500 <= count, "more than two in a thousand");
    }
}

/// How many memories there are, and the first hint of each that brings any.
fn hints_of(corpus: &Path) -> (usize, Vec<String>) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    fs::create_dir(root.join("files")).expect("a folder");
    let engine = Engine::open(Options::new(root), Box::new(SystemClock)).expect("a store");
    let text = fs::read_to_string(corpus).expect("a corpus");
    let mut hinted = Vec::new();
    for line in text.lines() {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let field = |key: &str| row[key].as_str().unwrap_or("unknown").to_owned();
        let memory = NewMemory {
            agent: field("agent"),
            user: field("user"),
            content: field("text"),
            ..NewMemory::default()
        };
        let policy = WritePolicy::default();
        let stored = ops::remember_as(&engine, memory, None, &policy).expect("written");
        let Stored::Written(stored) = stored else {
            panic!("nothing is to be suggested");
        };
        if let Some(hint) = stored.contradicted.first() {
            let (word, text) = (hint.evidence.difference.word(), field("text"));
            let first = text.lines().next().unwrap_or_default();
            let evidence = &hint.evidence;
            hinted.push(format!("{word} {evidence}: {} | {first}", hint.headline));
        }
    }
    (text.lines().count(), hinted)
}
