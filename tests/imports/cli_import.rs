//! `import`, and what `export` writes taken in again.

use serde_json::{Value, json};

use crate::support::program::{Home, names};

const LINES: &str = concat!(
    r#"{"id": "D1:3", "timestamp": "2023-05-08T13:56:00Z", "user": "caroline", "agent": "locomo", "topics": ["dialogue"], "text": "First.\nLine two.", "title": "T", "namespace": "conv-26"}"#,
    "\n",
    r#"{"id": 7, "timestamp": "2023-05-09T13:56:00Z", "topics": "a,b", "content": "Second."}"#,
    "\n\n",
    r#"{"text": "Third, without an id."}"#,
    "\n",
);

#[test]
fn lines_of_json_become_memories_and_tell_their_ids() {
    let home = Home::new();
    let path = home.write("notes.jsonl", LINES);
    let ran = home.run(&[
        "import",
        "--from",
        "jsonl",
        path.to_str().unwrap(),
        "--json",
    ]);
    let pairs = ran.json();
    assert_eq!(
        (ran.code, pairs.as_array().unwrap().len()),
        (0, 3),
        "{ran:?}"
    );
    assert_eq!(
        [&pairs[0]["source_id"], &pairs[1]["source_id"]],
        ["D1:3", "7"]
    );
    let id = pairs[0]["id"].as_str().unwrap();
    let first = home.run(&["recall", id, "--json"]).json()[0].take();
    assert_eq!(first["timestamp"], "2023-05-08T13:56:00Z");
    assert_eq!([&first["agent"], &first["user"]], ["locomo", "caroline"]);
    assert_eq!([&first["title"], &first["namespace"]], ["T", "conv-26"]);
    assert_eq!(first["metadata"]["source_id"], "D1:3");
    assert_eq!(first["content"], "First.\nLine two.");
    assert!(
        home.file_of(id)
            .ends_with(format!("20230508_135600_{id}.md"))
    );
    let second = home
        .run(&["recall", pairs[1]["id"].as_str().unwrap(), "--json"])
        .json()[0]
        .take();
    assert_eq!(second["topics"], json!(["a", "b"]));
    assert_eq!(second["content"], "Second.");
}

#[test]
fn importing_twice_adds_nothing_and_a_dry_run_nothing_at_all() {
    let home = Home::new();
    let lines: String = LINES
        .lines()
        .take(2)
        .map(|line| format!("{line}\n"))
        .collect();
    let path = home.write("notes.jsonl", lines);
    let import = |more: &[&str]| {
        let arguments = ["import", "--from", "jsonl", path.to_str().unwrap()];
        home.run(&[&arguments, more].concat())
    };
    assert_eq!(
        import(&["--dry-run"]).done(),
        "would import 2, known already 0, failed 0\n"
    );
    assert_eq!(names(&home.files()), [""; 0]);
    let first = import(&["--json"]).json();
    assert_eq!(names(&home.files()).len(), 2);
    assert_eq!(import(&["--json"]).json(), first);
    assert_eq!(
        import(&[]).done(),
        "imported 0, known already 2, failed 0\n"
    );
    assert_eq!(names(&home.files()).len(), 2);
}

#[test]
fn a_bad_line_is_named_and_the_others_come_in() {
    let home = Home::new();
    let input = "{\"text\": \"Good.\"}\nnot json\n{\"id\": \"x\"}\n{\"text\": \"Also good.\"}\n";
    let ran = home.run_with(&["import", "--from", "jsonl", "-"], input.as_bytes());
    assert_eq!(ran.text(), "imported 2, known already 0, failed 2\n");
    ran.complains(1, &["not imported", "2"]);
    assert_eq!(names(&home.files()).len(), 2);
    let ran = home.run(&["import", "--from", "jsonl", "/nonexistent.jsonl"]);
    ran.complains(2, &["/nonexistent.jsonl"]);
}

