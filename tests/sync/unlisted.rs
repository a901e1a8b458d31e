//! Folders that cannot be listed: nobody knows of their memories, so that none counts as deleted.

use std::fs;

use crate::support::git::Git;
use crate::support::program::Home;

const FOLDER: &str = "store/files/old";
const FILE: &str = "20260101_000000_aaaaaaaa.md";
const TEXT: &str = "---\nid: aaaaaaaa\n---\n\nA heron.\n";

/// A store with a memory in a folder, and another one.
fn home() -> Home {
    let home = Home::new();
    home.write(&format!("{FOLDER}/{FILE}"), TEXT);
    home.remember(&["a zebra"]);
    home.run(&["sync"]).done();
    home
}

/// Has a link stand in the place of the folder, which is not followed.
fn hide(home: &Home) {
    let folder = home.root().join(FOLDER);
    let away = home.root().join("away");
    fs::rename(&folder, &away).unwrap();
    std::os::unix::fs::symlink(&away, &folder).unwrap();
}

fn show(home: &Home) {
    let folder = home.root().join(FOLDER);
    fs::remove_file(&folder).unwrap();
    fs::rename(home.root().join("away"), &folder).unwrap();
}

#[test]
fn a_commit_deletes_nothing_in_it() {
    let home = home();
    let git = Git::of(&home);
    let committed = || git.says(&["ls-tree", "-r", "--name-only", "HEAD", "files/old"]);
    hide(&home);
    home.remember(&["an okapi"]);
    home.run(&["sync"]).done();
    assert!(committed().contains(FILE));
    show(&home);
    home.run(&["sync"]).done();
    assert!(committed().contains(FILE));
    home.run(&["recall", "aaaaaaaa"]).done();
}

#[test]
fn a_sync_with_a_folder_forgets_nothing_in_it() {
    let (here, there) = (home(), Home::new());
    let folder = there.store().to_str().unwrap().to_owned();
    // What is skipped is said.
    let sync = || assert_eq!(here.run(&["sync", "--with", &folder]).code, 0);
    sync();
    there.run(&["recall", "aaaaaaaa"]).done();
    hide(&here);
    here.remember(&["an okapi"]);
    sync();
    there.run(&["recall", "aaaaaaaa"]).done();
    show(&here);
    sync();
    for home in [&here, &there] {
        home.run(&["recall", "aaaaaaaa"]).done();
        assert!(!home.store().join("archive").join(FILE).exists());
    }
}
