//! The typed set: what it tells of memories that lie in the archive, and of those that are hardly
//! believed any more.

use serde_json::json;

use super::done;
use super::open;
use crate::program::Home;

/// A store with five old sightings, which were compacted, the id of one of them, and of the summary.
fn compacted() -> (Home, String, String) {
    let home = Home::new();
    let see = |number: u8| {
        let text = format!("Heron {number} was seen at pond {number}.");
        home.remember(&["--kind", "episodic", "--timestamp", "2026-01-07", &text])
    };
    let ids: Vec<String> = (0..5).map(see).collect();
    home.run(&["compact"]).done();
    let listed = home.run(&["list", "--json"]).json();
    let summary = listed["memories"][0]["id"].as_str().unwrap().to_owned();
    (home, ids[3].trim().to_owned(), summary)
}

#[test]
fn what_was_compacted_is_shown_and_names_its_summary() {
    let (home, original, summary) = compacted();
    let mut session = open(&home, "loci", &[]);
    let asked = json!({"ids": [original, original, "nope1234"]});
    let said = done(&mut session, "recall_memory", asked);
    let [shown, again, missing] = said["results"].as_array().unwrap().as_slice() else {
        panic!("{said}");
    };
    assert_eq!(shown["superseded_by"], summary.as_str());
    assert_eq!(shown["content"], "Heron 3 was seen at pond 3.");
    assert_eq!(shown, again);
    assert!(
        missing["error"].as_str().unwrap().contains("nope1234"),
        "{said}"
    );
    let arguments = json!({"memory_id": original});
    let inspected = done(&mut session, "memory_inspect", arguments.clone());
    assert_eq!(inspected["memory"]["superseded_by"], summary.as_str());

    // A link alone makes no summary: brought back and forgotten, it is just forgotten.
    home.run(&["restore", &original]).done();
    done(&mut session, "forget_memory", arguments.clone());
    let inspected = done(&mut session, "memory_inspect", arguments);
    assert_eq!(inspected["memory"]["superseded_by"], "forgotten");
}

#[test]
fn what_became_of_a_summary_is_named_in_its_place() {
    let (home, original, summary) = compacted();
    let mut session = open(&home, "loci", &[]);
    let corrected = json!({
        "content": "Five herons were seen at the ponds.", "type": "episodic", "supersedes": summary,
    });
    let newer = done(&mut session, "store_memory", corrected)["id"].clone();
    let arguments = json!({"memory_id": original});
    let inspected = done(&mut session, "memory_inspect", arguments.clone());
    assert_eq!(inspected["memory"]["superseded_by"], newer);

    let (home, original, summary) = compacted();
    let other = home.remember(&["--kind", "episodic", "A sixth heron came."]);
    let mut merging = open(&home, "ai-memory", &[]);
    let merge =
        json!({"ids": [summary, other.trim()], "title": "Herons", "summary": "Six herons."});
    let merged = done(&mut merging, "memory_consolidate", merge)["id"].clone();
    let mut session = open(&home, "loci", &[]);
    let arguments = json!({"memory_id": original});
    let inspected = done(&mut session, "memory_inspect", arguments);
    assert_eq!(inspected["memory"]["superseded_by"], merged);
}
