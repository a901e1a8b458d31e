//! What the words of memories' fields stand for: namespaces within each other, kinds, scopes.

use crate::support::program::Home;
use crate::support::{TestStore, new_memory, query};
use memdir::engine::ops;
use memdir::model::NewMemory;

#[test]
fn a_namespace_holds_those_within_it() {
    let store = TestStore::new();
    let engine = store.engine();
    let within = |namespace: &str| NewMemory {
        namespace: Some(namespace.to_owned()),
        ..new_memory("a heron\n")
    };
    for namespace in [
        "atlas",
        "atlas/web",
        "atlas/web/login",
        "atlas2",
        "Atlas/db",
    ] {
        ops::remember(&engine, within(namespace), None).unwrap();
    }
    let count = |namespace: &str| {
        let mut search = query("heron");
        search.filter.namespaces = vec![namespace.to_owned()];
        ops::search(&engine, &search).unwrap().hits.len()
    };
    let counts = [
        "atlas",
        "atlas/web",
        "atlas/web/login",
        "atlas/w",
        "atlas2",
        "web",
    ]
    .map(count);
    assert_eq!(counts, [4, 2, 1, 0, 1, 0]);
}

#[test]
fn a_kind_says_whom_it_is_for_and_what_its_metadata_holds() {
    let home = Home::new();
    let one = home.remember(&["--kind", "episodic", "a heron"]);
    home.remember(&["--kind", "episodic", "--scope", "global", "two herons"]);
    home.remember(&["--kind", "semantic", "three herons"]);
    home.remember(&["four herons"]);
    let count = |scope: &str| {
        let listed = home.run(&["list", "--scope", scope, "--json"]).json();
        listed["memories"].as_array().unwrap().len()
    };
    assert_eq!((count("group"), count("global")), (1, 3));
    let steps = [
        "remember",
        "--kind",
        "procedural",
        "--meta",
        "steps=a",
        "how",
    ];
    home.run(&steps)
        .complains(2, &["metadata.steps", "a list of texts"]);
    home.run(&["update", &one, "--meta", "summary=7"])
        .complains(2, &["metadata.summary", "true or false"]);
    home.remember(&["--kind", "procedural", "--meta", "steps=[\"a\"]", "how"]);
}

#[test]
fn what_holds_in_a_namespace_is_its_standard_and_those_above() {
    let home = Home::new();
    let [all, old, new, deep, other] =
        ["all", "old", "new", "deep", "other"].map(|text| home.remember(&[text]));
    let shown = |words: &[&str]| -> Vec<String> {
        let words: Vec<&str> = [&["standards", "--json"], words].concat();
        let document = home.run(&words).json();
        let standards = document["standards"].as_array().unwrap().iter();
        standards
            .map(|one| one["headline"].as_str().unwrap().to_owned())
            .collect()
    };
    shown(&["global", "--set", &all]);
    shown(&["atlas", "--set", &old]);
    shown(&["atlas/web", "--set", &deep]);
    shown(&["atlas2", "--set", &other]);
    assert_eq!(shown(&["atlas/web/login"]), ["all", "old", "deep"]);
    assert_eq!(shown(&["Atlas", "--set", &new]), ["all", "new"]);
    assert_eq!(shown(&["atlas", "--clear"]), ["all"]);
    assert!(!home.text_of(&new).contains("standard_of"));
    assert_eq!(shown(&["atlas/web"]), ["all", "deep"]);
    assert_eq!(shown(&[]).len(), 3);
    home.run(&["forget", &all]).done();
    assert_eq!(shown(&["atlas/web"]), ["deep"]);
    home.run(&["standards", "--clear"])
        .complains(2, &["NAMESPACE"]);
    home.run(&["standards", "x", "--set", "ffffffff"])
        .complains(2, &["ffffffff"]);
}
