//! Taking back: every kind of change, what was changed since, and earlier texts.

use std::fs;

use serde_json::json;

use super::one_memory::{NAME, home_with, text, write};
use crate::support::git::Git;
use crate::support::machines::Machines;
use crate::support::program::{Home, names};
use crate::support::session::Session;
use crate::support::{machines, memory_text};

#[track_caller]
fn assert_says(home: &Home, content: &str) {
    let bytes = fs::read_to_string(home.files().join(NAME)).unwrap();
    assert_eq!(bytes, text(content));
}

fn archived(home: &Home) -> Vec<String> {
    let folder = home.root().join("store/archive");
    match folder.exists() {
        true => names(&folder),
        false => Vec::new(),
    }
}

#[test]
fn what_was_added_is_forgotten_and_can_be_had_again() {
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&["One."]);
    let bytes = home.text_of(&id);
    let added = git.says(&["rev-parse", "HEAD"]);
    let subject = git.subjects()[0].clone();
    let said = home.run(&["undo", "--dry-run"]).done();
    assert!(said.starts_with(&format!("would undo {}  {subject}\n", &added[..10])));
    assert!(said.ends_with("  forgotten\n"), "{said}");
    assert_eq!(git.subjects().len(), 1);
    let said = home.run(&["undo"]).done();
    assert!(
        said.starts_with(&format!("undid {}", &added[..10])),
        "{said}"
    );
    assert_eq!(names(&home.files()), [""; 0]);
    assert_eq!(archived(&home).len(), 1);
    assert_eq!(git.subjects()[0], format!("Undo {subject}"));
    let trailers = git.says(&["log", "-1", "--format=%(trailers:only)"]);
    assert!(trailers.contains("Tool: undo\n"), "{trailers}");
    assert!(trailers.contains(&format!("Undoes: {added}")), "{trailers}");
    git.assert_sound();
    // An undo is undone by its name.
    let undo = git.says(&["rev-parse", "HEAD"]);
    home.run(&["undo", undo.trim()]).done();
    assert_eq!(home.text_of(&id), bytes);
    git.assert_sound();
    // It holds again, and can be taken back again; the undo cannot.
    home.run(&["undo", &undo[..10]])
        .complains(2, &["is undone already, by"]);
    home.run(&["undo"]).done();
    assert_eq!(names(&home.files()), [""; 0]);
    home.run(&["undo"])
        .complains(2, &["there is nothing to undo"]);
}

#[test]
fn undoing_twice_takes_back_two_changes() {
    let home = home_with("One.\n");
    write(&home, "Two.\n");
    write(&home, "Three.\n");
    home.run(&["undo"]).done();
    assert_says(&home, "Two.\n");
    home.run(&["undo"]).done();
    assert_says(&home, "One.\n");
    home.run(&["undo"]).done();
    assert_eq!(archived(&home), [NAME]);
    Git::of(&home).assert_sound();
}

#[test]
fn forgetting_and_restoring_are_undone() {
    let home = home_with("One.\n");
    home.run(&["forget", "aaaaaaaa"]).done();
    let said = home.run(&["undo"]).done();
    assert!(said.contains(&format!("files/{NAME}  restored")), "{said}");
    assert_says(&home, "One.\n");
    home.run(&["forget", "aaaaaaaa"]).done();
    home.run(&["restore", "aaaaaaaa"]).done();
    home.run(&["undo"]).done();
    assert_eq!(archived(&home), [NAME]);
    Git::of(&home).assert_sound();
}

#[test]
fn moves_and_deletions_are_undone() {
    let home = home_with("One.\n");
    let there = home.make("store/files/sub").join(NAME);
    fs::rename(home.files().join(NAME), &there).unwrap();
    let said = home.run(&["undo"]).done();
    assert!(
        said.contains(&format!("files/{NAME}  moved back")),
        "{said}"
    );
    assert_says(&home, "One.\n");
    assert!(!there.exists());
    fs::remove_file(home.files().join(NAME)).unwrap();
    let said = home.run(&["undo", "aaaaaaaa"]).done();
    assert!(said.contains("written back"), "{said}");
    assert_says(&home, "One.\n");
    Git::of(&home).assert_sound();
}

