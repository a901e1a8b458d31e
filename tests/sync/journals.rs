//! Journals: they travel with the memories, make no commits of their own, and are united by lines.

use std::fs;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::git::Git;
use crate::support::machines::{Machines, text};
use crate::support::program::Home;
use crate::support::session::Session;
use crate::support::until;

const ONE: &str = "0123456789abcdef.jsonl";
const TWO: &str = "fedcba9876543210.jsonl";

fn path(home: &Home, name: &str) -> PathBuf {
    home.store().join("journal").join(name)
}

/// Notes a use as the program does: a line at the end.
fn note(home: &Home, name: &str, second: u32, id: &str) {
    append(home, name, &line(second, id));
}

fn append(home: &Home, name: &str, text: &str) {
    let path = path(home, name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

fn line(second: u32, id: &str) -> String {
    format!("{{\"t\":\"2026-01-01T00:00:{second:02}.000000Z\",\"id\":\"{id}\"}}\n")
}

/// The ids that the journal names, in its order.
fn ids(home: &Home, name: &str) -> Vec<String> {
    let text = fs::read_to_string(path(home, name)).unwrap_or_default();
    let id = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap_or_default();
        value["id"].as_str().unwrap_or(line).to_owned()
    };
    text.lines().map(id).collect()
}

/// Of the journals that these tests make, those that are committed; memdir makes others.
fn listed(git: &Git<'_>) -> String {
    let all = git.says(&["ls-tree", "-r", "--name-only", "HEAD", "journal"]);
    let ours = |line: &&str| [ONE, TWO].iter().any(|name| line.ends_with(name));
    all.lines()
        .filter(ours)
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn journals_of_two_machines_travel_both_ways() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["Used."]);
    note(one, ONE, 1, "a");
    note(two, TWO, 2, "b");
    machines.settle();
    note(one, ONE, 3, "c");
    note(two, TWO, 4, "d");
    note(two, "fedcba9876543210-2025-12.jsonl", 0, "z");
    machines.settle();
    for home in [one, two] {
        assert_eq!(ids(home, ONE), ["a", "c"]);
        assert_eq!(ids(home, TWO), ["b", "d"]);
        assert_eq!(ids(home, "fedcba9876543210-2025-12.jsonl"), ["z"]);
    }
    // Who joins later has them, too.
    let late = Home::new();
    machines.join(&late);
    assert_eq!(ids(&late, TWO), ["b", "d"]);
    Git::of(&late).assert_sound();
}

#[test]
fn uses_alone_make_no_commit_and_go_with_a_change() {
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&["Used."]);
    note(&home, ONE, 1, "a");
    home.run(&["recall", &id]).done();
    home.run(&["think", "used"]).done();
    assert_eq!(git.subjects().len(), 1);
    home.run(&["update", &id, "--title", "T"]).done();
    assert_eq!(git.subjects().len(), 2);
    let message = git.says(&["log", "-1", "--format=%B"]);
    assert!(
        message.starts_with("Change memory ") && !message.contains("ournal"),
        "{message}"
    );
    assert!(!message.contains("by hand"), "{message}");
    assert_eq!(listed(&git), format!("journal/{ONE}\n"));
    // Who asks for it has them committed.
    note(&home, ONE, 2, "b");
    home.run(&["sync"]).done();
    assert_eq!(git.subjects()[0], "Add uses of memories");
    home.run(&["sync"]).done();
    assert_eq!(git.subjects().len(), 3);
    git.assert_sound();
    // That is nothing that happened to a memory.
    let log = home.run(&["log", "--json"]).text();
    assert!(!log.contains("uses of memories"), "{log}");
    home.run(&["undo"]).done();
    assert!(!home.text_of(&id).contains("title: T"));
    assert_eq!(ids(&home, ONE), ["a", "b"]);
    assert!(git.subjects()[0].starts_with("Undo Change memory"));
    git.assert_sound();
}

#[test]
fn a_server_commits_uses_with_the_next_change() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["First."]);
    let mut session = Session::on(&home);
    for second in 0..20 {
        note(&home, ONE, second, "a");
        session.tool("think", json!({"query": "first"}));
    }
    let arguments =
        json!({"agent": "claude", "user": "mira", "topics": ["a"], "content": "Second."});
    session.tool("remember", arguments);
    until("it is committed", || git.subjects().len() > 1);
    assert_eq!(git.subjects().len(), 2, "{:?}", git.subjects());
    assert!(git.subjects()[0].starts_with("Add memory "));
    let committed = git.says(&["show", &format!("HEAD:journal/{ONE}")]);
    assert_eq!(committed.lines().count(), 20);
}