#[test]
fn defaults_fill_what_lines_leave_out() {
    let home = Home::new();
    let arguments = [
        "import",
        "--from",
        "jsonl",
        "-",
        "--json",
        "--agent",
        "a",
        "--user",
        "u",
        "--namespace",
        "n",
    ];
    let pairs = home.run_with(&arguments, b"{\"text\": \"Bare.\"}\n").json();
    let memory = home
        .run(&["recall", pairs[0]["id"].as_str().unwrap(), "--json"])
        .json()[0]
        .take();
    assert_eq!(
        [&memory["agent"], &memory["user"], &memory["namespace"]],
        ["a", "u", "n"]
    );
}

#[test]
fn what_is_exported_comes_back_equal_in_another_store() {
    let (home, other) = (Home::new(), Home::new());
    let first = home.remember(&[
        "--topics",
        "a,b c",
        "--title",
        "T: x",
        "--kind",
        "entity",
        "--namespace",
        "n",
        "--importance",
        "3",
        "--confidence",
        "0.5",
        "--source",
        "s",
        "--status",
        "open",
        "--meta",
        "k=[1,\"x\"]",
        "--expires",
        "2999-01-01",
        "  Content with  blanks \n\n",
    ]);
    home.remember(&["--link", &first, "日本語 😀 \"quotes\" \\ and \t tabs"]);
    home.remember(&["--supersedes", &first, "--", "---\nid: x\n---\n"]);
    let exported = home.run(&["export", "--to", "jsonl"]);
    let ran = other.run_with(
        &["import", "--from", "jsonl", "-", "--json"],
        &exported.stdout,
    );
    assert_eq!(ran.json().as_array().unwrap().len(), 3, "{ran:?}");
    let memories = |home: &Home| -> Vec<Value> {
        let mut all: Vec<Value> = home
            .run(&["export", "--to", "jsonl"])
            .lines()
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        // The new store has names of its own, and keeps the old ones as metadata.
        all.iter_mut().for_each(|memory| {
            let fields = memory.as_object_mut().unwrap();
            ["id", "stem", "supersedes", "superseded_by", "links"]
                .iter()
                .for_each(|key| drop(fields.remove(*key)));
            if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("source_id");
            }
            fields.retain(|_, value| *value != json!({}));
        });
        all
    };
    assert_eq!(memories(&other), memories(&home));
    let again = other.run_with(&["import", "--from", "jsonl", "-"], &exported.stdout);
    assert_eq!(again.text(), "imported 0, known already 3, failed 0\n");
}

#[test]
fn a_store_of_the_three_tool_program_comes_in_as_it_is() {
    let home = Home::new();
    let memory = "---\nid: 12345678\ntimestamp: 2025-01-02T03:04:05.678901\nagent: @claude\nuser: a: b\ntopics: [\"one\", \"t\\u00e9\"]\n---\n\nThe content.";
    home.write("aiaml/files/20250102_030405_12345678.md", memory);
    home.write("aiaml/files/.test_write", "");
    home.write("aiaml/files/x.tmp", "no memory");
    let path = home.root().join("aiaml");
    let import = ["import", "--from", "aiaml", path.to_str().unwrap()];
    assert_eq!(
        home.run(&import).done(),
        "imported 1, known already 0, failed 0\n"
    );
    let hit = home.run(&["list", "--json"]).json()["memories"][0].take();
    assert_eq!([&hit["agent"], &hit["user"]], ["@claude", "a: b"]);
    assert_eq!(hit["topics"], json!(["one", "té"]));
    assert_eq!(
        home.run(&import).done(),
        "imported 0, known already 1, failed 0\n"
    );
}

