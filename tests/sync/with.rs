//! Two stores on one machine that sync without a remote.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::git::Git;
use crate::support::machines::{edit, failure, text, texts};
use crate::support::program::{Home, names, run};
use crate::support::regular_files;

/// Two stores; the first is where the commands are run.
struct Pair {
    here: Home,
    there: Home,
}

fn name(id: &str) -> String {
    format!("20260101_000000_{id}.md")
}

/// Everything below a folder.
fn bytes(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let read = |path: PathBuf| (path.clone(), fs::read(path).unwrap());
    regular_files(root).into_iter().map(read).collect()
}

impl Pair {
    fn new() -> Pair {
        Pair {
            here: Home::new(),
            there: Home::new(),
        }
    }

    fn folder(&self) -> String {
        self.there.store().to_str().unwrap().to_owned()
    }

    #[track_caller]
    fn run(&self, direction: &str, more: &[&str]) -> Value {
        let folder = self.folder();
        let mut all = vec![
            "sync",
            "--with",
            &folder,
            "--direction",
            direction,
            "--json",
        ];
        all.extend(more);
        let ran = self.here.run(&all);
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{ran:?}");
        ran.json()
    }

    /// Syncs; then both have the same, nothing is wrong, and a second run does nothing.
    #[track_caller]
    fn merge(&self) -> Value {
        let said = self.run("merge", &[]);
        assert_eq!(texts(&self.here), texts(&self.there), "{said}");
        for home in [&self.here, &self.there] {
            let verified = home.run(&["verify"]);
            assert_eq!(verified.code, 0, "{verified:?}");
            Git::of(home).assert_sound();
        }
        let before = [bytes(&self.here.store()), bytes(&self.there.store())];
        let again = self.run("merge", &[]);
        assert_eq!(again["in_step"], true, "{again}");
        let after = [bytes(&self.here.store()), bytes(&self.there.store())];
        for (before, after) in before.iter().zip(&after) {
            let kept = |path: &&PathBuf| !path.components().any(|part| part.as_os_str() == ".git");
            let changed: Vec<_> = after
                .keys()
                .filter(kept)
                .filter(|path| before.get(*path) != after.get(*path))
                .filter(|path| !path.to_str().unwrap().ends_with(".lock"))
                .collect();
            assert_eq!(changed, Vec::<&PathBuf>::new());
        }
        said
    }
}

#[test]
fn both_have_the_same_afterwards_in_one_commit_each() {
    let pair = Pair::new();
    let heron = pair.here.remember(&["a heron"]);
    let stork = pair.there.remember(&["a stork"]);
    let gone = pair.there.remember(&["an egret"]);
    pair.there.run(&["forget", &gone]).done();
    pair.there.run(&["link", &stork, &gone]);
    let said = pair.merge();
    assert_eq!(
        said["brought"]["files"].as_array().unwrap().len(),
        2,
        "{said}"
    );
    assert_eq!(said["sent"]["files"].as_array().unwrap().len(), 1, "{said}");
    assert!(pair.here.text_of(&stork).contains("a stork"));
    assert!(pair.there.text_of(&heron).contains("a heron"));
    assert_eq!(names(&pair.here.store().join("archive")).len(), 1);
    for (home, subject) in [(&pair.here, "Add 2 memories"), (&pair.there, "Add memory")] {
        let git = Git::of(home);
        assert!(
            git.subjects()[0].starts_with(subject),
            "{:?}",
            git.subjects()
        );
        let body = git.says(&["log", "-1", "--format=%B"]);
        assert!(body.contains("Tool: sync --with"), "{body}");
    }
    assert_eq!(pair.here.run(&["think", "--keywords", "stork"]).code, 0);
}

