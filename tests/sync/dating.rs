//! Notes that state no time are as old as their commits, in every clone.

use std::fs;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::git::Git;
use crate::support::machines::Machines;
use crate::support::program::{Home, run};

const OLD: u64 = 1_700_000_000;
const NEW: u64 = 1_770_000_000;

/// Commits by somebody who uses git alone: two notes without a time, one that was changed later, and
/// one that states its time.
fn history() -> String {
    let commit = |at: u64, name: &str, text: &str| {
        let len = text.len();
        format!(
            "commit refs/heads/main\ncommitter Test <test@example.org> {at} +0000\ndata 4\nnote\nM 100644 inline files/{name}\ndata {len}\n{text}\n"
        )
    };
    let stated = "---\ncreated: 2024-03-01\n---\n\nthe tree is an ash\n";
    [
        commit(OLD, "old.md", "the tree is an elm\n"),
        commit(OLD, "new.md", "a plant\n"),
        commit(NEW, "stated.md", stated),
        commit(NEW, "new.md", "the tree is an oak\n"),
    ]
    .concat()
}

fn seconds(home: &Home, name: &str) -> u64 {
    let data = fs::metadata(home.files().join(name)).unwrap();
    let since = data
        .modified()
        .unwrap()
        .duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_secs()
}

fn text(home: &Home, name: &str) -> String {
    fs::read_to_string(home.files().join(name)).unwrap()
}

/// Each hit's id, score and time. The clocks of two runs differ, and scores with them: six digits.
fn scores(home: &Home) -> Vec<(String, String, String)> {
    let said = home.run(&["think", "tree", "--json"]).json();
    let hits = said.as_array().unwrap().iter();
    let of = |hit: &Value| {
        let score = hit["relevance_score"].as_f64().unwrap();
        (
            hit["id"].to_string(),
            format!("{score:.6}"),
            hit["timestamp"].to_string(),
        )
    };
    hits.map(of).collect()
}

#[test]
fn a_clone_that_memdir_makes_answers_as_every_other_to_the_score() {
    let machines = Machines::new(1);
    let shared = machines.shared();
    shared.says_with(&["fast-import", "--quiet", "--force"], history().as_bytes());
    let [one, other] = [Home::new(), Home::new()];
    machines.join(&one);
    machines.join(&other);
    assert_eq!(seconds(&one, "old.md"), OLD);
    assert_eq!(seconds(&one, "new.md"), NEW);
    let here = scores(&one);
    assert_eq!(here.len(), 3, "{here:?}");
    assert_eq!(here, scores(&other));
}

#[test]
fn a_clone_that_a_person_made_is_dated_when_it_becomes_the_stores_own() {
    let home = Home::new();
    let git = Git::of(&home);
    git.says(&["init", "-q", "-b", "main"]);
    git.says_with(&["fast-import", "--quiet"], history().as_bytes());
    git.says(&["reset", "-q", "--hard"]);
    // What was changed since its commit keeps its own time.
    let edited = home.files().join("old.md");
    fs::write(&edited, "the tree is an elm, felled\n").unwrap();
    let stated = seconds(&home, "stated.md");
    let mut command = home.bare();
    command
        .args(["remember", "another"])
        .env("MEMDIR_STORE", home.store());
    run(&mut command);
    assert_eq!(seconds(&home, "new.md"), NEW);
    assert_eq!(seconds(&home, "stated.md"), stated);
    let age = SystemTime::now().duration_since(fs::metadata(edited).unwrap().modified().unwrap());
    assert!(age.unwrap() < Duration::from_secs(3_600));
    let found = scores(&home);
    assert!(
        found
            .iter()
            .any(|(name, _, at)| { name.contains("new") && at.starts_with("\"2026-02-02") }),
        "{found:?}"
    );
}

#[test]
fn a_store_that_comes_into_step_without_a_remote_keeps_the_times() {
    let (one, other) = (Home::new(), Home::new());
    for (home, name) in [(&one, "here.md"), (&other, "there.md")] {
        fs::create_dir_all(home.files()).unwrap();
        home.put(name, "the tree is an elm\n");
        let file = fs::File::open(home.files().join(name)).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(OLD))
            .unwrap();
    }
    let folder = other.store();
    one.run(&["sync", "--with", folder.to_str().unwrap()])
        .done();
    assert_eq!(seconds(&one, "there.md"), OLD);
    assert_eq!(seconds(&other, "here.md"), OLD);
}

/// A clone that a person makes of the store of `home`.
fn cloned_by_git(home: &Home) -> Home {
    let clone = Home::new();
    let (from, to) = (home.store(), clone.store());
    let (from, to) = (from.to_str().unwrap(), to.to_str().unwrap());
    fs::remove_dir_all(to).unwrap();
    Git::of(home).says(&["clone", "-q", from, to]);
    clone
}

/// A store of the notes in [`history`], as somebody checked them out.
fn checked_out() -> Home {
    let home = Home::new();
    let git = Git::of(&home);
    git.says(&["init", "-q", "-b", "main"]);
    git.says_with(&["fast-import", "--quiet"], history().as_bytes());
    git.says(&["reset", "-q", "--hard"]);
    home
}

