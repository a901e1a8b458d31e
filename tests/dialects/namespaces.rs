//! One rule says which namespaces are the same, wherever they are given.

use serde_json::json;

use crate::support::dialect::{done, open};
use crate::support::program::Home;

/// The ways in which people and programs write `atlas/web`.
const SPELLINGS: [&str; 5] = [
    "atlas/web",
    "atlas/web/",
    " Atlas / web ",
    "atlas//web",
    "ATLAS/WEB//",
];

/// A memory of another program, in a namespace as that wrote it.
fn put(home: &Home, handle: &str, namespace: &str) -> String {
    let text = format!(
        "---\nid: {handle}\ntimestamp: 2026-01-14T09:15:00Z\nagent: a\nuser: u\ntopics: [t]\nnamespace: \"{namespace}\"\n---\n\nText {handle}.\n"
    );
    home.put(&format!("20260114_091500_{handle}.md"), &text);
    text
}

#[track_caller]
fn listed(home: &Home, namespace: &str) -> usize {
    let found = home
        .run(&["list", "--json", "--namespace", namespace])
        .json();
    found["memories"].as_array().unwrap().len()
}

#[test]
fn a_namespace_is_found_however_it_is_spelled() {
    let home = Home::in_folder("the command line works on a folder");
    for (number, namespace) in SPELLINGS.iter().enumerate() {
        put(&home, &format!("a000000{number}"), namespace);
    }
    for namespace in SPELLINGS.iter().chain(&["atlas", "atlas/", " Atlas"]) {
        assert_eq!(listed(&home, namespace), SPELLINGS.len(), "{namespace:?}");
    }
    for namespace in ["atl", "atlas/we", "/atlas", "global"] {
        let none = home
            .run(&["list", "--json", "--namespace", namespace])
            .json();
        assert_eq!(none["memories"], json!([]), "{namespace:?}");
    }
    let thought = home.run(&["think", "--json", "text", "--namespace", "atlas/web/"]);
    assert_eq!(thought.code, 0, "{thought:?}");
    let equal = home
        .run(&["list", "--json", "--where", "namespace=Atlas/Web/"])
        .json();
    assert_eq!(equal["memories"].as_array().unwrap().len(), SPELLINGS.len());
    let facets = home.run(&["namespaces", "--json"]).json();
    assert_eq!(
        facets["namespaces"],
        json!([{"name": "atlas/web", "memories": SPELLINGS.len()}])
    );
}

#[test]
fn a_file_with_an_odd_namespace_keeps_its_bytes() {
    let home = Home::in_folder("the command line works on a folder");
    let text = put(&home, "a0000001", "atlas//web/ ");
    let shown = home.run(&["recall", "--json", "a0000001"]).json();
    assert_eq!(shown[0]["namespace"], "atlas/web");
    home.run(&["update", "a0000001", "--topics", "t,u"]).done();
    let changed = home.text_of("a0000001");
    assert_eq!(changed, text.replace("topics: [t]", "topics: [t, u]"));
}

#[test]
fn what_is_written_is_written_in_one_form() {
    let home = Home::in_folder("the command line works on a folder");
    let written = |arguments: &[&str]| {
        let id = home.remember(arguments);
        let text = home.text_of(&id);
        let line = text.lines().find(|line| line.starts_with("namespace:"));
        (id, line.map(str::to_owned))
    };
    let expected = Some("namespace: Atlas/web".to_owned());
    assert_eq!(
        written(&["One.", "--namespace", " Atlas//web/"]).1,
        expected
    );
    let (id, line) = written(&["Two.", "--namespace", "Global/"]);
    assert_eq!(line, None);
    home.run(&["update", &id, "--namespace", "Atlas/ web"])
        .done();
    assert!(home.text_of(&id).contains("\nnamespace: Atlas/web\n"));
    home.run(&["update", &id, "--namespace", "global/"]).done();
    assert!(!home.text_of(&id).contains("\nnamespace:"));
    home.write("store/memdir.toml", "namespace = \"atlas/\"\n");
    assert_eq!(written(&["Three."]).1, Some("namespace: atlas".to_owned()));
}

#[test]
fn standards_and_tools_follow_the_same_rule() {
    let home = Home::in_folder("the command line works on a folder");
    let id = home.remember(&["Tabs, not spaces.", "--namespace", "atlas"]);
    home.run(&["standards", "atlas//web/", "--set", &id]).done();
    let held = home.run(&["standards", "--json", "Atlas/web"]).json();
    assert_eq!(
        held["standards"].as_array().map(Vec::len),
        Some(1),
        "{held}"
    );
    home.run(&["forget", &home.remember(&["Gone.", "--namespace", "atlas"])])
        .done();
    let mut session = open(&home, "ai-memory", &[]);
    let given = json!({"namespace": "Atlas/", "format": "json"});
    let listed = done(&mut session, "memory_list", given);
    assert_eq!(listed["count"], 1, "{listed}");
    let archived = done(
        &mut session,
        "memory_archive_list",
        json!({"namespace": "Atlas/"}),
    );
    assert_eq!(archived["count"], 1, "{archived}");
}
