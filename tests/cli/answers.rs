//! What holds for all commands: one JSON document, exit codes, errors that lead on.

use serde_json::{Value, json};

use crate::support::program::{Home, run};

/// A home with two memories; the ids, older first.
fn home_of_two() -> (Home, [String; 2]) {
    let home = Home::new();
    let older = home.remember(&[
        "--topics",
        "a",
        "--timestamp",
        "2026-01-01T00:00:00Z",
        "first needle",
    ]);
    let newer = home.remember(&[
        "--topics",
        "b",
        "--timestamp",
        "2026-01-02T00:00:00Z",
        "second needle",
    ]);
    (home, [older, newer])
}

#[test]
fn every_command_prints_one_json_document_wherever_the_flag_stands() {
    let (home, [older, newer]) = home_of_two();
    let check = |arguments: &[&str], code: i32, pointer: &str, expected: Value| {
        let after = [arguments, &["--json"]].concat();
        let before = [&["--json"], arguments].concat();
        for arguments in [after, before] {
            let ran = home.run(&arguments);
            let document = ran.json();
            assert_eq!(ran.code, code, "{arguments:?}: {ran:?}");
            assert_eq!(
                document.pointer(pointer),
                Some(&expected),
                "{arguments:?}: {document}"
            );
        }
    };
    let by_words = ["think", "--ranking", "words", "needle"];
    check(&by_words, 0, "/1/relevance_score", json!(1.0));
    check(&["think", "-k", "second"], 0, "/0/id", json!(newer));
    check(&["think", "absent"], 1, "", json!([]));
    check(&["recall", &older], 0, "/0/content", json!("first needle"));
    check(
        &["recall", "00000000"],
        1,
        "/0/error",
        json!("Memory with ID 00000000 not found"),
    );
    check(&["list"], 0, "/memories/0/id", json!(newer));
    check(&["list", "--topics", "zzz"], 1, "/total", json!(0));
    check(&["grep", "second"], 0, "/matches/0/line", json!(9));
    check(&["grep", "third"], 1, "", json!({"matches": []}));
    check(&["update", &older, "--title", "T"], 0, "/id", json!(older));
    check(&["reindex"], 0, "/files", json!(2));
    check(&["reindex", "--full"], 0, "/read", json!(2));
    check(&["status"], 0, "/indexed", json!(2));
    check(&["verify"], 0, "/sound", json!(true));
    check(
        &["export", "--to", "jsonl"],
        0,
        "/memories/0/id",
        json!(older),
    );
    check(&["path"], 0, "/path", json!(home.store()));
    check(&["path", &older], 0, "/path", json!(home.file_of(&older)));
    check(&["config"], 0, "/limit/value", json!("25"));
    check(&["init", "."], 0, "/store", json!(home.root().join(".")));
    check(&["completions", "bash"], 0, "/shell", json!("bash"));
    check(&["man"], 0, "/section", json!(1));
    check(
        &["remember", "x", "--idempotency-key", "k"],
        0,
        "/memory_id",
        {
            let id = home.remember(&["x", "--idempotency-key", "k"]);
            json!(id)
        },
    );
    check(
        &["forget", "00000000"],
        2,
        "/errors/0/id",
        json!("00000000"),
    );
    check(&["restore", "00000000"], 2, "/restored", json!([]));
    check(
        &["update", "00000000", "--title", "T"],
        2,
        "/error",
        json!("no memory is called `00000000`"),
    );
    check(
        &["update", &older],
        2,
        "/error",
        json!("there is nothing to change"),
    );
}

#[test]
fn what_moves_says_where_in_json() {
    let (home, [older, _]) = home_of_two();
    let forgotten = home.run(&["forget", &older, "--json"]).json();
    assert_eq!(forgotten["forgotten"][0]["id"], older.as_str());
    let stem = format!("20260101_000000_{older}");
    assert_eq!(forgotten["forgotten"][0]["stem"], stem.as_str());
    let restored = home.run(&["--json", "restore", &older]).json();
    assert_eq!(restored["restored"][0]["file"], format!("{stem}.md"));
    assert_eq!(restored["errors"], json!([]));
}

