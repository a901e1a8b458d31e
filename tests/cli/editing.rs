//! `edit`, with scripts for editors.

#![cfg(unix)]

use std::fs;
use std::process::Command;

use crate::support::program::{Home, Ran, names, run};
use crate::support::{make_executable, memory_text};

const NAME: &str = "20260114_091500_1f3a9c02.md";

/// A home with one memory whose content is `old`.
fn home() -> Home {
    let home = Home::new();
    home.put(NAME, text("old"));
    home
}

fn text(content: &str) -> String {
    memory_text("1f3a9c02", "2026-01-14T09:15:00Z", content)
}

/// `edit` with an editor that is this script; the draft is `$1`, and `$0.calls` counts.
fn edit_with(home: &Home, script: &str) -> Ran {
    run(&mut command(home, script))
}

fn command(home: &Home, script: &str) -> Command {
    let script = format!("#!/bin/sh\necho x >> \"$0.calls\"\n{script}\n");
    let editor = home.write("editor", script);
    make_executable(&editor);
    let mut command = home.command(&["edit", "1f3a"]);
    command
        .env("EDITOR", &editor)
        .env("TMPDIR", home.make("drafts"));
    command
}

/// How often the editor was opened.
fn calls(home: &Home) -> usize {
    fs::read_to_string(home.root().join("editor.calls"))
        .unwrap()
        .lines()
        .count()
}

#[test]
fn a_good_edit_is_saved() {
    let home = home();
    let said = edit_with(
        &home,
        "sed s/old/new/ \"$1\" > \"$1~\" && mv \"$1~\" \"$1\"",
    )
    .done();
    assert_eq!(said, "saved 1f3a9c02\n");
    assert_eq!(home.text_of("1f3a9c02"), text("new"));
    assert_eq!(calls(&home), 1);
    assert_eq!(names(&home.root().join("drafts")), [""; 0]);
    assert_eq!(home.run(&["think", "-k", "new"]).code, 0);
}

#[test]
fn an_edit_that_changes_nothing_writes_nothing() {
    let home = home();
    assert_eq!(edit_with(&home, "true").done(), "unchanged 1f3a9c02\n");
    assert_eq!(home.text_of("1f3a9c02"), text("old"));
}

#[test]
fn a_broken_edit_is_opened_again() {
    let home = home();
    let script = r#"if [ $(wc -l < "$0.calls") = 1 ]; then cp "$1" "$0.good"; printf -- '---\nid: 1f3a9c02\nuser: mira\n' > "$1"
        else sed s/old/mended/ "$0.good" > "$1"; fi"#;
    let ran = edit_with(&home, script);
    assert_eq!(ran.text(), "saved 1f3a9c02\n");
    ran.complains(0, &["---"]);
    assert_eq!(home.text_of("1f3a9c02"), text("mended"));
    assert_eq!(calls(&home), 2);
    assert_eq!(names(&home.root().join("drafts")), [""; 0]);
}

#[test]
fn a_broken_edit_that_is_left_keeps_the_draft_and_the_memory() {
    let home = home();
    let ran = edit_with(&home, "printf -- '---\\nid: 1f3a9c02\\nmy work' > \"$1\"");
    ran.complains(
        2,
        &["the memory was not saved", "hint: Your draft is kept at "],
    );
    assert_eq!(calls(&home), 2);
    assert_eq!(home.text_of("1f3a9c02"), text("old"));
    let said = ran.stderr.split("kept at ").nth(1).unwrap();
    let draft = said.trim().trim_end_matches('.');
    assert_eq!(
        fs::read_to_string(draft).unwrap(),
        "---\nid: 1f3a9c02\nmy work"
    );
}

