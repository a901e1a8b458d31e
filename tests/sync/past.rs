//! The history as people see it: log, diff, recall, and git itself.

use std::fs;

use super::one_memory::{NAME, text};
use crate::support::git::Git;
use crate::support::program::{Home, run};

/// What each line of `log` says happened.
fn deeds(home: &Home, arguments: &[&str]) -> Vec<String> {
    let ran = home.run(&[&["log", "--json"], arguments].concat());
    assert_eq!(ran.stderr, "", "{arguments:?}");
    let commits = ran.json()["commits"].as_array().unwrap().clone();
    let what = |commit: &serde_json::Value| commit["what"].as_str().unwrap().to_owned();
    commits
        .iter()
        .map(what)
        .map(|what| what.split(" memory").next().unwrap().to_owned())
        .collect()
}

#[test]
fn a_log_tells_what_happened_when_and_by_whom() {
    let home = Home::new();
    let id = home.remember(&["--agent", "claude", "--user", "mira", "One."]);
    home.run(&["update", &id, "--title", "T"]).done();
    let commit = Git::of(&home).says(&["rev-parse", "HEAD"]);
    let lines = home.run(&["log"]).lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].starts_with(&commit[..10]), "{lines:?}");
    assert!(
        lines[0].contains(&format!("+00:00  Change memory {id}: T  by")),
        "{lines:?}"
    );
    assert!(
        lines[1].ends_with("by claude, mira with remember"),
        "{lines:?}"
    );
    let document = home.run(&["log", "-n", "1", "--json"]).json();
    let newest = &document["commits"][0];
    assert_eq!(document["more"], true);
    assert_eq!(newest["commit"], commit.trim());
    assert_eq!(
        (&newest["agent"], &newest["user"], &newest["tool"]),
        (&"claude".into(), &"mira".into(), &"update".into())
    );
    let at = newest["at"].as_str().unwrap();
    chrono::DateTime::parse_from_rfc3339(at).unwrap();
    home.write("store/files/notes.md", "# Notes\n");
    home.write("store/files/tulips.md", "Tulips are red.\n");
    let lines = home.run(&["log", "-n", "1"]).lines();
    assert_eq!(
        lines[1..],
        ["    add notes  Notes", "    add tulips  Tulips are red."]
    );
}

#[test]
fn a_memory_is_followed_wherever_it_goes() {
    let home = Home::new();
    home.put(NAME, text("One."));
    home.run(&["sync"]).done();
    home.remember(&["another"]);
    home.run(&["forget", "aaaaaaaa"]).done();
    assert_eq!(deeds(&home, &["aaaaaaaa"]), ["Forget", "Add"]);
    home.run(&["restore", "aaaaaaaa"]).done();
    fs::create_dir(home.files().join("sub")).unwrap();
    fs::rename(home.files().join(NAME), home.files().join("sub").join(NAME)).unwrap();
    assert_eq!(
        deeds(&home, &["aaaaaaaa"])[..3],
        ["Move", "Restore", "Forget"]
    );
    fs::remove_file(home.files().join("sub").join(NAME)).unwrap();
    // It is found by what it was called, although it is nowhere any more.
    for id in ["aaaaaaaa", "aaaaaaa", "20260101_000000_aaaaaaaa", NAME] {
        let deeds = deeds(&home, &[id]);
        let newest = ["Delete", "Move", "Restore", "Forget"];
        assert!(
            deeds.starts_with(&newest.map(str::to_owned)),
            "{id}: {deeds:?}"
        );
    }
    home.run(&["log", "bbbbbbbb"])
        .complains(2, &["no memory is called `bbbbbbbb`"]);
}

#[test]
fn changes_by_hand_are_in_the_log_unless_nothing_may_be_written() {
    let home = Home::new();
    home.remember(&["one"]);
    home.put(NAME, text("By hand."));
    assert_eq!(home.run(&["log", "--read-only"]).lines().len(), 1);
    let lines = home.run(&["log"]).lines();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].ends_with(", by hand"), "{lines:?}");
}

#[test]
fn commits_of_others_are_shown_if_they_touch_the_store() {
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&["one"]);
    home.write("store/notes.txt", "mine");
    git.says(&["add", "notes.txt"]);
    git.says(&["commit", "-qm", "Notes"]);
    let path = home.file_of(&id);
    let changed = home.text_of(&id).replace("one", "two");
    fs::write(&path, changed).unwrap();
    git.says(&["commit", "-qam", "Mine: better"]);
    let lines = home.run(&["log"]).lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("Mine: better  by Test"), "{lines:?}");
}