#[test]
fn what_was_changed_since_stays() {
    let home = home_with("First.\n\nMiddle.\n\nLast.\n");
    write(&home, "First, again.\n\nMiddle.\n\nLast.\n");
    let commit = Git::of(&home).says(&["rev-parse", "HEAD"]);
    home.put(NAME, text("First, again.\n\nMiddle.\n\nLast, by hand.\n"));
    home.run(&["undo", commit.trim()]).done();
    assert_says(&home, "First.\n\nMiddle.\n\nLast, by hand.\n");
    // The edit by hand is a commit of its own.
    let subjects = Git::of(&home).subjects();
    assert!(
        subjects[0].starts_with("Undo Change memory"),
        "{subjects:?}"
    );
    assert_eq!(subjects.len(), 4);
    Git::of(&home).assert_sound();
}

#[test]
fn an_undo_that_contradicts_touches_nothing() {
    let home = home_with("First.\n");
    let git = Git::of(&home);
    let other = home.remember(&["Other."]);
    let bytes = home.text_of(&other);
    home.put(NAME, text("Second.\n"));
    let changed = home.text_of(&other).replace("Other.", "Changed.");
    fs::write(home.file_of(&other), &changed).unwrap();
    home.run(&["sync"]).done();
    let commit = git.says(&["rev-parse", "HEAD"]);
    write(&home, "Third.\n");
    let before = git.subjects();
    home.run(&["undo", commit.trim()])
        .complains(2, &[NAME, "since", "hint: Nothing was changed."]);
    assert_says(&home, "Third.\n");
    assert_eq!((home.text_of(&other), git.subjects()), (changed, before));
    // Its other half can be had alone.
    home.run(&["undo", &other]).done();
    assert_eq!(home.text_of(&other), bytes);
    assert!(git.subjects()[0].ends_with(&format!(" for memory {other}")));
    assert_says(&home, "Third.\n");
    home.run(&["undo", &other]).done();
    assert!(archived(&home)[0].ends_with(&format!("_{other}.md")));
}

#[test]
fn a_commit_of_many_memories_is_undone_as_a_whole() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["first"]);
    for number in 0..20 {
        let id = format!("{number:07x}a");
        let bytes = memory_text(&id, "2026-01-01T00:00:00Z", "x");
        home.put(&format!("20260101_000000_{id}.md"), bytes);
    }
    home.run(&["sync"]).done();
    let reply = home.run(&["undo", "--json"]).json();
    assert_eq!(reply["what"], "Add 20 memories");
    assert_eq!(reply["files"].as_array().unwrap().len(), 20);
    assert_eq!(reply["files"][0]["done"], "forgotten");
    assert_eq!(archived(&home).len(), 20);
    assert_eq!(names(&home.files()).len(), 1);
    assert_eq!(git.subjects()[0], "Undo Add 20 memories");
    git.assert_sound();
}

#[test]
fn what_is_left_of_a_commit_is_told() {
    let home = Home::new();
    for text in ["One.", "Two.", "Three."] {
        home.remember(&[text]);
    }
    for name in names(&home.files()) {
        fs::remove_file(home.files().join(name)).unwrap();
    }
    home.run(&["sync"]).done();
    let said = home.run(&["undo"]).done();
    let commit = said["undid ".len()..][..10].to_owned();
    let left = format!("The commit changed 2 other memories; `memdir undo {commit}`");
    assert!(said.contains(&left), "{said}");
    home.run(&["undo", &commit]).done();
    assert_eq!(names(&home.files()).len(), 3);
}

#[test]
fn settings_are_put_back_and_never_taken_away() {
    let home = Home::new();
    let git = Git::of(&home);
    home.write("store/memdir.toml", "limit = 3\n");
    home.run(&["sync"]).done();
    home.write("store/memdir.toml", "limit = 4\n");
    home.run(&["undo"]).done();
    let settings = home.store().join("memdir.toml");
    assert_eq!(fs::read_to_string(&settings).unwrap(), "limit = 3\n");
    home.run(&["undo"])
        .complains(2, &["there is nothing to undo"]);
    assert!(settings.exists());
    git.assert_sound();
}

