//! Whose word counts: a store that was found, its repository and its remote are used only as far as
//! the user agreed, outside of the store.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::git::Git;
use crate::support::has_terminal;
use crate::support::program::{Home, Ran, run};

const THEIRS: &str = "20260114_091500_1f3a9c02.md";

/// A home with a store in a project that somebody else made, and the working folder below it.
fn handed_over() -> (Home, PathBuf, PathBuf) {
    let home = Home::new();
    let (project, deep) = (home.make("project"), home.make("project/src"));
    home.write("project/memdir.toml", "limit = 4\n");
    let text = "---\nid: 1f3a9c02\ntimestamp: 2026-01-14T09:15:00Z\nagent: a\nuser: u\ntopics: [x]\n---\n\nheron\n";
    home.write(&format!("project/files/{THEIRS}"), text);
    (home, project, deep)
}

fn in_folder(home: &Home, folder: &Path, words: &[&str]) -> Ran {
    run(home.bare().current_dir(folder).args(words))
}

/// A repository that other machines could share.
fn shared(home: &Home) -> String {
    let git = Git::at(home, home.root());
    git.says(&["init", "-q", "--bare", "-b", "main", "remote.git"]);
    home.root().join("remote.git").display().to_string()
}

fn records(home: &Home) -> Vec<Value> {
    let listed = run(home.bare().args(["trust", "--list", "--json"])).json();
    listed["stores"].as_array().unwrap().clone()
}