#[test]
fn a_diff_shows_what_the_last_change_did() {
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&["One."]);
    let ran = home.run(&["diff", &id]);
    ran.complains(1, &["no difference"]);
    home.run(&["update", &id, "--content", "Two."]).done();
    home.run(&["forget", &id]).done();
    let shown = home.run(&["diff", &id]).done();
    let name = home.root().join("store/archive");
    let name = fs::read_dir(name).unwrap().next().unwrap().unwrap();
    let name = name.file_name().into_string().unwrap();
    assert!(
        shown.starts_with(&format!("--- a/files/{name}\n+++ b/archive/{name}\n@@ -")),
        "{shown}"
    );
    assert!(shown.contains("\n-One.\n"), "{shown}");
    assert!(shown.contains("\n+Two.\n"), "{shown}");
    let document = home.run(&["diff", &id, "--json"]).json();
    assert!(
        document["before"]["text"]
            .as_str()
            .unwrap()
            .contains("One.")
    );
    assert!(document["after"]["text"].as_str().unwrap().contains("Two."));
    let first = git.says(&["rev-parse", "HEAD~2"]);
    for revision in [first.trim(), &first[..10], "HEAD~2"] {
        let ran = home.run(&["diff", &id, revision]);
        assert_eq!((ran.code, ran.text()), (0, shown.clone()), "{revision}");
    }
    home.run(&["diff", &id, "HEAD"])
        .complains(1, &["no difference"]);
}

#[test]
fn a_diff_finds_the_state_at_a_time() {
    let home = Home::new();
    let git = Git::of(&home);
    home.put(NAME, text("Old."));
    git.says(&["init", "-q", "-b", "main"]);
    git.says(&["config", "memdir...owner", "store"]);
    git.says(&["add", "."]);
    git.says(&[
        "commit",
        "-q",
        "-m",
        "Old",
        "--date",
        "2026-01-01T00:00:00Z",
    ]);
    home.put(NAME, text("New."));
    let shown = home.run(&["diff", "aaaa", "2026-02-01"]).done();
    assert!(shown.contains("\n-Old."), "{shown}");
    home.run(&["diff", "aaaa", "2025-01-01"])
        .complains(2, &["the history begins at 2026-01-01"]);
    home.run(&["diff", "aaaa", "now"])
        .complains(1, &["no difference"]);
}

#[test]
fn revisions_that_are_none_are_named() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["first"]);
    home.put(NAME, text("One."));
    for revision in ["nope", "HEAD~77", "0123456789", "-x", ""] {
        home.run(&["diff", "aaaa", "--", revision])
            .complains(2, &["there is no commit and no time called", "hint:"]);
    }
    let first = git.says(&["rev-parse", "HEAD~1"]);
    home.run(&["diff", "aaaa", first.trim()]).complains(
        2,
        &["`aaaaaaaa` was not there as of", "memdir log aaaaaaaa"],
    );
    home.run(&["diff", "bbbb"])
        .complains(2, &["no memory is called `bbbb`"]);
}

#[test]
fn a_store_without_history_says_why() {
    let home = Home::new();
    run(home.bare().args(["init", "--no-git", "without"])).done();
    let on = |arguments: &[&str]| {
        let store = ["--store", "without"];
        run(home.bare().args(store).args(arguments))
    };
    let id = on(&["remember", "x"]).done();
    let id = id.trim();
    for command in [&["log"][..], &["diff", id], &["undo"], &["log", id]] {
        on(command).complains(
            2,
            &[
                "the store has no history: its setting `git` is off",
                "hint: Set",
            ],
        );
    }
    on(&["git", "status"]).complains(2, &["the store is in no repository"]);
    let ran = on(&["recall", "--verbose", "--json", id]);
    assert!(ran.stderr.contains("no history"), "{ran:?}");
    assert_eq!(ran.json()[0]["history"], serde_json::json!([]));

    let home = Home::new();
    home.run(&["log"])
        .complains(2, &["nothing was committed yet"]);
    let theirs = Git::at(&home, home.root());
    theirs.says(&["init", "-q"]);
    let id = home.remember(&["x"]);
    for command in [&["log"][..], &["diff", &id], &["undo"]] {
        home.run(command)
            .complains(2, &["it lies in a repository of somebody else", "hint:"]);
    }
}