#[test]
fn a_pull_writes_nothing_there_and_a_push_brings_nothing_here() {
    let pair = Pair::new();
    let ids = [
        pair.here.remember(&["a heron"]),
        pair.there.remember(&["a stork"]),
    ];
    let there = bytes(&pair.there.store());
    let said = pair.run("pull", &[]);
    assert_eq!(
        said["brought"]["files"].as_array().unwrap().len(),
        1,
        "{said}"
    );
    assert_eq!(bytes(&pair.there.store()), there);
    assert!(pair.here.text_of(&ids[1]).contains("stork"));
    assert_eq!(pair.run("pull", &[])["in_step"], true);
    let other = pair.there.remember(&["an egret"]);
    let here = texts(&pair.here);
    let said = pair.run("push", &[]);
    assert_eq!(said["sent"]["files"].as_array().unwrap().len(), 1, "{said}");
    assert_eq!(texts(&pair.here), here);
    assert!(pair.there.text_of(&ids[0]).contains("heron"));
    assert_eq!(pair.run("push", &[])["in_step"], true);
    pair.merge();
    assert!(pair.here.text_of(&other).contains("egret"));
}

#[test]
fn a_dry_run_says_what_would_be_done_and_does_nothing() {
    let pair = Pair::new();
    pair.here.remember(&["a heron"]);
    pair.there.remember(&["a stork"]);
    let before = [bytes(&pair.there.store()), bytes(&pair.here.files())];
    let planned = pair.run("merge", &["--dry-run"]);
    assert_eq!(
        [bytes(&pair.there.store()), bytes(&pair.here.files())],
        before
    );
    let mut done = pair.run("merge", &[]);
    assert_eq!(
        (&planned["dry_run"], &done["dry_run"]),
        (&true.into(), &false.into())
    );
    done["dry_run"] = true.into();
    assert_eq!(planned, done);
}

#[test]
fn forgetting_and_deleting_are_taken_over_unless_the_other_side_edited() {
    let pair = Pair::new();
    for id in [
        "aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd", "eeeeeeee", "ffffffff",
    ] {
        pair.here.put(&name(id), text(id, &format!("about {id}\n")));
    }
    pair.merge();
    pair.here.run(&["forget", "aaaaaaaa", "bbbbbbbb"]).done();
    fs::remove_file(pair.here.file_of("cccccccc")).unwrap();
    fs::remove_file(pair.here.file_of("dddddddd")).unwrap();
    edit(&pair.there, "bbbbbbbb", "about", "edited");
    edit(&pair.there, "dddddddd", "about", "edited");
    pair.there.run(&["forget", "eeeeeeee"]).done();
    let said = pair.merge();
    assert_eq!(
        said["sent"]["forgotten"].as_array().unwrap().len(),
        2,
        "{said}"
    );
    assert_eq!(
        said["sent"]["removed"].as_array().unwrap().len(),
        0,
        "{said}"
    );
    assert_eq!(
        said["brought"]["forgotten"].as_array().unwrap().len(),
        1,
        "{said}"
    );
    assert_eq!(
        names(&pair.there.files()),
        ["bbbbbbbb", "dddddddd", "ffffffff"].map(name)
    );
    assert!(pair.here.text_of("bbbbbbbb").contains("edited"));
    assert!(pair.here.text_of("dddddddd").contains("edited"));
    assert_eq!(
        names(&pair.here.store().join("archive")),
        ["aaaaaaaa", "cccccccc", "eeeeeeee"].map(name)
    );
}

#[test]
fn edits_on_both_sides_are_united_and_what_excludes_each_other_is_two() {
    let pair = Pair::new();
    for id in ["aaaaaaaa", "bbbbbbbb"] {
        pair.here.put(&name(id), text(id, "one\n\ntwo\n\nthree\n"));
    }
    pair.merge();
    edit(&pair.here, "aaaaaaaa", "one", "ONE");
    edit(&pair.there, "aaaaaaaa", "three", "THREE");
    edit(&pair.here, "bbbbbbbb", "two", "a heron");
    edit(&pair.there, "bbbbbbbb", "two", "a stork");
    let said = pair.merge();
    assert!(
        pair.there
            .text_of("aaaaaaaa")
            .ends_with("ONE\n\ntwo\n\nTHREE\n")
    );
    assert_eq!(
        said["brought"]["united"][0], "20260101_000000_aaaaaaaa",
        "{said}"
    );
    assert_eq!(
        said["brought"]["conflicts"][0], "20260101_000000_bbbbbbbb",
        "{said}"
    );
    let all = texts(&pair.here);
    assert_eq!(all.len(), 3);
    for bird in ["a heron", "a stork"] {
        assert_eq!(
            all.iter().filter(|(_, text)| text.contains(bird)).count(),
            1,
            "{all:?}"
        );
    }
    assert!(
        all.iter()
            .filter(|(_, text)| text.contains("conflicts-with"))
            .count()
            == 2
    );
}

