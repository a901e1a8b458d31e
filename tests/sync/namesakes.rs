//! Notes of one file name in several folders: what the history says of one, and does to it, is not about the others.

use std::fs;

use crate::support::git::Git;
use crate::support::machines::Machines;
use crate::support::program::{Home, names};

const ONE: &str = "store/files/p1/index.md";
const TWO: &str = "store/files/p2/index.md";
const ROOT: &str = "store/files/index.md";

/// A store with three notes of one name; each has a second text in a later commit of its own, that in the root first.
fn home() -> Home {
    let home = Home::new();
    for (path, text) in [(ONE, "One.\n"), (TWO, "Two.\n"), (ROOT, "Root.\n")] {
        home.write(path, text);
    }
    home.run(&["sync"]).done();
    for (path, text) in [
        (ROOT, "Root later.\n"),
        (TWO, "Two later.\n"),
        (ONE, "One later.\n"),
    ] {
        home.write(path, text);
        home.run(&["sync"]).done();
    }
    home
}

/// The texts of the notes: p1, p2, and that in the root.
fn texts(home: &Home) -> [String; 3] {
    [ONE, TWO, ROOT].map(|path| fs::read_to_string(home.root().join(path)).unwrap())
}

/// The first lines of the commits that touched a note.
fn log(home: &Home, id: &str) -> Vec<String> {
    let document = home.run(&["log", id, "--json"]).json();
    let commits = document["commits"].as_array().unwrap().iter();
    commits
        .map(|one| one["what"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_history_of_a_note_is_its_own() {
    let home = home();
    assert_eq!(
        log(&home, "p2/index.md"),
        ["Change memory index (p2/index.md)", "Add 3 memories"]
    );
    assert_eq!(
        log(&home, "index.md"),
        ["Change memory index (index.md)", "Add 3 memories"]
    );
    let said = home.run(&["diff", "p1/index.md"]).done();
    assert!(
        said.contains("-One.") && said.contains("+One later."),
        "{said}"
    );
    let said = home.run(&["diff", "p2/index.md", "HEAD"]).text();
    assert!(!said.contains("One"), "{said}");
    home.run(&["restore", "p2/index.md@HEAD~3"]).done();
    assert_eq!(texts(&home), ["One later.\n", "Two.\n", "Root later.\n"]);
    home.run(&["restore", "index.md@HEAD~4"]).done();
    assert_eq!(texts(&home), ["One later.\n", "Two.\n", "Root.\n"]);
    // It is found in the history where it lay, and comes back there.
    fs::remove_file(home.root().join(ONE)).unwrap();
    home.run(&["sync"]).done();
    home.run(&["restore", "p1/index.md@HEAD~1"]).done();
    assert_eq!(texts(&home), ["One later.\n", "Two.\n", "Root.\n"]);
}

#[test]
fn an_undo_of_a_note_undoes_no_change_of_its_namesakes() {
    let home = home();
    home.run(&["undo", "p2/index.md"]).done();
    assert_eq!(texts(&home), ["One later.\n", "Two.\n", "Root later.\n"]);
    home.run(&["undo", "index.md"]).done();
    assert_eq!(texts(&home), ["One later.\n", "Two.\n", "Root.\n"]);
    // Each of three changes in one commit.
    for (path, text) in [
        (TWO, "Two last.\n"),
        (ROOT, "Root last.\n"),
        (ONE, "One last.\n"),
    ] {
        home.write(path, text);
    }
    home.run(&["sync"]).done();
    home.run(&["undo", "p2/index.md"]).done();
    assert_eq!(texts(&home), ["One last.\n", "Two.\n", "Root last.\n"]);
    home.run(&["undo", "index.md"]).done();
    assert_eq!(texts(&home), ["One last.\n", "Two.\n", "Root.\n"]);
    // The one that is left, by a commit that names them all.
    home.run(&["undo"]).done();
    assert_eq!(texts(&home), ["One later.\n", "Two.\n", "Root.\n"]);
}

#[test]
fn a_purged_note_leaves_the_history_and_its_namesakes_stay() {
    let home = home();
    let git = Git::of(&home);
    // As a purge of an earlier day, and then by its name alone.
    home.run(&["purge", "p1/index.md", "--yes"]).done();
    home.run(&["purge", "--history", "--yes", "index"])
        .complains(2, &["index.md, p2/index.md"]);
    home.run(&["purge", "--history", "--yes", "p1/index.md"])
        .done();
    assert_eq!(
        git.says(&["log", "--all", "--format=%H", "-SOne later"]),
        ""
    );
    assert_ne!(
        git.says(&["log", "--all", "--format=%H", "-STwo later"]),
        ""
    );
    // One that is there.
    home.run(&["purge", "--history", "--yes", "p2/index.md"])
        .done();
    assert_eq!(git.says(&["log", "--all", "--format=%H", "-STwo"]), "");
    assert_eq!(
        fs::read_to_string(home.root().join(ROOT)).unwrap(),
        "Root later.\n"
    );
    assert_eq!(log(&home, "index.md").len(), 2);
}

#[test]
fn a_purge_from_the_history_goes_by_the_whole_name() {
    let home = Home::new();
    home.write("store/files/x.md.md", "The zebra.\n");
    home.write("store/files/x.md", "The heron.\n");
    home.run(&["sync"]).done();
    home.run(&["purge", "--history", "--yes", "x.md.md"]).done();
    assert_eq!(names(&home.files()), ["x.md"]);
    assert_eq!(
        fs::read_to_string(home.files().join("x.md")).unwrap(),
        "The heron.\n"
    );
}

#[test]
fn a_forgotten_note_is_purged_for_good_beside_a_live_namesake() {
    let home = home();
    home.run(&["forget", "p1/index.md"]).done();
    home.run(&["archive", "purge", "p1/index.md", "--yes"])
        .done();
    home.run(&["restore", "p1/index.md@HEAD~3"])
        .complains(2, &["purged"]);
    assert!(!home.root().join(ONE).exists());
    assert!(home.root().join(TWO).exists());
}

#[test]
fn a_note_that_goes_and_two_that_come_are_no_move_and_stop_no_commit() {
    let home = home();
    let git = Git::of(&home);
    fs::remove_file(home.root().join(ONE)).unwrap();
    home.write("store/files/q/index.md", "Q.\n");
    home.write("store/files/r/index.md", "R.\n");
    home.run(&["sync"]).done();
    let said = git.says(&["log", "-1", "--format=%B"]);
    for line in [
        "Delete memory index (p1/index.md)",
        "Add memory index (q/index.md)",
        "Add memory index (r/index.md)",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    assert_eq!(git.says(&["status", "--short"]), "");
    assert_eq!(log(&home, "q/index.md").len(), 1);
}

#[test]
fn a_forgotten_note_comes_back_with_its_own_text_beside_a_new_namesake() {
    let home = home();
    home.write("store/files/q/index.md", "Q.\n");
    home.run(&["forget", "p1/index.md"]).done();
    home.run(&["undo", "p1/index.md"]).done();
    assert_eq!(
        texts(&home),
        ["One later.\n", "Two later.\n", "Root later.\n"]
    );
    let said = home.run(&["diff", "p1/index.md"]).done();
    assert!(!said.contains("Q."), "{said}");
}

#[test]
fn an_undo_moves_notes_back_that_were_moved_together() {
    let home = Home::new();
    for name in ["a.md", "b.md"] {
        home.write(&format!("store/files/x/{name}"), format!("Of {name}.\n"));
    }
    home.run(&["sync"]).done();
    let file = |name: &str| home.files().join(name);
    fs::create_dir(file("y")).unwrap();
    for name in ["a.md", "b.md"] {
        fs::rename(file("x").join(name), file("y").join(name)).unwrap();
    }
    home.run(&["sync"]).done();
    // Its history goes on in the folder where it lay.
    assert_eq!(log(&home, "y/b.md").len(), 2);
    home.write("store/files/y/b.md", "Of b, later.\n");
    home.run(&["restore", "y/b.md@HEAD~1"]).done();
    assert_eq!(fs::read_to_string(file("y/b.md")).unwrap(), "Of b.md.\n");
    home.run(&["undo", "y/a.md"]).done();
    assert!(file("x/a.md").exists() && !file("y/a.md").exists());
    assert!(!home.root().join("store/archive/y/a.md").exists());
}

#[test]
fn a_tombstone_names_no_text_that_a_namesake_had() {
    let home = Home::new();
    let git = Git::of(&home);
    for path in [ONE, TWO] {
        home.write(path, "A template.\n");
    }
    home.run(&["sync"]).done();
    let shared = git.says(&["rev-parse", "HEAD:files/p1/index.md"]);
    home.write(ONE, "One.\n");
    home.write(TWO, "Two.\n");
    home.run(&["sync"]).done();
    let own = git.says(&["rev-parse", "HEAD:files/p1/index.md"]);
    home.run(&["purge", "p1/index.md", "--yes"]).done();
    let stone = fs::read_to_string(home.store().join("tombstones/index")).unwrap();
    assert!(stone.contains(own.trim()), "{stone}");
    assert!(!stone.contains(shared.trim()), "{stone}");
}

#[test]
fn a_deletion_of_many_of_them_is_asked_about() {
    let machines = Machines::new(2);
    let [here, there] = &machines.homes[..] else {
        unreachable!()
    };
    let path = |number: usize| format!("store/files/p{number}/index.md");
    for number in 0..10 {
        here.write(&path(number), format!("Note {number}.\n"));
    }
    machines.settle();
    // A folder that is renamed deletes nothing.
    fs::rename(
        here.store().join("files/p9"),
        here.store().join("files/p10"),
    )
    .unwrap();
    machines.settle();
    for number in 1..9 {
        fs::remove_file(here.root().join(path(number))).unwrap();
    }
    let why = machines.pauses(0);
    assert!(why.contains("8 of 10 memories were deleted"), "{why}");
    assert!(there.root().join(path(1)).exists());
    here.run(&["sync", "--accept-deletions"]).done();
    let why = machines.pauses(1);
    assert!(why.contains("8 of 10 memories were deleted"), "{why}");
    assert!(there.root().join(path(1)).exists());
}

#[test]
fn a_note_that_moved_is_not_merged_with_another_one_of_its_name() {
    let machines = Machines::new(2);
    let [here, there] = &machines.homes[..] else {
        unreachable!()
    };
    here.write(ONE, "One.\n");
    machines.settle();
    // Here it goes, and another one comes in another folder; there it is edited.
    fs::remove_file(here.root().join(ONE)).unwrap();
    here.write(TWO, "A zebra, and nothing of the other.\n");
    there.write(ONE, "One, edited.\n");
    machines.settle();
    for home in [here, there] {
        let text = |path| fs::read_to_string(home.root().join(path)).unwrap();
        assert_eq!(text(ONE), "One, edited.\n");
        assert_eq!(text(TWO), "A zebra, and nothing of the other.\n");
    }
}
