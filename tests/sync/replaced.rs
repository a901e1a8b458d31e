//! A text that the program replaces before a commit held it stays in the history.

use std::fs;

use serde_json::json;

use super::one_memory::{NAME, home_with, text};
use crate::support::git::Git;
use crate::support::program::{Home, names};
use crate::support::session::Session;
use crate::support::{make_executable, until};

fn says(home: &Home) -> String {
    fs::read_to_string(home.files().join(NAME)).unwrap()
}

/// The commit, of those that touched the memory, whose text of it holds `words`.
#[track_caller]
fn commit_with(git: &Git<'_>, words: &str) -> String {
    let all = git.says(&["log", "--format=%H", "--", &format!("files/{NAME}")]);
    let holds = |commit: &&str| {
        let text = git.tries(&["show", &format!("{commit}:files/{NAME}")]);
        text.is_some_and(|text| text.contains(words))
    };
    let found = all.lines().find(holds);
    found
        .unwrap_or_else(|| panic!("no commit holds {words}"))
        .to_owned()
}

#[test]
fn a_hand_edit_before_an_update_is_a_commit_by_itself() {
    let home = home_with("One.\n");
    let git = Git::of(&home);
    home.put(NAME, text("Two, by hand.\n"));
    home.run(&["update", "aaaaaaaa", "--content", "Three."])
        .done();
    let by_hand = commit_with(&git, "Two, by hand.");
    let trailers = git.says(&["log", "-1", "--format=%(trailers:only)", &by_hand]);
    assert!(trailers.contains("Tool: by hand\n"), "{trailers}");
    let last = git.says(&["log", "-1", "--format=%(trailers:only)"]);
    assert!(last.contains("Tool: update\n"), "{last}");
    home.run(&["undo"]).done();
    assert_eq!(says(&home), text("Two, by hand.\n"));
    home.run(&["undo"]).done();
    assert_eq!(says(&home), text("One.\n"));
    home.run(&["restore", &format!("aaaaaaaa@{by_hand}")])
        .done();
    assert_eq!(says(&home), text("Two, by hand.\n"));
    git.assert_sound();
}

#[test]
fn an_edit_in_an_editor_keeps_what_stood_there() {
    let home = Home::new();
    home.run(&["sync"]);
    home.remember(&["Other."]);
    home.put("note.md", "# By hand\n");
    let editor = home.write("editor", "#!/bin/sh\nprintf '# Edited\\n' > \"$1\"\n");
    make_executable(&editor);
    let mut command = home.command(&["edit", "note.md"]);
    command.env("EDITOR", &editor);
    crate::support::program::run(&mut command).done();
    let all = Git::of(&home).says(&["log", "-p", "--", "files/note.md"]);
    assert!(
        all.contains("+# By hand") && all.contains("+# Edited"),
        "{all}"
    );
}

#[test]
fn a_server_keeps_a_hand_edit_that_it_replaces_at_once() {
    let home = home_with("One.\n");
    let git = Git::of(&home);
    let mut session = Session::open_on(home.command(&["mcp", "--dialect", "ai-memory"]));
    home.put(NAME, text("Two, by hand.\n"));
    session.tool(
        "memory_update",
        json!({"id": "aaaaaaaa", "content": "Three."}),
    );
    session.tool(
        "memory_update",
        json!({"id": "aaaaaaaa", "content": "Four."}),
    );
    until("the update is committed", || {
        git.says(&["log", "-p"]).contains("+Four.")
    });
    commit_with(&git, "Two, by hand.");
    let third = commit_with(&git, "Three.");
    let trailers = git.says(&["log", "-1", "--format=%(trailers:only)", &third]);
    assert!(trailers.contains("Tool: "), "{trailers}");
    git.assert_sound();
    let replaced = home.store().join(".memdir/replaced/files");
    assert_eq!(names(&replaced), [""; 0]);
}

#[test]
fn a_hand_edit_before_forgetting_is_a_commit_by_itself() {
    let home = home_with("One.\n");
    home.put(NAME, text("Two, by hand.\n"));
    home.run(&["forget", "aaaaaaaa"]).done();
    home.run(&["undo"]).done();
    assert_eq!(says(&home), text("Two, by hand.\n"));
    home.run(&["undo"]).done();
    assert_eq!(says(&home), text("One.\n"));
    Git::of(&home).assert_sound();
}

#[test]
fn what_a_killed_process_replaced_is_committed_by_the_next() {
    let home = home_with("One.\n");
    let git = Git::of(&home);
    // As between the replacement and its commit.
    let kept = home.make(&format!("store/.memdir/replaced/files/{NAME}"));
    let kept = kept.join("00000000-0000000000000001-0000000000000002");
    fs::write(&kept, text("Two, by hand.\n")).unwrap();
    home.put(NAME, text("Three.\n"));
    home.run(&["sync"]).done();
    let by_hand = commit_with(&git, "Two, by hand.");
    let next = commit_with(&git, "Three.");
    assert_eq!(
        git.says(&["rev-parse", &format!("{next}~")]).trim(),
        by_hand
    );
    assert!(!kept.exists());
    git.assert_sound();
}

#[test]
fn without_a_history_the_archive_keeps_what_people_wrote_and_nothing_else() {
    let home = Home::new();
    home.write("store/memdir.toml", "git = false\n");
    let id = home.remember(&["One."]);
    home.run(&["update", &id, "--content", "Two."]).done();
    home.run(&["update", &id, "--content", "Three."]).done();
    let archive = home.root().join("store/archive");
    assert!(!archive.exists() || names(&archive).is_empty());
    let file = home.file_of(&id);
    let by_hand = fs::read_to_string(&file)
        .unwrap()
        .replace("Three.", "Four, by hand.");
    fs::write(&file, &by_hand).unwrap();
    home.run(&["update", &id, "--content", "Five."]).done();
    let kept = names(&archive);
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert!(kept[0].contains(".replaced-"), "{kept:?}");
    assert_eq!(fs::read_to_string(archive.join(&kept[0])).unwrap(), by_hand);
    // It can be brought back beside the memory.
    home.run(&["restore", kept[0].strip_suffix(".md").unwrap()])
        .done();
    assert_eq!(
        fs::read_to_string(home.files().join(&kept[0])).unwrap(),
        by_hand
    );
}

#[test]
fn what_was_purged_or_redacted_is_kept_nowhere() {
    let home = home_with("One.\n");
    let token = format!("{}{}", "gh", "p_R7mQ2vX9kLw4TzB8nYc1JfHd6sPa3GuE5oKi");
    home.put(NAME, text(&format!("Use {token}.\n")));
    home.run(&["redact", "aaaaaaaa"]).done();
    let git = Git::of(&home);
    assert!(!git.says(&["log", "-p"]).contains(&token));
    assert!(!home.store().join(".memdir/replaced").exists());
}
