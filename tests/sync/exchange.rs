//! Machines sync over a repository that they share.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::git::Git;
use crate::support::machines::{Machines, edit, failure, text, texts};
use crate::support::program::{Home, run};
use crate::support::session::Session;

#[test]
fn what_one_machine_does_the_others_have() {
    let machines = Machines::new(3);
    let [one, two, three] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&["--topics", "a", "From one."]);
    machines.settle();
    two.run(&["update", &id, "--title", "By two"]).done();
    let other = three.remember(&["From three."]);
    machines.settle();
    assert!(one.text_of(&id).contains("title: By two"));
    three.run(&["forget", &id]).done();
    let all = machines.settle();
    assert!(
        all.iter().any(|(name, _)| name.starts_with("archive/")),
        "{all:?}"
    );
    one.run(&["restore", &id]).done();
    edit(two, &other, "From three.", "From three, and two.");
    let all = machines.settle();
    assert_eq!(all.len(), 2);
    assert!(three.text_of(&other).contains("and two."));
    assert!(
        two.run(&["think", "--json", "From one"])
            .text()
            .contains("From one.")
    );
}

#[test]
fn a_store_that_was_used_joins_with_all_it_has() {
    let machines = Machines::new(1);
    machines.homes[0].remember(&["There."]);
    machines.sync(0);
    let late = Home::new();
    late.remember(&["Here."]);
    machines.join(&late);
    let all: Vec<String> = texts(&late).into_iter().map(|(_, text)| text).collect();
    assert!(
        all.iter().any(|text| text.contains("Here.")) && all.len() == 2,
        "{all:?}"
    );
    machines.sync(0);
    assert_eq!(texts(&machines.homes[0]), texts(&late));
}

#[test]
fn changes_of_one_memory_that_go_together_are_put_together() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&["--topics", "a", "First line.\n\nMiddle.\n\nLast line."]);
    machines.settle();
    one.run(&["update", &id, "--topics", "a,b"]).done();
    edit(one, &id, "First line.", "First line, by one.");
    two.run(&["update", &id, "--topics", "a,c", "--importance", "8"])
        .done();
    edit(two, &id, "Last line.", "Last line, by two.");
    let all = machines.settle();
    assert_eq!(all.len(), 1);
    for part in [
        "First line, by one.",
        "Last line, by two.",
        "importance: 8",
        "[a, b, c]",
    ] {
        assert!(all[0].1.contains(part), "{part}: {}", all[0].1);
    }
}

#[test]
fn what_excludes_each_other_is_kept_twice_and_linked() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&["We meet on Monday."]);
    machines.settle();
    edit(one, &id, "Monday", "Tuesday");
    edit(two, &id, "Monday", "Friday");
    machines.sync(0);
    let said = machines.sync(1);
    assert_eq!(said["conflicts"].as_array().unwrap().len(), 1);
    let all = machines.settle();
    assert_eq!(all.len(), 2, "{all:?}");
    let both: String = all.iter().map(|(_, text)| text.as_str()).collect();
    assert!(both.contains("on Tuesday.") && both.contains("on Friday."));
    assert!(
        all.iter()
            .all(|(_, text)| text.contains("type: conflicts-with"))
    );
    assert!(!both.contains("<<<<"));
}

#[test]
fn a_change_wins_over_forgetting_and_over_a_deletion() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let ids: Vec<String> = (0..4)
        .map(|n| one.remember(&[&format!("Memory {n}.")]))
        .collect();
    machines.settle();
    one.run(&["forget", &ids[0]]).done();
    fs::remove_file(one.file_of(&ids[1])).unwrap();
    edit(two, &ids[0], "Memory 0.", "Changed 0.");
    edit(two, &ids[1], "Memory 1.", "Changed 1.");
    // And the other way round, seen from who syncs first.
    edit(one, &ids[2], "Memory 2.", "Changed 2.");
    edit(one, &ids[3], "Memory 3.", "Changed 3.");
    two.run(&["forget", &ids[2]]).done();
    fs::remove_file(two.file_of(&ids[3])).unwrap();
    let all = machines.settle();
    assert_eq!(all.len(), 4, "{all:?}");
    for (name, text) in &all {
        assert!(
            name.starts_with("files/") && text.contains("Changed"),
            "{name}: {text}"
        );
    }
}

