//! Memories in a folder for each month: made, moved, and in step between machines.

use std::fs;

use crate::support::git::Git;
use crate::support::machines::{Machines, edit, failure, text, texts};
use crate::support::program::{Home, names};

const OLD: &str = "20251231_235959_aaaaaaaa.md";
const NEW: &str = "20260101_000000_bbbbbbbb.md";

/// A store of two memories, a note with another name, and one in a folder of somebody's own.
fn home() -> Home {
    let home = Home::new();
    home.put(OLD, text("aaaaaaaa", "Old."));
    home.put(NEW, text("bbbbbbbb", "New."));
    home.put("notes.md", "# Notes\n");
    home.make("store/files/projects");
    home.put(
        "projects/20260101_000000_cccccccc.md",
        text("cccccccc", "Own."),
    );
    home.run(&["sync"]).done();
    home
}

fn paths(home: &Home) -> Vec<String> {
    texts(home).into_iter().map(|(name, _)| name).collect()
}

#[test]
fn files_move_into_the_months_of_their_names_and_back() {
    let home = home();
    let git = Git::of(&home);
    let flat = texts(&home);
    let said = home.run(&["layout", "by-month", "--json"]).json();
    assert_eq!((&said["moved"], &said["left"]), (&2.into(), &0.into()));
    let moved = paths(&home);
    for path in [
        format!("files/2025-12/{OLD}"),
        format!("files/2026-01/{NEW}"),
        "files/notes.md".to_owned(),
        "files/projects/20260101_000000_cccccccc.md".to_owned(),
    ] {
        assert!(moved.contains(&path), "{path}: {moved:?}");
    }
    assert_eq!(git.subjects()[0], "Move 2 memories");
    git.assert_sound();
    let settings = fs::read_to_string(home.store().join("memdir.toml")).unwrap();
    assert_eq!(settings, "layout = \"by-month\"\n");
    assert_eq!(home.run(&["layout"]).done(), "by-month\n");
    assert_eq!(home.run(&["recall", "aaaaaaaa"]).code, 0);
    assert!(
        home.run(&["think", "--keywords", "new"])
            .text()
            .contains("bbbbbbbb")
    );
    home.run(&["layout", "flat"]).done();
    assert_eq!(texts(&home), flat);
    let folders = names(&home.files());
    assert!(
        !folders
            .iter()
            .any(|name| name.starts_with("20") && !name.ends_with(".md")),
        "{folders:?}"
    );
    git.assert_sound();
}