#[test]
fn the_json_of_remember_think_and_recall_is_the_tools_reply() {
    let home = Home::new();
    let said = home
        .run(&["remember", "--topics", "a,b", "A text.", "--json"])
        .json();
    let id = said["memory_id"].as_str().unwrap();
    assert_eq!(
        said["message"],
        format!("Memory stored successfully with ID: {id}")
    );
    let hits = home.run(&["think", "-k", "text", "b", "--json"]).json();
    let expected = json!([{
        "id": id,
        "timestamp": hits[0]["timestamp"],
        "relevance_score": 5,
        "matching_keywords": ["text", "b"],
        "content_preview": "A text.",
        "truncated": false,
    }]);
    assert_eq!(hits.to_string(), expected.to_string());
}

#[test]
fn recall_shows_every_field_that_is_set() {
    let home = Home::new();
    let other = home.remember(&["Another."]);
    let id = home.remember(&[
        "--topics",
        "a, b",
        "--agent",
        "claude",
        "--user",
        "mira",
        "--title",
        "Title",
        "--kind",
        "procedural",
        "--namespace",
        "atlas",
        "--scope",
        "group",
        "--tier",
        "mid",
        "--importance",
        "9",
        "--confidence",
        "0.5",
        "--source",
        "user-stated",
        "--status",
        "open",
        "--expires",
        "2999-01-01",
        "--link",
        &format!("{other}:refines"),
        "--meta",
        "number=1",
        "--meta",
        "text=x y",
        "--meta",
        "list=[1,null,{\"deep\":true}]",
        "--timestamp",
        "2026-01-14T09:15:00+01:00",
        "Content.\n",
    ]);
    let recalled = home.run(&["recall", &id, "--json"]).json()[0].take();
    let expected = json!({
        "id": id,
        "timestamp": "2026-01-14T09:15:00+01:00",
        "agent": "claude",
        "user": "mira",
        "topics": ["a", "b"],
        "title": "Title",
        "kind": "procedural",
        "namespace": "atlas",
        "scope": "group",
        "tier": "mid",
        "importance": 9,
        "confidence": 0.5,
        "source": "user-stated",
        "status": "open",
        "expires": "2999-01-01",
        "links": [{"to": home.file_of(&other).file_stem().unwrap().to_str(), "type": "refines"}],
        "metadata": {"number": 1, "text": "x y", "list": [1, null, {"deep": true}]},
        "content": "Content.\n",
    });
    assert_eq!(recalled.to_string(), expected.to_string());
    // The name is in UTC.
    assert!(
        home.file_of(&id)
            .ends_with(format!("20260114_081500_{id}.md"))
    );
}

#[test]
fn searches_end_with_the_codes_of_grep() {
    let (home, [older, _]) = home_of_two();
    let code = |arguments: &[&str]| home.run(arguments).code;
    assert_eq!(
        [code(&["think", "needle"]), code(&["think", "absent"])],
        [0, 1]
    );
    assert_eq!(
        [code(&["grep", "needle"]), code(&["grep", "absent"])],
        [0, 1]
    );
    assert_eq!(
        [code(&["list"]), code(&["list", "--agent", "absent"])],
        [0, 1]
    );
    assert_eq!(
        [code(&["recall", &older]), code(&["recall", "absent00"])],
        [0, 1]
    );
    assert_eq!(code(&["grep", "("]), 2);
    assert_eq!(code(&["think"]), 2);
    assert_eq!(code(&["nonsense"]), 2);
    assert_eq!(code(&["list", "--limit", "-1"]), 2);
    assert_eq!(code(&["think", "x", "--since", "soon"]), 2);
}