#[test]
fn a_setting_is_taken_back_before_the_memory_that_was_written_before_it() {
    let home = Home::new();
    let settings = home.write("store/memdir.toml", "limit = 3\n");
    home.run(&["sync"]).done();
    let id = home.remember(&["Keep me."]);
    home.run(&["config", "set", "--in-store", "limit", "9"])
        .done();
    assert_eq!(fs::read_to_string(&settings).unwrap(), "limit = 9\n");
    home.run(&["undo"]).done();
    assert_eq!(fs::read_to_string(&settings).unwrap(), "limit = 3\n");
    assert!(!home.text_of(&id).is_empty());
}

#[test]
fn an_update_that_kept_the_earlier_text_is_taken_back_without_a_second_memory() {
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&["--title", "Deploy day", "Tuesday"]);
    let again = [
        "--title",
        "Deploy day",
        "--duplicates",
        "title",
        "Wednesday",
    ];
    home.run(&[&["remember"], &again[..]].concat())
        .complains(0, &["its earlier text is"]);
    let bytes = home.text_of(&id);
    assert!(bytes.ends_with("Wednesday"), "{bytes}");
    assert!(!git.subjects().iter().any(|said| said.starts_with("Forget")));
    home.run(&["undo"]).done();
    assert_eq!(names(&home.files()).len(), 1);
    assert!(home.text_of(&id).ends_with("Tuesday"));
    git.assert_sound();
}

#[test]
fn what_somebody_put_back_by_hand_needs_no_undo() {
    let home = home_with("One.\n");
    write(&home, "Two.\n");
    let there = Git::of(&home).says(&["rev-parse", "HEAD"]);
    // By hand, with no word of an undo.
    write(&home, "One.\n");
    let back = Git::of(&home).says(&["rev-parse", "HEAD"]);
    let ran = home.run(&["undo", there.trim()]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.text().contains("as it was before already"), "{ran:?}");
    home.run(&["undo", "aaaaaaaa"]).done();
    assert_says(&home, "Two.\n");
    home.run(&["undo", "aaaaaaaa"]).done();
    assert_says(&home, "One.\n");
    // What was undone is named with what undid it.
    home.run(&["undo", back.trim()])
        .complains(2, &["is undone already, by", "does it again"]);
}

#[test]
fn what_was_done_beside_a_server_is_undone() {
    let home = Home::new();
    let git = Git::of(&home);
    home.remember(&["First."]);
    let _session = Session::on(&home);
    let id = home.remember(&["Second."]);
    home.run(&["undo"]).done();
    let subjects = git.subjects();
    assert!(
        subjects[0].starts_with(&format!("Undo Add memory {id}")),
        "{subjects:?}"
    );
    home.run(&["undo"]).done();
    assert_eq!(names(&home.files()), [""; 0]);
}

#[test]
fn a_store_in_a_repository_that_asked_for_it_has_its_own_past() {
    let home = Home::new();
    let theirs = Git::at(&home, home.root());
    theirs.says(&["init", "-q", "-b", "main"]);
    theirs.says(&["config", "memdir.store.owner", "asked"]);
    theirs.says(&["commit", "-q", "--allow-empty", "-m", "Theirs"]);
    let id = home.remember(&["One."]);
    home.write("files/beside.md", "theirs");
    theirs.says(&["add", "files"]);
    theirs.says(&["commit", "-q", "-m", "Theirs, too"]);
    home.run(&["update", &id, "--content", "Two."]).done();
    assert_eq!(home.run(&["log"]).lines().len(), 2);
    assert_eq!(home.run(&["log", &id]).lines().len(), 2);
    assert!(home.run(&["diff", &id]).done().contains("\n-One."));
    home.run(&["undo"]).done();
    assert!(home.text_of(&id).contains("One."));
    home.run(&["restore", &format!("{id}@HEAD~1")]).done();
    assert!(home.text_of(&id).contains("Two."));
    home.run(&["undo", "HEAD~3"])
        .complains(2, &["no commit of this store's history"]);
}

