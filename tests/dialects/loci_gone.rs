//! The typed set: what it tells of memories that lie in the archive, and of those that are hardly
//! believed any more.

use serde_json::json;

use crate::support::dialect::{done, open};
use crate::support::program::Home;

/// A store with five old sightings, which were compacted, the id of one of them, and of the summary.
fn compacted() -> (Home, String, String) {
    let home = Home::in_folder("the command line works on a folder");
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

#[test]
fn what_is_hardly_believed_is_flagged_and_stays() {
    let home = Home::in_folder("the command line works on a folder");
    let doubtful = home.remember(&[
        "--kind",
        "semantic",
        "--confidence",
        "0.07",
        "A heron nests here.",
    ]);
    home.remember(&[
        "--kind",
        "semantic",
        "--confidence",
        "0.1",
        "A stork nests here.",
    ]);
    let old = [
        "--kind",
        "semantic",
        "--confidence",
        "0.01",
        "--timestamp",
        "2025-01-07",
    ];
    let stale = home.remember(&[&old[..], &["An egret nested here."]].concat());
    let mut session = open(&home, "loci", &[]);
    let stats = done(&mut session, "memory_stats", json!({}));
    assert_eq!(
        (&stats["flagged_for_cleanup"], &stats["active_memories"]),
        (&json!(2), &json!(3))
    );
    let status = home.run(&["status"]).done();
    assert!(
        status.contains("2 memories below confidence 0.1"),
        "{status}"
    );
    assert_eq!(home.run(&["status", "--json"]).json()["flagged"], 2);
    let plan = home.run(&["cleanup", "--dry-run", "--json"]).json();
    let stem = plan["flagged"][0].as_str().unwrap();
    assert!(stem.ends_with(doubtful.trim()), "{plan}");
    assert_eq!(
        plan["flagged"].as_array().unwrap().len(),
        1,
        "the other is archived"
    );
    let shown = home.run(&["cleanup", "--dry-run"]).text();
    assert!(
        shown.contains("below 0.1, and kept") && shown.contains("A heron"),
        "{shown}"
    );
    home.run(&["cleanup"]).done();
    home.run(&["recall", doubtful.trim()]).done();
    home.run(&["recall", stale.trim()]).complains(1, &[]);
    done(
        &mut session,
        "forget_memory",
        json!({"memory_id": doubtful.trim()}),
    );
    let stats = done(&mut session, "memory_stats", json!({}));
    assert!(stats.get("flagged_for_cleanup").is_none(), "{stats}");
}
