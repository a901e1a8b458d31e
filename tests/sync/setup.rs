//! Where a store goes: what names its remote, and what does not.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::support::git::Git;
use crate::support::machines::{Machines, texts};
use crate::support::program::{Home, Ran, run};
use crate::support::session::Session;
use crate::support::{make_executable, memory_text, until};

/// Has ssh run here what it should run on another machine.
fn with_ssh(home: &Home, command: &mut Command) {
    let path = home.root().join("ssh");
    fs::write(
        &path,
        "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nexec sh -c \"$1\"\n",
    )
    .unwrap();
    make_executable(&path);
    command.env("GIT_SSH", path).env("GIT_SSH_VARIANT", "ssh");
}

/// The program on `store`, which reaches `git@forge:` on this machine.
fn on(home: &Home, store: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = home.bare();
    with_ssh(home, &mut command);
    command.envs(variables.iter().copied());
    command.arg("--store").arg(store).args(arguments);
    run(&mut command)
}

/// A bare repository called `name`; its address.
fn bare(home: &Home, name: &str) -> String {
    let git = Git::at(home, home.root());
    git.says(&["init", "-q", "--bare", "-b", "main", name]);
    format!("git@forge:{}", home.root().join(name).display())
}

/// Somebody's repository with one file, pushed to the bare one called `public.git`.
fn project(home: &Home) -> Git<'_> {
    let address = bare(home, "public.git");
    let folder = home.root().join("project");
    fs::create_dir(&folder).unwrap();
    let git = Git::at(home, folder.clone());
    git.says(&["init", "-q", "-b", "main"]);
    fs::write(folder.join("main.rs"), "fn main() {}").unwrap();
    git.says(&["add", "."]);
    git.says(&["commit", "-q", "-m", "Theirs"]);
    let path = address.strip_prefix("git@forge:").unwrap();
    git.says(&["push", "-q", path, "main"]);
    git.says(&["remote", "add", "origin", &address]);
    git
}

#[test]
fn a_variable_sends_nothing_to_somebodys_remote() {
    let home = Home::new();
    let git = project(&home);
    let other = bare(&home, "memories.git");
    let store = home.root().join("project/notes");
    let variables = [("AIAML_GITHUB_REMOTE", other.as_str())];
    on(&home, &store, &["init", store.to_str().unwrap()], &[]).done();
    on(&home, &store, &["remember", "Private."], &[]).done();
    let ran = on(&home, &store, &["sync"], &variables);
    assert!(
        ran.text().contains("is not followed there"),
        "{}",
        ran.text()
    );
    let status = on(&home, &store, &["status"], &variables).text();
    assert!(status.contains("is not followed there"), "{status}");
    assert_eq!(git.subjects(), ["Theirs"]);
    assert!(!git.says(&["config", "--list"]).contains("memdir."));
    let public = Git::at(&home, home.root().join("public.git"));
    assert_eq!(
        public.says(&["ls-tree", "--name-only", "main"]).trim(),
        "main.rs"
    );
}

#[test]
fn a_variable_names_the_remote_of_a_store_that_has_none() {
    let home = Home::new();
    home.remember(&["One."]);
    let (first, second) = (bare(&home, "first.git"), bare(&home, "second.git"));
    let store = home.store();
    on(&home, &store, &["sync"], &[("MEMDIR_REMOTE", &first)]).done();
    let refs = |name: &str| Git::at(&home, home.root().join(name)).says(&["for-each-ref"]);
    assert!(refs("first.git").contains("refs/heads/main"));
    // The store's own counts from now on.
    let variables = [("MEMDIR_REMOTE", second.as_str())];
    on(&home, &store, &["sync"], &variables).done();
    assert_eq!(refs("second.git"), "");
    let status = on(&home, &store, &["status"], &variables).text();
    assert!(status.contains("names another"), "{status}");
}

#[test]
fn what_refuses_a_remote_on_this_machine_names_the_option_that_allows_it() {
    let home = Home::new();
    home.remember(&["One."]);
    let path = home.root().join("remote.git");
    let path = path.to_str().unwrap();
    let file = format!("file://{path}");
    for remote in [path, "remote.git", &file, "http://127.0.0.1:9/x.git"] {
        for words in [
            &["sync", "--setup", remote][..],
            &["init", "new", "--remote", remote],
        ] {
            let parts = ["remotes on this machine are not allowed", "--allow-local"];
            home.run(words).complains(2, &parts);
        }
    }
}