#[test]
fn errors_say_what_why_and_what_to_do() {
    let (home, [older, _]) = home_of_two();
    let check = |arguments: &[&str], code: i32, parts: &[&str]| {
        let ran = home.run(arguments);
        ran.complains(code, parts);
        assert!(ran.stdout.is_empty() || code == 1, "{ran:?}");
    };
    check(
        &["recall", "00000000"],
        1,
        &[
            "error: no memory is called `00000000`",
            "hint: ",
            "memdir think",
        ],
    );
    check(
        &["restore", &older],
        2,
        &["lives: it is not in the archive"],
    );
    check(
        &["update", &older],
        2,
        &["error: there is nothing to change", "hint: Name a field"],
    );
    check(
        &["update", &older, "--importance", "11"],
        2,
        &["importance", "1", "10"],
    );
    check(
        &["update", &older, "--kind", "odd"],
        2,
        &["--kind", "odd", "episodic"],
    );
    check(
        &["update", &older, "--meta", "odd"],
        2,
        &["KEY=VALUE", "hint: "],
    );
    check(
        &["update", &older, "--link", "00000000"],
        2,
        &["no memory is called `00000000`"],
    );
    check(
        &["remember", "--expires", "soon", "x"],
        2,
        &["`soon`", "--expires", "hint: Write a date"],
    );
    check(&["remember", " "], 2, &["the text is empty"]);
    check(
        &["remember", "--agent", "a\nb", "x"],
        2,
        &["the memory cannot be written", "agent"],
    );
    check(
        &["grep", "a(b"],
        2,
        &["cannot search for `a(b`", "unclosed group"],
    );
    check(
        &["think", "x", "--where", "odd"],
        2,
        &["KEY=VALUE", "status=open"],
    );
    check(
        &["--store", "nowhere", "list"],
        2,
        &["nowhere is no store", "memdir init"],
    );
    check(
        &["import", "--from", "odd", "x"],
        2,
        &["invalid value 'odd'", "aiaml, jsonl, markdown"],
    );
    check(&["thnk", "x"], 2, &["unrecognized subcommand", "'think'"]);
}

#[test]
fn an_ambiguous_id_is_answered_with_the_whole_names() {
    let home = Home::new();
    let text = crate::support::memory_text("1f3a9c02", "2026-01-14T09:15:00Z", "x");
    home.put("20260114_091500_1f3a9c02.md", &text);
    home.put("20260115_091500_1f3a9c02.md", &text);
    let parts = [
        "20260114_091500_1f3a9c02, 20260115_091500_1f3a9c02",
        "hint: Use one of the whole names",
    ];
    home.run(&["recall", "1f3a9c02"]).complains(1, &parts);
    home.run(&["update", "1f3a", "--title", "x"])
        .complains(2, &parts);
    home.run(&["forget", "1f3a9c02"]).complains(2, &parts);
    home.run(&["recall", "20260114_091500_1f3a9c02"]).done();
}

#[test]
fn verbs_known_from_elsewhere_work() {
    let home = Home::new();
    let id = home
        .run(&["store", "--topics", "a", "An alias."])
        .done()
        .trim()
        .to_owned();
    assert!(home.run(&["search", "alias"]).done().contains(&id));
    assert!(home.run(&["get", &id]).done().ends_with("An alias.\n"));
    assert_eq!(
        home.run(&["show", &id]).done(),
        home.run(&["recall", &id]).done()
    );
    assert!(home.run(&["ls"]).done().starts_with(&id));
    home.run(&["delete", &id]).done();
    assert_eq!(home.run(&["list"]).code, 1);
    let id = home.run(&["add", "Another."]).done().trim().to_owned();
    assert!(home.run(&["find", "another"]).done().contains(&id));
    home.run(&["rm", &id]).done();
    run(home.command(&["edit", &id]).env("EDITOR", "true")).complains(2, &[&id]);
}

