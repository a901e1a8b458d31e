//! Changes of memories become commits.

use std::fs;
use std::time::Duration;

use serde_json::json;

use super::one_memory::{NAME, text};
use crate::support::git::Git;
use crate::support::program::{Home, run};
use crate::support::session::Session;
use crate::support::{make_executable, memory_text, until};

#[test]
fn every_change_is_a_commit_that_says_what_it_is() {
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&[
        "--topics", "a", "--agent", "claude", "--user", "mira", "One.",
    ]);
    let file = home.file_of(&id);
    let name = file.file_name().unwrap().to_str().unwrap();
    let message = git.says(&["log", "-1", "--format=%B"]);
    assert_eq!(
        message.trim_end(),
        format!("Add memory {id} ({name})\n\nAgent: claude\nUser: mira\nTool: remember")
    );
    home.run(&["update", &id, "--title", "T"]).done();
    home.run(&["forget", &id]).done();
    home.run(&["restore", &id]).done();
    let subjects =
        ["Restore", "Forget", "Change", "Add"].map(|word| format!("{word} memory {id} ({name})"));
    assert_eq!(git.subjects(), subjects);
    let tool = |at: &str| git.says(&["log", "-1", "--format=%(trailers:key=Tool,valueonly)", at]);
    assert_eq!(tool("HEAD").trim(), "restore");
    assert_eq!(tool("HEAD~2").trim(), "update");
    // A move is no deletion.
    assert!(
        git.says(&["log", "--diff-filter=D", "-M", "--format=%s"])
            .is_empty()
    );
    git.assert_sound();
}

#[test]
fn a_new_store_has_a_history_unless_it_is_to_have_none() {
    let home = Home::new();
    run(home.bare().args(["init", "with"])).done();
    run(home.bare().args(["init", "--no-git", "without"])).done();
    for store in ["with", "without"] {
        run(home.bare().args(["--store", store, "remember", "x"])).done();
    }
    assert!(!home.root().join("without/.git").exists());
    let git = Git::at(&home, home.root().join("with"));
    assert_eq!(git.subjects().len(), 2);
    assert_eq!(git.subjects()[1], "Add memdir.toml");
    assert_eq!(git.says(&["branch", "--show-current"]).trim(), "main");
    git.assert_sound();
}

#[test]
fn a_commit_is_by_whom_git_knows_or_by_the_user() {
    let home = Home::new();
    let author = || Git::of(&home).says(&["log", "-1", "--format=%an <%ae>"]);
    run(home
        .command(&["remember", "one"])
        .env("MEMDIR_USER", "mira b"))
    .done();
    let by_user = author();
    assert!(by_user.starts_with("mira b <mira.b@"), "{by_user}");
    home.write(
        ".gitconfig",
        "[user]\n\tname = Mira\n\temail = mira@example.org\n",
    );
    home.remember(&["two"]);
    assert_eq!(author().trim(), "Mira <mira@example.org>");
}

#[test]
fn what_the_user_has_staged_or_keeps_beside_is_left_alone() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["one"]);
    home.write("store/notes.txt", "mine");
    home.write("store/staged.txt", "staged");
    home.write("store/files/picture.png", "no memory");
    git.says(&["add", "staged.txt"]);
    let hook = home.write("store/.git/hooks/pre-commit", "#!/bin/sh\ntouch ran\n");
    make_executable(&hook);
    let before = git.says(&["diff", "--cached", "--name-status"]);
    assert_eq!(before, "A\tstaged.txt\n");
    let id = home.remember(&["two"]);
    home.run(&["forget", &id]).done();
    assert_eq!(git.says(&["diff", "--cached", "--name-status"]), before);
    let status = git.says(&["status", "--porcelain"]);
    assert_eq!(
        status,
        "A  staged.txt\n?? files/picture.png\n?? notes.txt\n"
    );
    assert!(!hook.with_file_name("ran").exists() && !home.store().join("ran").exists());
}