#[test]
fn a_pull_goes_on_where_the_last_one_ended() {
    let pair = Pair::new();
    pair.there
        .put(&name("aaaaaaaa"), text("aaaaaaaa", "one\n\ntwo\n\nthree\n"));
    pair.there.put(&name("bbbbbbbb"), text("bbbbbbbb", "b\n"));
    pair.there.run(&["sync"]).done();
    pair.run("pull", &[]);
    edit(&pair.here, "aaaaaaaa", "one", "ONE");
    edit(&pair.there, "aaaaaaaa", "three", "THREE");
    fs::remove_file(pair.there.file_of("bbbbbbbb")).unwrap();
    pair.there.run(&["sync"]).done();
    let said = pair.run("pull", &[]);
    assert_eq!(
        said["brought"]["united"][0], "20260101_000000_aaaaaaaa",
        "{said}"
    );
    assert_eq!(
        said["brought"]["forgotten"][0], "20260101_000000_bbbbbbbb",
        "{said}"
    );
    edit(&pair.there, "aaaaaaaa", "THREE", "3");
    pair.there.run(&["sync"]).done();
    let said = pair.run("pull", &[]);
    assert_eq!(
        said["brought"]["conflicts"],
        Value::Array(Vec::new()),
        "{said}"
    );
    assert!(pair.here.text_of("aaaaaaaa").ends_with("ONE\n\ntwo\n\n3\n"));
    assert!(pair.there.text_of("aaaaaaaa").contains("one\n"));
}

#[test]
fn stores_that_never_met_keep_both_texts_of_one_name() {
    let pair = Pair::new();
    pair.here
        .put(&name("aaaaaaaa"), text("aaaaaaaa", "a heron\n"));
    pair.there
        .put(&name("aaaaaaaa"), text("aaaaaaaa", "a stork\n"));
    pair.here
        .put(&name("bbbbbbbb"), text("bbbbbbbb", "the same\n"));
    pair.there
        .put(&name("bbbbbbbb"), text("bbbbbbbb", "the same\n"));
    let said = pair.merge();
    assert_eq!(
        said["brought"]["conflicts"].as_array().unwrap().len(),
        1,
        "{said}"
    );
    assert_eq!(texts(&pair.here).len(), 3);
    let pairs = pair.there.run(&["resolve", "--json"]).json();
    assert_eq!(pairs["conflicts"].as_array().unwrap().len(), 1, "{pairs}");
}

#[test]
fn a_purged_memory_goes_from_the_other_store_and_is_not_brought_back() {
    let pair = Pair::new();
    for id in ["aaaaaaaa", "bbbbbbbb", "cccccccc"] {
        pair.here.put(&name(id), text(id, "text\n"));
    }
    pair.merge();
    pair.here.run(&["purge", "aaaaaaaa", "--yes"]);
    edit(&pair.there, "aaaaaaaa", "text", "edited");
    let said = pair.merge();
    assert_eq!(
        said["sent"]["removed"][0], "20260101_000000_aaaaaaaa",
        "{said}"
    );
    assert_eq!(
        names(&pair.there.files()),
        ["bbbbbbbb", "cccccccc"].map(name)
    );
    // A store that has it still, and knows nothing of the purge.
    let old = Pair {
        here: pair.here,
        there: Home::new(),
    };
    old.there.put(&name("aaaaaaaa"), text("aaaaaaaa", "text\n"));
    old.there.put(&name("dddddddd"), text("dddddddd", "text\n"));
    old.merge();
    assert_eq!(
        names(&old.here.files()),
        ["bbbbbbbb", "cccccccc", "dddddddd"].map(name)
    );
}

#[test]
fn uses_are_counted_in_both_and_once() {
    let pair = Pair::new();
    let id = pair.here.remember(&["a heron"]);
    pair.merge();
    pair.here.run(&["recall", &id]);
    pair.there.run(&["recall", &id]);
    pair.there.run(&["recall", &id]);
    pair.merge();
    let uses = |home: &Home| home.run(&["inspect", &id, "--json"]).json()["uses"]["count"].clone();
    assert_eq!((uses(&pair.here), uses(&pair.there)), (3.into(), 3.into()));
    pair.here.run(&["recall", &id]);
    pair.merge();
    assert_eq!((uses(&pair.here), uses(&pair.there)), (4.into(), 4.into()));
}

