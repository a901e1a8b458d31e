//! Purged memories that are taken out of the history, too.

use std::fs;

use crate::support::git::Git;
use crate::support::machines::{Machines, edit, text, texts};
use crate::support::program::{Home, run};

/// What only the purged memory says.
const TEXT: &str = "The zebra sleeps at noon.";

/// What git calls every text that the history holds of it.
fn texts_of(git: &Git<'_>, id: &str) -> Vec<String> {
    let objects = git.says(&["rev-list", "--objects", "--all"]);
    let objects = objects
        .lines()
        .filter(|line| line.ends_with(&format!("_{id}.md")));
    objects.map(|line| line[..40].to_owned()).collect()
}

#[track_caller]
fn assert_erased(git: &Git<'_>, texts: &[String]) {
    for text in texts {
        let ran = git.run(&["cat-file", "-p", text]);
        assert_ne!(ran.code, 0, "{text} is there: {}", ran.text());
    }
    assert_eq!(git.says(&["log", "--all", "--format=%H", "-Szebra"]), "");
    assert_eq!(git.says(&["fsck", "--no-dangling"]), "");
    git.assert_sound();
}

/// Who made which commit when, and why.
fn told(git: &Git<'_>) -> String {
    git.says(&["log", "--format=%an <%ae> %ad, %cn <%ce> %cd%n%B"])
}

#[track_caller]
fn erase(home: &Home, ids: &[&str]) -> serde_json::Value {
    let ran = home.run(&[&["purge", "--history", "--yes", "--json"], ids].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

/// A store with a memory that changed its text and its place, and another one.
fn home() -> (Home, String, String) {
    let home = Home::new();
    let other = home.remember(&["a heron"]);
    let id = home.remember(&[TEXT]);
    home.run(&["update", &id, "--content", "The zebra sleeps at night."])
        .done();
    home.run(&["forget", &id]).done();
    home.run(&["update", &other, "--title", "Birds"]).done();
    (home, id, other)
}

#[test]
fn no_commit_and_no_object_holds_the_text_and_the_rest_is_as_it_was() {
    let (home, id, other) = home();
    let git = Git::of(&home);
    let texts = texts_of(&git, &id);
    assert_eq!(texts.len(), 2);
    let (before, count) = (told(&git), git.subjects().len());
    let kept = home.text_of(&other);
    let said = erase(&home, &[&id]);
    assert_eq!(said["history"]["texts"], 2, "{said}");
    assert!(said["history"]["commits"].as_u64().unwrap() >= 4, "{said}");
    assert_erased(&git, &texts);
    assert_eq!(git.subjects().len(), count + 1);
    assert!(told(&git).ends_with(&before), "{}", told(&git));
    assert_eq!(home.text_of(&other), kept);
    assert_eq!(home.run(&["verify"]).code, 0);
    // History goes on: it is told, compared and taken back as before.
    assert_eq!(home.run(&["log", &other]).lines().len(), 2);
    home.run(&["undo", &other]).done();
    assert!(!home.text_of(&other).contains("Birds"));
    git.assert_sound();
    let again = erase(&home, &[&id]);
    assert_eq!(
        (&again["history"]["commits"], &again["history"]["texts"]),
        (&0.into(), &0.into())
    );
}

#[test]
fn texts_of_a_note_before_it_was_adopted_go_too() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["a heron"]);
    for content in ["The zebra sleeps.\n", TEXT] {
        fs::write(home.files().join("Zebras.md"), content).unwrap();
        home.run(&["sync"]).done();
    }
    fs::write(home.files().join("Other.md"), "another\n").unwrap();
    home.run(&["sync"]).done();
    let objects = git.says(&["rev-list", "--objects", "--all"]);
    let objects = objects.lines().filter(|line| line.ends_with("Zebras.md"));
    let mut erased: Vec<String> = objects.map(|line| line[..40].to_owned()).collect();
    assert_eq!(erased.len(), 2);
    home.run(&["adopt", "--yes"]).done();
    let all = texts(&home);
    let adopted = all.iter().find(|(_, text)| text.contains("zebra"));
    let name = &adopted.unwrap().0;
    let id = name[name.len() - 11..name.len() - 3].to_owned();
    erased.extend(texts_of(&git, &id));
    assert_eq!(erased.len(), 3);
    erase(&home, &[&id]);
    assert_erased(&git, &erased);
    assert!(
        git.says(&["log", "--all", "--format=%H", "--", "files/Other.md"])
            .len()
            > 40
    );
}

#[test]
fn a_note_that_was_adopted_before_a_merge_is_known_by_its_former_name() {
    let machines = Machines::new(2);
    let [one, two] = [&machines.homes[0], &machines.homes[1]];
    fs::write(one.files().join("Zebras.md"), "The zebra sleeps.\n").unwrap();
    machines.settle();
    fs::write(one.files().join("Zebras.md"), TEXT).unwrap();
    one.run(&["sync"]).done();
    one.run(&["adopt", "--yes"]).done();
    two.remember(&["a heron"]);
    machines.settle();
    let all = texts(one);
    let adopted = all.iter().find(|(_, text)| text.contains("zebra"));
    let name = &adopted.unwrap().0;
    one.run(&[
        "purge",
        "--history",
        "--yes",
        &name[name.len() - 11..name.len() - 3],
    ])
    .done();
    let git = Git::of(one);
    let own = git.says(&["log", "main", "--format=%H", "-Szebra"]);
    assert_eq!(own, "");
}

