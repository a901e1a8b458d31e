//! Damaged sources: what is damaged is named, and the rest is kept.

use super::sources;
use crate::support::program::Home;

/// What can happen to one conversation of a ChatGPT export, between two whole ones.
#[test]
fn damaged_conversations_of_chatgpt_are_named() {
    let sound = |id: &str| sources::chatgpt_conversation(id).to_string();
    let middle = sound("m");
    let replaced = |from: &str, to: &str| middle.replacen(from, to, 1);
    check(
        "conversations.json",
        &sound,
        &[
            replaced("\"mapping\":{", "\"mapping\":["),
            replaced("\"mapping\":{", "\"mapping\":\"gone\",\"x\":{"),
            replaced("\"mapping\":{", "\"mapping\":null,\"x\":{"),
            replaced("\"mapping\":", "\"map\":"),
            replaced("\"author\":{", "\"author\":[{"),
            replaced(
                "\"author\":{\"role\":\"user\"",
                "\"author\":\"user\",\"x\":{\"r\":\"user\"",
            ),
            replaced("\"content\":{", "\"content\":7,\"x\":{"),
            replaced("Which train", "Which \"train\""),
            replaced("\"title\":\"Trains\"", "\"title\":\"Trains"),
            replaced("\"title\"", "title"),
            replaced("null", "nul"),
            replaced("null", ""),
            replaced(",\"current_node\"", "\"current_node\""),
            replaced("\"current_node\"", ",\"current_node\""),
            replaced(":{", ":{{"),
            replaced("\"message\":", "\"message\""),
            middle[..middle.len() - 2].to_owned(),
            middle[..middle.len() / 2].to_owned(),
            replaced("\"parent\":", "\"parent\""),
            replaced("\"parent\":null", "\"parent\":\u{1}"),
        ],
    );
}

#[test]
fn damaged_conversations_of_claude_are_named() {
    let sound = |id: &str| sources::claude_conversation(id).to_string();
    let middle = sound("m");
    let replaced = |from: &str, to: &str| middle.replacen(from, to, 1);
    check(
        "conversations.json",
        &sound,
        &[
            replaced("\"chat_messages\":[", "\"chat_messages\":{\"a\":["),
            replaced("\"chat_messages\":[", "\"chat_messages\":\"x\",\"y\":["),
            replaced("\"chat_messages\":", "\"messages\":"),
            replaced("\"chat_messages\":[", "\"chat_messages\":[7,"),
            replaced("\"chat_messages\":[", "\"chat_messages\":[null,"),
            replaced("\"chat_messages\":[", "\"chat_messages\":null,\"y\":["),
            replaced("Which wine", "Which \"wine"),
            replaced("Which wine", "Which \\wine"),
            replaced("Which wine", "Which \\uZZZZ wine"),
            replaced("\"sender\":\"human\"", "\"sender\":human"),
            replaced("\"files\":[]", "\"files\":[}"),
            replaced("\"files\":[]", "\"files\":["),
            replaced("},{", "}{"),
            replaced("},{", "},,{"),
            replaced("\"name\":\"Wine", "\"name\":Wine"),
            replaced("[{", "[[{"),
            middle[..middle.len() - 3].to_owned(),
            middle[..middle.len() / 3].to_owned(),
            replaced(":null", ":undefined"),
            replaced("\"created_at\":", "\"created_at\""),
        ],
    );
}

#[test]
fn damaged_lines_of_transcripts_are_named() {
    let sound = sources::claude_code(2);
    let mut lines: Vec<&str> = sound.lines().collect();
    let line = lines[2].to_owned();
    let replaced = |from: &str, to: &str| line.replacen(from, to, 1);
    let damaged = [
        replaced("{", ""),
        replaced("}", ""),
        replaced("\"type\"", "type"),
        replaced("\"message\":{", "\"message\":7,\"x\":{"),
        replaced("\"message\":{", "\"message\":[{"),
        replaced("I look", "I \"look"),
        replaced("I look", "I \u{0} look"),
        replaced(",", ",,"),
        replaced(",", ""),
        replaced("false", "fals"),
        line[..line.len() / 2].to_owned(),
        line[..line.len() - 1].to_owned(),
        format!("{line}{line}"),
        "not JSON at all".to_owned(),
        "\u{fffd}\u{fffd}".to_owned(),
        "[1, 2".to_owned(),
        "\"a string".to_owned(),
        "{\"type\": \"user\", \"message\": \"text\"}".to_owned(),
        "}".to_owned(),
        "{".repeat(200),
    ];
    for damage in &damaged {
        lines[2] = damage;
        let home = Home::new();
        let file = format!("{}.jsonl", sources::SESSION);
        home.write(&file, lines.join("\n"));
        let report = home.run(&["mine", "--format", "claude-code", &file, "--json"]);
        assert_eq!(report.code, 1, "{damage}: {report:?}");
        let report = report.json();
        let place = report["damaged"][0]["place"].as_str().unwrap();
        assert!(
            place.ends_with(&format!("{file}, line 3")),
            "{damage}: {report}"
        );
        assert_eq!(
            (&report["new"], report["damaged"].as_array().unwrap().len()),
            (&1.into(), 1),
            "{damage}"
        );
        let talk = super::kept::talks_of(&home).concat();
        assert!(
            talk.contains("quokka") && talk.contains("And how do we renew it?"),
            "{talk}"
        );
    }
}

#[test]
fn damaged_zips_are_named() {
    let files = [(
        "conversations.json",
        format!("[{}]", sources::claude_conversation("c")),
    )];
    let zip = sources::zip(&files);
    let flipped = |at: usize| {
        let mut bytes = zip.clone();
        bytes[at] ^= 0x55;
        bytes
    };
    let list = zip
        .windows(4)
        .position(|bytes| bytes == b"PK\x01\x02")
        .unwrap();
    for (what, bytes) in [
        ("cut off", zip[..zip.len() - 30].to_vec()),
        ("empty", Vec::new()),
        ("no zip", b"PK\x03\x04 and then nothing".to_vec()),
        ("another sum", flipped(list + 16)),
        ("a bad local head", flipped(1)),
        ("bad data", flipped(60)),
        ("a bad list", flipped(zip.len() - 70)),
    ] {
        let home = Home::new();
        home.write("export.zip", bytes);
        let ran = home.run(&["mine", "--format", "claude", "export.zip"]);
        assert!(
            [1, 2].contains(&ran.code) && ran.stderr.contains("export.zip"),
            "{what}: {ran:?}"
        );
    }
}

/// Mines `[first, damaged, last]` for each damage; the damaged record is named and both others are kept.
#[track_caller]
fn check(name: &str, sound: &dyn Fn(&str) -> String, damaged: &[String]) {
    for damage in damaged {
        let home = Home::new();
        home.write(
            name,
            format!("[{},{damage},{}]", sound("first"), sound("last")),
        );
        let ran = home.run(&["mine", name, "--json"]);
        assert_eq!(ran.code, 1, "{damage}: {ran:?}");
        let report = ran.json();
        let place = report["damaged"][0]["place"].as_str().unwrap();
        assert!(place.ends_with(", record 2"), "{damage}: {report}");
        let talks = super::kept::talks_of(&home).concat();
        for id in ["first", "last"] {
            let id = format!("\"session_id\": \"{id}\"");
            assert!(talks.contains(&id), "{id} after {damage}: {report}");
        }
    }
}
