//! Changes of a note without a frontmatter: it gets one then, before its own bytes.

use std::fs;

use memdir::format;
use memdir::model::{Change, Patch, Problem, Stem};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::dialect::{done, open};
use crate::support::program::Home;
use crate::support::rest::Api;
use crate::support::{TestStore, at, random, touch};

const TULIPS: &str = "# Tulips\r\n\r\nRed ones, beside the roses.\r\n---\r\nno end";
const WRITTEN: &str = "2024-03-05T06:07:08Z";
const TIME: &str = "2024-03-05T06:07:08.000000+00:00";

/// A home with two notes that somebody wrote by hand.
fn home() -> Home {
    let home = Home::new();
    write(&home, "tulips.md", TULIPS);
    write(&home, "roses of mine.md", "Roses.");
    home
}

fn write(home: &Home, name: &str, text: impl AsRef<[u8]>) {
    fs::create_dir_all(home.files()).unwrap();
    let path = home.files().join(name);
    fs::write(&path, text).unwrap();
    touch(&path, at(WRITTEN));
}

fn read(home: &Home, name: &str) -> String {
    fs::read_to_string(home.files().join(name)).unwrap()
}

/// The lines of the frontmatter that the note got; what follows is what was there.
#[track_caller]
fn added(now: &str, before: &str) -> Vec<String> {
    let frame = now.strip_suffix(before).expect("the text is as it was");
    let lines: Vec<&str> = frame.split_terminator('\n').collect();
    let ends: Vec<&str> = lines
        .iter()
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    let is_crlf = before.contains("\r\n");
    assert!(
        lines.iter().all(|line| line.ends_with('\r') == is_crlf),
        "{frame:?}"
    );
    assert_eq!(
        (ends[0], &ends[ends.len() - 2..]),
        ("---", &["---", ""][..]),
        "{frame:?}"
    );
    ends[1..ends.len() - 2]
        .iter()
        .map(|line| (*line).to_owned())
        .collect()
}

#[test]
fn a_plain_note_gets_a_frontmatter_when_it_is_changed_and_not_before() {
    let home = home();
    home.run(&["think", "roses"]).done();
    home.run(&["recall", "tulips"]).done();
    assert_eq!(read(&home, "tulips.md"), TULIPS);
    // What changes nothing adds nothing.
    home.run(&["update", "tulips", "--topics", "-garden"])
        .done();
    assert_eq!(read(&home, "tulips.md"), TULIPS);
    home.run(&["update", "tulips", "--importance", "8"]).done();
    let expected = [
        "id: tulips",
        &format!("timestamp: {TIME}"),
        "topics: []",
        "importance: 8",
    ];
    assert_eq!(added(&read(&home, "tulips.md"), TULIPS), expected);
    home.run(&["update", "tulips", "--topics", "+garden"])
        .done();
    home.run(&["link", "tulips", "roses of mine", "--type", "near"])
        .done();
    let expected = [
        "id: tulips",
        &format!("timestamp: {TIME}"),
        "topics: [garden]",
        "importance: 8",
        "links:",
        "  - {to: roses of mine, type: near}",
    ];
    assert_eq!(added(&read(&home, "tulips.md"), TULIPS), expected);
    assert_eq!(read(&home, "roses of mine.md"), "Roses.");
    // New content keeps the time as well.
    home.run(&["update", "roses of mine", "--content", "Wild roses."])
        .done();
    let expected = [
        "id: roses of mine",
        &format!("timestamp: {TIME}"),
        "topics: []",
    ];
    assert_eq!(
        added(&read(&home, "roses of mine.md"), "Wild roses."),
        expected
    );
    home.run(&["forget", "tulips"]).done();
    home.run(&["restore", "tulips"]).done();
    assert!(read(&home, "tulips.md").ends_with(TULIPS));
}

