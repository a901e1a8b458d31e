//! What the words of memories' fields stand for: namespaces within each other, kinds, scopes.

use memdir::model::NewMemory;

use crate::program::Home;
use crate::support::TestStore;
use crate::support::new_memory;
use crate::support::query;

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
        engine.remember(within(namespace), None).unwrap();
    }
    let count = |namespace: &str| {
        let mut search = query("heron");
        search.filter.namespaces = vec![namespace.to_owned()];
        engine.search(&search).unwrap().hits.len()
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
    home.remember(&["--kind", "episodic", "--scope", "global", "a heron"]);
    home.remember(&["--kind", "semantic", "a heron"]);
    home.remember(&["a heron"]);
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
