//! Where a store goes: what names its remote, and what does not.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::Git;
use crate::program::Home;
use crate::program::Ran;
use crate::program::run;

/// Has ssh run here what it should run on another machine.
fn with_ssh(home: &Home, command: &mut Command) {
    let path = home.root().join("ssh");
    fs::write(
        &path,
        "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\nexec sh -c \"$1\"\n",
    )
    .unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
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