#[test]
fn every_kind_of_change_of_a_plain_note_is_made() {
    for arguments in [
        &["promote", "tulips"][..],
        &["supersede", "tulips", "roses of mine"],
        &["supersede", "roses of mine", "tulips"],
        &[
            "update", "tulips", "--title", "Tulips", "--kind", "semantic",
        ],
    ] {
        let home = home();
        home.run(arguments).done();
        assert!(read(&home, "tulips.md").ends_with(TULIPS), "{arguments:?}");
    }
    let home = home();
    // In two pieces, so that no scanner takes it for one.
    let secret = [
        "the token is gh",
        "p_16C7e42F292c6912E7710c838347Ae178B4a\n",
    ]
    .concat();
    write(&home, "token.md", &secret);
    home.run(&["allow", "token"]).done();
    assert!(read(&home, "token.md").starts_with("---\nid: token\n"));
    assert!(read(&home, "token.md").ends_with(&secret));
}

#[test]
fn what_cannot_get_a_frontmatter_says_why_and_stays_as_it_is() {
    let home = home();
    for (name, bytes, why) in [
        (
            "open",
            &b"---\ntitle: Open\ntext"[..],
            "no closing `---` line",
        ),
        ("wide", b"\xff\xfeT\0e\0", "save it as UTF-8"),
    ] {
        write(&home, &format!("{name}.md"), bytes);
        home.run(&["update", name, "--importance", "8"])
            .complains(2, &[why]);
        assert_eq!(
            fs::read(home.files().join(format!("{name}.md"))).unwrap(),
            bytes
        );
    }
}

proptest! {
    #![proptest_config(random(512))]

    #[test]
    fn whatever_a_note_holds_follows_its_frontmatter(text in "(\u{feff})?(---|a|\r?\n|: |é|#){0,12}") {
        let stem = Stem::from_file_name("a note: of 'mine'");
        let memory = format::parse(&stem, text.as_bytes(), at(WRITTEN));
        let change = Change { importance: Patch::Set(8), ..Change::default() };
        let framed = format::with_frontmatter(text.as_bytes(), &memory);
        let edited = match format::edit(&framed, &change) {
            Ok(edited) => edited,
            Err(error) => {
                prop_assert!(memory.problems.contains(&Problem::FrontmatterNotClosed), "{error}");
                return Ok(());
            }
        };
        let now = format::parse(&stem, &edited, at("2026-06-01T12:00:00Z"));
        prop_assert_eq!(now.content, memory.content);
        prop_assert_eq!(now.importance, Some(8));
        if memory.problems.contains(&Problem::NoFrontmatter) || text.is_empty() {
            prop_assert_eq!(now.id, stem.as_str());
            prop_assert_eq!(now.timestamp.utc(), memory.timestamp.utc());
            let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
            prop_assert!(edited.ends_with(text.as_bytes()));
        }
    }
}

#[test]
fn a_byte_order_mark_stays_first() {
    let home = home();
    write(&home, "marked.md", "\u{feff}Text.");
    home.run(&["update", "marked", "--importance", "8"]).done();
    let text = read(&home, "marked.md");
    assert!(text.starts_with("\u{feff}---\nid: marked\n"), "{text}");
    assert!(text.ends_with("importance: 8\n---\n\nText."), "{text}");
}

#[test]
fn tools_of_ai_memory_change_plain_notes() {
    let home = home();
    let mut session = open(&home, "ai-memory", &[]);
    done(
        &mut session,
        "memory_update",
        json!({"id": "tulips", "priority": 8}),
    );
    let link =
        json!({"source_id": "tulips", "target_id": "roses of mine", "relation": "related_to"});
    done(&mut session, "memory_link", link);
    let lines = added(&read(&home, "tulips.md"), TULIPS);
    assert!(
        lines.contains(&"  - {to: roses of mine, type: related-to}".to_owned()),
        "{lines:?}"
    );
    done(
        &mut session,
        "memory_delete",
        json!({"id": "roses of mine"}),
    );
    assert!(!home.files().join("roses of mine.md").exists());
}