#[test]
fn a_variable_whose_remote_cannot_be_set_up_is_in_the_status() {
    let home = Home::new();
    home.remember(&["One."]);
    let nowhere = format!("git@forge:{}", home.root().join("nowhere.git").display());
    let variables = [("MEMDIR_REMOTE", nowhere.as_str())];
    assert_eq!(on(&home, &home.store(), &["sync"], &variables).code, 2);
    let status = on(&home, &home.store(), &["status"], &variables).text();
    assert!(status.contains("is not set up: cannot ask"), "{status}");
}

#[test]
fn what_somebody_committed_is_never_pushed_whatever_its_message_says() {
    let home = Home::new();
    let git = project(&home);
    let folder = home.root().join("project");
    let store = folder.join("notes");
    let paused = || {
        let said = on(&home, &store, &["sync", "--json"], &[]).json();
        assert_eq!(said["state"], "paused", "{said}");
        said["reason"].as_str().unwrap().to_owned()
    };
    on(&home, &store, &["init", store.to_str().unwrap()], &[]).done();
    on(&home, &store, &["sync", "--setup"], &[]).done();
    on(&home, &store, &["remember", "One."], &[]).done();
    on(&home, &store, &["sync"], &[]).done();
    let pushed = || {
        let public = Git::at(&home, home.root().join("public.git"));
        public.says(&["log", "-p", "main"])
    };
    // Its message looks like one of ours.
    fs::write(folder.join("wip"), "not ready").unwrap();
    git.says(&["add", "wip"]);
    git.says(&["commit", "-q", "-m", "Work\n\nTool: rustfmt"]);
    on(&home, &store, &["remember", "Two."], &[]).done();
    assert!(paused().contains("Work"));
    git.says(&["reset", "-q", "--hard", "HEAD~2"]);
    on(&home, &store, &["remember", "Three."], &[]).done();
    // One of ours, with something of theirs.
    fs::write(folder.join("main.rs"), "half done").unwrap();
    git.says(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert!(paused().contains("push the branch with git"));
    assert!(!pushed().contains("not ready") && !pushed().contains("half done"));
    // What its maker has pushed is no matter of ours.
    let address = home.root().join("public.git");
    git.says(&["push", "-q", address.to_str().unwrap(), "main"]);
    on(&home, &store, &["remember", "Four."], &[]).done();
    on(&home, &store, &["sync"], &[]).done();
    assert!(pushed().contains("Four."));
    let sent = git.says(&["rev-parse", "HEAD"]);
    assert!(!folder.join(".git/memdir-made").join(sent.trim()).exists());
}

/// A bare repository whose branch `master` holds the file `name`; its path.
fn filled(home: &Home, name: &str) -> String {
    let git = Git::at(home, home.root());
    git.says(&["init", "-q", "--bare", "-b", "master", "filled.git"]);
    git.says(&["init", "-q", "-b", "master", "filler"]);
    let filler = home.root().join("filler");
    fs::write(filler.join(name), "Text.").unwrap();
    let git = Git::at(home, filler);
    git.says(&["add", "."]);
    git.says(&["commit", "-q", "-m", "Initial commit"]);
    git.says(&["push", "-q", "../filled.git", "master"]);
    home.root().join("filled.git").to_str().unwrap().to_owned()
}

/// The branches of the repository at `path`.
fn branches(home: &Home, path: &str) -> String {
    let git = Git::at(home, path.into());
    git.says(&["for-each-ref", "--format=%(refname:short)", "refs/heads"])
}

#[test]
fn machines_meet_on_the_branch_that_the_remote_offers() {
    let (one, two) = (Home::new(), Home::new());
    let remote = filled(&one, "README.md");
    one.remember(&["From one."]);
    let setup = ["sync", "--setup", &remote, "--allow-local"];
    let ran = one.run(&setup);
    assert!(
        ran.stderr.contains("go to the branch `master` now"),
        "{}",
        ran.stderr
    );
    let mut command = two.bare();
    command.arg("init").arg(two.store());
    command.args(["--remote", &remote, "--allow-local"]);
    run(&mut command).done();
    two.remember(&["From two."]);
    two.run(&["sync"]).done();
    one.run(&["sync"]).done();
    assert_eq!(texts(&one).len(), 2);
    assert_eq!(texts(&one), texts(&two));
    assert_eq!(branches(&one, &remote), "master\n");
}

#[test]
fn memories_on_another_branch_are_told_of() {
    let (one, two) = (Home::new(), Home::new());
    let remote = filled(&one, "README.md");
    let git = Git::at(&one, one.root().join("filler"));
    git.says(&["checkout", "-q", "-b", "elsewhere"]);
    fs::create_dir(one.root().join("filler/files")).unwrap();
    fs::write(one.root().join("filler/files/a.md"), "A memory.").unwrap();
    git.says(&["add", "."]);
    git.says(&["commit", "-q", "-m", "Memories"]);
    git.says(&["push", "-q", "../filled.git", "elsewhere"]);
    two.remember(&["One."]);
    let ran = two.run(&["sync", "--setup", &remote, "--allow-local"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("branch `elsewhere` of the remote holds memories"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_project_is_no_remote_of_memories_unless_somebody_says_so() {
    let home = Home::new();
    let remote = filled(&home, "main.c");
    home.remember(&["One."]);
    let setup = ["sync", "--setup", &remote, "--allow-local"];
    let ran = home.run(&setup);
    assert_eq!(ran.code, 2, "{}", ran.text());
    assert!(ran.stderr.contains("such as `main.c`"), "{}", ran.stderr);
    let git = Git::of(&home);
    assert!(!git.says(&["config", "--list"]).contains("remote"));
    assert_eq!(git.says(&["for-each-ref", "refs/memdir/looked-at"]), "");
    assert!(!home.store().join("main.c").exists());
    let ran = home.run(&[&setup[..], &["--accept-history"]].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn a_setup_that_is_refused_leaves_no_consent() {
    let home = Home::new();
    let git = project(&home);
    let other = bare(&home, "memories.git");
    let store = home.root().join("project/notes");
    on(&home, &store, &["init", store.to_str().unwrap()], &[]).done();
    let before = git.says(&["config", "--list"]);
    let ran = on(&home, &store, &["sync", "--setup", &other], &[]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains("called `origin` already"),
        "{}",
        ran.stderr
    );
    assert_eq!(git.says(&["config", "--list"]), before);
    on(&home, &store, &["remember", "One."], &[]).done();
    assert_eq!(git.subjects(), ["Theirs"]);
}

#[test]
fn the_branch_that_is_checked_out_can_be_taken() {
    let home = Home::new();
    let git = project(&home);
    let store = home.root().join("project/notes");
    on(&home, &store, &["init", store.to_str().unwrap()], &[]).done();
    on(&home, &store, &["sync", "--setup"], &[]).done();
    git.says(&["branch", "-m", "main", "trunk"]);
    on(&home, &store, &["remember", "One."], &[]).done();
    let status = on(&home, &store, &["status"], &[]).text();
    assert!(
        status.contains("`memdir sync --setup` takes it"),
        "{status}"
    );
    let path = home.root().join("public.git");
    git.says(&["push", "-q", path.to_str().unwrap(), "trunk"]);
    let ran = on(&home, &store, &["sync", "--setup"], &[]);
    assert!(
        ran.stderr.contains("go to the branch `trunk` now"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.code, 0);
    assert!(
        Git::at(&home, path)
            .says(&["log", "-p", "trunk"])
            .contains("One.")
    );
}

#[test]
fn another_remote_begins_with_nothing_seen() {
    let home = Home::new();
    home.remember(&["One."]);
    let (first, second) = (bare(&home, "first.git"), bare(&home, "second.git"));
    let store = home.store();
    on(&home, &store, &["sync", "--setup", &first], &[]).done();
    let hook = home.root().join("second.git/hooks/pre-receive");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    make_executable(&hook);
    let ran = on(&home, &store, &["sync", "--setup", &second], &[]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains(&format!("the remote was {first}")),
        "{}",
        ran.stderr
    );
    fs::remove_file(hook).unwrap();
    on(&home, &store, &["sync"], &[]).done();
}

#[test]
fn a_setup_that_reaches_nobody_says_that_nothing_was_set_up() {
    let home = Home::new();
    home.remember(&["One."]);
    let ran = home.run(&["sync", "--setup", "https://127.0.0.1:1/none.git"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("Nothing was set up"), "{}", ran.stderr);
    assert!(
        !Git::of(&home)
            .says(&["config", "--list"])
            .contains("remote")
    );
}

#[test]
fn the_state_is_told_without_asking_anybody() {
    let machines = Machines::new(1);
    let home = &machines.homes[0];
    home.remember(&["One."]);
    home.run(&["sync", "--now"]).done();
    fs::rename(machines.remote(), machines.remote().with_extension("away")).unwrap();
    let said = home.run(&["sync", "--status"]).done();
    for row in ["committed  ", "remote  ", "sync  in step just now"] {
        assert!(said.contains(row), "{row}: {said}");
    }
    let said = home.run(&["sync", "--status", "--json"]).json();
    assert_eq!(said["remote"]["state"], "in-step", "{said}");
    assert_eq!(home.run(&["sync", "--status", "--now"]).code, 2);
}

#[test]
fn commits_go_where_the_owner_of_the_repository_pushes() {
    let home = Home::new();
    let git = project(&home);
    let store = home.root().join("project/notes");
    on(&home, &store, &["init", store.to_str().unwrap()], &[]).done();
    git.says(&["remote", "set-url", "--push", "origin", "DISABLED"]);
    let ran = on(&home, &store, &["sync", "--setup"], &[]);
    assert!(ran.stderr.contains("pushurl"), "{}", ran.stderr);
    let public = Git::at(&home, home.root().join("public.git"));
    assert_eq!(public.subjects(), ["Theirs"]);
    let path = home.root().join("fork.git");
    git.says(&["clone", "-q", "--bare", "../public.git", "../fork.git"]);
    let fork = format!("git@forge:{}", path.display());
    git.says(&["remote", "set-url", "--push", "origin", &fork]);
    let ran = on(&home, &store, &["sync", "--setup"], &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(public.subjects(), ["Theirs"]);
    assert_eq!(Git::at(&home, path).subjects().len(), 2);
    on(&home, &store, &["sync"], &[]).done();
    // Another address to push to was not agreed to.
    git.says(&[
        "remote",
        "set-url",
        "--push",
        "origin",
        "git@forge:/elsewhere.git",
    ]);
    assert_eq!(on(&home, &store, &["sync"], &[]).code, 2);
}

#[test]
fn a_branch_that_was_renamed_is_no_damage() {
    let machines = Machines::new(1);
    let home = &machines.homes[0];
    home.remember(&["One."]);
    machines.sync(0);
    let git = Git::of(home);
    git.says(&["branch", "-m", "main", "trunk"]);
    let ran = home.run(&["sync"]);
    assert!(
        ran.stderr.contains("`trunk` is checked out") && !ran.stderr.contains("damaged"),
        "{}",
        ran.stderr
    );
    assert_eq!(
        git.says(&["branch", "--format=%(refname:short)"]),
        "trunk\n"
    );
    let remote = machines.remote();
    let setup = ["sync", "--setup", remote.to_str().unwrap(), "--allow-local"];
    let ran = home.run(&setup);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        machines
            .shared()
            .says(&["log", "-p", "trunk"])
            .contains("One.")
    );
}

#[test]
fn a_repository_without_a_remote_may_ask_for_commits() {
    let home = Home::new();
    let git = Git::at(&home, home.root());
    git.says(&["init", "-q", "-b", "trunk"]);
    git.says(&["commit", "-q", "--allow-empty", "-m", "Theirs"]);
    home.remember(&["Before."]);
    assert_eq!(git.subjects(), ["Theirs"]);
    let said = home.run(&["sync", "--setup"]).done();
    assert!(said.contains("there is no remote"), "{said}");
    let id = home.remember(&["After."]);
    assert!(git.subjects()[0].contains(&id), "{:?}", git.subjects());
    assert_eq!(git.subjects().len(), 3);
    // A store of its own needs no consent.
    let own = Home::new();
    own.remember(&["One."]);
    let refused = own.run(&["sync", "--setup"]);
    assert!(
        refused.stderr.contains("name its address"),
        "{}",
        refused.stderr
    );
}

#[test]
fn a_repository_of_memories_alone_is_committed_to_and_a_project_is_not() {
    for (is_project, is_named) in [(false, true), (true, true), (false, false)] {
        let home = Home::new();
        let git = Git::of(&home);
        home.put(
            "20260114_091500_1f3a9c02.md",
            memory_text("1f3a9c02", "2026-01-14T09:15:00Z", "First.\n"),
        );
        home.write("store/README.md", "Memories of another program.\n");
        if is_project {
            home.write("store/code.py", "1\n");
        }
        git.says(&["init", "-q", "-b", "trunk"]);
        git.says(&["add", "."]);
        git.says(&["commit", "-q", "-m", "Theirs"]);
        git.says(&["remote", "add", "origin", "/nowhere"]);
        let mut command = home.bare();
        command.args(["remember", "second"]);
        match is_named {
            true => drop(run(command.env("MEMDIR_STORE", home.store()))),
            // Found above the working folder, it is not used at all.
            false => drop(run(command.current_dir(home.store()))),
        }
        let subjects = git.subjects();
        assert_eq!(
            subjects.len(),
            if is_named && !is_project { 2 } else { 1 },
            "{subjects:?}"
        );
        let log = home.run(&["log"]);
        if is_project {
            log.complains(2, &["repository of somebody else"]);
        }
        if is_named && !is_project {
            assert_eq!(
                git.says(&["rev-parse", "--abbrev-ref", "HEAD"]).trim(),
                "trunk"
            );
            git.assert_sound();
            // Nothing was sent: nobody agreed to the remote.
            let state = home.run(&["sync", "--status", "--json"]).json();
            assert_eq!(state["remote"], serde_json::Value::Null, "{state}");
        }
    }
}

#[test]
fn the_remote_of_another_programs_store_is_used_where_its_variable_says_so() {
    for (value, is_sent) in [("true", true), ("false", false), ("", false)] {
        let home = Home::new();
        let address = bare(&home, "memories.git");
        let git = Git::of(&home);
        home.put(
            "20260114_091500_1f3a9c02.md",
            memory_text("1f3a9c02", "2026-01-14T09:15:00Z", "First.\n"),
        );
        git.says(&["init", "-q", "-b", "trunk"]);
        git.says(&["add", "."]);
        git.says(&["commit", "-q", "-m", "Theirs"]);
        git.says(&["remote", "add", "origin", &address]);
        let remote = Git::at(&home, home.root().join("memories.git"));
        let path = home.root().join("memories.git");
        git.says(&["push", "-q", path.to_str().unwrap(), "trunk"]);

        let command = |arguments: &[&str]| {
            let mut command = home.bare();
            with_ssh(&home, &mut command);
            command.env("MEMDIR_STORE", home.store());
            command.env("AIAML_ENABLE_SYNC", value).args(arguments);
            command
        };
        let sent = || {
            remote
                .says(&["log", "--format=%s", "trunk"])
                .lines()
                .count()
        };
        let mut session = Session::open_on(command(&["mcp"]));
        let words = json!({"content": "Second.", "topics": [], "agent": "a", "user": "u"});
        session.tool("remember", words);
        match value {
            "true" => until("the server sends", || sent() == 2),
            "" => until("the server commits", || git.subjects().len() == 2),
            _ => (),
        }
        drop(session);
        let synced = run(&mut command(&["sync"]));
        let is_told = synced.text().contains("sync --setup");
        assert_eq!(is_told, value.is_empty(), "{}", synced.text());
        assert_eq!(sent(), if is_sent { 2 } else { 1 });
        assert_eq!(git.subjects().len(), if value == "false" { 1 } else { 2 });
    }
}

#[test]
fn a_repository_of_somebody_else_pushes_nowhere_else() {
    let machines = Machines::new(1);
    let home = &machines.homes[0];
    home.remember(&["Mine."]);
    let git = Git::of(home);
    Git::at(home, home.root()).says(&["init", "-q", "--bare", "-b", "main", "evil.git"]);
    let evil = home.root().join("evil.git");
    git.says(&["config", "remote.origin.pushurl", evil.to_str().unwrap()]);
    let remote = machines.remote();
    let setup = ["sync", "--setup", remote.to_str().unwrap(), "--allow-local"];
    home.run(&setup)
        .complains(2, &["evil.git", "pushurl", "--unset-all"]);
    home.run(&["sync"]).complains(2, &["evil.git", "pushurl"]);
    assert_eq!(Git::at(home, evil).tries(&["log", "main"]), None);
    git.says(&["config", "--unset-all", "remote.origin.pushurl"]);
    machines.sync(0);
}

#[test]
fn a_store_that_was_cloned_says_what_it_takes_to_sync() {
    let machines = Machines::new(1);
    machines.homes[0].remember(&["Mine."]);
    machines.sync(0);
    let home = Home::new();
    fs::remove_dir_all(home.store()).unwrap();
    let remote = machines.remote();
    let clone = ["clone", "-q", remote.to_str().unwrap(), "store"];
    Git::at(&home, home.root()).says(&clone);
    let ran = home.run(&["sync"]);
    let said = format!("{}{}", ran.text(), ran.stderr);
    assert!(said.contains("remote.git"), "{said}");
    assert!(said.contains("`memdir sync --setup`"), "{said}");
    home.run(&["sync", "--setup", "--allow-local"]).done();
    assert_eq!(texts(&home), texts(&machines.homes[0]));
}