#[test]
fn an_editor_that_spoils_the_draft_each_time_anew_is_not_opened_without_end() {
    let home = home();
    let ran = edit_with(&home, "sed -i 's/^timestamp: /timestamp: xx/' \"$1\"");
    ran.complains(2, &["the memory was not saved", "Your draft is kept at"]);
    assert_eq!(calls(&home), 5);
    assert_eq!(home.text_of("1f3a9c02"), text("old"));
}

#[test]
fn a_draft_that_cannot_be_read_is_kept() {
    let home = home();
    // As an editor leaves it that dies between its backup and its new file.
    let ran = edit_with(&home, "echo 'my work' >> \"$1\"; mv \"$1\" \"$1~\"");
    ran.complains(
        2,
        &["cannot read the draft", "hint: Your draft is kept at "],
    );
    assert_eq!(home.text_of("1f3a9c02"), text("old"));
    let said = ran.stderr.split("kept at ").nth(1).unwrap();
    let draft = said.trim().trim_end_matches('.');
    assert_eq!(
        fs::read_to_string(format!("{draft}~")).unwrap(),
        text("old") + "my work\n"
    );
}

#[test]
fn an_editor_that_fails_saves_nothing() {
    let home = home();
    let ran = edit_with(&home, "echo broken > \"$1\"; exit 3");
    ran.complains(2, &["ended with", "nothing was saved"]);
    assert_eq!(home.text_of("1f3a9c02"), text("old"));
    let mut missing = command(&home, "true");
    missing.env("EDITOR", "no-such-editor --flag");
    run(&mut missing).complains(
        2,
        &[
            "cannot start the editor `no-such-editor`",
            "VISUAL or EDITOR",
        ],
    );
}

#[test]
fn a_memory_changed_meanwhile_is_not_overwritten() {
    let home = home();
    let file = home.files().join(NAME);
    let script = format!(
        "sed s/old/mine/ \"$1\" > \"$1~\" && mv \"$1~\" \"$1\"; sed s/old/theirs/ '{0}' > '{1}' && mv '{1}' '{0}'",
        file.display(),
        home.root().join("their-draft").display()
    );
    let ran = edit_with(&home, &script);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert_eq!(home.text_of("1f3a9c02"), text("theirs"));
    let all: Vec<String> = names(&home.files())
        .iter()
        .map(|name| fs::read_to_string(home.files().join(name)).unwrap())
        .collect();
    let kept = ran
        .stderr
        .split("kept at ")
        .nth(1)
        .map(|path| fs::read_to_string(path.trim().trim_end_matches('.')).unwrap());
    assert!(
        all.contains(&text("mine")) || kept == Some(text("mine")),
        "{ran:?}"
    );
}

#[test]
fn visual_goes_before_editor_and_arguments_are_split() {
    let home = home();
    let mut command = command(&home, "exit 3");
    let visual = "sh -c 'printf x >> \"$0\"'";
    command.env("VISUAL", visual);
    run(&mut command).done();
    assert_eq!(home.text_of("1f3a9c02"), text("oldx"));
}

#[test]
fn an_edit_is_looked_at_for_credentials() {
    let home = home();
    // Nobody's token, in two pieces so that no scanner takes this file for a leak.
    let token = format!("{}{}", "gh", "p_R7mQ2vX9kLw4TzB8nYc1JfHd6sPa3GuE5oKi");
    let script = format!("printf ' %s' {token} >> \"$1\"");
    let mut refused = command(&home, &script);
    let ran = run(refused.env("MEMDIR_SECRETS", "refuse"));
    ran.complains(2, &["a GitHub token on line 9", "Your draft is kept at"]);
    assert_eq!(home.text_of("1f3a9c02"), text("old"));
    let mut redacted = command(&home, &script);
    let ran = run(redacted.env("MEMDIR_SECRETS", "redact"));
    ran.complains(0, &["was replaced before it was written"]);
    assert_eq!(
        home.text_of("1f3a9c02"),
        text("old [redacted: a GitHub token]")
    );
    assert!(!format!("{ran:?}").contains(&token));
}
