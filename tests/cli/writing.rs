//! remember, update, forget, restore.

use std::fs;

use serde_json::{Value, json};

use crate::support::program::{Home, names};

/// The one memory called `id`, with all its fields.
#[track_caller]
fn recalled(home: &Home, id: &str) -> Value {
    home.run(&["recall", id, "--json"]).json()[0].take()
}

#[test]
fn a_text_comes_as_argument_or_on_standard_input() {
    let home = Home::new();
    let check = |arguments: &[&str], input: &str, content: &str| {
        let ran = home.run_with(&[&["remember"], arguments].concat(), input.as_bytes());
        let id = ran.done().trim().to_owned();
        assert_eq!(recalled(&home, &id)["content"], content);
    };
    check(&["As argument."], "", "As argument.");
    check(&["as", "several words"], "", "as several words");
    check(&["-"], "Piped\n\n  in.\r\n", "Piped\n\n  in.\r\n");
    check(&[], "Without a dash.\n", "Without a dash.\n");
    check(
        &["--topics", "a", "-"],
        "---\nid: x\n---\n",
        "---\nid: x\n---\n",
    );
    check(&["--", "--not-a-flag"], "", "--not-a-flag");
    home.run_with(&["remember"], b"")
        .complains(2, &["the text is empty"]);
    home.run_with(&["remember", "-"], b"\xff\xfe")
        .complains(2, &["not UTF-8", "iconv"]);
}

#[test]
fn topics_are_split_and_defaults_come_from_the_settings() {
    let home = Home::new();
    home.write(
        "config/memdir/config.toml",
        "agent = \"me\"\nuser = \"mira\"\n",
    );
    let memory = recalled(&home, &home.remember(&["--topics", " a,b c ,,d", "x"]));
    assert_eq!(memory["topics"], json!(["a", "b c", "d"]));
    assert_eq!([&memory["agent"], &memory["user"]], ["me", "mira"]);
    let memory = recalled(&home, &home.remember(&["--topics", "[\"a,b\"]", "y"]));
    assert_eq!(memory["topics"], json!(["a,b"]));
}

#[test]
fn a_new_memory_replaces_an_old_one() {
    let home = Home::new();
    let old = home.remember(&["The port is 8080."]);
    let new = home.remember(&["--supersedes", &old, "The port is 9090."]);
    assert_eq!(home.run(&["think", "-k", "port"]).lines().len(), 1);
    assert_eq!(home.run(&["think", "-k", "port", "--all"]).lines().len(), 2);
    let stem = home
        .file_of(&new)
        .file_stem()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    assert_eq!(recalled(&home, &old)["superseded_by"], stem);
}

#[test]
fn update_sets_and_clears_every_field() {
    let home = Home::new();
    let other = home.remember(&["Another."]);
    let stem = home
        .file_of(&other)
        .file_stem()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let id = home.remember(&["--topics", "a", "The content."]);
    let before = home.text_of(&id);
    let check = |option: &str, value: &str, key: &str, expected: Value| {
        // Of a tier or an end, a second line says when it ends.
        let said = || home.run(&["update", &id, option, value]).lines()[0].clone();
        assert_eq!(said(), format!("updated {id}"));
        assert_eq!(recalled(&home, &id)[key], expected, "{option}");
        assert_eq!(said(), format!("unchanged {id}"));
        home.run(&["update", &id, option, ""]).done();
        assert_eq!(recalled(&home, &id)[key], Value::Null, "{option}");
        assert_eq!(home.text_of(&id), before, "{option}");
    };
    check(
        "--title",
        "A: title # odd",
        "title",
        json!("A: title # odd"),
    );
    check("--kind", "entity", "kind", json!("entity"));
    check("--namespace", "atlas", "namespace", json!("atlas"));
    check("--scope", "global", "scope", json!("global"));
    check("--tier", "long", "tier", json!("long"));
    check("--importance", "10", "importance", json!(10));
    check("--confidence", "0.25", "confidence", json!(0.25));
    check("--source", "user-stated", "source", json!("user-stated"));
    check("--status", "open", "status", json!("open"));
    check(
        "--expires",
        "2999-12-31T00:00:00Z",
        "expires",
        json!("2999-12-31T00:00:00Z"),
    );
    check("--supersedes", &other, "supersedes", json!([stem]));
    check(
        "--link",
        &other,
        "links",
        json!([{"to": stem, "type": "related-to"}]),
    );
    check(
        "--link",
        &format!("{other}:causes"),
        "links",
        json!([{"to": stem, "type": "causes"}]),
    );
    check(
        "--meta",
        "key=[1, \"x\"]",
        "metadata",
        json!({"key": [1, "x"]}),
    );
    check(
        "--meta",
        "key=plain text",
        "metadata",
        json!({"key": "plain text"}),
    );
}