#[test]
fn new_memories_go_where_the_setting_says() {
    let home = Home::new();
    home.write(
        "store/memdir.toml",
        "# Mine.\nlayout = \"by-month\" # yes\n",
    );
    home.remember(&[
        "--timestamp",
        "2026-01-31T23:30:00-02:00",
        "In February, in UTC.",
    ]);
    let note = r#"{"id":"dddddddd","timestamp":"2025-06-01T00:00:00Z","text":"Imported."}"#;
    let file = home.write("notes.jsonl", note);
    let ran = home.run(&["import", "--from", "jsonl", file.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let folders: Vec<String> = paths(&home)
        .iter()
        .map(|path| path.rsplit_once('/').unwrap().0.to_owned())
        .collect();
    assert_eq!(folders, ["files/2025-06", "files/2026-02"]);
    let mut command = home.command(&["remember", "--timestamp", "2024-01-01", "Flat."]);
    crate::support::program::run(command.env("MEMDIR_LAYOUT", "flat")).done();
    assert!(
        names(&home.files())
            .iter()
            .any(|name| name.starts_with("20240101_"))
    );
}

#[test]
fn forgetting_and_restoring_keep_the_month() {
    let home = home();
    home.run(&["forget", "bbbbbbbb"]).done();
    home.run(&["layout", "by-month"]).done();
    assert!(paths(&home).contains(&format!("archive/2026-01/{NEW}")));
    home.run(&["restore", "bbbbbbbb"]).done();
    assert!(paths(&home).contains(&format!("files/2026-01/{NEW}")));
    home.run(&["forget", "aaaaaaaa"]).done();
    assert!(paths(&home).contains(&format!("archive/2025-12/{OLD}")));
    Git::of(&home).assert_sound();
}

#[test]
fn what_an_interrupted_run_left_is_moved_by_the_next() {
    let home = home();
    home.make("store/files/2026-01");
    fs::rename(
        home.files().join(NEW),
        home.files().join("2026-01").join(NEW),
    )
    .unwrap();
    let said = home.run(&["layout", "--json"]).json();
    assert_eq!(
        (&said["layout"], &said["elsewhere"]),
        (&"flat".into(), &1.into())
    );
    let said = home.run(&["layout", "by-month", "--json"]).json();
    assert_eq!(said["moved"], 1);
    let said = home.run(&["layout", "by-month", "--json"]).json();
    assert_eq!(said["moved"], 0);
    Git::of(&home).assert_sound();
}

#[test]
fn a_taken_place_leaves_both_files() {
    let home = home();
    home.make("store/files/2026-01");
    home.put(&format!("2026-01/{NEW}"), text("bbbbbbbb", "Another."));
    let ran = home.run(&["layout", "by-month", "--json"]);
    assert_eq!(
        (&ran.json()["moved"], &ran.json()["left"]),
        (&1.into(), &1.into())
    );
    let all = texts(&home);
    assert_eq!(
        all.iter().filter(|(name, _)| name.ends_with(NEW)).count(),
        2
    );
}

#[test]
fn one_machine_moves_while_others_write_and_all_are_in_step() {
    let machines = Machines::new(3);
    let [one, two, three] = &machines.homes[..] else {
        unreachable!()
    };
    let time = ["--timestamp", "2026-01-05"];
    let ids: Vec<String> = (0..3)
        .map(|n| one.remember(&[time[0], time[1], &format!("Memory {n}.")]))
        .collect();
    machines.settle();
    one.run(&["layout", "by-month"]).done();
    edit(two, &ids[0], "Memory 0.", "Changed.");
    three.run(&["forget", &ids[1]]).done();
    three.remember(&[time[0], time[1], "Written where it was flat still."]);
    let all = machines.settle();
    assert_eq!(all.len(), 4, "{all:?}");
    let of = |id: &str| {
        let ending = format!("{id}.md");
        all.iter()
            .find(|(name, _)| name.ends_with(&ending))
            .unwrap()
    };
    assert!(of(&ids[0]).0.starts_with("files/2026-01/") && of(&ids[0]).1.contains("Changed."));
    assert!(of(&ids[1]).0.starts_with("archive/"));
    let id = two.remember(&[time[0], time[1], "From now on in its month."]);
    assert!(
        paths(two)
            .iter()
            .any(|path| path.starts_with("files/2026-01/") && path.contains(&id))
    );
    two.run(&["layout", "by-month"]).done();
    let all = machines.settle();
    assert!(
        all.iter().all(|(name, _)| name.contains("/2026-01/")),
        "{all:?}"
    );
}

#[test]
fn moving_is_undone_like_anything_else() {
    let home = home();
    let before = texts(&home);
    home.run(&["layout", "by-month"]).done();
    home.run(&["undo"]).done();
    assert_eq!(texts(&home), before);
    Git::of(&home).assert_sound();
}

#[test]
fn a_layout_that_is_none_is_named_and_nothing_moves() {
    let home = home();
    let before = texts(&home);
    let said = failure(&home.run(&["layout", "by-year"]));
    assert!(said.contains("by-month"), "{said}");
    let said = failure(&home.run(&["--read-only", "layout", "by-month"]));
    assert!(said.contains("can only be read"), "{said}");
    home.write("store/memdir.toml", "layout = \"by-year\"\n");
    assert!(
        home.run(&["list"])
            .stderr
            .contains("`layout` is `by-year`, which is none of")
    );
    assert_eq!(texts(&home), before);
}

/// Writes so many memories of one month.
fn fill(home: &Home, count: usize) {
    for number in 0..count {
        let handle = format!("{number:08x}");
        home.put(
            &format!("20260101_000000_{handle}.md"),
            text(&handle, "One of many."),
        );
    }
}

#[test]
fn a_flat_store_of_thousands_is_offered_months_once_and_not_moved() {
    let home = Home::new();
    fill(&home, 2_000);
    let offers = |said: &str| said.contains("`memdir layout by-month`");
    let first = home.run(&["status"]).done();
    assert!(offers(&first), "{first}");
    assert!(first.contains("2000 memories in one folder"), "{first}");
    let second = home.run(&["status"]).done();
    assert!(!offers(&second), "{second}");
    assert_eq!(names(&home.files()).len(), 2_000);
    // Asked for the layout, it says so each time.
    assert!(offers(&home.run(&["layout"]).stderr));
    assert!(offers(&home.run(&["layout"]).stderr));
    home.run(&["layout", "by-month"]).done();
    assert_eq!(names(&home.files()), ["2026-01"]);
    assert!(!offers(&home.run(&["layout"]).stderr));
    assert!(!offers(&home.run(&["status"]).done()));
}

#[test]
fn a_folder_of_thousands_that_becomes_a_store_is_offered_months() {
    let home = Home::new();
    fill(&home, 2_000);
    let store = home.store();
    let made = home.run(&["init", store.to_str().unwrap()]);
    assert!(
        made.stderr.contains("`memdir layout by-month`"),
        "{}",
        made.stderr
    );
    assert_eq!(names(&home.files()).len(), 2_000);
    let few = Home::new();
    fill(&few, 10);
    let made = few.run(&["init", few.store().to_str().unwrap()]);
    assert!(!made.stderr.contains("by-month"), "{}", made.stderr);
}
