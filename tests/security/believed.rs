//! What agents are made to believe: who wrote a memory is told by the server, and a text that wants
//! to be obeyed is shown with a mark, whole.

use serde_json::{Value, json};

use super::{INJECTION, SETS, home_of_one, session, tools};
use crate::support::program::Home;
use crate::support::regular_files;
use crate::support::session::Session;

#[test]
fn who_wrote_is_told_by_the_server_and_not_by_the_caller() {
    for set in SETS {
        let (home, id) = home_of_one();
        let mut session = session(&home, set, &[]);
        for tool in tools(&mut session).iter().filter(|tool| !tool.reads_only) {
            let mut arguments = tool.plain(&id);
            session.call("plain", &tool.name, arguments.clone());
            session.answer("plain");
            for key in ["client", "host", "did", "t", "who", "provenance"] {
                arguments[key] = json!("forged-by-the-caller");
            }
            session.call("forged", &tool.name, arguments);
            session.answer("forged");
        }
        drop(session);
        let journal: String = regular_files(&home.store().join("journal"))
            .iter()
            .map(|path| std::fs::read_to_string(path).unwrap())
            .collect();
        let records = journal
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        let records: Vec<Value> = records.collect();
        // The client's name from the protocol, the moment and the deed, for each change.
        let by_client =
            |record: &&Value| record["client"] == "old-client" && record["did"].is_string();
        assert!(
            records.iter().any(|record| by_client(&record)),
            "{set:?}: {journal}"
        );
        assert!(
            records.iter().all(|record| record["t"].is_string()),
            "{journal}"
        );
        assert!(!journal.contains("forged"), "{set:?}: {journal}");
    }
}

fn remembered(session: &mut Session, content: &str, title: &str) -> Value {
    let result = session.tool(
        "remember",
        json!({"agent": "a", "user": "u", "topics": ["heron"], "content": content, "title": title}),
    );
    result["structuredContent"]["memory_id"].clone()
}

#[test]
fn what_wants_to_be_obeyed_is_shown_whole_and_with_a_mark() {
    let home = Home::new();
    let mut session = Session::on(&home);
    let hostile = remembered(&mut session, INJECTION, "Herons");
    let titled = remembered(&mut session, "A heron.", INJECTION);
    let plain = remembered(&mut session, "A heron is a bird.", "Herons");
    let ids = json!({"memory_ids": [hostile, titled, plain]});
    let recalled = session.tool("recall", ids)["structuredContent"]["results"].take();
    let reasons = json!([
        "tells its reader to ignore instructions",
        "looks like the call of a tool"
    ]);
    assert_eq!(recalled[0]["suspicious"], reasons);
    assert_eq!(recalled[0]["content"], INJECTION);
    assert_eq!(recalled[1]["suspicious"], reasons);
    assert!(recalled[2].get("suspicious").is_none(), "{recalled}");
    // The mark is read before the text.
    let keys: Vec<&String> = recalled[0].as_object().unwrap().keys().collect();
    assert_eq!(keys[keys.len() - 2..], ["suspicious", "content"]);

    let found = session.tool("think", json!({"topics": ["heron"], "query": "heron"}));
    let found = &found["structuredContent"]["results"];
    let marked: Vec<&Value> = found
        .as_array()
        .unwrap()
        .iter()
        .filter(|hit| hit["suspicious"] == reasons)
        .collect();
    assert_eq!(
        (found.as_array().unwrap().len(), marked.len()),
        (3, 2),
        "{found}"
    );
    let keys: Vec<&String> = marked[0].as_object().unwrap().keys().collect();
    assert_eq!(
        keys[keys.len() - 3..],
        ["suspicious", "content_preview", "truncated"]
    );
    drop(session);

    let id = hostile.as_str().unwrap();
    let shown = home.run(&["recall", id]).done();
    assert!(
        shown.contains("suspicious:") && shown.contains(INJECTION),
        "{shown}"
    );
    let shown = home.run(&["think", "heron"]).done();
    assert_eq!(
        shown.matches("suspicious: it tells its reader").count(),
        2,
        "{shown}"
    );
    // A mark is computed for who reads; no file has one.
    assert!(!home.text_of(id).contains("suspicious"));
}
