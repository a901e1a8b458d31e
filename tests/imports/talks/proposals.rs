//! Memories that talks propose: made once, decided about, and no memories before.

use std::fs;

use serde_json::{Value, json};

use crate::support::program::{Home, names};

const TALK: &str = "User: the invoice job died again, can you look?\n\
                    Assistant: The cron host rebooted. Retry, or move it to the queue?\n\
                    User: Let's move the invoice job to the queue. Please never deploy it on Fridays.\n\
                    Assistant: We decided to add retries.\n\
                    User: ok, I still need to tell Ruth about the new time\n";

/// Mines transcripts in the folder `t` with their proposals, and returns those that wait.
fn waiting(home: &Home) -> Vec<Value> {
    home.run(&["mine", "--yes", "--proposals", "t"]).done();
    reviewed(home)
}

fn reviewed(home: &Home) -> Vec<Value> {
    let listed = home.run(&["review", "--json"]).json();
    listed["proposals"].as_array().unwrap().clone()
}

fn text<'a>(proposal: &'a Value, key: &str) -> &'a str {
    proposal[key].as_str().unwrap()
}

#[test]
fn what_people_say_is_proposed_and_is_no_memory() {
    let home = Home::new();
    home.write("t/a.txt", TALK);
    let proposals = waiting(&home);
    let texts: Vec<(&str, &str)> = proposals
        .iter()
        .map(|one| (text(one, "kind"), text(one, "text")))
        .collect();
    assert_eq!(
        texts,
        [
            ("decision", "Let's move the invoice job to the queue."),
            ("preference", "Please never deploy it on Fridays."),
            ("open", "ok, I still need to tell Ruth about the new time"),
        ]
    );
    let passage = home.run(&["recall", text(&proposals[0], "passage")]).text();
    assert!(passage.contains("Let's move the invoice job"), "{passage}");
    assert_eq!(home.run(&["list", "--json"]).json()["total"], 0);
    // Turns of the talk alone.
    let found = home
        .run(&["think", "--json", "when may the invoice job be deployed?"])
        .json();
    let hits = found.as_array().unwrap();
    let is_turn = |hit: &Value| hit["at"].is_string() && hit["id"] == hits[0]["id"];
    assert!(!hits.is_empty() && hits.iter().all(is_turn), "{found}");
    let files = names(&home.store().join("proposals"));
    assert_eq!(files.iter().filter(|name| name.ends_with(".md")).count(), 3);
    let again = home
        .run(&["mine", "--yes", "--proposals", "--json", "t"])
        .json();
    assert_eq!(
        (&again["known"], &again["proposals"]),
        (&1.into(), &json!([]))
    );
}

#[test]
fn an_accepted_proposal_is_a_memory_that_names_its_passage() {
    let home = Home::new();
    home.write("t/a.txt", TALK);
    let proposals = waiting(&home);
    let (id, passage) = (text(&proposals[0], "id"), text(&proposals[0], "passage"));
    let accepted = home.run(&["review", "--accept", id, "--json"]).json();
    let memory = accepted["accepted"][0].as_str().unwrap();
    let file = home.text_of(memory);
    assert!(
        file.contains("Let's move the invoice job to the queue."),
        "{file}"
    );
    assert!(
        file.contains(&format!("\"learned_from\": \"{passage}\"")),
        "{file}"
    );
    assert_eq!(reviewed(&home).len(), 2);
    assert_eq!(waiting(&home).len(), 2);
    // The same in another talk is known.
    home.write("t/b.txt", format!("User: hi\n{TALK}"));
    assert_eq!(waiting(&home).len(), 2);
}

#[test]
fn what_is_dropped_is_not_proposed_again() {
    let home = Home::new();
    home.write("t/a.txt", TALK);
    let proposals = waiting(&home);
    let (dropped, never) = (text(&proposals[0], "id"), text(&proposals[1], "id"));
    home.run(&["review", "--drop", dropped, "--never", never])
        .done();
    assert_eq!(waiting(&home).len(), 1);
    let decided = fs::read_to_string(home.store().join("proposals/decided.txt")).unwrap();
    assert!(
        !decided.contains("invoice") && decided.lines().count() == 2,
        "{decided}"
    );
    home.run(&["review", "--drop", dropped])
        .complains(2, &[dropped]);
    // Another talk says both again: only what was never to come again does not.
    home.write("t/b.txt", format!("User: hi\n{TALK}"));
    let proposals = waiting(&home);
    let kinds: Vec<&str> = proposals.iter().map(|one| text(one, "kind")).collect();
    assert_eq!(
        kinds.iter().filter(|kind| **kind == "decision").count(),
        1,
        "{proposals:?}"
    );
    assert!(!kinds.contains(&"preference"), "{proposals:?}");
}

#[test]
fn a_proposal_names_the_memory_that_says_the_same_or_otherwise() {
    let home = Home::new();
    let same = home.remember(&["Please never deploy it on Fridays!"]);
    let other = home.remember(&["The staging database runs on port 5433."]);
    home.write(
        "t/a.txt",
        format!("{TALK}Assistant: Noted.\nUser: The staging database runs on port 6000.\n"),
    );
    let proposals = waiting(&home);
    let of = |part: &str| {
        proposals
            .iter()
            .find(|one| text(one, "text").contains(part))
            .unwrap()
    };
    assert_eq!(of("Fridays")["duplicate"]["id"], same.as_str());
    assert_eq!(of("6000")["contradicts"][0]["id"], other.as_str());
    assert_eq!(of("invoice job")["duplicate"], Value::Null);
    let likely = home
        .run(&["review", "--accept-above", "0.6", "--json"])
        .json();
    assert_eq!(likely["accepted"].as_array().unwrap().len(), 2, "{likely}");
    assert_eq!(reviewed(&home).len(), 2);
}

#[test]
fn proposals_go_with_their_talk() {
    let home = Home::new();
    home.write("t/a.txt", TALK);
    let proposals = waiting(&home);
    let talk = text(&proposals[0], "passage")
        .split(':')
        .next()
        .unwrap()
        .to_owned();
    home.run(&["forget", &talk]).done();
    assert_eq!(reviewed(&home), [json!(null); 0]);
    home.run(&["archive", "purge", &talk, "--yes"]).done();
    let files = names(&home.store().join("proposals"));
    assert!(!files.iter().any(|name| name.ends_with(".md")), "{files:?}");
}

#[test]
fn nothing_is_stored_unasked_unless_the_setting_says_so() {
    let home = Home::new();
    home.write("t/a.txt", TALK);
    home.run(&["config", "set", "capture.accept", "0.82"])
        .done();
    let left = waiting(&home);
    let kinds: Vec<&str> = left.iter().map(|one| text(one, "kind")).collect();
    assert_eq!(kinds, ["open"]);
    assert_eq!(home.run(&["list", "--json"]).json()["total"], 2);
}