#[test]
fn the_program_alone_shows_the_commands_of_every_day() {
    let home = Home::new();
    let overview = run(&mut home.bare()).done();
    let every_day: Vec<&str> = overview
        .lines()
        .skip_while(|line| *line != "Every day:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .collect();
    assert!(every_day[0].starts_with("  remember"), "{overview}");
    assert!(overview.contains("link, unlink, links"), "{overview}");
    let help = run(home.bare().arg("--help")).done();
    assert!(
        help.contains("Every day:\n  remember") && help.contains("--store <DIR>"),
        "{help}"
    );
    assert!(help.contains("\n  unlink "), "{help}");
    run(home.bare().arg("remembr")).complains(2, &["'remember'"]);
    assert_eq!(crate::support::program::names(&home.root()), ["store"]);
}

#[test]
fn completions_exist_for_every_shell() {
    let home = Home::new();
    let script = |shell: &str| run(home.bare().args(["completions", shell])).done();
    assert!(script("bash").contains("-F _clap_complete_memdir memdir"));
    assert!(script("zsh").starts_with("#compdef memdir"));
    assert!(script("fish").contains("--command memdir"));
    assert!(script("elvish").contains("arg-completer[memdir]"));
    assert!(script("powershell").contains("Register-ArgumentCompleter"));
    run(home.bare().args(["completions", "odd"])).complains(2, &["invalid value 'odd'"]);
    // Neither needs a store, nor makes one.
    assert_eq!(crate::support::program::names(&home.root()), ["store"]);
}

#[test]
fn the_manual_page_holds_every_command() {
    let home = Home::new();
    let page = run(home.bare().arg("man")).done();
    assert!(
        page.contains(".TH memdir 1") || page.contains(".TH \"memdir\" \"1\""),
        "{page}"
    );
    let commands = [
        "init",
        "remember",
        "think",
        "recall",
        "list",
        "grep",
        "update",
        "edit",
        "forget",
        "restore",
        "reindex",
        "status",
        "verify",
        "import",
        "export",
        "mcp",
        "completions",
        "man",
        "path",
        "config",
    ];
    let missing: Vec<_> = commands
        .into_iter()
        .filter(|command| !page.contains(&format!("memdir {command}")))
        .collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn the_version_is_the_packages() {
    let said = run(Home::new().bare().arg("--version")).done();
    assert_eq!(said, format!("memdir {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let home = Home::new();
    (0..50).for_each(|n| {
        let (day, hex) = (n % 28 + 1, format!("{n:08x}"));
        let stamp = format!("2026-01-{day:02}T00:00:00Z");
        let name = format!("202601{day:02}_000000_{hex}.md");
        home.put(
            &name,
            crate::support::memory_text(&hex, &stamp, &"a long line\n".repeat(2_000)),
        );
    });
    let check = |arguments: &[&str]| {
        let mut child = home
            .command(arguments)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), log.as_str()),
            (Some(0), ""),
            "{arguments:?}"
        );
    };
    check(&["grep", "line"]);
    check(&["list"]);
    check(&["list", "--json"]);
    check(&["think", "line"]);
    check(&["recall", "00000007"]);
    check(&["export", "--to", "jsonl"]);
    check(&["export", "--to", "markdown"]);
    check(&["status"]);
    check(&["config"]);
    check(&["completions", "zsh"]);
    check(&["man"]);
}

#[test]
fn a_log_that_nobody_takes_is_no_error() {
    let home = Home::new();
    let name = "20260101_000000_aaaaaaaa.md";
    home.put(
        name,
        crate::support::memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", "a needle\n"),
    );
    // The index cannot be made there, which is worth a warning.
    home.write("store/.memdir", "");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = home
        .command(&["think", "needle"])
        .stderr(writer)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("needle"));
}

#[test]
fn config_get_prints_one_value_alone() {
    let home = Home::new();
    home.run(&["config", "set", "limit", "17"]).done();
    assert_eq!(home.run(&["config", "get", "limit"]).done(), "17\n");
    let said = home.run(&["config", "get", "limit", "--json"]).json();
    assert_eq!(
        (&said["key"], &said["value"]),
        (&"limit".into(), &"17".into())
    );
    home.run(&["config", "get", "limits"])
        .complains(2, &["no setting is called `limits`", "memdir config"]);
}
