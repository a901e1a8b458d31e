//! Memories that are taken away for good stay away, on every machine.

use std::fs;

use crate::support::git::Git;
use crate::support::machines::{Machines, edit, failure, text, texts};
use crate::support::program::{Home, names, run};
use crate::support::session::Session;

/// What only the purged memory says.
const TEXT: &str = "The zebra sleeps at noon.";

#[track_caller]
fn purge(home: &Home, id: &str) -> serde_json::Value {
    let ran = home.run(&["purge", id, "--yes", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    ran.json()
}

/// No file of the memory is there, and no question finds it.
#[track_caller]
fn assert_gone(home: &Home, id: &str) {
    let ending = format!("{id}.md");
    let all = texts(home);
    assert!(
        !all.iter().any(|(name, _)| name.ends_with(&ending)),
        "{all:?}"
    );
    assert_eq!(home.run(&["think", "--keywords", "zebra"]).code, 1);
    assert_eq!(home.run(&["grep", "zebra"]).code, 1);
    let stones = names(&home.store().join("tombstones"));
    assert!(stones.iter().any(|stem| stem.ends_with(id)), "{stones:?}");
}

#[test]
fn a_purged_memory_is_gone_and_a_commit_says_so_without_its_text() {
    let home = Home::new();
    let git = Git::of(&home);
    let id = home.remember(&[TEXT]);
    home.remember(&["Another."]);
    let file = home.file_of(&id);
    let file = file.file_name().unwrap().to_str().unwrap();
    let said = purge(&home, &id);
    assert_eq!(said["purged"][0]["id"], id.as_str());
    assert_eq!(said["purged"][0]["files"][0], format!("files/{file}"));
    assert_eq!(said["purged"][0]["in_history"], true);
    assert_gone(&home, &id);
    assert_eq!(git.subjects()[0], format!("Purge memory {id} ({file})"));
    let shown = git.says(&["show", "--format=%B", "--stat", "HEAD"]);
    assert!(shown.contains("Tool: purge\n"), "{shown}");
    assert!(
        shown.contains(&format!("tombstones/{}", &file[..24])),
        "{shown}"
    );
    let stone = fs::read_to_string(home.store().join("tombstones").join(&file[..24])).unwrap();
    assert!(
        stone.ends_with("Z purged\n") && !stone.contains("zebra"),
        "{stone}"
    );
    git.assert_sound();
    let verified = home.run(&["verify"]);
    assert_eq!(verified.code, 0, "{verified:?}");
}

#[test]
fn it_says_that_the_history_holds_the_text_and_how_to_find_it() {
    let home = Home::new();
    let id = home.remember(&[TEXT]);
    let said = home.run(&["purge", &id, "--yes"]).done();
    assert!(said.contains("still in the git history"), "{said}");
    let stem = names(&home.store().join("tombstones")).remove(0);
    assert!(said.contains(&format!("memdir log {stem}")), "{said}");
    let log = home.run(&["log", &stem]).done();
    assert_eq!(log.lines().count(), 2, "{log}");
    let pattern = format!("*{stem}.md");
    let stat = home.run(&["git", "log", "--all", "--stat", "--", &pattern]);
    assert!(stat.text().contains("Add memory"), "{}", stat.text());
}

#[test]
fn a_text_that_was_in_no_commit_comes_into_none() {
    let home = Home::new();
    home.remember(&["Another."]);
    let name = "20260101_000000_aaaaaaaa.md";
    home.put(name, text("aaaaaaaa", TEXT));
    let said = purge(&home, "aaaaaaaa");
    assert_eq!(said["purged"][0]["in_history"], false);
    assert_gone(&home, "aaaaaaaa");
    let git = Git::of(&home);
    assert_eq!(git.says(&["log", "--all", "--format=%H", "-Szebra"]), "");
    git.assert_sound();
}

#[test]
fn every_file_of_the_memory_goes_also_in_folders_and_in_the_archive() {
    let home = Home::new();
    let id = home.remember(&[TEXT]);
    let path = home.file_of(&id);
    let file = path.file_name().unwrap();
    for folder in ["files/projects", "archive"] {
        let folder = home.make(&format!("store/{folder}"));
        fs::copy(&path, folder.join(file)).unwrap();
    }
    home.run(&["sync"]).done();
    // Two live files of one name are told apart by their paths.
    let stem = file.to_str().unwrap().strip_suffix(".md").unwrap();
    purge(&home, &format!("projects/{stem}"));
    assert_gone(&home, &id);
    let forgotten = home.remember(&[TEXT]);
    home.run(&["forget", &forgotten]).done();
    purge(&home, &forgotten);
    assert_gone(&home, &forgotten);
    Git::of(&home).assert_sound();
}

#[test]
fn nothing_is_purged_unless_somebody_says_yes() {
    let home = Home::new();
    let id = home.remember(&[TEXT]);
    let said = failure(&home.run(&["purge", &id]));
    assert!(said.contains("--yes") && said.contains("forget"), "{said}");
    let said = failure(&home.run(&["--read-only", "purge", &id, "--yes"]));
    assert!(said.contains("can only be read"), "{said}");
    assert!(home.text_of(&id).contains(TEXT));
    let said = failure(&home.run(&["purge", "nope1234", "--yes"]));
    assert!(said.contains("no memory is called"), "{said}");
}

#[test]
fn neither_undo_nor_restore_nor_an_import_brings_it_back() {
    let home = Home::new();
    let id = home.remember(&["--timestamp", "2026-01-01T00:00:00Z", TEXT]);
    let path = home.file_of(&id);
    let copy = home.make("aiaml/files").join(path.file_name().unwrap());
    fs::copy(&path, &copy).unwrap();
    purge(&home, &id);
    home.run(&["undo"]).complains(2, &["was purged"]);
    home.run(&["restore", &format!("{id}@HEAD~1")])
        .complains(2, &["was purged"]);
    let folder = home.root().join("aiaml");
    let ran = home.run(&["import", "--from", "aiaml", folder.to_str().unwrap()]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_gone(&home, &id);
}

#[test]
fn it_goes_from_every_machine_whatever_was_done_with_it_there() {
    let machines = Machines::new(4);
    let [one, two, three, _] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&[TEXT]);
    let other = one.remember(&["Another."]);
    machines.settle();
    purge(one, &id);
    edit(two, &id, "noon", "night");
    three.run(&["forget", &id]).done();
    // Seen from who was offline: its change meets the purge, or the purge meets its change.
    machines.sync(1);
    machines.sync(0);
    let all = machines.settle();
    assert_eq!(all.len(), 1, "{all:?}");
    machines
        .homes
        .iter()
        .for_each(|home| assert_gone(home, &id));
    two.run(&["update", &other, "--title", "Still in step"])
        .done();
    machines.settle();
    machines
        .homes
        .iter()
        .for_each(|home| assert_gone(home, &id));
}

#[test]
fn two_machines_may_purge_the_same() {
    let machines = Machines::new(2);
    let id = machines.homes[0].remember(&[TEXT]);
    machines.settle();
    machines
        .homes
        .iter()
        .for_each(|home| drop(purge(home, &id)));
    assert!(machines.settle().is_empty());
    machines
        .homes
        .iter()
        .for_each(|home| assert_gone(home, &id));
}

#[test]
fn a_machine_that_joins_later_does_not_have_it_and_one_that_had_it_loses_it() {
    let machines = Machines::new(1);
    let id = machines.homes[0].remember(&[TEXT]);
    machines.sync(0);
    let (fresh, used) = (Home::new(), Home::new());
    let file = machines.homes[0].file_of(&id);
    used.remember(&["There before."]);
    fs::copy(&file, used.files().join(file.file_name().unwrap())).unwrap();
    purge(&machines.homes[0], &id);
    machines.sync(0);
    for home in [&fresh, &used] {
        machines.join(home);
        assert_gone(home, &id);
        Git::of(home).assert_sound();
    }
    machines.sync(0);
    assert_gone(&machines.homes[0], &id);
    assert_eq!(texts(&machines.homes[0]), texts(&used));
}

#[test]
fn a_file_that_somebody_puts_back_is_told_and_goes_no_further() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&[TEXT]);
    let (path, text) = (one.file_of(&id), one.text_of(&id));
    machines.settle();
    purge(one, &id);
    machines.settle();
    fs::write(&path, text).unwrap();
    let verified = one.run(&["verify", "--json"]).json();
    assert_eq!(verified["problems"][0]["code"], "was-purged", "{verified}");
    machines.sync(0);
    machines.sync(1);
    assert_gone(two, &id);
    Git::of(two).assert_sound();
    // And who put it back hears of it with the next exchange.
    machines.settle();
    assert_gone(one, &id);
}