#[test]
fn recall_tells_who_wrote_and_who_changed_it() {
    let home = Home::new();
    let id = home.remember(&["--agent", "claude", "--user", "mira", "One."]);
    let said = home.run(&["recall", "--verbose", &id]).done();
    assert!(said.contains("\nwritten: 2"), "{said}");
    assert!(!said.contains("\nchanged: "), "{said}");
    home.run(&["update", &id, "--agent", "codex"]).done();
    let said = home.run(&["recall", "-v", &id]).done();
    let line = |word: &str| said.lines().find(|line| line.starts_with(word)).unwrap();
    assert!(line("written: ").contains(" by claude, mira with remember ("));
    assert!(line("changed: ").contains(" by codex, mira with update ("));
    let document = home.run(&["recall", "--json", "-v", &id, "nope"]).json();
    let history = document[0]["history"].as_array().unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(history[0]["agent"], "codex");
    assert_eq!(history[1]["tool"], "remember");
    assert!(document[1].get("history").is_none());
    let plain = home.run(&["recall", "--json", &id]).json();
    assert!(plain[0].get("history").is_none());
}

#[test]
fn git_runs_in_the_store_with_what_it_is_given() {
    let home = Home::new();
    let id = home.remember(&["One."]);
    let said = home.run(&["git", "log", "-1", "--format=%s"]).done();
    assert!(said.starts_with(&format!("Add memory {id}")), "{said}");
    let mut elsewhere = home.command(&["git", "rev-parse", "--show-toplevel"]);
    elsewhere.env("GIT_DIR", "/nowhere");
    assert_eq!(
        run(&mut elsewhere).done().trim(),
        home.store().to_str().unwrap()
    );
    let ran = home.run(&["git", "rev-parse", "--verify", "-q", "nope"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (1, ""));
    assert_eq!(home.run(&["git", "nonsense"]).code, 1);
    assert_eq!(home.run(&["git", "status", "--porcelain"]).done(), "");
    home.run(&["--read-only", "git", "status"])
        .complains(2, &["--read-only"]);
}

#[test]
fn odd_names_are_followed_and_shown_safely() {
    let home = Home::new();
    let odd = "a b\u{1b}[31m@x 'ü\t.md";
    home.put(odd, text("One."));
    home.run(&["sync"]).done();
    home.put(odd, text("Two."));
    assert_eq!(deeds(&home, &[odd]).len(), 2);
    assert_eq!(deeds(&home, &[odd.strip_suffix(".md").unwrap()]).len(), 2);
    let shown = home.run(&["diff", odd]).done();
    assert!(
        shown.starts_with("--- a/files/a b\\x1b[31m@x 'ü .md\n"),
        "{shown}"
    );
    let shown = home.run(&["diff", odd, "--color", "always"]).done();
    assert!(shown.contains("\u{1b}[31m-One."), "{shown}");
    fs::remove_file(home.files().join(odd)).unwrap();
    assert_eq!(deeds(&home, &[odd]).len(), 3);
}

#[test]
fn a_log_calls_memories_as_they_were_called_then() {
    let home = Home::new();
    let id = home
        .run(&["remember", "text", "--title", "Old name"])
        .text();
    let id = id.trim();
    home.run(&["update", id, "--title", "New name"]).done();
    let lines = || home.run(&["log"]).lines();
    let told = lines();
    assert!(told[0].contains("New name"), "{told:?}");
    assert!(told[1].contains("Old name"), "{told:?}");
    // Of what a commit deleted, the name before.
    let name = crate::support::program::names(&home.files()).remove(0);
    fs::remove_file(home.files().join(name)).unwrap();
    home.run(&["sync"]);
    let told = lines();
    assert!(told[0].contains("New name"), "{told:?}");
    assert!(told[2].contains("Old name"), "{told:?}");
}

#[test]
fn restore_of_a_live_memory_says_that_it_lives_and_how_older_versions_come_back() {
    let home = Home::new();
    let id = home.run(&["remember", "text"]).text();
    let id = id.trim();
    let ran = home.run(&["restore", id]);
    let said = ran.stderr;
    assert!(said.contains(&format!("`{id}` lives")), "{said}");
    assert!(
        said.contains(&format!("memdir restore {id}@REVISION")),
        "{said}"
    );
    let ran = home.run(&["restore", "nobody"]);
    assert!(
        ran.stderr.contains("no memory is called `nobody`"),
        "{ran:?}"
    );
}
