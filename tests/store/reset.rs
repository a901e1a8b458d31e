//! Taking all memories away into a backup, and bringing a backup back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::git::Git;
use crate::support::machines::{Machines, texts};
use crate::support::program::{Home, names, run};
use crate::support::{memory_text, regular_files};

/// What lies below some parts of a folder, byte for byte.
fn bytes(root: &Path, parts: &[&str]) -> BTreeMap<PathBuf, Vec<u8>> {
    let folders = parts.iter().map(|part| root.join(part));
    let files = folders
        .filter(|folder| folder.is_dir())
        .flat_map(|folder| regular_files(&folder));
    let read = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap().to_owned();
        (name, fs::read(path).unwrap())
    };
    files.map(read).collect()
}

const MEMORIES: [&str; 2] = ["files", "archive"];

/// A store with memories of all kinds.
fn home() -> Home {
    let home = Home::new();
    home.remember(&["a heron"]);
    let forgotten = home.remember(&["a stork"]);
    home.run(&["forget", &forgotten]).done();
    home.write(
        "store/files/2026-01/20260101_000000_aaaaaaaa.md",
        "no frontmatter\r\n",
    );
    home.write("store/files/notes.md", b"\xff\xfe not UTF-8");
    home.write("store/memdir.toml", "limit = 7\n");
    home.run(&["sync"]).done();
    home
}

fn backup(home: &Home) -> String {
    names(&home.store().join("backup")).remove(0)
}

#[test]
fn all_memories_go_into_a_backup_and_come_back_byte_for_byte() {
    let home = home();
    let before = bytes(&home.store(), &MEMORIES);
    assert_eq!(before.len(), 4);
    let journal = bytes(&home.store(), &["journal"]);
    let said = home.run(&["reset", "--yes", "--json"]).json();
    assert_eq!(
        (&said["live"], &said["forgotten"]),
        (&3.into(), &1.into()),
        "{said}"
    );
    assert!(bytes(&home.store(), &MEMORIES).is_empty());
    let folder = home.store().join("backup").join(backup(&home));
    assert_eq!(said["backup"], folder.to_str().unwrap());
    assert_eq!(bytes(&folder, &MEMORIES), before);
    assert_eq!(bytes(&folder, &["journal"]), journal);
    assert_eq!(
        fs::read_to_string(folder.join("memdir.toml")).unwrap(),
        "limit = 7\n"
    );
    // Nobody takes the backup for memories, and git not for anything.
    assert_eq!(home.run(&["think", "--keywords", "heron"]).code, 1);
    assert_eq!(home.run(&["grep", "heron"]).code, 1);
    assert_eq!(home.run(&["verify"]).code, 0);
    let git = Git::of(&home);
    git.assert_sound();
    assert_eq!(git.says(&["ls-files", "backup"]), "");
    assert_eq!(git.subjects()[0], "Reset the store: take 4 memories away");
    assert!(home.store().join("memdir.toml").exists());

    let said = home
        .run(&["reset", "--from", &backup(&home), "--json"])
        .json();
    assert_eq!(said["left"].as_array().unwrap().len(), 0, "{said}");
    assert_eq!(bytes(&home.store(), &MEMORIES), before);
    assert_eq!(home.run(&["think", "--keywords", "heron"]).code, 0);
    assert_eq!(git.subjects()[0], "Bring 4 memories back");
    git.assert_sound();
    let again = home.run(&["reset", "--from", folder.to_str().unwrap()]);
    assert_eq!(again.code, 1, "{again:?}");
    assert!(
        again.text().contains("brought back 0 files; 6"),
        "{again:?}"
    );
}

#[test]
fn undo_brings_them_back_as_well() {
    let home = home();
    let before = bytes(&home.store(), &MEMORIES);
    home.run(&["reset", "--yes"]);
    home.run(&["undo"]).done();
    assert_eq!(bytes(&home.store(), &MEMORIES), before);
}