#[test]
fn moved_here_and_changed_there_is_both() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&["A memory."]);
    machines.settle();
    let name = one.file_of(&id).file_name().unwrap().to_owned();
    fs::create_dir(one.files().join("2026")).unwrap();
    fs::rename(one.file_of(&id), one.files().join("2026").join(&name)).unwrap();
    edit(two, &id, "A memory.", "A changed memory.");
    let all = machines.settle();
    assert_eq!(all.len(), 1);
    assert!(
        all[0].0.starts_with("files/2026/") && all[0].1.contains("changed"),
        "{all:?}"
    );
}

#[test]
fn an_older_copy_in_the_archive_takes_nothing_back() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&["First line.\nLast line.\n"]);
    machines.settle();
    let here = one.file_of(&id);
    let name = here.file_name().unwrap();
    let older = fs::read_to_string(&here).unwrap();
    edit(one, &id, "Last line.", "Middle line.\nLast line.");
    machines.settle();
    // As a merge leaves it that was killed when it brought a forgotten memory back.
    fs::create_dir_all(two.store().join("archive")).unwrap();
    fs::write(two.store().join("archive").join(name), older).unwrap();
    machines.sync(1);
    edit(one, &id, "Last line.", "Last line.\nAppended.");
    machines.sync(0);
    machines.sync(1);
    for path in [&here, &two.files().join(name)] {
        let text = fs::read_to_string(path).unwrap();
        assert!(
            text.contains("Middle line.") && text.contains("Appended."),
            "{text}"
        );
    }
}

#[test]
fn two_memories_of_one_name_are_both_kept() {
    let machines = Machines::new(2);
    let name = "20260101_000000_aaaaaaaa.md";
    machines.homes[0].put(name, text("aaaaaaaa", "From one."));
    machines.homes[1].put(name, text("aaaaaaaa", "From two."));
    let all = machines.settle();
    let both: String = all.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        all.len() == 2 && both.contains("From one.") && both.contains("From two."),
        "{all:?}"
    );
}

#[test]
fn a_remote_that_is_away_costs_nothing_but_time() {
    let machines = Machines::new(2);
    let away = machines.remote().with_extension("away");
    fs::rename(machines.remote(), &away).unwrap();
    let one = &machines.homes[0];
    let id = one.remember(&["Meanwhile."]);
    let ran = one.run(&["sync"]);
    assert!(
        failure(&ran).starts_with("error: cannot fetch from"),
        "{}",
        ran.stderr
    );
    assert!(Git::of(one).subjects()[0].contains(&id));
    fs::rename(away, machines.remote()).unwrap();
    assert_eq!(machines.settle().len(), 1);
}

#[test]
fn a_history_that_was_rewritten_or_emptied_is_taken_in_on_request_only() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["first"]);
    machines.settle();
    let old = machines.shared().says(&["rev-parse", "main"]);
    one.remember(&["second"]);
    machines.settle();
    let before = texts(two);
    let rewritten = ["update-ref", "refs/heads/main", old.trim()];
    let copy = machines.copy();
    copy.says(&["checkout", "-q", "--detach", old.trim()]);
    copy.says(&["commit", "-q", "--amend", "-m", "Rewritten"]);
    machines.shared().says(&rewritten);
    copy.says(&["push", "-q", "--force", "origin", "HEAD:main"]);
    assert!(machines.pauses(1).contains("rewritten"));
    assert_eq!(texts(two), before);
    two.run(&["sync", "--accept-history"]).done();
    assert_eq!(texts(two), before);
    // What was there before can be looked up.
    assert!(
        !Git::of(two)
            .says(&["for-each-ref", "refs/memdir/backup/"])
            .is_empty()
    );
    machines
        .shared()
        .says(&["update-ref", "-d", "refs/heads/main"]);
    assert!(machines.pauses(1).contains("lost its branch"));
    two.run(&["sync", "--accept-history"]).done();
    assert_eq!(
        machines.shared().says(&["rev-parse", "main"]),
        Git::of(two).says(&["rev-parse", "main"])
    );
}