#[test]
fn only_what_exists_is_undone() {
    let home = home_with("One.\n");
    home.run(&["undo", "nope"])
        .complains(2, &["neither a commit nor a memory is called `nope`"]);
    home.run(&["undo", "bbbbbbbb"]).complains(2, &["neither"]);
    home.run(&["undo", &"0".repeat(40)])
        .complains(2, &["no commit of this store's history"]);
    home.run(&["undo", "--read-only"])
        .complains(2, &["can only be read"]);
    home.run(&["restore", "--read-only", "aaaaaaaa@HEAD"])
        .complains(2, &["can only be read"]);
    let git = Git::of(&home);
    git.says(&["checkout", "-q", "--detach"]);
    home.run(&["undo"])
        .complains(2, &["no branch is checked out"]);
    assert_says(&home, "One.\n");
}

#[test]
fn a_memory_is_restored_as_of_a_moment() {
    let home = home_with("One.\n");
    let git = Git::of(&home);
    let first = git.says(&["rev-parse", "HEAD"]);
    write(&home, "Two.\n");
    let id = format!("aaaaaaaa@{}", &first[..10]);
    let said = home.run(&["restore", &id]).done();
    assert_eq!(said, "restored aaaaaaaa\n");
    assert_says(&home, "One.\n");
    let subject = format!("Restore memory aaaaaaaa ({NAME}) as of {}", &first[..10]);
    assert_eq!(git.subjects()[0], subject);
    let tool = git.says(&["log", "-1", "--format=%(trailers:key=Tool,valueonly)"]);
    assert_eq!(tool.trim(), "restore");
    home.run(&["undo"]).done();
    assert_says(&home, "Two.\n");
    // From the archive, and from nowhere.
    home.run(&["forget", "aaaaaaaa"]).done();
    home.run(&["restore", &id]).done();
    assert_says(&home, "One.\n");
    assert_eq!(archived(&home), [""; 0]);
    fs::remove_file(home.files().join(NAME)).unwrap();
    home.run(&["restore", "aaaaaaaa@HEAD"]).done();
    assert_says(&home, "One.\n");
    git.assert_sound();
    let reply = home.run(&["restore", "--json", "aaaaaaaa@nope", &id]);
    assert_eq!(reply.code, 2);
    assert_eq!(reply.json()["restored"][0]["file"], NAME);
    assert_eq!(
        reply.json()["errors"][0]["error"],
        "there is no commit and no time called `nope`"
    );
}

#[test]
fn names_with_odd_characters_are_undone_and_restored() {
    let home = Home::new();
    let odd = "mail@work 'ü\u{7}: x.md";
    home.put(odd, "One.\n");
    home.run(&["sync"]).done();
    home.put(odd, "Two.\n");
    home.run(&["undo", odd]).done();
    assert_eq!(
        fs::read_to_string(home.files().join(odd)).unwrap(),
        "One.\n"
    );
    home.run(&["forget", odd]).done();
    home.run(&["restore", odd]).done();
    let revision = format!("{odd}@HEAD~2");
    home.run(&["restore", &revision]).done();
    assert_eq!(
        fs::read_to_string(home.files().join(odd)).unwrap(),
        "One.\n"
    );
    Git::of(&home).assert_sound();
}

#[test]
fn without_a_word_what_was_done_on_another_machine_stays() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let mine = one.remember(&["Mine."]);
    machines.settle();
    let theirs = two.remember(&["Theirs."]);
    machines.settle();
    let undone = one.run(&["undo", "--json"]).json();
    assert_eq!(undone["files"][0]["id"], mine.as_str(), "{undone}");
    let nothing = one.run(&["undo"]);
    assert!(
        nothing.stderr.contains("on this machine"),
        "{}",
        nothing.stderr
    );
    // Named, it is.
    let undone = one.run(&["undo", &theirs, "--json"]).json();
    assert_eq!(undone["files"][0]["id"], theirs.as_str(), "{undone}");
}