#[test]
fn a_clone_that_git_made_answers_as_the_original_before_anything_is_written() {
    let original = checked_out();
    let listed = |home: &Home| home.run(&["list", "--json"]).json();
    let here = (scores(&original), listed(&original));
    assert_eq!(here.0.len(), 3, "{here:?}");
    let clone = cloned_by_git(&original);
    assert_eq!((scores(&clone), listed(&clone)), here);
    assert_eq!(seconds(&clone, "old.md"), OLD);
    // What somebody touches later keeps its time.
    let file = fs::File::open(clone.files().join("old.md")).unwrap();
    let touched = SystemTime::UNIX_EPOCH + Duration::from_secs(NEW + 5);
    file.set_modified(touched).unwrap();
    listed(&clone);
    assert_eq!(seconds(&clone, "old.md"), NEW + 5);
}

#[test]
fn what_a_person_pulls_and_checks_out_is_as_old_as_its_commit() {
    let original = checked_out();
    let clone = cloned_by_git(&original);
    scores(&clone);
    let text = "commit refs/heads/main\ncommitter Test <test@example.org> 1770000100 +0000\ndata 1\nn\nfrom refs/heads/main^0\nM 100644 inline files/old.md\ndata 9\nthe tree\n\n";
    Git::of(&original).says_with(&["fast-import", "--quiet"], text.as_bytes());
    Git::of(&clone).says(&["pull", "-q"]);
    scores(&clone);
    assert_eq!(seconds(&clone, "old.md"), NEW + 100);
}

#[test]
fn undo_and_restore_bring_back_the_time_of_a_note_in_every_clone() {
    let home = checked_out();
    let command = |arguments: &[&str]| {
        let mut command = home.bare();
        command.args(arguments).env("MEMDIR_STORE", home.store());
        run(&mut command)
    };
    // The store's own from here on.
    command(&["remember", "another"]);
    home.put("old.md", "the tree is an elm, felled\n");
    command(&["sync"]);
    assert_ne!(seconds(&home, "old.md"), OLD);
    command(&["undo", "old.md"]).done();
    assert_eq!(text(&home, "old.md"), "the tree is an elm\n");
    assert_eq!(seconds(&home, "old.md"), OLD);
    home.put("new.md", "the tree is a pine\n");
    command(&["sync"]);
    command(&["restore", "new.md@HEAD~1"]).done();
    assert_eq!(seconds(&home, "new.md"), NEW);
    command(&["forget", "new.md"]).done();
    command(&["restore", "new.md"]).done();
    assert_eq!(seconds(&home, "new.md"), NEW);
    let clone = cloned_by_git(&home);
    assert_eq!(scores(&clone), scores(&home));
    assert_eq!(
        [seconds(&clone, "old.md"), seconds(&clone, "new.md")],
        [OLD, NEW]
    );
}

#[cfg(unix)]
#[test]
fn adopting_a_note_and_undoing_it_leaves_time_and_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = checked_out();
    let file = home.files().join("old.md");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let command = |arguments: &[&str]| {
        let mut command = home.bare();
        command.args(arguments).env("MEMDIR_STORE", home.store());
        run(&mut command)
    };
    command(&["remember", "another"]);
    command(&["adopt", "old.md", "--yes"]);
    assert!(!file.exists());
    command(&["undo"]).done();
    assert_eq!(text(&home, "old.md"), "the tree is an elm\n");
    assert_eq!(seconds(&home, "old.md"), OLD);
    let mode = fs::metadata(&file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o644);
}

/// Puts notes into the store of `home` as a folder of old notes holds them: two with equal texts
/// among them.
fn put_old_notes(home: &Home) {
    for (name, text, days) in [
        ("elm.md", "the tree is an elm\n", 0),
        ("oak.md", "the tree is an oak\n", 400),
        ("yard/elm.md", "the tree is an elm\n", 90),
    ] {
        let path = home.files().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let age = Duration::new(OLD + days * 86_400, 123_456_000);
        let file = fs::File::open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + age).unwrap();
    }
}

#[test]
fn notes_that_are_older_than_their_commit_are_so_in_every_clone() {
    let machines = Machines::new(1);
    let [original, other] = [Home::new(), Home::new()];
    put_old_notes(&original);
    machines.join(&original);
    machines.join(&other);
    let listed = |home: &Home| home.run(&["list", "--json"]).json();
    let here = (scores(&original), listed(&original));
    assert_eq!(here.0.len(), 3, "{here:?}");
    assert_eq!(seconds(&original, "elm.md"), OLD);
    assert_eq!((scores(&other), listed(&other)), here);
    let clone = cloned_by_git(&original);
    assert_eq!((scores(&clone), listed(&clone)), here);
    // A later text is as old as its own commit.
    original.put("oak.md", "the tree is an oak, felled\n");
    original.run(&["sync"]).done();
    other.run(&["sync"]).done();
    let edited = seconds(&original, "oak.md");
    let came = seconds(&other, "oak.md");
    assert!(
        edited > NEW && came.abs_diff(edited) < 60,
        "{edited} {came}"
    );
}