#[test]
fn what_was_taken_out_of_the_remotes_history_stays_out_where_it_is_adopted() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["first"]);
    machines.settle();
    let clean = machines.shared().says(&["rev-parse", "main"]);
    one.remember(&["leaked"]);
    machines.settle();
    two.remember(&["of two"]);
    // Nothing new is there, only less than before.
    let copy = machines.copy();
    let rewritten = format!("{}:main", clean.trim());
    copy.says(&["push", "-q", "--force", "origin", &rewritten]);
    assert!(machines.pauses(1).contains("--adopt-remote"));
    two.run(&["sync", "--adopt-remote"]).done();
    let all = texts(two);
    let all: String = all.iter().map(|(_, text)| text.as_str()).collect();
    assert!(all.contains("first") && all.contains("of two") && !all.contains("leaked"));
    for git in [Git::of(two), machines.shared()] {
        assert!(!git.says(&["log", "-p", "main"]).contains("leaked"));
    }
    one.run(&["sync", "--adopt-remote"]).done();
    assert_eq!(machines.settle().len(), 2);
    assert!(
        !machines
            .shared()
            .says(&["log", "-p", "main"])
            .contains("leaked")
    );
}

#[test]
fn deletions_in_mass_stop_at_the_first_machine() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    for number in 0..30 {
        let id = format!("{number:07x}a");
        one.put(&format!("20260101_000000_{id}.md"), text(&id, "A memory."));
    }
    machines.settle();
    for path in crate::support::regular_files(&one.files()).iter().take(20) {
        fs::remove_file(path).unwrap();
    }
    assert!(
        machines
            .pauses(0)
            .contains("20 of 30 memories were deleted")
    );
    machines.sync(1);
    assert_eq!(texts(two).len(), 30);
    one.run(&["sync", "--accept-deletions"]).done();
    assert!(machines.pauses(1).starts_with("on the remote 20 of 30"));
    assert_eq!(texts(two).len(), 30);
    two.run(&["sync", "--accept-deletions"]).done();
    assert_eq!(machines.settle().len(), 10);
    // Forgetting is no deletion.
    for path in crate::support::regular_files(&one.files()) {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        one.run(&["forget", &stem]).done();
    }
    assert_eq!(machines.settle().len(), 10);
}

#[test]
fn what_stands_in_the_way_is_named_and_costs_one_backup() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["first"]);
    machines.settle();
    fs::write(one.store().join("memdir.toml"), "limit = 3\n").unwrap();
    machines.sync(0);
    fs::remove_file(two.store().join("memdir.toml")).unwrap();
    two.remember(&["second"]);
    for _ in 0..2 {
        let said = machines.pauses(1);
        assert!(
            said.starts_with("`memdir.toml` stands in the way"),
            "{said}"
        );
    }
    let status = two.run(&["status"]).done();
    assert!(status.contains("sync  paused: `memdir.toml`"), "{status}");
    let list = [
        "for-each-ref",
        "--format=%(objectname)",
        "refs/memdir/backup/",
    ];
    let listed = Git::of(two).says(&list);
    let mut heads: Vec<&str> = listed.lines().collect();
    let count = heads.len();
    heads.sort_unstable();
    heads.dedup();
    assert_eq!(heads.len(), count, "{listed}");
}

/// Machines that share `count` memories.
fn with_memories(count: usize) -> Machines {
    let machines = Machines::new(2);
    for number in 0..count {
        let id = format!("{number:07x}a");
        let name = format!("20260101_000000_{id}.md");
        machines.homes[0].put(&name, text(&id, "A memory."));
    }
    machines.settle();
    machines
}

