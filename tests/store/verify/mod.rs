//! `verify` finds every kind of damage: each is seeded into a store that is sound otherwise, and
//! must be named with its file, and nothing else with it.

mod files;
mod index;
mod program;

use std::fs;

use crate::support::{TestStore, holding, memory_text};
use memdir::engine::{Proof, live, ops};

const ONE: &str = "20260101_000000_aaaaaaaa.md";
const TWO: &str = "20260102_000000_bbbbbbbb.md";
const ARCHIVED: &str = "20260103_000000_cccccccc.md";
/// Where most damages are put.
const NEW: &str = "20260104_000000_dddddddd.md";

fn one() -> String {
    memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "The first heron.\n")
}

fn two() -> String {
    memory_text("bbbbbbbb", "2026-01-02T00:00:00Z", "The second heron.\n")
}

fn archived() -> String {
    memory_text("cccccccc", "2026-01-03T00:00:00Z", "A forgotten heron.\n")
}

/// A sound memory called [`NEW`], as lines to be spoilt.
fn new() -> String {
    memory_text("dddddddd", "2026-01-04T00:00:00Z", "A new heron.\n")
}

/// A new memory with another line in its frontmatter.
fn with(line: &str) -> String {
    new().replace("\n---\n\n", &format!("\n{line}\n---\n\n"))
}

/// A sound store: two memories and an archived one, all that is live indexed.
fn sound_store() -> TestStore {
    let store = TestStore::new();
    store.put(ONE, one());
    store.put(TWO, two());
    archive(&store, ARCHIVED, &archived());
    let engine = store.engine();
    assert_eq!(holding(&engine, "heron").len(), 2);
    live::settle(&engine.live, true).unwrap();
    let proof = ops::verify(&store.engine()).unwrap();
    assert_eq!(told(&proof), []);
    assert!(proof.is_sound());
    store
}

fn archive(store: &TestStore, name: &str, text: &str) {
    let folder = store.root().join("archive");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
}

/// What is said of which file.
fn told(proof: &Proof) -> Vec<(String, &'static str)> {
    let findings = proof.findings.iter();
    findings
        .map(|finding| (finding.file.clone(), finding.problem.code()))
        .collect()
}