#[test]
fn a_file_that_vanished_there_goes_to_the_archive_here_with_a_reason() {
    let pair = Pair::new();
    let ids: Vec<String> = (0..8).map(|n| format!("aaaaaaa{n}")).collect();
    for id in &ids {
        pair.there
            .put(&name(id), text(id, &format!("about {id}\n")));
    }
    pair.run("pull", &[]);
    let before = pair.here.text_of(&ids[3]);
    fs::remove_file(pair.there.file_of(&ids[3])).unwrap();
    let said = pair.run("pull", &[]);
    assert_eq!(said["brought"]["forgotten"][0], "20260101_000000_aaaaaaa3");
    assert_eq!(said["brought"]["removed"].as_array().unwrap().len(), 0);
    let archive = pair.here.store().join("archive");
    assert_eq!(
        fs::read_to_string(archive.join(name(&ids[3]))).unwrap(),
        before
    );
    assert_eq!(names(&pair.here.files()).len(), 7);
    let listed = pair.here.run(&["archived", "--json"]).json();
    let why = listed["archived"][0]["why"].as_str().unwrap();
    assert!(why.contains("gone from the other store"), "{listed}");
    assert_eq!(pair.run("pull", &[])["in_step"], true);
    // Gone from an archive, it is not taken from the other one.
    pair.merge();
    fs::remove_file(archive.join(name(&ids[3]))).unwrap();
    let said = pair.merge();
    assert_eq!(said["brought"]["files"].as_array().unwrap().len(), 1);
    assert_eq!(
        fs::read_to_string(archive.join(name(&ids[3]))).unwrap(),
        before
    );
    // The other way round, too: pushed, and in both at once.
    fs::remove_file(pair.here.file_of(&ids[4])).unwrap();
    pair.run("push", &[]);
    fs::remove_file(pair.here.file_of(&ids[5])).unwrap();
    pair.merge();
    for home in [&pair.here, &pair.there] {
        let archived = names(&home.store().join("archive"));
        assert_eq!(archived, ["aaaaaaa3", "aaaaaaa4", "aaaaaaa5"].map(name));
    }
}

#[test]
fn a_text_of_which_nothing_but_the_beginning_is_left_there_stays_in_the_archive() {
    let pair = Pair::new();
    let ids: Vec<String> = (0..20).map(|n| format!("aaaaaa{n:02}")).collect();
    for id in &ids {
        pair.here.put(&name(id), text(id, &format!("about {id}\n")));
    }
    pair.merge();
    let before: Vec<String> = ids.iter().map(|id| pair.here.text_of(id)).collect();
    // What a crash or a stick that was pulled leaves.
    fs::write(pair.there.file_of(&ids[0]), "").unwrap();
    let half = &before[1][..before[1].len() / 2];
    fs::write(pair.there.file_of(&ids[1]), half).unwrap();
    pair.here.run(&["forget", &ids[2]]);
    fs::write(pair.there.file_of(&ids[2]), "\n").unwrap();
    fs::write(
        pair.there.file_of(&ids[3]),
        before[3].replace("about", "On"),
    )
    .unwrap();
    pair.run("merge", &[]);
    assert_eq!(pair.run("merge", &[])["in_step"], true);
    for home in [&pair.here, &pair.there] {
        let archive = home.store().join("archive");
        let kept: Vec<String> = names(&archive)
            .iter()
            .map(|name| fs::read_to_string(archive.join(name)).unwrap())
            .collect();
        for text in &before[..3] {
            assert!(kept.contains(text), "{text} is gone: {kept:?}");
        }
        assert!(!kept.contains(&before[3]), "an edit is none");
        assert!(home.text_of(&ids[3]).contains("On aaaaaa03"));
    }
}

/// Has memdir replace a text that was written by hand.
fn replace_hand_edit(home: &Home, id: &str) {
    let file = home.file_of(id);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text + "By hand.\n").unwrap();
    home.run(&["update", id, "--content", "Later."]).done();
}