/// Deletes `count` memories of a store, as a file manager does.
fn delete(home: &Home, count: usize) {
    for path in crate::support::regular_files(&home.files())
        .iter()
        .take(count)
    {
        fs::remove_file(path).unwrap();
    }
}

#[test]
fn memories_that_were_moved_out_of_the_store_are_deleted() {
    let machines = with_memories(12);
    let copy = machines.copy();
    copy.says(&["mv", "files", "junk"]);
    copy.says(&["commit", "-q", "-m", "Move"]);
    copy.says(&["push", "-q", "origin", "HEAD:main"]);
    assert!(machines.pauses(1).starts_with("on the remote 12 of 12"));
    assert_eq!(texts(&machines.homes[1]).len(), 12);
}

#[test]
fn a_small_store_is_not_emptied_without_a_word() {
    for count in [3, 10] {
        let machines = with_memories(count);
        delete(&machines.homes[0], count);
        assert!(machines.pauses(0).contains(&format!("{count} of {count}")));
        machines.sync(1);
        assert_eq!(texts(&machines.homes[1]).len(), count);
    }
}

#[test]
fn deletions_in_several_gulps_are_counted_together() {
    let machines = with_memories(30);
    delete(&machines.homes[0], 5);
    machines.sync(0);
    machines.sync(1);
    delete(&machines.homes[0], 4);
    assert!(machines.pauses(0).contains("9 of 30"));
    // Who looked at it begins to count anew.
    machines.homes[0]
        .run(&["sync", "--accept-deletions"])
        .done();
    delete(&machines.homes[0], 4);
    machines.sync(0);
    assert!(machines.pauses(1).contains("on the remote 13 of 30"));
}

#[test]
fn texts_that_are_emptied_count_as_deleted() {
    let machines = with_memories(12);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let before = texts(two);
    let files = crate::support::regular_files(&one.files());
    for (path, rest) in files.iter().zip(["", "\n", " \t\n", "ok", "\u{200b}", "."]) {
        fs::write(path, rest).unwrap();
    }
    let said = machines.pauses(0);
    assert!(
        said.contains("6 of 12 memories were deleted or emptied (6 "),
        "{said}"
    );
    machines.sync(1);
    one.run(&["sync", "--accept-deletions"]).done();
    let said = machines.pauses(1);
    assert!(said.starts_with("on the remote 6 of 12"), "{said}");
    assert_eq!(texts(two), before);
    two.run(&["sync", "--accept-deletions"]).done();
    // Five are few, and an edit is an edit.
    for path in files.iter().skip(6) {
        let text = fs::read_to_string(path).unwrap();
        fs::write(path, text.replace("A memory.", "Something else.")).unwrap();
    }
    for path in files.iter().skip(6).take(5) {
        fs::write(path, "").unwrap();
    }
    machines.sync(0);
    machines.sync(1);
    assert_eq!(texts(one), texts(two));
}

#[test]
fn memories_that_were_moved_where_nobody_looks_are_deleted() {
    let machines = with_memories(12);
    let copy = machines.copy();
    copy.says(&["mv", "files", ".hidden"]);
    fs::create_dir(machines.remote().with_file_name("copy").join("files")).unwrap();
    copy.says(&["mv", ".hidden", "files/.hidden"]);
    copy.says(&["commit", "-q", "-m", "Move"]);
    copy.says(&["push", "-q", "origin", "HEAD:main"]);
    assert!(machines.pauses(1).starts_with("on the remote 12 of 12"));
    assert_eq!(texts(&machines.homes[1]).len(), 12);
}

#[test]
fn what_is_purged_goes_on_its_way_and_stops_where_nobody_said_it() {
    let machines = with_memories(12);
    let one = &machines.homes[0];
    for path in crate::support::regular_files(&one.files()).iter().take(8) {
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        one.run(&["purge", "--yes", &stem]).done();
    }
    machines.sync(0);
    assert!(machines.pauses(1).contains("on the remote 8 of 12"));
    let two = &machines.homes[1];
    two.run(&["sync", "--accept-deletions"]).done();
    assert_eq!(texts(two).len(), 4);
}