#[test]
fn a_repository_of_somebody_else_gets_no_commit() {
    let home = Home::new();
    let git = Git::at(&home, home.root());
    git.says(&["init", "-q", "-b", "trunk"]);
    git.says(&["commit", "-q", "--allow-empty", "-m", "Theirs"]);
    home.remember(&["one"]);
    assert_eq!(git.subjects(), ["Theirs"]);
    assert!(!home.store().join(".git").exists());
    assert_eq!(git.says(&["diff", "--cached", "--name-only"]), "");
    // Where they ignore it, it is none of theirs.
    home.write(".gitignore", "*\n");
    home.remember(&["two"]);
    assert_eq!(Git::of(&home).subjects().len(), 1);
    assert_eq!(git.subjects(), ["Theirs"]);
}

/// Brings the repository into some state, and out of it.
type There = fn(&Git<'_>);

#[test]
fn nothing_is_committed_while_somebody_else_is_in_the_middle_of_something() {
    let states: [(&str, There, There); 5] = [
        (
            "detached",
            |git| drop(git.says(&["checkout", "-q", "--detach"])),
            |git| drop(git.says(&["checkout", "-q", "main"])),
        ),
        (
            "other branch",
            |git| drop(git.says(&["checkout", "-q", "-b", "other"])),
            |git| drop(git.says(&["checkout", "-q", "main"])),
        ),
        (
            "rebase",
            |git| {
                let stop = ["-c", "sequence.editor=sed -i s/^pick/edit/"];
                git.says(&[&stop[..], &["rebase", "-q", "-i", "HEAD~1"]].concat());
            },
            |git| drop(git.says(&["rebase", "--abort"])),
        ),
        (
            "merge",
            |git| {
                git.says(&["checkout", "-q", "-b", "side", "HEAD~1"]);
                git.says(&["commit", "-q", "--allow-empty", "-m", "Side"]);
                git.says(&["checkout", "-q", "main"]);
                git.says(&["merge", "-q", "--no-commit", "--no-ff", "side"]);
            },
            |git| drop(git.says(&["merge", "--abort"])),
        ),
        (
            "bisect",
            |git| drop(git.says(&["bisect", "start"])),
            |git| drop(git.says(&["bisect", "reset"])),
        ),
    ];
    for (name, enter, leave) in states {
        let home = Home::new();
        let git = Git::of(&home);
        home.remember(&["one"]);
        home.remember(&["two"]);
        enter(&git);
        let before = (
            git.says(&["rev-parse", "HEAD"]),
            git.says(&["ls-files", "-s"]),
        );
        let id = home.remember(&["three"]);
        assert!(home.text_of(&id).contains("three"), "{name}");
        let after = (
            git.says(&["rev-parse", "HEAD"]),
            git.says(&["ls-files", "-s"]),
        );
        assert_eq!(after, before, "{name}");
        leave(&git);
        home.run(&["sync"]).done();
        assert!(
            git.subjects()[0].starts_with(&format!("Add memory {id}")),
            "{name}"
        );
        git.assert_sound();
    }
}

#[test]
fn locks_of_git_are_waited_for_while_they_are_young() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["one"]);
    let lock = home.write("store/.git/index.lock", "");
    let id = home.remember(&["two"]);
    assert_eq!(git.subjects().len(), 1, "{id}");
    let old = std::time::SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(&lock).unwrap().set_modified(old).unwrap();
    home.remember(&["three"]);
    home.run(&["sync"]).done();
    assert_eq!(git.subjects().len(), 3);
    // Whoever wants to know finds it.
    assert!(
        lock.with_file_name("memdir-stale")
            .join("index.lock")
            .exists()
            && !lock.exists()
    );
    git.assert_sound();
}