#[test]
fn tools_of_loci_change_plain_notes() {
    let home = home();
    for id in ["tulips", "roses of mine"] {
        home.run(&["update", id, "--kind", "entity"]).done();
    }
    let mut session = open(&home, "loci", &[]);
    let relation =
        json!({"subject_id": "tulips", "predicate": "near", "object_id": "roses of mine"});
    done(&mut session, "store_relation", relation);
    let lines = added(&read(&home, "tulips.md"), TULIPS);
    assert!(
        lines.contains(&"  - {to: roses of mine, type: near}".to_owned()),
        "{lines:?}"
    );
    done(
        &mut session,
        "forget_memory",
        json!({"memory_id": "tulips"}),
    );
    assert!(!home.files().join("tulips.md").exists());
}

#[test]
fn tools_of_i_am_change_plain_notes() {
    let home = home();
    let mut session = open(&home, "i-am", &[]);
    let named = |value: &Value, word: &str| {
        let all = value["memories"].as_array().or(value["results"].as_array());
        let all = all.unwrap_or_else(|| panic!("{value}")).iter();
        let found = all.filter(|one| one["key"].as_str().unwrap().contains(word));
        let found: Vec<&Value> = found.collect();
        assert_eq!(found.len(), 1, "{value}");
        (found[0]["category"].clone(), found[0]["key"].clone())
    };
    let (category, tulips) = named(
        &done(&mut session, "search", json!({"query": "tulips"})),
        "tulips",
    );
    let (_, roses) = named(
        &done(&mut session, "search", json!({"query": "roses mine"})),
        "mine",
    );
    let link = json!({"source_category": category, "source_key": tulips,
        "target_category": category, "target_key": roses, "relation": "elaborates"});
    done(&mut session, "add_link", link);
    assert!(read(&home, "tulips.md").ends_with(TULIPS));
    assert!(read(&home, "tulips.md").contains("type: elaborates"));
    let update =
        json!({"category": category, "key": roses, "value": "Wild roses.", "tags": ["red"]});
    assert_eq!(done(&mut session, "remember", update)["action"], "UPDATE");
    let lines = added(&read(&home, "roses of mine.md"), "Wild roses.");
    assert!(lines.contains(&"topics: [red]".to_owned()), "{lines:?}");
    done(
        &mut session,
        "forget",
        json!({"category": category, "key": tulips}),
    );
    assert!(!home.files().join("tulips.md").exists());
}

#[test]
fn tools_of_the_usual_set_change_plain_notes() {
    let home = home();
    let mut session = open(&home, "core", &["--tools", "forget,link,list,status"]);
    done(
        &mut session,
        "link",
        json!({"from": "tulips", "to": "roses of mine", "relation": "near"}),
    );
    assert!(read(&home, "tulips.md").contains("type: near"));
    done(&mut session, "forget", json!({"memory_id": "tulips"}));
    assert!(!home.files().join("tulips.md").exists());
}

#[test]
fn http_changes_plain_notes() {
    let store = TestStore::new();
    store.put("tulips.md", TULIPS);
    store.put("roses of mine.md", "Roses.");
    let api = Api::on(store);
    api.put("/memories/tulips", &json!({"tags": ["garden"]}))
        .done(200);
    api.post(
        "/links",
        &json!({"source_id": "tulips", "target_id": "roses of mine"}),
    )
    .done(201);
    let tulips = String::from_utf8(api.server.store.read("tulips.md")).unwrap();
    let lines = added(&tulips, TULIPS);
    assert!(lines.contains(&"topics: [garden]".to_owned()), "{lines:?}");
    assert!(
        lines.contains(&"  - {to: roses of mine, type: related-to}".to_owned()),
        "{lines:?}"
    );
    api.delete("/memories/roses%20of%20mine").done(200);
    assert!(!api.server.store.files().join("roses of mine.md").exists());
}

#[test]
fn a_store_is_sound_when_a_plain_text_was_replaced() {
    let home = home();
    fs::write(home.store().join("memdir.toml"), "git = false\n").unwrap();
    write(&home, "x.md", "plain x");
    home.run(&["verify"]).done();
    let mut session = open(&home, "ai-memory", &[]);
    let update = json!({"id": "x", "content": "new x"});
    done(&mut session, "memory_update", update);
    drop(session);
    let kept = crate::plain_notes::texts(&home.store().join("archive"));
    assert!(kept.iter().any(|(_, text)| text == "plain x"), "{kept:?}");
    home.run(&["verify"]).done();
}