#[test]
fn former_texts_of_a_purged_memory_do_not_come_back_from_the_other_store() {
    let pair = Pair::new();
    for home in [&pair.here, &pair.there] {
        run(home
            .bare()
            .args(["init", "--no-git", home.store().to_str().unwrap()]))
        .done();
    }
    let id = pair.here.remember(&["The zebra sleeps."]);
    pair.here.remember(&["Another."]);
    replace_hand_edit(&pair.here, &id);
    pair.run("merge", &[]);
    let archives =
        || [&pair.here, &pair.there].map(|home| names(&home.store().join("archive")).len());
    assert_eq!(archives(), [1, 1]);
    pair.here.run(&["purge", &id, "--yes"]).done();
    for _ in 0..2 {
        pair.run("merge", &["--accept-deletions"]);
    }
    assert_eq!(archives(), [0, 0]);
    for home in [&pair.here, &pair.there] {
        assert_eq!(names(&home.files()).len(), 1);
    }
    // One that only this store has, of a memory that was purged in the other one.
    let id = pair.here.remember(&["The zebra wakes."]);
    pair.run("merge", &[]);
    replace_hand_edit(&pair.here, &id);
    assert_eq!(archives(), [1, 0]);
    pair.there.run(&["purge", &id, "--yes"]).done();
    pair.run("merge", &["--accept-deletions"]);
    assert_eq!(archives(), [0, 0]);
}

#[test]
fn memories_do_not_go_in_mass_unasked() {
    let pair = Pair::new();
    let ids = ["aaaaaaaa", "bbbbbbbb", "cccccccc"];
    ids.iter()
        .for_each(|id| pair.here.put(&name(id), text(id, "text\n")));
    pair.merge();
    ids.iter()
        .for_each(|id| fs::remove_file(pair.there.file_of(id)).unwrap());
    let folder = pair.folder();
    let ran = pair.here.run(&["sync", "--with", &folder]);
    ran.complains(
        2,
        &[
            "3 of 3 memories would go from this store",
            "--accept-deletions",
        ],
    );
    assert_eq!(names(&pair.here.files()), ids.map(name));
    pair.run("merge", &["--accept-deletions"]);
    assert_eq!(names(&pair.here.files()).len(), 0);
}