#[test]
fn a_folder_of_notes_comes_in_with_what_it_says() {
    let home = Home::new();
    home.write(
        "vault/Atlas.md",
        "---\ntags: [rust, deploy]\nstatus: open\n---\n# Atlas\n\nHow we deploy.\n",
    );
    home.write("vault/deep/Plain.md", "Only text.\n");
    home.write("vault/picture.png", "no note");
    let path = home.root().join("vault");
    let import = [
        "import",
        "--from",
        "markdown",
        path.to_str().unwrap(),
        "--namespace",
        "notes",
    ];
    assert_eq!(
        home.run(&import).done(),
        "imported 2, known already 0, failed 0\n"
    );
    let ran = home.run(&["think", "-k", "deploy", "--namespace", "notes", "--json"]);
    assert_eq!(ran.json().as_array().unwrap().len(), 1, "{ran:?}");
    assert_eq!(
        home.run(&import).done(),
        "imported 0, known already 2, failed 0\n"
    );
}

#[test]
fn names_of_the_source_in_what_is_replaced_become_those_here() {
    let home = Home::new();
    let lines = concat!(
        r#"{"id": "new-8", "created_at": "2026-02-01T00:00:00Z", "text": "We deploy with a tag.", "supersedes": ["old-7", "other-9"]}"#,
        "\n",
        r#"{"id": "old-7", "created_at": "2026-01-01T00:00:00Z", "text": "We deploy by hand."}"#,
        "\n",
    );
    let path = home.write("x.jsonl", lines);
    let import = ["import", "--from", "jsonl", path.to_str().unwrap()];
    home.run(&import).done();
    let found = home.run(&["think", "-k", "deploy"]).lines();
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("with a tag"), "{found:?}");
    let replaced = || {
        let new = home.run(&["recall", "new-8", "--json"]).json();
        new[0]["supersedes"].clone()
    };
    let first = replaced();
    assert!(
        first[0].as_str().unwrap().starts_with("20260101_"),
        "{first}"
    );
    // What is not there is kept as it was written.
    assert_eq!(first[1], "other-9");
    home.run(&import).done();
    assert_eq!(replaced(), first);
}

#[test]
fn an_export_comes_back_with_its_keys_and_its_relations() {
    let home = Home::new();
    // The second of a name in local time is not that of the timestamp.
    home.put(
        "20260101_120000_aaaaaaaa.md",
        "---\nid: aaaaaaaa\ntimestamp: 2026-01-01T11:00:00Z\nagent: a\nuser: u\ntopics: []\n---\n\nDeploy by hand.\n",
    );
    home.put(
        "20260102_120000_bbbbbbba.md",
        "---\nid: bbbbbbba\ntimestamp: 2026-01-02T11:00:00Z\nagent: a\nuser: u\ntags:\n  - deploy\n  - git hub\npinned: true # why\nreviewed: 2026-03-03\ntext: mine\nsupersedes: [20260101_120000_aaaaaaaa]\nlinks:\n  - {to: 20260101_120000_aaaaaaaa, type: elaborates}\n---\n\nDeploy with a tag.\n",
    );
    let there = Home::new();
    let exported = there.write("all.jsonl", home.run(&["export", "--to", "jsonl"]).done());
    there
        .run(&["import", "--from", "jsonl", exported.to_str().unwrap()])
        .done();
    assert_eq!(there.run(&["list"]).lines().len(), 1);
    there.run(&["links"]).complains(0, &[]);
    let told = there.run(&["recall", "bbbbbbba", "--json"]).json();
    let kept = &told[0]["metadata"];
    assert_eq!(kept["pinned"], true, "{told}");
    assert_eq!(kept["reviewed"], "2026-03-03", "{told}");
    assert_eq!(kept["text"], "mine", "{told}");
    assert_eq!(told[0]["topics"], json!(["deploy", "git hub"]), "{told}");
    assert_eq!(told[0]["content"], "Deploy with a tag.\n", "{told}");
}

#[test]
fn a_store_by_month_comes_in_whole() {
    let home = Home::new();
    home.run(&["layout", "by-month"]).done();
    home.remember(&["In a month."]);
    home.make("store/files/journal");
    home.put("journal/note.md", "---\ntitle: Deep\n---\n\nIn a folder.\n");
    let there = Home::new();
    for path in [home.store(), home.files()] {
        let ran = there.run(&["import", "--from", "aiaml", path.to_str().unwrap()]);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(there.run(&["list"]).lines().len(), 2);
    }
}