#[test]
fn update_replaces_what_every_memory_has() {
    let home = Home::new();
    let id = home.remember(&["--topics", "a", "Old."]);
    home.run(&[
        "update", &id, "--topics", "b,c", "--agent", "claude", "--user", "joe",
    ])
    .done();
    home.run_with(&["update", &id, "--content", "-"], b"New\ncontent.\n")
        .done();
    let memory = recalled(&home, &id);
    assert_eq!([&memory["agent"], &memory["user"]], ["claude", "joe"]);
    assert_eq!(memory["topics"], json!(["b", "c"]));
    assert_eq!(memory["content"], "New\ncontent.\n");
    home.run(&["update", &id, "--topics", ""]).done();
    assert_eq!(recalled(&home, &id)["topics"], json!([]));
    home.run(&["update", &id, "--agent", ""])
        .complains(2, &["agent"]);
    // Several metadata entries and links at once.
    let ids = [home.remember(&["One."]), home.remember(&["Two."])];
    home.run(&[
        "update", &id, "--meta", "a=1", "--meta", "b=x", "--link", &ids[0], "--link", &ids[1],
    ])
    .done();
    let memory = recalled(&home, &id);
    assert_eq!(memory["metadata"], json!({"a": 1, "b": "x"}));
    assert_eq!(memory["links"].as_array().unwrap().len(), 2);
}

#[test]
fn update_sets_and_takes_out_entries_of_the_metadata_and_leaves_the_others() {
    let home = Home::new();
    let id = home.remember(&["--meta", "ticket=ATL-1", "--meta", "team=red", "x"]);
    let metadata = |entries: &[&str]| {
        let mut all = vec!["update", id.as_str()];
        all.extend(entries.iter().flat_map(|entry| ["--meta", entry]));
        home.run(&all).done();
        recalled(&home, &id)["metadata"].take()
    };
    let expected = json!({"ticket": "ATL-1", "team": "blue", "reviewed": true});
    assert_eq!(metadata(&["reviewed=true", "team=blue"]), expected);
    // With a change of topics at once.
    home.run(&["update", &id, "--topics", "+a", "--meta", "team="])
        .done();
    let memory = recalled(&home, &id);
    assert_eq!(
        memory["metadata"],
        json!({"ticket": "ATL-1", "reviewed": true})
    );
    assert_eq!(memory["topics"], json!(["a"]));
    // Numbers are texts where they would be written in another way.
    let digits = [
        "parcel=9400111899223197428490",
        "version=1.10",
        "count=12",
        "share=0.5",
    ];
    let expected = json!({
        "ticket": "ATL-1", "reviewed": true,
        "parcel": "9400111899223197428490", "version": "1.10", "count": 12, "share": 0.5,
    });
    assert_eq!(metadata(&digits), expected);
    home.run(&["update", &id, "--meta", ""]).done();
    assert_eq!(recalled(&home, &id)["metadata"], Value::Null);
}

#[test]
fn topics_are_added_and_taken_out() {
    let home = Home::new();
    let id = home.remember(&["--topics", "rust,draft", "x"]);
    let topics = |change: &str| {
        home.run(&["update", &id, "--topics", change]).done();
        recalled(&home, &id)["topics"].take()
    };
    assert_eq!(topics("+review,-Draft"), json!(["rust", "review"]));
    assert_eq!(topics("-rust"), json!(["review"]));
    assert_eq!(topics("+review"), json!(["review"]));
    assert_eq!(topics("a,b"), json!(["a", "b"]));
    home.run(&["update", &id, "--topics", "+c,d"])
        .complains(2, &["`d` has no + or -"]);
    home.run(&["update", &id, "--topics", "+"])
        .complains(2, &["no topic follows"]);
    assert_eq!(recalled(&home, &id)["topics"], json!(["a", "b"]));
}

#[test]
fn update_leaves_all_other_bytes() {
    let home = Home::new();
    let name = "20260114_091500_1f3a9c02.md";
    let text = "---\r\nid: 1f3a9c02\r\ntimestamp: 2026-01-14T09:15:00Z # exact\r\nagent:   claude\r\nuser: mira\r\ntopics:\r\n  - rust\r\nx-own: [1,2]\r\ntitle: Old\r\n---\r\n\r\nBody \r\n";
    home.put(name, text);
    home.run(&["update", "1f3a", "--title", "New"]).done();
    let now = fs::read_to_string(home.files().join(name)).unwrap();
    assert_eq!(now, text.replace("title: Old", "title: New"));
}