#[test]
fn a_change_that_is_held_back_is_no_commit_to_undo() {
    let machines = Machines::new(1);
    let home = &machines.homes[0];
    let id = home.remember(&["As it was."]);
    home.run(&["sync"]).done();
    let token = format!("{}{}", "gh", "p_R7mQ2vX9kLw4TzB8nYc1JfHd6sPa3GuE5oKi");
    machines::edit(home, &id, "As it was.", &format!("With {token}."));
    // Nor is the last change an earlier one.
    for words in [&["undo", &id][..], &["undo"]] {
        let refused = home.run(words);
        refused.complains(2, &["is not committed", "memdir restore", "@HEAD"]);
        assert!(!refused.stderr.contains(&token));
    }
    home.run(&["restore", &format!("{id}@HEAD")]).done();
    assert!(home.text_of(&id).contains("As it was."));
}

#[test]
fn undoing_touches_no_file_of_the_same_name_in_another_folder() {
    let home = Home::new();
    let git = Git::of(&home);
    home.write("store/files/p1/index.md", "Project one.\n");
    home.run(&["sync"]).done();
    let added = git.says(&["rev-parse", "HEAD"]);
    home.write("store/files/p2/index.md", "Project two.\n");
    fs::remove_file(home.files().join("p1/index.md")).unwrap();
    home.run(&["sync"]).done();
    home.run(&["undo", added.trim()]);
    assert!(home.files().join("p2/index.md").exists());
}

#[test]
fn what_was_done_by_hand_to_other_memories_stays() {
    let home = home_with("One.\n");
    home.put("tulips.md", "# Tulips\n\nRed ones.\n");
    fs::remove_file(home.files().join(NAME)).unwrap();
    let said = home.run(&["undo"]).done();
    assert!(
        said.contains(&format!("files/{NAME}  written back")),
        "{said}"
    );
    assert_eq!(names(&home.files()), [NAME, "tulips.md"]);
    // The next one takes back what was done before that.
    home.run(&["undo"]).done();
    assert_eq!(names(&home.files()), [NAME]);
    assert_eq!(archived(&home), ["tulips.md"]);
    Git::of(&home).assert_sound();
}

#[test]
fn calls_of_a_server_are_undone_one_by_one() {
    let home = home_with("One.\n");
    let git = Git::of(&home);
    let mut session = Session::on(&home);
    let remember =
        |content: &str| json!({"agent": "a", "user": "u", "topics": ["t"], "content": content});
    session.tool("remember", remember("Kept."));
    session.tool("remember", remember("Taken back."));
    crate::support::until("both are committed", || {
        let log = git.says(&["log", "-p"]);
        log.contains("+Kept.") && log.contains("+Taken back.")
    });
    drop(session);
    home.run(&["undo"]).done();
    let texts: Vec<String> = names(&home.files())
        .iter()
        .map(|name| fs::read_to_string(home.files().join(name)).unwrap())
        .collect();
    assert_eq!(texts.len(), 2);
    assert!(texts.iter().any(|text| text.contains("Kept.")));
    git.assert_sound();
}

#[test]
fn the_command_given_last_is_undone_and_not_what_was_done_by_hand_before_it() {
    for command in ["update", "forget", "link"] {
        let home = Home::new();
        let ids = home.remember(&["Mine, first."]);
        let other = home.remember(&["Another."]);
        fs::write(home.files().join("roses.md"), "roses\n").unwrap();
        let edited = home
            .text_of(&other)
            .replace("Another.", "Another, by hand.");
        fs::write(home.file_of(&other), edited).unwrap();
        let before = home.text_of(&ids);
        match command {
            "update" => home
                .run(&["update", &ids, "--content", "Mine, second."])
                .done(),
            "forget" => home.run(&["forget", &ids]).done(),
            _ => home.run(&["link", &ids, &other]).done(),
        };
        home.run(&["undo"]).done();
        assert_eq!(home.text_of(&ids), before, "{command}");
        assert!(home.files().join("roses.md").exists(), "{command}");
        assert!(home.text_of(&other).contains("by hand"), "{command}");
        // After it, what was done by hand before.
        home.run(&["undo"]).done();
        let is_there = home.files().join("roses.md").exists();
        assert!(
            !is_there || !home.text_of(&other).contains("by hand"),
            "{command}"
        );
    }
}

