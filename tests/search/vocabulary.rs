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

#[test]
fn a_word_is_found_as_people_write_it() {
    let store = TestStore::new();
    let engine = store.engine();
    let texts = [
        "Le café ouvre tôt à Zürich",
        "すしを食べる。茶を飲む。",
        "The build needs Python3 and C++",
        "The Wi-Fi is slow, says the co-worker",
        "A chart in C# of the temperature",
    ];
    for text in texts {
        ops::remember(&engine, new_memory(text), None).unwrap();
    }
    let check = |asked: &str, expected: &[usize]| {
        let found = ops::search(&engine, &query(asked)).unwrap();
        let found = found
            .hits
            .iter()
            .filter(|hit| hit.found_only_by().is_none());
        let contents = found.map(|hit| hit.memory.content.trim());
        let expected = expected.iter().map(|&at| texts[at]);
        assert_eq!(
            contents.collect::<Vec<_>>(),
            expected.collect::<Vec<_>>(),
            "{asked}"
        );
    };
    check("cafe", &[0]);
    check("CAFÉ", &[0]);
    check("zurich", &[0]);
    check("茶", &[1]);
    check("python", &[2]);
    check("python 3", &[2]);
    check("wifi", &[3]);
    check("coworkers", &[3]);
    check("C++", &[2, 4]);
    check("C#", &[4, 2]);
}

#[test]
fn wanted_words_are_those_of_the_text_and_not_of_the_name_of_its_user() {
    let store = TestStore::new();
    let engine = store.engine();
    for text in ["Espresso at ten", "The image runs Ubuntu"] {
        let memory = NewMemory {
            user: "ubuntu".to_owned(),
            ..new_memory(text)
        };
        ops::remember(&engine, memory, None).unwrap();
    }
    let count = |change: &dyn Fn(&mut memdir::model::Filter)| {
        let mut search = memdir::engine::Query::everything(Default::default(), 9);
        change(&mut search.filter);
        ops::search(&engine, &search).unwrap().hits.len()
    };
    assert_eq!(count(&|filter| filter.words = vec!["ubuntu".to_owned()]), 1);
    assert_eq!(
        count(&|filter| filter.phrases = vec!["Ubuntu".to_owned()]),
        1
    );
    assert_eq!(
        count(&|filter| filter.excludes = vec!["ubuntu".to_owned()]),
        1
    );
}

#[test]
fn what_a_link_of_an_editor_supersedes_is_superseded() {
    let store = TestStore::new();
    let engine = store.engine();
    let old = ops::remember(&engine, new_memory("zebras have 3 stripes"), None).unwrap();
    let old = old.stem.as_str();
    let newer = format!(
        "---\nid: aa000001\ntimestamp: 2026-11-30T10:00:00+00:00\nsupersedes: [\"[[{old}]]\"]\n---\n\nzebras have 4 stripes\n"
    );
    store.put("20261130_100000_aa000001.md", newer);
    let found = ops::search(&engine, &query("zebras")).unwrap();
    assert_eq!(found.hits.len(), 1);
    assert!(found.hits[0].memory.content.contains('4'));
    let change = memdir::model::Change {
        supersedes: memdir::model::Patch::Set(vec!["aa000001".to_owned()]),
        ..memdir::model::Change::default()
    };
    let error = ops::update(&engine, "aa000001", &change).unwrap_err();
    assert!(
        error.to_string().contains("cannot supersede itself"),
        "{error}"
    );
}

#[test]
fn the_memories_of_a_named_day_come_first() {
    let home = Home::new();
    let remember = |day: &str, text: &str| {
        let at = format!("2026-{day}T10:00:00Z");
        home.remember(&["--timestamp", &at, "--topics", "work", text])
    };
    remember("01-20", "Office moved to the third floor.");
    let lunch = remember(
        "03-14",
        "Team lunch at the Thai restaurant; Ben told about his trip.",
    );
    remember("03-30", "Budget for the second quarter approved.");
    let cache = remember(
        "03-14",
        "The cache was cleared and the search index rebuilt.",
    );
    remember("04-15", "An incident: users were logged out at random.");
    remember("05-01", "The accident in the warehouse was reported.");
    remember("07-01", "Holiday plans were collected.");
    remember("08-01", "Event with partners in Hamburg.");
    for asked in ["what happened on March 14?", "2026-03-14"] {
        let found = home.run(&["think", asked, "--json"]).json();
        let ids = found.as_array().unwrap().iter();
        let ids = ids.map(|hit| hit["id"].as_str().unwrap());
        let mut first: Vec<&str> = ids.take(2).map(|id| &id[id.len() - 8..]).collect();
        first.sort_unstable();
        let mut wanted = [lunch.as_str(), cache.as_str()];
        wanted.sort_unstable();
        assert_eq!(first, wanted, "{asked}");
    }
}