#[test]
fn another_copy_in_the_same_place_does_not_pass_for_the_one_that_was_seen() {
    let pair = Pair::new();
    pair.here.put(&name("aaaaaaaa"), text("aaaaaaaa", "old\n"));
    pair.merge();
    let copy = pair.there.root().join("copy");
    for path in regular_files(&pair.there.store()) {
        let target = copy.join(path.strip_prefix(pair.there.store()).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(path, target).unwrap();
    }
    pair.here.put(&name("bbbbbbbb"), text("bbbbbbbb", "new\n"));
    edit(&pair.here, "aaaaaaaa", "old", "changed");
    pair.merge();
    // The copy was made before: it has neither, and says nothing of either.
    fs::remove_dir_all(pair.there.store()).unwrap();
    fs::rename(&copy, pair.there.store()).unwrap();
    pair.run("merge", &[]);
    assert_eq!(
        names(&pair.here.files()).len(),
        names(&pair.there.files()).len()
    );
    assert!(pair.there.text_of("bbbbbbbb").contains("new"));
    let all = texts(&pair.here);
    assert!(
        all.iter().any(|(_, text)| text.contains("changed")),
        "{all:?}"
    );
}

#[test]
fn only_another_store_will_do() {
    let pair = Pair::new();
    pair.here.remember(&["a heron"]);
    let sync = |folder: &Path| pair.here.run(&["sync", "--with", folder.to_str().unwrap()]);
    sync(&pair.here.store()).complains(2, &["is this store itself"]);
    sync(&pair.here.root()).complains(2, &["is no store"]);
    sync(&pair.here.root().join("nowhere")).complains(2, &["is no store"]);
    let ran = pair.here.run(&["sync", "--direction", "pull"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let ran = pair
        .here
        .run(&["--read-only", "sync", "--with", &pair.folder()]);
    ran.complains(2, &["can only be read", "--direction push"]);
}

#[cfg(unix)]
#[test]
fn no_link_of_a_foreign_store_leads_anywhere() {
    use std::os::unix::fs::symlink;
    let pair = Pair::new();
    let secret = pair.here.write("secret.md", "a secret");
    let elsewhere = pair.here.make("elsewhere");
    pair.there
        .put(&name("aaaaaaaa"), text("aaaaaaaa", "text\n"));
    symlink(&secret, pair.there.files().join(name("bbbbbbbb"))).unwrap();
    pair.here.write(
        "store/files/sub/20260101_000000_cccccccc.md",
        text("cccccccc", "text\n"),
    );
    symlink(&elsewhere, pair.there.files().join("sub")).unwrap();
    let said = pair.run("merge", &[]);
    let skipped: Vec<&str> = said["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["file"].as_str().unwrap())
        .collect();
    let below = format!("files/sub/{}", name("cccccccc"));
    assert_eq!(
        skipped,
        [&format!("files/{}", name("bbbbbbbb")), "files/sub", &below]
    );
    assert_eq!(names(&elsewhere).len(), 0);
    assert!(!pair.here.files().join(name("bbbbbbbb")).exists());
    assert!(pair.here.files().join(name("aaaaaaaa")).exists());
    // Nor does a folder of the store itself.
    let folder = pair.there.store().join("archive");
    let _ = fs::remove_dir(&folder);
    symlink(&elsewhere, &folder).unwrap();
    let ran = pair.here.run(&["sync", "--with", &pair.folder()]);
    ran.complains(2, &["archive is a link"]);
    assert_eq!(names(&elsewhere).len(), 0);
}

#[test]
fn what_git_would_not_carry_is_skipped_with_the_reason() {
    let pair = Pair::new();
    pair.there
        .put(&name("aaaaaaaa"), vec![b'a'; (10 << 20) + 1]);
    pair.there.put(
        &name("bbbbbbbb"),
        text("bbbbbbbb", "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n"),
    );
    pair.there.write(
        "store/files/git~1/20260101_000000_cccccccc.md",
        text("cccccccc", "c"),
    );
    pair.there.put(&name("dddddddd"), text("dddddddd", "good"));
    let said = pair.run("pull", &[]);
    assert_eq!(names(&pair.here.files()), [name("dddddddd")]);
    let reasons: Vec<&str> = said["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|skipped| skipped["reason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons.len(), 3, "{said}");
    for part in ["too large", "conflict markers", "git would act on"] {
        assert!(reasons.iter().any(|reason| reason.contains(part)), "{said}");
    }
    // What one side cannot read is not taken for deleted.
    pair.here.put(&name("bbbbbbbb"), text("bbbbbbbb", "mine"));
    pair.run("pull", &[]);
    assert!(pair.here.text_of("bbbbbbbb").contains("mine"));
}

#[test]
fn people_read_it_in_words() {
    let pair = Pair::new();
    pair.here.remember(&["a heron"]);
    pair.there.remember(&["a stork"]);
    let folder = pair.folder();
    let said = pair
        .here
        .run(&["sync", "--with", &folder, "--dry-run"])
        .done();
    assert!(said.contains("would be brought: 1 came") && said.contains("would be sent: 1 came"));
    let said = pair.here.run(&["sync", "--with", &folder]).done();
    assert!(said.starts_with("brought: 1 came"), "{said}");
    let said = pair.here.run(&["sync", "--with", &folder]).done();
    assert_eq!(said, format!("in step with {folder}\n"));
}

#[test]
fn files_of_another_commit_are_not_sent() {
    let pair = Pair::new();
    let git = Git::of(&pair.here);
    let id = pair.here.remember(&["a heron"]);
    pair.here
        .run(&["update", &id, "--content", "a zebra"])
        .done();
    pair.run("merge", &[]);
    git.says(&["checkout", "-q", "--detach", "HEAD~1"]);
    let ran = pair.here.run(&["sync", "--with", &pair.folder(), "--json"]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let said = failure(&ran);
    assert!(said.contains("no branch is checked out"), "{said}");
    assert!(pair.there.text_of(&id).contains("a zebra"));
    git.says(&["checkout", "-q", "main"]);
    pair.run("merge", &[]);
    assert!(pair.there.text_of(&id).contains("a zebra"));
}