#[test]
fn packed_and_abandoned_objects_and_other_branches_are_no_hiding_places() {
    let (home, id, _) = home();
    let git = Git::of(&home);
    let texts = texts_of(&git, &id);
    git.says(&["branch", "side", "HEAD~2"]);
    git.says(&["tag", "-a", "-m", "note", "noted", "HEAD~1"]);
    git.says(&["gc", "-q"]);
    git.says(&["commit-graph", "write", "--reachable"]);
    let copy = home.root().join("copy");
    git.says(&["clone", "-q", ".", copy.to_str().unwrap()]);
    erase(&home, &[&id]);
    assert_erased(&git, &texts);
    // As a run leaves them that was killed before it removed them, or a fetch of the old history.
    git.says(&["fetch", "-q", copy.to_str().unwrap(), "HEAD"]);
    assert_eq!(git.run(&["cat-file", "-e", &texts[0]]).code, 0);
    let again = erase(&home, &[&id]);
    assert_eq!(again["history"]["texts"], 2, "{again}");
    assert_erased(&git, &texts);
}

#[test]
fn a_run_that_was_killed_before_the_branch_moved_is_ended_by_the_next_one() {
    let (home, id, _) = home();
    let git = Git::of(&home);
    home.run(&["purge", &id, "--yes"]);
    git.says(&["branch", "side"]);
    let (old, texts) = (git.says(&["rev-parse", "HEAD"]), texts_of(&git, &id));
    let copy = home.root().join("copy");
    git.says(&["clone", "-q", ".", copy.to_str().unwrap()]);
    erase(&home, &[&id]);
    let new = git.says(&["rev-parse", "HEAD"]);
    assert_ne!(old, new);
    // The branch stands where it stood, all others are new.
    git.says(&["fetch", "-q", copy.to_str().unwrap(), "HEAD"]);
    git.says(&["update-ref", "refs/heads/main", old.trim()]);
    erase(&home, &[&id]);
    assert_eq!(git.says(&["rev-parse", "HEAD"]), new);
    assert_erased(&git, &texts);
}

#[test]
fn another_memory_with_the_same_text_is_not_torn_out_of_the_history() {
    let home = Home::new();
    let same = text("aaaaaaaa", TEXT);
    home.put("20260101_000000_aaaaaaaa.md", &same);
    home.put("notes.md", &same);
    home.run(&["sync"]).done();
    let ran = home.run(&["purge", "aaaaaaaa", "--history", "--yes"]);
    ran.complains(
        2,
        &["files/notes.md", "holds the same text", "Run it again"],
    );
    assert_eq!(
        fs::read_to_string(home.files().join("notes.md")).unwrap(),
        same
    );
    Git::of(&home).assert_sound();
}

#[test]
fn nothing_is_rewritten_unasked_or_in_somebodys_repository() {
    let (home, id, _) = home();
    let git = Git::of(&home);
    let head = git.says(&["rev-parse", "HEAD"]);
    home.run(&["purge", "--history", &id])
        .complains(2, &["nobody can be asked here", "--yes"]);
    home.run(&["purge", "--history", "nope1234", "--yes"])
        .complains(2, &["no memory is called"]);
    assert_eq!(git.says(&["rev-parse", "HEAD"]), head);
    let project = home.make("project");
    let theirs = Git::at(&home, project.clone());
    theirs.says(&["init", "-q"]);
    home.write(
        "project/memories/files/20260101_000000_aaaaaaaa.md",
        text("aaaaaaaa", TEXT),
    );
    let mut command = home.bare();
    command.arg("--store").arg(project.join("memories"));
    let ran = run(command.args(["purge", "--history", "aaaaaaaa", "--yes"]));
    ran.complains(
        2,
        &["the history is not rewritten", "somebody's repository"],
    );
    assert!(
        project
            .join("memories/files/20260101_000000_aaaaaaaa.md")
            .exists()
    );
}

#[test]
fn a_remote_keeps_it_until_its_owner_replaces_the_branch() {
    let machines = Machines::new(2);
    let [one, other] = [&machines.homes[0], &machines.homes[1]];
    let id = one.remember(&[TEXT]);
    let kept = one.remember(&["a heron"]);
    machines.settle();
    edit(other, &kept, "a heron", "two herons");
    machines.settle();
    let git = Git::of(one);
    let texts = texts_of(&git, &id);
    one.run(&["purge", &id, "--yes"]);
    machines.settle();
    let said = erase(one, &[&id]);
    assert_erased(&git, &texts);
    let reason = machines.pauses(0);
    assert!(reason.contains("--adopt-remote"), "{reason}");
    let command = said["history"]["command"].as_str().unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[..3], ["memdir", "git", "push"]);
    let ran = one.run(&words[1..]);
    assert_eq!(ran.code, 0, "{ran:?}");
    machines.sync(0);
    // What the sync got before the branch was replaced goes now.
    erase(one, &[&id]);
    assert_erased(&git, &texts);
    machines.pauses(1);
    other.run(&["sync", "--adopt-remote"]).done();
    machines.settle();
    assert_eq!(
        machines
            .shared()
            .says(&["log", "--all", "--format=%H", "-Szebra"]),
        ""
    );
    assert!(one.text_of(&kept).contains("two herons"));
}

#[test]
fn what_was_stashed_stays() {
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&["a heron"]);
    let purged = home.remember(&[TEXT]);
    for text in ["an okapi", "a tapir"] {
        edit(&home, &id, "a heron", text);
        git.says(&["stash", "push", "-q"]);
        assert!(home.text_of(&id).contains("a heron"));
    }
    erase(&home, &[&purged]);
    assert_eq!(git.says(&["stash", "list"]).lines().count(), 2);
    git.says(&["stash", "apply", "-q", "stash@{1}"]);
    assert!(home.text_of(&id).contains("an okapi"));
    assert_eq!(
        git.says(&["log", "-g", "--format=%H", "-Szebra", "stash"]),
        ""
    );
}