#[test]
fn a_dry_run_and_a_question_that_nobody_answers_change_nothing() {
    let home = home();
    let before = bytes(&home.store(), &[""]);
    let said = home.run(&["reset", "--dry-run"]).done();
    assert_eq!(said, "would take away 3 live and 1 forgotten memories\n");
    home.run(&["reset"])
        .complains(2, &["nobody can be asked here", "--yes", "--dry-run"]);
    home.run(&["--read-only", "reset", "--yes"])
        .complains(2, &["can only be read"]);
    home.run(&["reset", "--from", "20200101T000000Z"])
        .complains(2, &["is no backup: this store has none"]);
    home.run(&["reset", "--from", home.store().to_str().unwrap()])
        .complains(2, &["is no backup"]);
    let derived = |path: &PathBuf| path.starts_with(".memdir") || path.starts_with(".git");
    let mut after = bytes(&home.store(), &[""]);
    after.retain(|path, _| !derived(path));
    assert!(before.iter().filter(|(path, _)| !derived(path)).eq(&after));
    let empty = Home::new();
    assert_eq!(empty.run(&["reset", "--yes"]).code, 1);
    assert!(!empty.store().join("backup").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn only_the_number_or_the_stores_name_is_a_yes() {
    let typed = |home: &Home, answer: &str| {
        let mut command = std::process::Command::new("script");
        home.surround(&mut command);
        let program = env!("CARGO_BIN_EXE_memdir");
        let line = format!("'{program}' reset");
        command
            .args(["-qec", &line, "/dev/null"])
            .env("MEMDIR_STORE", home.store());
        crate::support::program::run_with(&mut command, format!("{answer}\n").as_bytes())
    };
    if !crate::support::has_terminal() {
        return;
    }
    let home = home();
    let ran = typed(&home, "y");
    assert!(ran.text().contains("nothing was done"), "{ran:?}");
    assert_eq!(bytes(&home.store(), &MEMORIES).len(), 4);
    let ran = typed(&home, "4");
    assert!(ran.text().contains("took away 3 live and 1"), "{ran:?}");
    home.run(&["reset", "--from", &backup(&home)]).done();
    let ran = typed(&home, "store");
    assert!(ran.text().contains("took away"), "{ran:?}");
}

#[test]
fn what_is_in_the_way_is_kept_and_what_was_purged_stays_away() {
    let home = Home::new();
    let name = |id: &str| format!("20260101_000000_{id}.md");
    let text = |id: &str, content: &str| memory_text(id, "2026-01-01T00:00:00Z", content);
    for id in ["aaaaaaaa", "bbbbbbbb", "cccccccc"] {
        home.put(&name(id), text(id, "old"));
    }
    let purged = text("bbbbbbbb", "old");
    home.run(&["reset", "--yes"]).done();
    home.put(&name("aaaaaaaa"), text("aaaaaaaa", "new"));
    home.put(&name("bbbbbbbb"), purged);
    home.run(&["purge", "bbbbbbbb", "--yes"]).done();
    let ran = home.run(&["reset", "--from", &backup(&home), "--json"]);
    let said = ran.json();
    assert_eq!(ran.code, 2, "{said}");
    assert_eq!(said["brought"][0], format!("files/{}", name("cccccccc")));
    let reasons: Vec<&str> = said["left"]
        .as_array()
        .unwrap()
        .iter()
        .map(|left| left["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons.len(), 2, "{said}");
    assert!(
        reasons[0].contains("another text") && reasons[1].contains("purged"),
        "{said}"
    );
    assert!(home.text_of("aaaaaaaa").contains("new"));
    assert_eq!(names(&home.files()), [name("aaaaaaaa"), name("cccccccc")]);
    // Forgotten meanwhile, or moved, it is there: it does not come twice.
    home.run(&["forget", "cccccccc"]).done();
    home.run(&["reset", "--from", &backup(&home)]);
    assert_eq!(names(&home.files()), [name("aaaaaaaa")]);
}

#[test]
fn several_files_of_one_memory_all_come_back() {
    let home = Home::new();
    let name = "20260101_000000_aaaaaaaa.md";
    for (folder, content) in [
        ("files", "live"),
        ("files/2026-01", "in a folder"),
        ("archive", "forgotten"),
        ("archive/2026-01", "live"),
    ] {
        let text = memory_text("aaaaaaaa", "2026-01-01T00:00:00Z", content);
        home.write(&format!("store/{folder}/{name}"), text);
    }
    let before = bytes(&home.store(), &MEMORIES);
    home.run(&["reset", "--yes"]).done();
    home.run(&["reset", "--from", &backup(&home)]).done();
    assert_eq!(bytes(&home.store(), &MEMORIES), before);
    // And again, where some of them are there.
    fs::remove_file(home.store().join("archive").join(name)).unwrap();
    home.run(&["reset", "--from", &backup(&home)]).done();
    assert_eq!(bytes(&home.store(), &MEMORIES), before);
}

#[cfg(unix)]
#[test]
fn what_cannot_be_removed_stays_and_the_backup_is_named() {
    let home = home();
    let before = bytes(&home.store(), &MEMORIES);
    // No change of a file gets its lock.
    let held = |shard: u8| {
        let lock = home.store().join(format!(".memdir/locks/{shard:02x}.lock"));
        let file = fs::File::create(lock).unwrap();
        file.lock().unwrap();
        file
    };
    let _held: Vec<fs::File> = (0..64).map(held).collect();
    let ran = home.run(&["reset", "--yes"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let folder = home.store().join("backup").join(backup(&home));
    let said = format!("{}{}", ran.text(), ran.stderr);
    assert!(said.contains(folder.to_str().unwrap()), "{said}");
    assert_eq!(said.matches(" stays: ").count(), 4, "{said}");
    assert_eq!(bytes(&home.store(), &MEMORIES), before);
    assert_eq!(bytes(&folder, &MEMORIES), before);
}

#[test]
fn a_purge_says_which_backup_holds_the_memory_still() {
    let home = Home::new();
    let id = home.remember(&["a heron"]);
    home.run(&["reset", "--yes"]).done();
    home.run(&["reset", "--from", &backup(&home)]).done();
    let other = home.remember(&["a stork"]);
    let said = home.run(&["purge", &other, "--yes"]).done();
    assert!(!said.contains("The backup"), "{said}");
    let told = home.run(&["purge", &id, "--yes", "--json"]).json();
    let folder = home.store().join("backup").join(backup(&home));
    assert_eq!(told["backups"][0], folder.to_str().unwrap(), "{told}");
    let path = format!("files/{}", names(&folder.join("files"))[0]);
    fs::remove_dir_all(home.store().join("tombstones")).unwrap();
    fs::copy(folder.join(&path), home.store().join(&path)).unwrap();
    for more in [None, Some("--history")] {
        let all = ["purge", &id, "--yes"].into_iter().chain(more);
        let said = home.run(&all.collect::<Vec<_>>()).done();
        assert!(
            said.contains(&format!("{} holds it still", backup(&home))),
            "{said}"
        );
    }
}

#[test]
fn the_remote_is_told_only_when_somebody_says_so() {
    let machines = Machines::new(2);
    let [one, other] = [&machines.homes[0], &machines.homes[1]];
    let id = one.remember(&["a heron"]);
    let all = machines.settle();
    // One memory alone is less than what stops a sync otherwise.
    let said = one.run(&["reset", "--yes"]).done();
    assert!(said.contains("--accept-deletions"), "{said}");
    let reason = machines.pauses(0);
    assert!(
        reason.contains("the store was reset") && reason.contains("reset --from"),
        "{reason}"
    );
    machines.sync(1);
    assert!(other.text_of(&id).contains("heron"));
    // Back again, there is nothing to send.
    one.run(&["reset", "--from", &backup(one)]).done();
    assert_eq!(machines.settle(), all);
    // What others change meanwhile is not lost.
    one.run(&["reset", "--yes"]).done();
    machines.pauses(0);
    let added = other.remember(&["a stork"]);
    machines.sync(1);
    machines.pauses(0);
    assert!(one.text_of(&added).contains("stork"));
    one.run(&["sync", "--accept-deletions"]).done();
    machines.settle();
    assert_eq!(texts(other).len(), 1);
    // It was about that reset only.
    one.run(&["forget", &added]).done();
    machines.settle();
}

#[test]
fn a_backup_folder_that_leads_elsewhere_is_not_written_through() {
    let home = home();
    let elsewhere = home.make("elsewhere");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&elsewhere, home.store().join("backup")).unwrap();
    #[cfg(not(unix))]
    fs::write(home.store().join("backup"), "a file").unwrap();
    let before = bytes(&home.store(), &MEMORIES);
    home.run(&["reset", "--yes"]).complains(2, &["backup"]);
    assert_eq!(bytes(&home.store(), &MEMORIES), before);
    assert_eq!(names(&elsewhere).len(), 0);
}

#[test]
fn a_backup_can_be_opened_as_a_store() {
    let home = home();
    home.run(&["reset", "--yes"]);
    let folder = home.store().join("backup").join(backup(&home));
    let mut command = home.bare();
    command
        .arg("--store")
        .arg(folder)
        .args(["--read-only", "think", "heron"]);
    assert!(run(&mut command).text().contains("a heron"));
}