#[test]
fn a_server_forgets_at_once_what_a_command_purged() {
    let home = Home::new();
    let id = home.remember(&[TEXT]);
    home.run(&["reindex"]).done();
    let _session = Session::on(&home);
    purge(&home, &id);
    assert_gone(&home, &id);
    crate::support::until("committed", || {
        Git::of(&home).subjects()[0].starts_with("Purge memory")
    });
}

#[test]
fn only_the_file_that_was_named_goes_where_names_are_no_ids() {
    let home = Home::new();
    home.write("store/files/p1/index.md", TEXT);
    home.write("store/files/p2/index.md", "Project two.\n");
    home.run(&["sync"]).done();
    home.write("store/files/p2/index.md", "Project two, in no commit.\n");
    let said = purge(&home, "p1/index.md");
    assert_eq!(said["purged"][0]["files"][0], "files/p1/index.md");
    assert_eq!(said["purged"][0]["in_history"], true);
    let all = texts(&home);
    assert_eq!(
        all,
        [(
            "files/p2/index.md".to_owned(),
            "Project two, in no commit.\n".to_owned()
        )]
    );
    let ran = home.run(&["verify"]);
    assert!(!ran.text().contains("purged"), "{}", ran.text());
}

#[test]
fn a_whole_name_is_no_beginning_of_another_one() {
    let home = Home::new();
    let id = home.remember(&["One."]);
    let file = home.file_of(&id);
    let stem = file.file_stem().unwrap().to_str().unwrap().to_owned();
    // What `edit` leaves where somebody else saved meanwhile.
    let copy = home.files().join(format!("{stem}.conflict-12345678.md"));
    fs::write(&copy, "My version.\n").unwrap();
    purge(&home, &stem);
    home.run(&["purge", &stem, "--yes"])
        .complains(2, &["no memory is called"]);
    assert_eq!(fs::read_to_string(&copy).unwrap(), "My version.\n");
}

