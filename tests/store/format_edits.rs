//! Changes of single keys that went wrong once: found by fuzzing.

use chrono::DateTime;
use memdir::format;
use memdir::model::{Change, Link, Memory, MetaValue, Patch, Stem};

fn read(bytes: &[u8]) -> Memory {
    let stem = Stem::from_file_name("20260114_091500_1f3a9c02");
    format::parse(&stem, bytes, DateTime::UNIX_EPOCH)
}

#[test]
fn new_content_is_content_though_it_looks_like_a_frontmatter() {
    // In a file without a frontmatter the content became one.
    check_new_content("Only a text.\n", "---\nuser: mallory\n---\n\nText.\n");
    check_new_content(
        "---\nuser: not closed\n",
        "---\nuser: mallory\n---\n\nText.\n",
    );
    check_new_content("", "\u{feff}---\nuser: mallory\n---\nText.\n");
    check_new_content("\u{feff}Only a text.", "---\n---\n");
    check_new_content("Only a text.\n", "\u{feff}Text.\n");
    check_new_content("Only a text.\n", "---\nnot closed\n");
    check_new_content("---\nuser: mira\n---", "---\nuser: mallory\n---\n\nText.\n");
}

#[track_caller]
fn check_new_content(file: &str, content: &str) {
    let change = Change {
        content: Some(content.to_owned()),
        ..Change::default()
    };
    let edited = format::edit(file.as_bytes(), &change).unwrap();
    let memory = read(&edited);
    assert_eq!(memory.content, content);
    assert_ne!(memory.user, "mallory");
    assert_eq!(format::edit(&edited, &change).unwrap(), edited);
}

#[test]
fn an_indented_line_before_all_keys_never_becomes_a_new_keys() {
    // The second change took the line away.
    for status in [Some("open"), Some("done"), None] {
        let change = Change {
            status: status.map_or(Patch::Clear, |text| Patch::Set(text.to_owned())),
            ..Change::default()
        };
        let once = format::edit(b"---\r\n  stray\r\n---\r\n\r\nText.\r\n", &change).unwrap();
        let twice = format::edit(&once, &change).unwrap();
        assert_eq!(twice, once);
        assert_eq!(read(&twice).status.as_deref(), status);
        assert!(String::from_utf8(twice).unwrap().contains("  stray\r\n"));
    }
}

#[test]
fn a_comment_after_a_list_stays_though_it_holds_brackets() {
    // The last bracket of the line was taken for the list's end.
    check_new_topics("[a, b] # see [1]", "[new] # see [1]");
    check_new_topics("[a, b]  # {x}", "[new]  # {x}");
    check_new_topics("[\"a]\", 'b''s ]', c#] # d]", "[new] # d]");
    check_new_topics("[it's, 5\"] # why", "[new] # why");
    check_new_topics("[\"a \\\" ]\"] # why", "[new] # why");
    check_new_topics("[a, b # no end]", "[new]");
    check_new_topics("[a] and more # x", "[new]");
    // After a value that is left empty the comment became part of the new one.
    check_new_topics("# why", "[new] # why");
    check_new_topics("", "[new]");
}

#[track_caller]
fn check_new_topics(value: &str, expected: &str) {
    let change = Change {
        topics: Some(vec!["new".to_owned()]),
        ..Change::default()
    };
    let file = format!("---\ntopics: {value}\n---\n");
    let edited = format::edit(file.as_bytes(), &change).unwrap();
    let edited = String::from_utf8(edited).unwrap();
    assert_eq!(edited, format!("---\ntopics: {expected}\n---\n"));
}

