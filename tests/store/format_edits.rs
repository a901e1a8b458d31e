//! Changes of single keys that went wrong once: found by fuzzing.

use chrono::DateTime;
use memdir::format;
use memdir::model::{Change, Memory, Patch, Stem};

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
