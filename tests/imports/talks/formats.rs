//! What each format gives, with the peculiarities of real files.

use super::sources;
use crate::support::program::Home;

#[test]
fn a_transcript_of_claude_code_is_one_memory() {
    let home = Home::new();
    let path = format!(
        "claude/projects/-home-mira-atlas/{}.jsonl",
        sources::SESSION
    );
    home.write(&path, sources::claude_code(4));
    let text = mined(&home, &["claude"]);
    let body = "**User** · 2026-03-04 10:00 UTC\n\nWhy does the quokka deploy fail?\n\n\
        **Claude**\n\nI look at the log.\n\n- Bash: tail -n 5 deploy.log\n\nThe token had expired.\n\n\
        **User** · 2026-03-04 10:18 UTC\n\nAnd how do we renew it?\n\n\
        **Claude** · 2026-03-04 10:33 UTC\n\nWith `atlas renew`.\n\n\
        **User** · 2026-03-04 10:48 UTC\n\nThanks.\n";
    assert!(text[0].ends_with(&format!("---\n\n{body}")), "{}", text[0]);
    for line in [
        "agent: claude-code",
        "title: The failing deploy",
        "kind: episodic",
        "namespace: atlas",
        "source: claude-code",
        "timestamp: 2026-03-04T10:00:00.000000+00:00",
    ] {
        assert!(
            text[0].contains(&format!("\n{line}\n")),
            "{line}: {}",
            text[0]
        );
    }
    assert!(text[0].contains(sources::SESSION));
    assert_eq!(text.len(), 1);
}

#[test]
fn codex_says_each_thing_once() {
    let home = Home::new();
    home.write(
        "codex/2026/03/05/rollout-2026-03-05T08-00-00-x.jsonl",
        sources::codex(),
    );
    let text = mined(&home, &["codex"]);
    shows(
        &text[0],
        &[
            "namespace: web",
            "Make the wombat page faster.",
            "- shell: bash -lc npm run build",
            "It loads lazily now.",
            "source_id\": \"codex-1\"",
        ],
    );
}

#[test]
fn exports_of_claude_are_read_as_array_lines_and_zip() {
    let one = sources::claude_conversation("c-1").to_string();
    let two = sources::claude_conversation("c-2").to_string();
    let array = format!("[{one},\n{two}]");
    let projects = r#"[{"uuid":"p","name":"Garden","prompt_template":"Be brief.","created_at":"2025-01-01T00:00:00Z",
        "docs":[{"uuid":"d","filename":"soil.md","content":"Clay.","created_at":null}]}]"#;
    let zip = sources::zip(&[
        ("data/users.json", "[]".to_owned()),
        ("data/conversations.json", array.clone()),
        ("data/projects.json", projects.to_owned()),
    ]);
    for (name, bytes, count) in [
        ("conversations.json", array.into_bytes(), 2),
        ("lines.jsonl", format!("{one}\n{two}\n").into_bytes(), 2),
        ("export.zip", zip, 3),
    ] {
        let home = Home::new();
        home.write(name, bytes);
        let texts = mined(&home, &["--format", "claude", name]);
        assert_eq!(texts.len(), count, "{name}");
        let talks: Vec<&String> = texts
            .iter()
            .filter(|text| text.contains("Wine and fish"))
            .collect();
        assert_eq!(talks.len(), 2, "{name}");
        for talk in talks {
            shows(talk, &["[file: menu.txt]", "Which wine?", "A Riesling."]);
            assert_eq!(talk.matches("Which wine?").count(), 1);
        }
        if count == 3 {
            let project = texts
                .iter()
                .find(|text| text.contains("title: Garden"))
                .unwrap();
            shows(
                project,
                &["Be brief.", "soil.md", "Clay.", "namespace: Garden"],
            );
        }
    }
}

#[test]
fn exports_of_chatgpt_follow_the_branch_that_was_read_last() {
    let one = sources::chatgpt_conversation("g-1");
    let mut without_current = sources::chatgpt_conversation("g-2");
    without_current["current_node"] = serde_json::json!(null);
    without_current["mapping"]["x"]["message"]["create_time"] = serde_json::json!(1.0);
    let mut in_a_ring = sources::chatgpt_conversation("g-3");
    in_a_ring["mapping"]["root"]["parent"] = serde_json::json!("e");
    let first = serde_json::json!([one, without_current]).to_string();
    let second = serde_json::json!([in_a_ring]).to_string();
    let zip = sources::zip(&[
        ("conversations-000.json", first.clone()),
        ("conversations-001.json", second.clone()),
        ("chat.html", "<html>".to_owned()),
    ]);
    let home = Home::new();
    home.write("split/conversations-000.json", first);
    home.write("split/conversations-001.json", second);
    home.write("export.zip", zip);
    let texts = mined(&home, &["--format", "chatgpt", "split"]);
    assert_eq!(texts.len(), 3);
    for text in &texts {
        shows(
            text,
            &[
                "title: Trains",
                "Which train to Graz?",
                "[image]",
                "- python: print(1)",
                "The one at nine.",
                "2023-11-14 22:15 UTC",
            ],
        );
    }
    let again = home
        .run(&["mine", "--format", "chatgpt", "export.zip", "--json"])
        .json();
    assert_eq!(
        (&again["known"], &again["new"]),
        (&3.into(), &0.into()),
        "{again}"
    );
}