#[test]
fn what_a_remote_sends_is_data() {
    let machines = Machines::new(1);
    let one = &machines.homes[0];
    one.remember(&["mine"]);
    machines.sync(0);
    let shared = machines.shared();
    let blob = shared.says_with(&["hash-object", "-w", "--stdin"], b"/etc/passwd");
    let link = format!("120000 blob {}", blob.trim());
    let commit = shared.says(&["rev-parse", "main"]);
    let repository = format!("160000 commit {}", commit.trim());
    let file = format!("100644 blob {}", blob.trim());
    for (path, entry, reason) in [
        ("files/x.md", &link, "a symbolic link"),
        ("files/sub", &repository, "a repository of its own"),
        (".gitmodules", &file, "git would act on"),
        ("memories/.git/hooks/pre-commit", &file, "git would act on"),
    ] {
        machines.push_entry(path, entry);
        let before = texts(one);
        let said = machines.sync(0);
        let left_out = said["left_out"].to_string();
        assert!(left_out.contains(reason), "{path}: {said}");
        assert_eq!(texts(one), before, "{path}");
        assert!(!one.store().join(path).exists(), "{path}");
        // Nor does it go from the remote with what is written next.
        one.remember(&[&format!("more than {path}")]);
        machines.sync(0);
        let listed = shared.says(&["ls-tree", "-r", "main"]);
        let kept = format!("{entry}\t{path}");
        assert!(listed.contains(&kept), "{listed}");
    }
}

#[test]
fn in_somebodys_repository_it_is_asked_for_and_keeps_to_its_folder() {
    let machines = Machines::new(1);
    let home = Home::new();
    let project = home.root().join("project");
    let remote = machines.remote();
    let git = Git::at(&home, home.root());
    git.says(&["clone", "-q", remote.to_str().unwrap(), "project"]);
    let git = Git::at(&home, project.clone());
    fs::write(project.join("main.rs"), "fn main() {}").unwrap();
    git.says(&["add", "main.rs"]);
    git.says(&["commit", "-q", "-m", "Theirs"]);
    let store = project.join("memories");
    let on = |arguments: &[&str]| {
        let mut command = home.bare();
        command.arg("--store").arg(&store).args(arguments);
        run(&mut command)
    };
    on(&["init", store.to_str().unwrap()]).done();
    on(&["remember", "one"]).done();
    assert_eq!(on(&["sync", "--json"]).json()["state"], "off");
    assert!(git.subjects().len() < 4);
    // The branch holds a commit that its author has not pushed.
    let ran = on(&["sync", "--setup", "--allow-local", "--json"]);
    let said = ran.json();
    assert_eq!(said["state"], "paused", "{said} {}", ran.stderr);
    assert!(
        said["reason"].as_str().unwrap().contains("Theirs"),
        "{said}"
    );
    git.says(&["push", "-q"]);
    on(&["sync"]).done();
    let listed = machines
        .shared()
        .says(&["ls-tree", "-r", "--name-only", "main"]);
    assert!(
        listed.contains("main.rs") && listed.contains("memories/files/"),
        "{listed}"
    );
    assert_eq!(git.says(&["status", "--porcelain"]), "");
    assert_eq!(git.says(&["diff", "--cached", "--name-only"]), "");
}

#[test]
fn an_address_with_a_password_is_refused_and_not_repeated() {
    let home = Home::new();
    home.remember(&["one"]);
    for address in [
        "https://u:SECRET@example.org/x",
        "https://SECRET@example.org/x",
        "ext::sh -c SECRET",
        "--upload-pack=SECRET",
    ] {
        let mut command = home.command(&["sync"]);
        command.arg(format!("--setup={address}"));
        let ran = run(&mut command);
        assert_eq!(ran.code, 2, "{address}");
        assert!(
            !(ran.stderr + &String::from_utf8_lossy(&ran.stdout)).contains("SECRET"),
            "{address}"
        );
    }
    let config = fs::read_to_string(home.store().join(".git/config")).unwrap();
    assert!(!config.contains("remote"), "{config}");
}