#[test]
fn what_copies_of_a_store_wrote_into_one_journal_is_united() {
    let machines = Machines::new(3);
    let [one, two, three] = &machines.homes[..] else {
        unreachable!()
    };
    note(one, ONE, 1, "a");
    machines.settle();
    note(one, ONE, 2, "b");
    note(one, ONE, 5, "e");
    note(two, ONE, 3, "c");
    append(two, ONE, "{\"torn");
    note(three, ONE, 4, "d");
    note(three, ONE, 2, "b");
    for at in [0, 1, 2] {
        assert_eq!(machines.sync(at)["conflicts"], json!([]));
    }
    machines.settle();
    let united = fs::read_to_string(path(one, ONE)).unwrap();
    for home in &machines.homes {
        assert_eq!(fs::read_to_string(path(home, ONE)).unwrap(), united);
        Git::of(home).assert_sound();
    }
    let mut all = ids(one, ONE);
    assert_eq!(all[0], "a");
    all.sort_unstable();
    assert_eq!(all, ["a", "b", "c", "d", "e", "{\"torn"]);
}

#[test]
fn what_one_side_compacted_is_gone_and_what_the_other_added_stays() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    for (second, id) in [(1, "a"), (2, "b"), (3, "c")] {
        note(one, ONE, second, id);
        note(one, TWO, second, id);
    }
    machines.settle();
    fs::write(path(one, ONE), line(3, "c")).unwrap();
    fs::remove_file(path(one, TWO)).unwrap();
    machines.settle();
    assert_eq!(ids(two, ONE), ["c"]);
    assert!(!path(two, TWO).exists());
    fs::remove_file(path(one, ONE)).unwrap();
    note(two, ONE, 4, "d");
    machines.settle();
    for home in [one, two] {
        assert_eq!(ids(home, ONE), ["d"]);
    }
}

/// The journal that the program itself writes on a machine that has no other.
fn own_journal(home: &Home) -> PathBuf {
    let [name] = &crate::support::program::names(&home.store().join("journal"))[..] else {
        panic!("more than one journal");
    };
    path(home, name)
}

fn uses_of(home: &Home, id: &str) -> Value {
    home.run(&["inspect", id, "--json"]).json()["uses"].clone()
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    entries
        .map(|entry| match entry.file_type().unwrap().is_dir() {
            true => bytes_below(&entry.path()),
            false => entry.metadata().unwrap().len(),
        })
        .sum()
}

/// As many uses as memdir 0.1 wrote into one journal.
fn uses(id: &str, days: u32) -> String {
    let line = |number: u32| {
        let (day, hour) = (number % days + 1, number / 1200 % 24);
        let (minute, second) = (number / 60 % 60, number % 60);
        let moment = format!("2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}.000000Z");
        format!("{{\"t\":\"{moment}\",\"used\":[\"{id}\"]}}\n")
    };
    (0..12_000).map(line).collect()
}

#[test]
fn a_long_journal_is_left_and_its_uses_are_summed_up_for_every_machine() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&["Used."]);
    let stem = one.file_of(&id).file_stem().unwrap().to_owned();
    let old = own_journal(one);
    let lines = uses(stem.to_str().unwrap(), 20);
    append(one, old.file_name().unwrap().to_str().unwrap(), &lines);
    machines.settle();
    let counted = uses_of(one, &id);
    assert_eq!(counted["count"], 12_000);
    assert_eq!(uses_of(two, &id), counted);
    let before = bytes_below(&one.store().join(".git"));
    for number in 0..10 {
        one.remember(&[&format!("Number {number}.")]);
    }
    let added = bytes_below(&one.store().join(".git")) - before;
    assert!(added < 100_000, "{added} bytes for ten memories");
    let text = fs::read_to_string(&old).unwrap();
    assert!(text.len() < 1000 && text.contains("remember"), "{text}");
    assert_eq!(uses_of(one, &id), counted);
    // Whose commits come half, whole, or from a machine that used it meanwhile.
    two.run(&["recall", &id]).done();
    machines.settle();
    let counted = uses_of(one, &id);
    assert_eq!(counted["count"], 12_001);
    assert_eq!(uses_of(two, &id), counted);
    for home in [one, two] {
        let size = bytes_below(&home.store().join("journal"));
        assert!(size < 10_000, "{size} bytes of journals");
    }
    // What it replaced comes back from an earlier commit, and counts no second time.
    let name = old.file_name().unwrap().to_str().unwrap();
    append(two, name, &lines);
    assert_eq!(uses_of(two, &id), counted);
    machines.settle();
    assert_eq!(uses_of(one, &id), counted);
}

#[test]
fn a_long_journal_is_not_committed_whole_with_every_memory() {
    let home = Home::new();
    home.remember(&["First."]);
    let old = own_journal(&home);
    let name = old.file_name().unwrap().to_str().unwrap().to_owned();
    let lines = uses("20260101_000000_aaaaaaaa", 20);
    append(&home, &name, &lines[..lines.len() / 5]);
    home.run(&["sync"]).done();
    let git = Git::of(&home);
    let committed = || git.says(&["rev-parse", &format!("HEAD:journal/{name}")]);
    let before = committed();
    for number in 0..5 {
        home.remember(&[&format!("Number {number}.")]);
    }
    assert_eq!(committed(), before);
    assert_eq!(git.subjects().len(), 7);
    // Whoever asks has it whole.
    home.run(&["sync"]).done();
    assert_ne!(committed(), before);
}