#[test]
fn former_texts_in_the_archive_go_with_the_memory_and_by_their_own_names_only() {
    let home = Home::new();
    run(home
        .bare()
        .args(["init", "--no-git", home.store().to_str().unwrap()]))
    .done();
    let ids = ["One.", "Two."].map(|text| home.remember(&[text]));
    let stems = ids.each_ref().map(|id| {
        let file = home.file_of(id);
        let text = fs::read_to_string(&file).unwrap();
        // A text by hand is kept where there is no history.
        fs::write(&file, text + "By hand.\n").unwrap();
        home.run(&["update", id, "--content", "Later."]).done();
        file.file_stem().unwrap().to_str().unwrap().to_owned()
    });
    let archive = home.store().join("archive");
    assert_eq!(names(&archive).len(), 2);
    home.run(&["archive", "purge", &stems[0], "--yes"])
        .complains(2, &["no memory is called"]);
    assert_eq!(names(&archive).len(), 2);
    let purged = purge(&home, &stems[0]);
    assert_eq!(
        purged["purged"][0]["files"].as_array().unwrap().len(),
        2,
        "{purged}"
    );
    let left = names(&archive);
    assert!(
        left.len() == 1 && left[0].starts_with(&stems[1]),
        "{left:?}"
    );
    home.run(&["archive", "purge", left[0].trim_end_matches(".md"), "--yes"])
        .done();
    assert!(names(&archive).is_empty());
    assert_eq!(home.run(&["recall", &ids[1]]).code, 0);
}

