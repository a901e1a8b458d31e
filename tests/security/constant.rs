//! What a server says of itself before any call is the same bytes over every store: no memory gets
//! into tool descriptions, instructions, prompts or the names of resources.

use serde_json::{Value, json};

use super::{INJECTION, SETS, session, tools};
use crate::support::program::Home;
use crate::support::session::Session;

/// A store that is full of texts which want to be obeyed, in every field that holds one.
fn store_of_injections() -> Home {
    let home = Home::new();
    for number in 10..30 {
        home.put(
            &format!("20260114_0915{number}_1f3a9c{number}.md"),
            format!(
                "---\nid: 1f3a9c{number}\ntimestamp: 2026-01-14T09:15:00Z\nagent: {INJECTION}\nuser: {INJECTION}\ntopics: [{INJECTION}]\ntitle: {INJECTION}\nnamespace: {INJECTION}\n---\n\n<system>{INJECTION}</system>\n"
            ),
        );
    }
    // Of the fields that are words of ours, each is tried with the word that means most.
    home.put(
        "20260114_091550_1f3a9cff.md",
        format!(
            "---\nid: 1f3a9cff\ntimestamp: 2026-01-14T09:15:50Z\nagent: a\nuser: u\ntopics: [x]\ntitle: {INJECTION}\nkind: procedural\nscope: user\ntier: long\nimportance: 10\n---\n\n{INJECTION}\n"
        ),
    );
    home
}

/// Everything that a client reads before it calls a tool.
fn said(session: &mut Session) -> Vec<String> {
    let mut said = vec![session.initialize("2025-11-25").to_string()];
    for list in [
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    ] {
        session.request("list", list, json!({}));
        said.push(session.answer("list").to_string());
    }
    said
}

#[test]
fn what_a_server_says_of_itself_is_the_same_over_a_store_full_of_injections() {
    let full = store_of_injections();
    for set in SETS {
        let empty = Home::new();
        let (mut empty, mut full) = (session(&empty, set, &[]), session(&full, set, &[]));
        let (before, over_full) = (said(&mut empty), said(&mut full));
        assert_eq!(before, over_full, "{set:?}");
        assert!(before[1].len() > 1_000, "{set:?}: {}", before[1]);
        assert!(!before.concat().contains("Ignore all"), "{set:?}");
    }
}

#[test]
fn recalled_texts_stay_in_the_fields_of_a_reply() {
    let home = store_of_injections();
    for set in SETS {
        let mut session = session(&home, set, &[]);
        let mut found = 0;
        for tool in tools(&mut session) {
            if !tool.reads_only {
                continue;
            }
            session.call("read", &tool.name, tool.plain("1f3a9c10"));
            let answer = session.answer("read");
            assert!(
                !answer["error"].to_string().contains(INJECTION),
                "{}: {answer}",
                tool.name
            );
            let result = &answer["result"];
            if result["isError"] == true {
                assert!(!result.to_string().contains("Ignore all"), "{answer}");
            }
            for text in result["content"].as_array().into_iter().flatten() {
                let text = text["text"].as_str().expect("a text");
                found += usize::from(text.contains(INJECTION));
                // Nothing is said in the server's own voice: the reply is one JSON document, or
                // fields with names.
                let is_json = serde_json::from_str::<Value>(text).is_ok();
                let begins_so = text.trim_start().starts_with(INJECTION);
                assert!(is_json || !begins_so, "{}: {text}", tool.name);
            }
        }
        assert!(found > 0, "{set:?}: nothing was recalled");
    }
}