#[test]
fn servers_come_into_step_by_themselves() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let serve = |home: &Home| {
        let mut command = home.command(&["mcp"]);
        command.env("MEMDIR_SYNC_INTERVAL", "1");
        command
    };
    let sessions = (Session::open_on(serve(one)), Session::open_on(serve(two)));
    let id = one.remember(&["Goes by itself."]);
    let there = two.files();
    crate::support::until("it is on the other machine", || {
        let names = fs::read_dir(&there).unwrap().flatten();
        let mut names = names.map(|entry| entry.file_name().into_string().unwrap());
        names.any(|name| name.contains(&id))
    });
    edit(two, &id, "by itself", "and comes back");
    let file = one.file_of(&id);
    crate::support::until("the change has come back", || {
        fs::read_to_string(&file)
            .unwrap()
            .contains("and comes back")
    });
    drop(sessions);
    assert_eq!(machines.settle().len(), 1);
    assert!(!Path::new(&one.store()).join("files/.git").exists());
}

/// Two machines, the first of which was killed in the midst of a merge: the files were written but
/// for `unwritten`, and the branch was not moved. `change` is what both did before.
fn killed_while_merging(
    change: impl Fn(&Home, &Home) -> Vec<String>,
    unwritten: impl Fn(&[String]) -> Vec<String>,
) -> (Machines, Vec<String>) {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let ids = change(one, two);
    machines.sync(1);
    let theirs = machines.shared().says(&["rev-parse", "main"]);
    // Commits what waits.
    one.run(&["log"]).done();
    let git = Git::of(one);
    let ours = git.says(&["rev-parse", "main"]);
    let unwritten: Vec<(PathBuf, Vec<u8>)> = unwritten(&ids)
        .iter()
        .map(|id| (one.file_of(id), fs::read(one.file_of(id)).unwrap()))
        .collect();
    machines.sync(0);
    let merge = git.says(&["rev-parse", "main"]);
    let (ours, theirs, merge) = (ours.trim(), theirs.trim(), merge.trim());
    let main = "refs/heads/main";
    machines.shared().says(&["update-ref", main, theirs]);
    for name in ["refs/memdir/seen/main", "refs/memdir/remote/main"] {
        git.says(&["update-ref", name, theirs]);
    }
    git.says(&["update-ref", "refs/memdir/merging/main", merge]);
    git.says(&["reset", "-q", ours]);
    let changed = git.says(&["diff", "--name-only", ours, merge]);
    let is_left = |path: &str| unwritten.iter().any(|(left, _)| left.ends_with(path));
    let written: String = changed
        .lines()
        .filter(|path| !is_left(path))
        .map(|path| format!("{path}\n"))
        .collect();
    for (path, text) in &unwritten {
        fs::write(path, text).unwrap();
    }
    let note = format!("memdir merging 1 {merge} {ours}\n{written}");
    fs::write(one.store().join(".memdir/merging"), note).unwrap();
    (machines, ids)
}

/// One memory that two people changed together, one that contradicts, one that only the other did.
fn three_changed(one: &Home, two: &Home) -> Vec<String> {
    let ids: Vec<String> = [
        "Top.\n\nMiddle.\n\nEnd.",
        "We meet on Monday.",
        "Left alone.",
    ]
    .iter()
    .map(|text| one.remember(&[text]))
    .collect();
    for home in [one, two, one] {
        home.run(&["sync"]).done();
    }
    edit(two, &ids[0], "End.", "End, by two.");
    edit(two, &ids[1], "Monday", "Friday");
    edit(two, &ids[2], "Left alone.", "By two alone.");
    edit(one, &ids[0], "Top.", "Top, by one.");
    edit(one, &ids[1], "Monday", "Tuesday");
    ids
}