#[test]
fn a_server_commits_in_the_background_what_anybody_changed() {
    let home = Home::new();
    let git = Git::of(&home);
    home.put(
        "20260101_000000_bbbbbbbb.md",
        memory_text("bbbbbbbb", "2026-01-01T00:00:00Z", "before"),
    );
    let mut session = Session::on(&home);
    until("what was there is committed", || {
        git.run(&["log"]).code == 0
    });
    let arguments = json!({"agent": "claude", "user": "mira", "topics": ["a"], "content": "One."});
    let reply = session.tool("remember", arguments);
    let id = reply["structuredContent"]["memory_id"]
        .as_str()
        .unwrap()
        .to_owned();
    until("it is committed", || {
        git.subjects()[0].starts_with(&format!("Add memory {id}"))
    });
    let tool = git.says(&["log", "-1", "--format=%(trailers:key=Tool,valueonly)"]);
    assert!(tool.starts_with("remember ("), "{tool}");
    home.put(NAME, text("By hand."));
    until("a file made by hand is committed", || {
        git.subjects()[0] == format!("Add memory aaaaaaaa ({NAME})")
    });
    let tool = git.says(&["log", "-1", "--format=%(trailers:key=Tool,valueonly)"]);
    assert_eq!(tool.trim(), "by hand");
    fs::remove_file(home.files().join(NAME)).unwrap();
    until("its end is committed", || {
        git.subjects()[0] == format!("Delete memory aaaaaaaa ({NAME})")
    });
    for number in 0..20 {
        let arguments = json!({"agent": "claude", "user": "mira", "topics": ["a"], "content": format!("{number}")});
        session.tool("remember", arguments);
    }
    until("all are committed", || {
        git.says(&["ls-files", "files"]).lines().count() == 22
            || git
                .says(&["ls-tree", "-r", "HEAD", "files"])
                .lines()
                .count()
                == 22
    });
    assert!(git.subjects().len() < 20, "{:?}", git.subjects());
    // While the server runs, it commits what commands do.
    let other = home.remember(&["By a command."]);
    until("it is committed", || {
        git.subjects()[0].starts_with(&format!("Add memory {other}"))
    });
    let tool = git.says(&["log", "-1", "--format=%(trailers:key=Tool,valueonly)"]);
    assert_eq!(tool.trim(), "remember");
}

/// Puts `count` memories beside what is there, as a copying program would.
fn put_many(home: &Home, start: usize, count: usize) {
    for number in start..start + count {
        let id = format!("{number:07x}a");
        let content = format!("Memory {number}.");
        let text = memory_text(&id, "2026-01-01T00:00:00Z", &content);
        fs::write(home.files().join(format!("20260101_000000_{id}.md")), text).unwrap();
    }
}

#[test]
fn a_burst_is_one_commit_and_one_pack() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["first"]);
    put_many(&home, 0, 300);
    home.run(&["sync"]).done();
    assert_eq!(git.subjects()[0], "Add 300 memories");
    let counted = git.says(&["count-objects", "-v"]);
    assert!(counted.contains("packs: 1"), "{counted}");
    assert_eq!(
        git.says(&["ls-tree", "-r", "HEAD", "files"])
            .lines()
            .count(),
        301
    );
    git.assert_sound();
}

#[test]
fn many_packs_become_one() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["first"]);
    let packs = || {
        let counted = git.says(&["count-objects", "-v"]);
        let line = counted
            .lines()
            .find_map(|line| line.strip_prefix("packs: "));
        line.unwrap().parse::<usize>().unwrap()
    };
    let mut most = 0;
    for burst in 0..16 {
        put_many(&home, 100 * burst, 70);
        home.run(&["sync"]).done();
        most = most.max(packs());
    }
    assert_eq!((most, packs()), (15, 1));
    assert_eq!(
        git.says(&["ls-tree", "-r", "HEAD", "files"])
            .lines()
            .count(),
        16 * 70 + 1
    );
    assert_eq!(git.subjects().len(), 17);
    git.assert_sound();
    // One that is to stay stays.
    let pack = fs::read_dir(home.root().join("store/.git/objects/pack")).unwrap();
    let pack = pack
        .map(|file| file.unwrap().path())
        .find(|path| path.extension().unwrap() == "pack");
    fs::write(pack.unwrap().with_extension("keep"), "").unwrap();
    for burst in 16..32 {
        put_many(&home, 100 * burst, 70);
        home.run(&["sync"]).done();
    }
    assert_eq!(packs(), 2);
    git.assert_sound();
}