#[test]
fn a_store_that_was_found_is_used_after_its_user_agreed() {
    let (home, project, deep) = handed_over();
    let refused = in_folder(&home, &deep, &["think", "heron"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("memdir trust"),
        "{}",
        refused.stderr
    );
    in_folder(&home, &deep, &["trust"]).done();
    let found = in_folder(&home, &deep, &["think", "heron"]);
    assert_eq!(found.code, 0, "{}", found.stderr);
    in_folder(
        &home,
        &deep,
        &["trust", "--revoke", project.to_str().unwrap()],
    )
    .done();
    assert_eq!(in_folder(&home, &deep, &["think", "heron"]).code, 2);
}

#[test]
fn the_store_that_aiaml_keeps_in_a_project_is_found_and_waits_for_its_user() {
    let home = Home::new();
    let deep = home.make("project/src");
    let text = "---\nid: 1f3a9c02\ntimestamp: 2026-01-14T09:15:00Z\nagent: a\nuser: u\ntopics: [x]\n---\n\nheron\n";
    home.write(&format!("project/memory/files/{THEIRS}"), text);
    let refused = in_folder(&home, &deep, &["think", "heron"]);
    assert_eq!(refused.code, 2);
    let said = refused.stderr.replace('\\', "/");
    assert!(
        said.contains("memdir trust") && said.contains("project/memory"),
        "{said}"
    );
    in_folder(&home, &deep, &["trust"]).done();
    let found = in_folder(&home, &deep, &["think", "heron"]);
    assert_eq!(found.code, 0, "{}", found.stderr);
}

#[test]
fn a_store_that_init_made_or_a_flag_names_needs_no_question() {
    let (home, project, deep) = handed_over();
    let named = run(home
        .bare()
        .args(["--store", project.to_str().unwrap(), "think", "heron"]));
    assert_eq!(named.code, 0, "{}", named.stderr);
    assert_eq!(
        in_folder(&home, &deep, &["list"]).code,
        2,
        "it was named for once"
    );
    let made = home.make("made/deep");
    run(home.bare().args(["init", "made"])).done();
    in_folder(&home, &made, &["remember", "a note"]).done();
    assert_eq!(
        fs::read_dir(home.root().join("made/files"))
            .unwrap()
            .count(),
        1
    );
}

#[test]
fn commands_that_need_no_store_say_which_one_they_use() {
    let (home, _, deep) = handed_over();
    for words in [["path"].as_slice(), &["config"], &["status"]] {
        let ran = in_folder(&home, &deep, words);
        assert!(
            ran.stderr.contains("memdir trust"),
            "{words:?}: {}",
            ran.stderr
        );
        assert!(
            !String::from_utf8_lossy(&ran.stdout).contains("project"),
            "{words:?}"
        );
    }
}

#[test]
fn on_a_terminal_the_user_is_asked() {
    if !has_terminal() {
        return;
    }
    let (home, _, deep) = handed_over();
    let answered = |answer: &str| {
        let mut command = Command::new("script");
        home.surround(&mut command);
        let line = format!("'{}' list", env!("CARGO_BIN_EXE_memdir"));
        command
            .args(["-qec", &line, "/dev/null"])
            .current_dir(&deep);
        crate::support::program::run_with(&mut command, answer.as_bytes())
    };
    assert_eq!(answered("n\n").code, 2);
    assert!(records(&home).is_empty());
    assert_eq!(answered("y\n").code, 0);
    assert_eq!(records(&home).len(), 1);
    in_folder(&home, &deep, &["list"]).done();
}

#[test]
fn a_remote_counts_by_the_users_record_and_not_by_the_repositorys_word() {
    let home = Home::new();
    let remote = shared(&home);
    let store = home.store().display().to_string();
    run(home
        .bare()
        .args(["init", &store, "--remote", &remote, "--allow-local"]))
    .done();
    assert_eq!(
        records(&home)[0]["remote"]["address"],
        Value::String(remote.clone())
    );
    let git = Git::at(&home, home.store());
    git.says(&["config", "remote.origin.url", "/elsewhere.git"]);
    let paused = home.run(&["sync"]);
    assert_eq!(paused.code, 2);
    assert!(
        paused.stderr.contains("/elsewhere.git"),
        "{}",
        paused.stderr
    );
    let status = home.run(&["sync", "--status"]).done();
    assert!(status.contains("memdir sync --setup"), "{status}");
    git.says(&["config", "remote.origin.url", &remote]);
    home.run(&["sync"]).done();
}

#[test]
fn what_version_0_1_set_up_goes_on_where_the_users_settings_name_the_store() {
    let home = Home::new();
    let remote = shared(&home);
    let store = home.store().display().to_string();
    run(home
        .bare()
        .args(["init", &store, "--remote", &remote, "--allow-local"]))
    .done();
    fs::remove_dir_all(home.root().join("state")).unwrap();
    // Named for this process only, it is asked for once more.
    assert_eq!(home.run(&["sync"]).code, 2);
    home.write(
        "config/memdir/config.toml",
        format!("store = \"{store}\"\n"),
    );
    // However it is named now.
    home.run(&["sync"]).done();
    assert_eq!(
        records(&home)[0]["remote"]["address"],
        Value::String(remote)
    );
    home.run(&["sync"]).done();
}

#[test]
fn a_repository_that_was_removed_is_missed() {
    let home = Home::new();
    let remote = shared(&home);
    let store = home.store().display().to_string();
    run(home
        .bare()
        .args(["init", &store, "--remote", &remote, "--allow-local"]))
    .done();
    home.run(&["remember", "a note"]).done();
    home.run(&["sync"]).done();
    fs::remove_dir_all(home.store().join(".git")).unwrap();
    let said = home.run(&["sync"]);
    let said = format!("{}{}", String::from_utf8_lossy(&said.stdout), said.stderr);
    let command = format!("memdir sync --setup {remote} --allow-local");
    assert!(said.contains(&command), "{said}");
    assert!(home.run(&["status"]).done().contains(&command));
    home.run(&["sync", "--setup", &remote, "--allow-local"])
        .done();
    assert_eq!(home.run(&["sync", "--json"]).json()["state"], "in-step");
}

#[test]
fn settings_of_a_repository_are_followed_when_the_record_holds_them() {
    let home = Home::new();
    run(home.bare().arg("init").arg(home.store())).done();
    let git = Git::at(&home, home.store());
    git.says(&["config", "core.sshCommand", "ssh -x"]);
    git.says(&["config", "user.name", "Mira"]);
    let shown = || {
        let store = home.store().display().to_string();
        run(home.bare().args(["trust", "--show", "--json", &store])).json()["git_settings"].clone()
    };
    assert_eq!(shown()[0]["key"], "core.sshcommand");
    assert_eq!(shown()[0]["followed"], false);
    assert_eq!(shown().as_array().unwrap().len(), 1);
    assert_eq!(home.run(&["git", "log"]).code, 2);
    let store = home.store().display().to_string();
    run(home.bare().args(["trust", "--git-settings", &store])).done();
    assert_eq!(shown()[0]["followed"], true);
    assert_eq!(home.run(&["git", "status"]).code, 0);
    // Another value was not agreed to.
    git.says(&["config", "core.sshCommand", "evil"]);
    assert_eq!(shown()[0]["followed"], false);
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_where_the_user_made_the_store_so() {
    let home = Home::new();
    let id = home.run(&["remember", "a note"]).done();
    let elsewhere = home.make("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, home.store().join("archive")).unwrap();
    let refused = home.run(&["forget", id.trim()]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("memdir init --allow-links"),
        "{}",
        refused.stderr
    );
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    run(home
        .bare()
        .args(["init", "--allow-links"])
        .arg(home.store()))
    .done();
    home.run(&["forget", id.trim()]).done();
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
}