#[test]
fn forgotten_memories_come_back_byte_for_byte() {
    let home = Home::new();
    let name = "20260114_091500_1f3a9c02.md";
    let text = b"---\nid: 1f3a9c02\ntimestamp: 2026-01-14T09:15:00Z\nagent: a\nuser: u\ntopics: [x]\n---\n\nA needle \xff\xfe\r\n";
    home.put(name, text);
    let second = home.remember(&["A second needle."]);
    assert_eq!(
        home.run(&["forget", "1f3a", &second]).done(),
        format!("forgotten 1f3a9c02\nforgotten {second}\n")
    );
    assert_eq!(home.run(&["think", "-k", "needle"]).code, 1);
    assert_eq!(names(&home.files()), [""; 0]);
    assert_eq!(
        fs::read(home.store().join("archive").join(name)).unwrap(),
        text
    );
    assert_eq!(home.run(&["status", "--json"]).json()["archived"], 2);
    assert_eq!(
        home.run(&["restore", "1f3a9c02", &second]).done(),
        format!("restored 1f3a9c02\nrestored {second}\n")
    );
    assert_eq!(fs::read(home.files().join(name)).unwrap(), text);
    assert_eq!(home.run(&["think", "-k", "needle"]).lines().len(), 2);
    assert_eq!(names(&home.store().join("archive")), [""; 0]);
}

#[test]
fn one_that_cannot_be_forgotten_does_not_stop_the_others() {
    let home = Home::new();
    let id = home.remember(&["Here."]);
    let ran = home.run(&["forget", "00000000", &id]);
    assert_eq!(ran.text(), format!("forgotten {id}\n"));
    ran.complains(2, &["no memory is called `00000000`"]);
}

#[test]
fn a_live_memory_is_not_overwritten_by_its_archived_twin() {
    let home = Home::new();
    let name = "20260114_091500_1f3a9c02.md";
    let text = |content| crate::support::memory_text("1f3a9c02", "2026-01-14T09:15:00Z", content);
    home.put(name, text("old"));
    home.run(&["forget", "1f3a9c02"]).done();
    home.put(name, text("new"));
    assert_eq!(home.run(&["restore", "1f3a9c02"]).code, 2);
    assert_eq!(home.text_of("1f3a9c02"), text("new"));
    assert_eq!(home.run(&["forget", "1f3a9c02"]).code, 2);
    assert_eq!(home.text_of("1f3a9c02"), text("new"));
}

#[test]
fn what_cannot_be_read_is_not_written_anew() {
    let home = Home::new();
    let other = home.remember(&["Another."]);
    let broken = "---\ntitle: Server\nmetadata:\n  host: db1\n  note: see ops: restart first\n---\n\nText.\n";
    home.put("server.md", broken);
    let rows = (0..190).map(|at| {
        let word = "x".repeat(60);
        format!("  - {{to: 20260101_000000_{at:08x}, type: {word}}}\n")
    });
    let large = format!(
        "---\ntitle: Hub\nlinks:\n{}---\n\nText.\n",
        rows.collect::<String>()
    );
    home.put("hub.md", &large);
    let open = "---\ntitle: precious\nexpires: 2030-01-01\n\nText.\n";
    home.put("open.md", open);
    for command in [
        &["update", "server", "--meta", "owner=mira"][..],
        &["update", "server", "--meta", "note="],
        &["standards", "ops", "--set", "server"],
        &["update", "hub", "--meta", "owner=mira"],
        &["link", "hub", &other],
    ] {
        home.run(command)
            .complains(2, &["cannot be read", "memdir edit"]);
    }
    // What says the same text adds nothing to what cannot be read.
    home.run(&["remember", "--meta", "owner=mira", "Text."]);
    home.run(&["update", "open", "--content", "New."])
        .complains(2, &["no closing `---`"]);
    let text = |name: &str| fs::read_to_string(home.files().join(name)).unwrap();
    assert_eq!(text("server.md"), broken);
    assert_eq!(text("hub.md"), large);
    assert_eq!(text("open.md"), open);
    // Another key is changed.
    home.run(&["update", "server", "--topics", "ops"]).done();
    assert!(text("server.md").contains("see ops: restart first"));
}

#[test]
fn links_and_metadata_keep_how_they_are_written() {
    let home = Home::new();
    let other = home.remember(&["Another."]);
    let keys =
        "links:\n  - {to: aaaaaaaa, note: \"p. 1\"} # why\nmetadata:\n  version: 1.10 # of it\n";
    home.put("note.md", format!("---\n{keys}---\n\nText.\n"));
    home.run(&["link", "note", &other]).done();
    home.run(&["update", "note", "--meta", "owner=mira"]).done();
    let text = fs::read_to_string(home.files().join("note.md")).unwrap();
    let kept = "  - {to: aaaaaaaa, note: \"p. 1\"} # why\n  - {to: ";
    assert!(text.contains(kept), "{text}");
    let kept = "metadata:\n  version: 1.10 # of it\n  owner: \"mira\"\n";
    assert!(text.contains(kept), "{text}");
}

#[test]
fn a_comment_after_a_key_of_ones_own_says_nothing() {
    let home = Home::new();
    home.put(
        "20260101_000000_aaaaaaaa.md",
        "---\nid: aaaaaaaa\npinned: true  # ask Mira first\nstate: \"open\" # for now\n---\n\nThe zebra.\n",
    );
    let brief = home.run(&["brief"]).done();
    assert!(brief.contains("The zebra."), "{brief}");
    let found = home.run(&["list", "--where", "state=open"]).lines();
    assert_eq!(found.len(), 1, "{found:?}");
}