#[test]
fn a_journal_that_holds_a_credential_stays_here_until_it_is_taken_out() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    note(one, ONE, 1, "a");
    machines.settle();
    let token = format!("{}{}", "gh", "p_R7mQ2vX9kLw4TzB8nYc1JfHd6sPa3GuE5oKi");
    note(one, ONE, 2, &token);
    one.put("20260101_000000_aaaaaaaa.md", text("aaaaaaaa", "Fine."));
    let said = machines.sync(0);
    let held = &said["held_back"];
    assert_eq!(held[0]["file"], format!("journal/{ONE}"), "{said}");
    assert_eq!(held[0]["line"], 2, "{said}");
    let told = one.run(&["sync"]).stderr;
    assert!(told.contains("take it out of the file"), "{told}");
    // What another copy adds comes all the same, and what is held back stays.
    note(two, ONE, 3, "b");
    machines.sync(1);
    machines.sync(0);
    assert_eq!(ids(two, ONE), ["a", "b"]);
    assert_eq!(ids(one, ONE), ["a", &token, "b"]);
    let sent = machines.shared().says(&["log", "-p", "--all"]);
    assert!(sent.contains("Fine.") && !sent.contains(&token));
    let text = fs::read_to_string(path(one, ONE)).unwrap();
    fs::write(path(one, ONE), text.replace(&token, "c")).unwrap();
    machines.settle();
    assert_eq!(ids(two, ONE), ["a", "c", "b"]);
    // What somebody committed with git is looked at before it is sent.
    note(one, ONE, 4, &token);
    let git = Git::of(one);
    git.says(&["commit", "-q", "-a", "-m", "Mine"]);
    note(one, ONE, 5, "d");
    let said = machines.pauses(0);
    assert!(said.contains("on line 4 of commit"), "{said}");
    assert!(
        said.ends_with("take it out of the history with git"),
        "{said}"
    );
    let sent = machines.shared().says(&["log", "-p", "--all"]);
    assert!(!sent.contains(&token));
}

#[test]
fn a_journal_of_whatever_bytes_does_no_harm() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&["Mine."]);
    note(one, ONE, 1, "a");
    machines.settle();
    let long = "x".repeat(5 << 20);
    append(one, ONE, &long);
    note(two, ONE, 2, "b");
    fs::write(path(one, TWO), b"\xff\0\n\xfe").unwrap();
    fs::write(
        path(two, TWO),
        [&b"\0"[..], "[".repeat(200_000).as_bytes()].concat(),
    )
    .unwrap();
    fs::create_dir(path(two, "folder.jsonl")).unwrap();
    fs::write(path(two, "notes.txt"), "mine").unwrap();
    let machines_agree = || fs::read(path(one, TWO)).unwrap() == fs::read(path(two, TWO)).unwrap();
    for _ in 0..2 {
        machines.sync(0);
        machines.sync(1);
    }
    assert!(machines_agree());
    assert_eq!(ids(one, ONE), ["a", &long, "b"]);
    assert_eq!(listed(&Git::of(one)).lines().count(), 2);
    assert!(!path(one, "notes.txt").exists());
    assert_eq!(two.text_of(&id), one.text_of(&id));
    assert_eq!(two.run(&["verify"]).code, 0);
}

#[cfg(unix)]
#[test]
fn a_link_among_the_journals_is_never_followed() {
    use std::os::unix::fs::symlink;
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["Mine."]);
    note(one, ONE, 1, "a");
    machines.settle();
    let secret = one.write("secret.jsonl", "private\n");
    symlink(&secret, path(one, TWO)).unwrap();
    fs::remove_file(path(one, ONE)).unwrap();
    symlink(&secret, path(one, ONE)).unwrap();
    machines.sync(0);
    // What was committed stays, and what comes from elsewhere is written nowhere else.
    assert_eq!(listed(&Git::of(one)), format!("journal/{ONE}\n"));
    note(two, ONE, 2, "b");
    machines.sync(1);
    assert!(machines.pauses(0).contains("stands in the way"));
    assert_eq!(fs::read_to_string(&secret).unwrap(), "private\n");
    // Nor does a folder that is one lead elsewhere.
    fs::remove_dir_all(one.store().join("journal")).unwrap();
    let elsewhere = one.make("elsewhere");
    symlink(&elsewhere, one.store().join("journal")).unwrap();
    assert!(machines.pauses(0).contains("stands in the way"));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    fs::remove_file(one.store().join("journal")).unwrap();
    fs::create_dir(one.store().join("journal")).unwrap();
    fs::write(path(one, ONE), line(1, "a")).unwrap();
    machines.settle();
    assert_eq!(ids(one, ONE), ["a", "b"]);
    // One that another machine sends is not taken.
    let copy = machines.copy();
    let folder = machines.remote().with_file_name("copy").join("journal");
    symlink("/etc/hosts", folder.join(TWO)).unwrap();
    copy.says(&["add", "-f", "."]);
    copy.says(&["commit", "-q", "-m", "Evil"]);
    copy.says(&["push", "-q"]);
    let left_out = machines.sync(0)["left_out"].to_string();
    assert!(left_out.contains("is a symbolic link"), "{left_out}");
    assert!(!path(one, TWO).exists());
}