#[test]
fn exports_of_slack_have_days_and_threads() {
    let files = sources::slack();
    let home = Home::new();
    for (name, text) in &files {
        home.write(&format!("slack/{name}"), text);
    }
    home.write("slack.zip", sources::zip(&files));
    let texts = mined(&home, &["--format", "slack", "slack"]);
    assert_eq!(texts.len(), 2);
    let day = texts
        .iter()
        .find(|text| text.contains("#ops, 2026-01-01"))
        .unwrap();
    shows(
        day,
        &[
            "**Gone** · 2026-01-01 09:58 UTC",
            "bye",
            "[file: plan.pdf]",
            "**Jonas P**",
            "see the page (https://a.example) & ask @Mira in #ops",
            "namespace: ops",
        ],
    );
    let thread = texts.iter().find(|text| text.contains("marmot")).unwrap();
    shows(
        thread,
        &[
            "**Mira** · 2026-01-01 10:01 UTC",
            "**Jonas P** · 2026-01-02 10:00 UTC\n\nI do.",
        ],
    );
    let again = home
        .run(&["mine", "--format", "slack", "slack.zip", "--json"])
        .json();
    assert_eq!(
        (&again["known"], &again["new"]),
        (&2.into(), &0.into()),
        "{again}"
    );
}

#[test]
fn gemini_opencode_and_plain_transcripts_are_told_by_their_contents() {
    let home = Home::new();
    home.write("all/tmp/atlas/chats/session-1.json", sources::gemini());
    for (name, text) in sources::opencode() {
        home.write(&format!("all/opencode/{name}"), text);
    }
    home.write("all/zoo_notes.md", sources::PLAIN);
    home.write("all/other.md", "A note about nothing in particular.\n");
    home.write("all/other.json", "{\"a\": 1}");
    let texts = mined(&home, &["all"]);
    assert_eq!(texts.len(), 3, "{texts:?}");
    let of = |word: &str| texts.iter().find(|text| text.contains(word)).unwrap();
    shows(
        of("okapi"),
        &[
            "**Gemini**\n\nIn tests/okapi.\n\n- search_file_content: okapi",
            "namespace: atlas",
        ],
    );
    shows(
        of("Tapir"),
        &[
            "Paint it.",
            "- edit: tapir.css",
            "It is green.",
            "namespace: tapir",
        ],
    );
    shows(
        of("lemurs"),
        &[
            "title: zoo notes",
            "Where do lemurs live?\nAnd since when?",
            "**Assistant**\n\nOn Madagascar.",
        ],
    );
}

#[test]
fn without_a_path_this_machine_is_searched_and_shown_before_it_is_read() {
    let home = Home::new();
    let id = sources::SESSION;
    home.write(
        &format!(".claude/projects/-home-mira-atlas/{id}.jsonl"),
        sources::claude_code(1),
    );
    home.write(
        ".codex/sessions/2026/03/05/rollout-1.jsonl",
        sources::codex(),
    );
    let asked = home.run(&["mine"]);
    asked.complains(
        2,
        &[
            "claude-code: 1 file",
            "-home-mira-atlas (1)",
            "codex: 1 file",
            "--yes",
        ],
    );
    assert!(!home.files().join("talks").exists());
    let dry = home.run(&["mine", "--dry-run"]);
    assert_eq!(dry.code, 0, "{dry:?}");
    assert!(
        dry.text()
            .contains("claude-code: 1 session, 4 messages, 1 KB, 2026-03-04; projects: atlas (1)"),
        "{dry:?}"
    );
    assert!(dry.text().contains("would keep 2 new"), "{dry:?}");
    assert!(!home.files().join("talks").exists());
    let mut elsewhere = home.command(&["mine", "--yes", "--json"]);
    elsewhere.env("CODEX_HOME", home.root().join("nowhere"));
    let report = crate::support::program::run(&mut elsewhere).json();
    assert_eq!(
        (&report["new"], &report["formats"][0]["format"]),
        (&1.into(), &"claude-code".into())
    );
    let report = home
        .run(&["mine", "--yes", "--json", "--project", "web,other"])
        .json();
    assert_eq!(
        (&report["new"], &report["left_out"]),
        (&1.into(), &1.into())
    );
    let none = home.run(&[
        "mine",
        "--yes",
        "--exclude",
        "projects",
        "--exclude",
        "codex",
    ]);
    none.complains(1, &["there is no conversation to read", "looked in"]);
}

/// Mines, checks that nothing hidden was kept, and returns the files of the talks in the order of their names.
#[track_caller]
fn mined(home: &Home, arguments: &[&str]) -> Vec<String> {
    let mut all = vec!["mine", "--json"];
    all.extend(arguments);
    let ran = home.run(&all);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
    let texts = super::kept::talks_of(home);
    for text in &texts {
        for hidden in ["hidden", "abandoned", "obey me", "thinking"] {
            assert!(!text.contains(hidden), "{hidden}: {text}");
        }
    }
    texts
}

#[track_caller]
fn shows(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}