#[test]
fn what_a_killed_merge_wrote_is_nobodys_edit() {
    let (machines, _) = killed_while_merging(three_changed, |ids| vec![ids[2].clone()]);
    let one = &machines.homes[0];
    let id = one.remember(&["Meanwhile."]);
    let told = Git::of(one).says(&["show", "--format=", "--name-only", "main", "--", "files"]);
    let told: Vec<&str> = told.lines().filter(|line| !line.is_empty()).collect();
    assert!(told.len() == 1 && told[0].contains(&id), "{told:?}");
    // What came from the other machine stays: it was not done here.
    one.run(&["undo"]).done();
    let all = machines.settle();
    let both: String = all.iter().map(|(_, text)| text.as_str()).collect();
    for part in [
        "Top, by one.",
        "End, by two.",
        "By two alone.",
        "Tuesday",
        "Friday",
    ] {
        assert!(both.contains(part), "{part}: {both}");
    }
    assert_eq!(both.matches("conflicts-with").count(), 2, "{both}");
    assert!(
        all.iter()
            .any(|(name, text)| name.starts_with("archive/") && text.contains("Meanwhile."))
    );
    let merging = Git::of(one).says(&["for-each-ref", "refs/memdir/merging/"]);
    assert_eq!(merging, "");
}

#[test]
fn an_edit_after_a_killed_merge_makes_no_second_pair() {
    for is_noted in [true, false] {
        let (machines, ids) = killed_while_merging(three_changed, |_| Vec::new());
        let one = &machines.homes[0];
        edit(one, &ids[0], "Top, by one.", "Top, by one again.");
        let path = one.file_of(&ids[1]);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("We meet", "We two meet")).unwrap();
        if !is_noted {
            fs::remove_file(one.store().join(".memdir/merging")).unwrap();
        }
        let all = machines.settle();
        let both: String = all.iter().map(|(_, text)| text.as_str()).collect();
        for part in [
            "Top, by one again.",
            "End, by two.",
            "By two alone.",
            "We two meet",
        ] {
            assert!(both.contains(part), "{part}: {both}");
        }
        assert_eq!(all.len(), 4, "{all:?}");
        assert_eq!(both.matches("conflicts-with").count(), 2, "{both}");
    }
}

#[test]
fn what_somebody_commits_of_a_killed_merge_makes_no_second_pair() {
    let (machines, _) = killed_while_merging(three_changed, |ids| vec![ids[2].clone()]);
    let git = Git::of(&machines.homes[0]);
    git.says(&["add", "--all", "files"]);
    git.says(&["commit", "-q", "-m", "By hand"]);
    let all = machines.settle();
    assert_eq!(all.len(), 4, "{all:?}");
    let both: String = all.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(both.matches("conflicts-with").count(), 2, "{both}");
    assert!(both.contains("By two alone."));
}

#[test]
fn an_edit_made_before_a_conflict_was_known_is_one_of_the_text_that_was_put_aside() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&["We meet on Monday."]);
    machines.settle();
    edit(two, &id, "Monday", "Friday");
    machines.sync(1);
    // The later one of the two; in the same second, the greater text.
    edit(one, &id, "Monday", "Tuesday");
    machines.sync(0);
    edit(two, &id, "Friday", "Friday at noon");
    let all = machines.settle();
    assert_eq!(all.len(), 2, "{all:?}");
    let both: String = all.iter().map(|(_, text)| text.as_str()).collect();
    assert!(
        both.contains("on Tuesday.") && both.contains("on Friday at noon."),
        "{both}"
    );
}

#[test]
fn texts_that_a_person_would_not_call_different_stay_one_memory() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&["First line.\nLast line."]);
    machines.settle();
    edit(
        one,
        &id,
        "First line.\nLast line.",
        "First line, changed.  \nLast line.",
    );
    edit(
        two,
        &id,
        "First line.\nLast line.",
        "First line, changed.\nLast line.\t\n\n",
    );
    edit(one, &id, "agent: ", "access_count: 4\nagent: ");
    edit(two, &id, "agent: ", "access_count: 9\nagent: ");
    let all = machines.settle();
    assert_eq!(all.len(), 1, "{all:?}");
    assert!(all[0].1.contains("access_count: 9"), "{}", all[0].1);
}
