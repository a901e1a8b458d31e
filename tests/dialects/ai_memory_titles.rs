//! The prefixed tool set: several memories of one title, which came in another way than by
//! `memory_store`, are one to it.

use serde_json::{Value, json};

use super::ai_memory::{get, json_of, open, store, text_of};
use crate::support::program::Home;

const JSON: &str = "json";

/// A file of one title, as somebody else may have written it.
fn note(day: u8, title: &str, text: &str) -> String {
    format!(
        "---\ntimestamp: 2026-03-{day:02}T09:00:00+00:00\nagent: hand\nuser: unknown\ntitle: {title}\n---\n\n{text}\n"
    )
}

/// Puts an older and a newer memory of one title into a store.
fn two_of_a_title(home: &Home) {
    let older = note(1, "Port of the API", "The harbour API listens on 8080.");
    home.put("20260301_090000_aaaaaaaa.md", older);
    let newer = note(2, "port of the API", "The harbour API listens on 9090.");
    home.put("20260302_090000_bbbbbbbb.md", newer);
    let other = note(3, "Port of the web", "The harbour pages are on 80.");
    home.put("20260303_090000_cccccccc.md", other);
}

fn ids(answer: &Value, list: &str) -> Vec<String> {
    let rows = answer[list].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

fn same_title(home: &Home) -> Value {
    home.run(&["resolve", "--json"]).json()["same_title"].clone()
}

#[test]
fn of_two_memories_with_one_title_the_newest_is_shown_and_names_the_other() {
    let home = Home::new();
    two_of_a_title(&home);
    let mut session = open(&home);
    let listed = json_of(&mut session, "list", json!({"format": JSON}));
    assert_eq!(ids(&listed, "memories"), ["cccccccc", "bbbbbbbb"]);
    assert_eq!((&listed["total"], &listed["count"]), (&json!(2), &json!(2)));
    assert_eq!(listed["memories"][1]["same_title"], json!(["aaaaaaaa"]));
    let pages = json_of(
        &mut session,
        "list",
        json!({"format": JSON, "limit": 1, "offset": 1}),
    );
    assert_eq!(ids(&pages, "memories"), ["bbbbbbbb"]);
    let found = json_of(
        &mut session,
        "search",
        json!({"query": "harbour listens", "format": JSON}),
    );
    assert_eq!(ids(&found, "results"), ["bbbbbbbb"]);
    let begun = json_of(&mut session, "session_start", json!({"format": JSON}));
    assert_eq!(ids(&begun, "memories"), ["cccccccc", "bbbbbbbb"]);
    let recalled = text_of(&mut session, "recall", json!({"context": "harbour api"}));
    assert!(!recalled.contains("\naaaaaaaa"), "{recalled}");
    assert!(recalled.contains("bbbbbbbb beside aaaaaaaa"), "{recalled}");
    // Asked for by its id, the other one is there, and names the one that is shown.
    let other = get(&mut session, "aaaaaaaa");
    assert_eq!(other["same_title"], json!(["bbbbbbbb"]));
    assert_eq!(other["content"], "The harbour API listens on 8080.\n");
}

#[test]
fn the_one_that_was_changed_last_stands_for_a_title_and_is_stored_to() {
    let home = Home::in_folder("the command line works on a folder");
    two_of_a_title(&home);
    home.run(&[
        "update",
        "aaaaaaaa",
        "--importance",
        "8",
        "--content",
        "It is 8081.",
    ])
    .done();
    let mut session = open(&home);
    let listed = json_of(&mut session, "list", json!({"format": JSON}));
    assert_eq!(ids(&listed, "memories"), ["cccccccc", "aaaaaaaa"]);
    let stored = store(&mut session, "Port of the API", "It is 8082.", json!({}));
    assert_eq!(stored, "aaaaaaaa");
    assert_eq!(home.text_of("bbbbbbbb").matches("9090").count(), 1);
}

#[test]
fn what_is_replaced_or_has_ended_or_is_of_somebody_else_shares_no_title() {
    let home = Home::in_folder("the command line works on a folder");
    two_of_a_title(&home);
    home.run(&["resolve", "bbbbbbbb", "aaaaaaaa"]).done();
    let theirs = note(4, "Port of the web", "Ours is 81.").replace("unknown", "nadia");
    home.put("20260304_090000_dddddddd.md", theirs);
    let elsewhere =
        note(5, "Port of the web", "There it is 82.").replace("title:", "namespace: fleet\ntitle:");
    home.put("20260305_090000_eeeeeeee.md", elsewhere);
    let ended = note(6, "Port of the web", "Then it was 83.")
        .replace("title:", "expires: 2026-03-07T00:00:00Z\ntitle:");
    home.put("20260306_090000_ffffffff.md", ended);
    assert_eq!(same_title(&home), json!([]));
    let said = home.run(&["resolve"]).done();
    assert_eq!(said, "no memories contradict each other\n");
}

#[test]
fn a_title_that_two_memories_have_is_listed_and_settled_by_resolve() {
    let home = Home::in_folder("the command line works on a folder");
    two_of_a_title(&home);
    let pairs = same_title(&home);
    assert_eq!(pairs.as_array().unwrap().len(), 1, "{pairs}");
    assert_eq!(
        (&pairs[0][0]["id"], &pairs[0][1]["id"]),
        (&json!("bbbbbbbb"), &json!("aaaaaaaa"))
    );
    let shown = home.run(&["resolve"]).done();
    assert!(
        shown.contains("+The harbour API listens on 8080."),
        "{shown}"
    );
    assert!(shown.contains("--title ANOTHER-TITLE"), "{shown}");
    home.run(&["resolve", "aaaaaaaa", "--both"]).complains(
        2,
        &[
            "one title in one namespace",
            "memdir update aaaaaaaa --title TITLE",
        ],
    );
    let done = home
        .run(&["resolve", "aaaaaaaa", "--keep", "bbbbbbbb", "--json"])
        .json();
    assert_eq!(done["forgotten"]["id"], "aaaaaaaa");
    assert_eq!(same_title(&home), json!([]));
    home.run(&["restore", "aaaaaaaa"]).done();
    assert_eq!(
        same_title(&home).as_array().unwrap().len(),
        1,
        "it came back"
    );
    home.run(&["update", "aaaaaaaa", "--title", "Old port of the API"])
        .done();
    assert_eq!(same_title(&home), json!([]));
}

#[test]
fn a_title_that_comes_from_another_store_or_an_export_is_found_as_well() {
    let folder = || Home::in_folder("the command line works on a folder");
    let (here, there) = (folder(), folder());
    let (mut one, mut other) = (open(&here), open(&there));
    let mine = store(
        &mut one,
        "Deploy",
        "By hand.",
        json!({"namespace": "atlas"}),
    );
    let theirs = store(
        &mut other,
        "Deploy",
        "By a tag.",
        json!({"namespace": "atlas"}),
    );
    let folder = there.store().to_str().unwrap().to_owned();
    here.run(&["sync", "--with", &folder]).done();
    let listed = json_of(&mut one, "list", json!({"format": JSON}));
    assert_eq!(ids(&listed, "memories"), [theirs.as_str()]);
    assert_eq!(listed["memories"][0]["same_title"], json!([mine]));

    let export = json!({"memories": [{
        "id": "5d0c6a52-1111-4222-8333-944445555666", "title": "Deploy", "namespace": "atlas",
        "content": "By nobody.", "tier": "long", "created_at": "2025-01-01T00:00:00Z",
        "updated_at": "2025-01-01T00:00:00Z",
    }]});
    let export = here.write("export.json", export.to_string());
    here.run(&["import", "--from", "ai-memory", export.to_str().unwrap()])
        .done();
    let listed = json_of(&mut one, "list", json!({"format": JSON}));
    assert_eq!(ids(&listed, "memories"), [theirs.as_str()]);
    let others = listed["memories"][0]["same_title"].as_array().unwrap();
    assert_eq!(others.len(), 2, "{listed}");
    assert_eq!(same_title(&here).as_array().unwrap().len(), 2);
}

#[test]
fn a_title_that_two_machines_stored_meets_by_git() {
    let machines = crate::support::machines::Machines::new(2);
    for (home, port) in machines.homes.iter().zip(["8080", "9090"]) {
        let mut session = open(home);
        let text = format!("The harbour API listens on {port}.");
        store(&mut session, "Port of the API", &text, json!({}));
    }
    machines.settle();
    for home in &machines.homes {
        let mut session = open(home);
        let listed = json_of(&mut session, "list", json!({"format": JSON}));
        assert_eq!(listed["total"], 1, "{listed}");
        assert_eq!(
            listed["memories"][0]["same_title"]
                .as_array()
                .unwrap()
                .len(),
            1
        );
        assert_eq!(same_title(home).as_array().unwrap().len(), 1);
    }
}

#[test]
fn memories_of_one_title_count_as_one() {
    let home = Home::new();
    two_of_a_title(&home);
    let mut session = open(&home);
    let stats = json_of(&mut session, "stats", json!({}));
    assert_eq!(stats["total"], 2);
    assert_eq!(
        stats["by_namespace"],
        json!([{"namespace": "global", "count": 2}])
    );
    let tiers = stats["by_tier"].as_array().unwrap().iter();
    let counts = tiers.map(|tier| tier["count"].as_u64().unwrap());
    assert_eq!(counts.sum::<u64>(), 2);
    let forget = |dry_run| json!({"pattern": "harbour", "dry_run": dry_run});
    let would = json_of(&mut session, "forget", forget(true));
    assert_eq!(would["would_delete"], 2);
    assert_eq!(would["ids"].as_array().unwrap().len(), 3);
    let forgotten = json_of(&mut session, "forget", forget(false));
    assert_eq!(forgotten["deleted"], 2);
    let stats = json_of(&mut session, "stats", json!({}));
    assert_eq!(
        (&stats["total"], &stats["archived"]),
        (&json!(0), &json!(3))
    );
}