#[test]
fn an_adopted_note_that_was_purged_does_not_come_back_under_its_former_name() {
    let machines = Machines::new(2);
    let [one, two] = [&machines.homes[0], &machines.homes[1]];
    fs::write(one.files().join("Zebras.md"), TEXT).unwrap();
    machines.settle();
    one.run(&["adopt", "--yes"]).done();
    let all = texts(one);
    let adopted = all.iter().find(|(_, text)| text.contains("zebra"));
    let name = &adopted.unwrap().0;
    let id = name[name.len() - 11..name.len() - 3].to_owned();
    purge(one, &id);
    assert_gone(one, &id);
    // It had the note as it was, and has not heard of the rest.
    two.run(&["update", "Zebras", "--topics", "animals"]).done();
    machines.settle();
    for home in [one, two] {
        let all = texts(home);
        let held = all.iter().filter(|(_, text)| text.contains("zebra"));
        assert_eq!(held.count(), 0, "{all:?}");
    }
}

#[test]
fn notes_of_one_text_that_were_adopted_together_are_told_apart() {
    let machines = Machines::new(2);
    let [one, two] = [&machines.homes[0], &machines.homes[1]];
    for name in ["Zebras.md", "Horses.md"] {
        fs::write(one.files().join(name), TEXT).unwrap();
    }
    machines.settle();
    one.run(&["adopt", "--yes"]).done();
    let all = texts(one);
    let zebras = all.iter().find(|(_, text)| text.contains("title: Zebras"));
    let name = &zebras.unwrap().0;
    purge(one, &name[name.len() - 11..name.len() - 3]);
    two.run(&["update", "Horses", "--topics", "animals"]).done();
    let all = machines.settle();
    let of_horses = all.iter().filter(|(_, text)| text.contains("zebra"));
    let of_horses: Vec<_> = of_horses.collect();
    assert!(
        of_horses.iter().any(|(_, text)| text.contains("animals")),
        "{all:?}"
    );
    assert!(
        of_horses
            .iter()
            .all(|(_, text)| !text.contains("title: Zebras")),
        "{all:?}"
    );
    // The history of the one is that of the other no more.
    let git = Git::of(one);
    one.run(&[
        "purge",
        "--history",
        "--yes",
        "--json",
        &name[name.len() - 11..name.len() - 3],
    ])
    .done();
    let horses = git.says(&["log", "--all", "--format=%H", "--", "files/Horses.md"]);
    let zebras = git.says(&["log", "--all", "--format=%H", "--", "files/Zebras.md"]);
    assert!(horses.len() >= 40 && zebras.is_empty(), "{horses} {zebras}");
}