#[test]
fn a_changed_list_of_links_keeps_what_stands_beside_the_others() {
    let added = Link {
        to: "cccccccc".to_owned(),
        relation: "related-to".to_owned(),
    };
    let block = "links:\n# of the trip\n- {to: aaaaaaaa, note: \"see p. 1.10\"} # why\n- target: bbbbbbbb\n  weight: 2\n";
    for (keys, expected) in [
        (
            block,
            format!("{block}- {{to: cccccccc, type: related-to}}\n"),
        ),
        (
            "links: [aaaaaaaa, {to: bbbbbbbb, note: x}] # two\n",
            "links: [aaaaaaaa, {to: bbbbbbbb, note: x}, {to: cccccccc, type: related-to}] # two\n"
                .to_owned(),
        ),
        (
            "links: aaaaaaaa\n",
            "links:\n  - {to: aaaaaaaa, type: related-to}\n  - {to: cccccccc, type: related-to}\n"
                .to_owned(),
        ),
    ] {
        for newline in ["\n", "\r\n"] {
            let file = |keys: &str| format!("---\nid: 1f3a9c02\n{keys}---\n\nText.\n");
            let before = file(keys).replace('\n', newline);
            let memory = read(before.as_bytes());
            let mut links = memory.links.clone();
            links.push(added.clone());
            let edited = edited(&before, |change| change.links = Patch::Set(links.clone()));
            assert_eq!(edited, file(&expected).replace('\n', newline));
            assert_eq!(read(edited.as_bytes()).links, links);
            let back = |change: &mut Change| change.links = Patch::Set(memory.links.clone());
            if !keys.starts_with("links: aaaa") {
                assert_eq!(self::edited(&edited, back), before);
            }
        }
    }
}

#[test]
fn changed_metadata_keep_how_the_other_entries_are_written() {
    for (keys, expected) in [
        (
            "metadata: # by hand\n  version: 1.10\n  # of the office\n  phone: +4915112345678\n  odd: .nan\n  text: |\n    one\n\n    # two\n  gone: 1\n",
            "metadata: # by hand\n  version: 1.10\n  # of the office\n  phone: +4915112345678\n  odd: .nan\n  text: |\n    one\n\n    # two\n  new: [1, \"a\"]\n",
        ),
        (
            "metadata: {version: 1.10, phone: +4915112345678, \"a, b\": 'it''s', gone: 1} # by hand\n",
            "metadata: {version: 1.10, phone: +4915112345678, \"a, b\": 'it''s', \"new\": [1, \"a\"]} # by hand\n",
        ),
    ] {
        for newline in ["\n", "\r\n"] {
            let file = |keys: &str| format!("---\nid: 1f3a9c02\n{keys}---\n\nText.\n");
            let before = file(keys).replace('\n', newline);
            let mut metadata = read(before.as_bytes()).metadata;
            let gone = metadata.pop().unwrap();
            assert_eq!(gone, ("gone".to_owned(), MetaValue::Int(1)));
            let list = vec![MetaValue::Int(1), MetaValue::Text("a".to_owned())];
            metadata.push(("new".to_owned(), MetaValue::List(list)));
            let edited = edited(&before, |change| change.metadata = Patch::Set(metadata));
            assert_eq!(edited, file(expected).replace('\n', newline));
        }
    }
}

#[track_caller]
fn edited(file: &str, change: impl FnOnce(&mut Change)) -> String {
    let mut all = Change::default();
    change(&mut all);
    String::from_utf8(format::edit(file.as_bytes(), &all).unwrap()).unwrap()
}

#[test]
fn a_quoted_text_of_ones_own_is_no_dangerous_yaml() {
    for value in [
        "\"*important* stuff\"",
        "\"!wow\"",
        "'&'",
        "\"---\"",
        "'? what'",
    ] {
        let file = format!("---\nid: 1f3a9c02\nnote: {value} # why\n---\n\nText.\n");
        let memory = read(file.as_bytes());
        assert!(
            !format!("{:?}", memory.problems).contains("RefusedYaml"),
            "{:?}",
            memory.problems
        );
        let (_, text) = memory.unknown.first().unwrap();
        assert!(!text.contains(['"', '\'', '#']), "{text}");
    }
}