#[test]
fn what_was_there_when_the_store_was_made_is_no_deed_to_undo() {
    let home = Home::new();
    let vault = home.make("vault");
    for number in 0..12 {
        fs::write(
            vault.join(format!("n{number}.md")),
            format!("note {number}\n"),
        )
        .unwrap();
    }
    let run = |words: &[&str]| {
        let mut command = home.bare();
        crate::support::program::run(command.current_dir(&vault).args(words))
    };
    run(&["init", "--here", "--notes", "."]).done();
    assert_eq!(run(&["undo"]).code, 2);
    run(&["remember", "One more."]).done();
    run(&["undo"]).done();
    assert_eq!(run(&["undo"]).code, 2);
    assert!((0..12).all(|number| vault.join(format!("n{number}.md")).exists()));
}

#[test]
fn a_move_whose_old_name_is_taken_is_not_undone_in_part() {
    let home = Home::new();
    let git = Git::of(&home);
    let file = |name: &str| home.files().join(name);
    home.write("store/files/x/a.md", "A.\n");
    home.write("store/files/x/b.md", "B.\n");
    home.run(&["sync"]).done();
    fs::create_dir(file("y")).unwrap();
    for name in ["a.md", "b.md"] {
        fs::rename(file("x").join(name), file("y").join(name)).unwrap();
    }
    home.run(&["sync"]).done();
    let moved = git.says(&["rev-parse", "HEAD"]);
    home.write("store/files/x/b.md", "Another.\n");
    home.run(&["undo", moved.trim()])
        .complains(2, &["files/x/b.md is there already", "Nothing was changed"]);
    assert_eq!(names(&file("x")), ["b.md"]);
    assert_eq!(names(&file("y")), ["a.md", "b.md"]);
    fs::remove_file(file("x/b.md")).unwrap();
    // What was written since goes along.
    home.write("store/files/y/a.md", "A, longer.\n");
    home.run(&["undo", moved.trim()]).done();
    assert_eq!(names(&file("x")), ["a.md", "b.md"]);
    assert_eq!(fs::read_to_string(file("x/a.md")).unwrap(), "A, longer.\n");
    assert!(!file("y/a.md").exists() && !file("y/b.md").exists());
}

#[test]
fn a_change_made_by_a_slow_clock_is_undone_before_what_it_changed() {
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&["One."]);
    let ahead = |text: &[&str]| {
        let future = ["-c", "core.hooksPath=/none"];
        let dated = "2099-01-01T00:00:00Z";
        let mut command = std::process::Command::new("git");
        home.surround(&mut command);
        command.current_dir(home.store()).args(future);
        command.args(["-c", "user.name=Test", "-c", "user.email=test@example.org"]);
        command
            .env("GIT_COMMITTER_DATE", dated)
            .env("GIT_AUTHOR_DATE", dated);
        let ran = crate::support::program::run(command.args(text));
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.text().trim().to_owned()
    };
    // The memory comes from a machine whose clock is fast, and so does another change beside this one's.
    ahead(&["commit", "-q", "--amend", "--no-edit"]);
    let side = ahead(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "Side"]);
    home.run(&["update", &id, "--content", "Two."]).done();
    let merge = git.says(&[
        "commit-tree",
        "HEAD^{tree}",
        "-p",
        "HEAD",
        "-p",
        &side,
        "-m",
        "Merge",
    ]);
    git.says(&["update-ref", "refs/heads/main", merge.trim()]);
    let log = home.run(&["log", &id, "--plain"]).done();
    let change = log.find("Change").unwrap();
    assert!(change < log.find("Add").unwrap(), "{log}");
    home.run(&["undo", &id]).done();
    let text = home.text_of(&id);
    assert!(text.contains("One.") && !text.contains("Two."), "{text}");
    let again = home.run(&["restore", &format!("{id}@{side}")]).done();
    assert_eq!(again, format!("unchanged {id}\n"));
}