#[test]
fn a_purged_name_that_is_no_id_may_be_used_again() {
    let machines = Machines::new(3);
    let [one, two, three] = &machines.homes[..] else {
        unreachable!()
    };
    let round = || {
        for _ in 0..2 {
            (0..3).for_each(|at| drop(machines.sync(at)));
        }
    };
    one.write("store/files/list/todo.md", TEXT);
    one.write("store/files/keep/todo.md", "Another list.\n");
    round();
    purge(one, "list/todo");
    // Changed there while it was purged here: it goes all the same, and its namesake stays.
    two.write(
        "store/files/list/todo.md",
        format!("{TEXT} And at night.\n"),
    );
    two.write("store/files/keep/todo.md", "Another list, longer.\n");
    round();
    let kept = [(
        "files/keep/todo.md".to_owned(),
        "Another list, longer.\n".to_owned(),
    )];
    for home in &machines.homes {
        assert_eq!(texts(home), kept);
    }
    let stone = fs::read_to_string(one.store().join("tombstones/todo")).unwrap();
    assert!(
        stone.contains("\ntext ") && !stone.contains("zebra"),
        "{stone}"
    );
    // A new one is another memory; the old text is not.
    two.write("store/files/list/todo.md", "A new list.\n");
    round();
    for home in &machines.homes {
        assert_eq!(home.run(&["think", "--keywords", "new list"]).code, 0);
    }
    assert!(!two.run(&["verify"]).text().contains("purged"));
    fs::remove_file(two.files().join("list/todo.md")).unwrap();
    round();
    three.write("store/files/list/todo.md", TEXT);
    assert!(three.run(&["verify"]).text().contains("purged"));
    round();
    assert_eq!(texts(one), kept);
}

#[test]
fn what_two_machines_purged_under_one_name_stays_away() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    for (home, folder) in [(one, "a"), (two, "b")] {
        let name = format!("store/files/{folder}/todo.md");
        home.write(&name, format!("{TEXT} {folder}\n"));
        home.run(&["sync"]).done();
    }
    machines.sync(0);
    purge(one, "a/todo");
    purge(two, "b/todo");
    for at in [0, 1, 0] {
        machines.sync(at);
    }
    let stones = machines
        .homes
        .iter()
        .map(|home| fs::read_to_string(home.store().join("tombstones/todo")).unwrap());
    for stone in stones {
        assert_eq!(stone.matches("\ntext ").count(), 2, "{stone}");
    }
    assert_eq!((texts(one).len(), texts(two).len()), (0, 0));
}

#[test]
fn what_was_purged_here_is_no_loss_on_the_remote() {
    let machines = Machines::new(2);
    let [one, two] = [&machines.homes[0], &machines.homes[1]];
    let ids: Vec<String> = (0..12)
        .map(|at| one.remember(&[&format!("Memory {at}.")]))
        .collect();
    machines.settle();
    for id in &ids[..7] {
        purge(one, id);
    }
    machines.sync(0);
    machines.pauses(1);
    two.run(&["sync", "--accept-deletions"]).done();
    two.remember(&["Another."]);
    machines.settle();
    // One more, which comes from there.
    purge(two, &ids[7]);
    machines.sync(1);
    machines.sync(0);
    assert_eq!(names(&one.files()).len(), 5);
}

#[test]
fn the_earlier_texts_of_a_memory_go_with_it() {
    let home = Home::new();
    let git = Git::of(&home);
    let with_earlier = || {
        let id = home.remember(&["--title", "Zebra", TEXT]);
        let again = ["--title", "Zebra", "--duplicates", "title", "It sleeps."];
        home.run(&[&["remember"], &again[..]].concat())
            .complains(0, &["its earlier text is"]);
        assert_eq!(names(&home.store().join("archive")).len(), 1);
        id
    };
    let first = with_earlier();
    let said = purge(&home, &first);
    assert_eq!(said["purged"].as_array().unwrap().len(), 2, "{said}");
    assert_eq!(names(&home.store().join("archive")), [""; 0]);
    let id = with_earlier();
    home.run(&["purge", &id, "--history", "--yes"]).done();
    assert_eq!(names(&home.store().join("archive")), [""; 0]);
    let holding = || {
        let search = [
            "log",
            "--all",
            "--format=%H",
            "-Szebra sleeps",
            "--",
            "archive",
        ];
        git.says(&search)
    };
    assert_ne!(holding(), "", "the first one is in commits still");
    home.run(&["purge", &first, "--history", "--yes"]).done();
    assert_eq!(holding(), "");
    git.assert_sound();
}
