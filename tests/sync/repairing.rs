//! A repository that a power cut or a failing disk has damaged: no memory is lost, and the next
//! command goes on.

use std::fs;
use std::path::PathBuf;

use serde_json::json;

use crate::support::git::Git;
use crate::support::machines::{Machines, texts};
use crate::support::program::Home;

/// Files of `.git` that are emptied or cut off; what of a history of four commits has to stay, and
/// what the repository is told to be.
struct Damage {
    what: &'static str,
    does: fn(&Home),
    stays: usize,
    word: &'static str,
}

fn git_path(home: &Home, path: &str) -> PathBuf {
    home.root().join("store/.git").join(path)
}

fn empty(home: &Home, path: &str) {
    let path = git_path(home, path);
    // Objects are read-only.
    fs::remove_file(&path).unwrap();
    fs::write(&path, "").unwrap();
}

fn empty_object(home: &Home, name: &str) {
    let id = Git::of(home).says(&["rev-parse", name]);
    let (start, rest) = id.trim().split_at(2);
    empty(home, &format!("objects/{start}/{rest}"));
}

/// As a power cut leaves a file that was not written to its end.
fn halve(home: &Home, path: &str) {
    let path = git_path(home, path);
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
}

fn halve_object(home: &Home, name: &str) {
    let id = Git::of(home).says(&["rev-parse", name]);
    let (start, rest) = id.trim().split_at(2);
    halve(home, &format!("objects/{start}/{rest}"));
}

fn change_byte(home: &Home, path: &str, at: usize) {
    let path = git_path(home, path);
    let mut bytes = fs::read(&path).unwrap();
    bytes[at] ^= 0x55;
    fs::remove_file(&path).unwrap();
    fs::write(&path, bytes).unwrap();
}

/// Has git pack everything; the path of the file of the pack that ends with `ending`.
fn packed(home: &Home, ending: &str) -> String {
    let git = Git::of(home);
    git.says(&["repack", "-a", "-d", "-q"]);
    let files = fs::read_dir(git_path(home, "objects/pack")).unwrap();
    let mut names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let name = names.find(|name| name.ends_with(ending)).unwrap();
    format!("objects/pack/{name}")
}

const GOES_ON: &str = "goes on from";
const ANEW: &str = "begun anew";

const DAMAGES: &[Damage] = &[
    Damage {
        what: "HEAD",
        does: |home| empty(home, "HEAD"),
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "the branch",
        does: |home| empty(home, "refs/heads/main"),
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "zeros for the branch",
        does: |home| fs::write(git_path(home, "refs/heads/main"), [0; 41]).unwrap(),
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "the newest commit",
        does: |home| empty_object(home, "HEAD"),
        stays: 3,
        word: GOES_ON,
    },
    Damage {
        what: "its tree",
        does: |home| empty_object(home, "HEAD^{tree}"),
        stays: 3,
        word: GOES_ON,
    },
    Damage {
        what: "its folder",
        does: |home| empty_object(home, "HEAD:files"),
        stays: 3,
        word: GOES_ON,
    },
    Damage {
        what: "a text that is still there",
        does: |home| {
            let files = Git::of(home).says(&["ls-tree", "--name-only", "HEAD", "files/"]);
            let name = files.lines().next().unwrap();
            empty_object(home, &format!("HEAD:{name}"));
        },
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "all objects",
        does: |home| fs::remove_dir_all(git_path(home, "objects")).unwrap(),
        stays: 0,
        word: ANEW,
    },
    Damage {
        what: "git's index",
        does: |home| empty(home, "index"),
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "a byte of git's index",
        does: |home| change_byte(home, "index", 90),
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "half of the newest commit",
        does: |home| halve_object(home, "HEAD"),
        stays: 3,
        word: GOES_ON,
    },
    Damage {
        what: "half of its tree",
        does: |home| halve_object(home, "HEAD^{tree}"),
        stays: 3,
        word: GOES_ON,
    },
    Damage {
        what: "half of its folder",
        does: |home| halve_object(home, "HEAD:files"),
        stays: 3,
        word: GOES_ON,
    },
    Damage {
        what: "half of a text that is still there",
        does: |home| {
            let files = Git::of(home).says(&["ls-tree", "--name-only", "HEAD", "files/"]);
            halve_object(home, &format!("HEAD:{}", files.lines().next().unwrap()));
        },
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "HEAD, cut before the branch's name",
        does: |home| fs::write(git_path(home, "HEAD"), "ref: refs/heads/").unwrap(),
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "half of the packed references",
        does: |home| {
            Git::of(home).says(&["pack-refs", "--all"]);
            halve(home, "packed-refs");
        },
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "the branch's name in the packed references",
        does: |home| {
            Git::of(home).says(&["pack-refs", "--all"]);
            let text = fs::read_to_string(git_path(home, "packed-refs")).unwrap();
            let text = text.replace("refs/heads/main", "refs/heads/nain");
            fs::write(git_path(home, "packed-refs"), text).unwrap();
        },
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "a byte of the list of a pack",
        does: |home| {
            let list = packed(home, ".idx");
            change_byte(home, &list, 1_100);
        },
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "half of the list of a pack",
        does: |home| {
            let list = packed(home, ".idx");
            halve(home, &list);
        },
        stays: 4,
        word: GOES_ON,
    },
    Damage {
        what: "the sum of a pack",
        does: |home| {
            let pack = packed(home, ".pack");
            let size = fs::metadata(git_path(home, &pack)).unwrap().len();
            change_byte(home, &pack, usize::try_from(size).unwrap() - 1);
        },
        stays: 0,
        word: ANEW,
    },
    Damage {
        what: "half of a commit graph and of the list of all packs",
        does: |home| {
            packed(home, ".pack");
            let git = Git::of(home);
            git.says(&["commit-graph", "write", "--reachable"]);
            git.says(&["multi-pack-index", "write"]);
            halve(home, "objects/info/commit-graph");
            halve(home, "objects/pack/multi-pack-index");
        },
        stays: 4,
        word: GOES_ON,
    },
];

#[test]
fn what_is_damaged_is_set_aside_and_no_memory_is_lost() {
    for damage in DAMAGES {
        let home = Home::new();
        let git = Git::of(&home);
        for number in 0..4 {
            home.remember(&[&format!("Memory {number}.")]);
        }
        let before = texts(&home);
        (damage.does)(&home);
        if !damage.word.is_empty() {
            let verified = home.run(&["verify", "--json"]).json();
            assert_ne!(verified["git_faults"], json!([]), "{}", damage.what);
        }
        let synced = home.run(&["sync"]);
        assert_eq!(synced.code, 0, "{}: {}", damage.what, synced.stderr);
        assert!(
            synced.stderr.contains(damage.word),
            "{}: {}",
            damage.what,
            synced.stderr
        );
        home.remember(&["One more."]);
        let after = texts(&home);
        assert!(
            before.iter().all(|text| after.contains(text)),
            "{}",
            damage.what
        );
        let count = git.subjects().len();
        let anew = usize::from(damage.stays < 4);
        assert_eq!(
            count,
            damage.stays + anew + 1,
            "{}: {:?}",
            damage.what,
            git.subjects()
        );
        git.assert_sound();
        let verified = home.run(&["verify", "--json"]).json();
        assert_eq!(verified["git_faults"], json!([]), "{}", damage.what);
    }
}

#[test]
fn commands_name_a_cut_object_and_end() {
    for name in ["HEAD", "HEAD~1", "HEAD^{tree}", "HEAD:files"] {
        let home = Home::new();
        for number in 0..3 {
            home.remember(&[&format!("Memory {number}.")]);
        }
        halve_object(&home, name);
        home.run(&["status"]).done();
        let verified = home.run(&["verify"]);
        assert_eq!(verified.code, 1, "{name}: {}", verified.text());
        let log = home.run(&["log", "--json"]);
        assert!(
            log.code == 0 || log.stderr.contains("is damaged"),
            "{name}: {}",
            log.stderr
        );
        let kept = home.run(&["remember", "One more."]);
        assert_eq!(kept.code, 0, "{name}: {}", kept.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_fifo_in_the_repository_is_named_and_not_waited_for() {
    for path in ["config", "packed-refs", "index", "refs/heads/main"] {
        let home = Home::new();
        home.remember(&["A memory."]);
        let fifo = git_path(&home, path);
        let _ = fs::remove_file(&fifo);
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let synced = home.run(&["sync"]);
        assert!(
            synced.stderr.contains("is no file"),
            "{path}: {}",
            synced.stderr
        );
        let kept = home.run(&["remember", "One more."]);
        assert_eq!(kept.code, 0, "{path}: {}", kept.stderr);
        assert_eq!(home.run(&["verify"]).code, 1, "{path}");
    }
}

#[test]
fn a_configuration_that_was_cut_is_named() {
    let home = Home::new();
    home.remember(&["A memory."]);
    let config = git_path(&home, "config");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, &text[..text.find("[memdir").unwrap()]).unwrap();
    let verified = home.run(&["verify"]);
    assert_eq!(verified.code, 1, "{}", verified.text());
    assert!(verified.text().contains("was cut"), "{}", verified.text());
}

#[test]
fn what_is_damaged_of_a_history_that_the_remote_has_comes_back_from_there() {
    for part in ["", "^{tree}", ":files"] {
        let machines = Machines::new(2);
        let [one, two] = &machines.homes[..] else {
            unreachable!()
        };
        let ids: Vec<String> = (0..4)
            .map(|number| {
                let id = one.remember(&[&format!("Memory {number}.")]);
                machines.sync(0);
                id
            })
            .collect();
        machines.settle();
        let commits = Git::of(one).says(&["rev-list", "HEAD", "--", "files"]);
        let name = format!("{}{part}", commits.lines().nth(1).unwrap());
        halve_object(one, &name);
        // Not sent yet: what was forgotten stays so.
        one.run(&["forget", &ids[3]]).done();
        two.run(&["forget", &ids[1]]).done();
        machines.settle();
        let live = texts(one).into_iter().map(|(path, _)| path);
        let live: Vec<String> = live.filter(|path| path.starts_with("files/")).collect();
        assert_eq!(live.len(), 2, "{name}: {live:?}");
        let missing = Git::of(one).says(&["rev-list", "--objects", "--all", "--missing=print"]);
        assert!(!missing.lines().any(|line| line.starts_with('?')), "{name}");
    }
}

#[test]
fn a_history_that_is_lost_comes_back_from_the_remote() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let ids: Vec<String> = (0..4)
        .map(|number| one.remember(&[&format!("Memory {number}.")]))
        .collect();
    machines.settle();
    // What happens on both sides while the history is away: neither side's is undone.
    one.run(&["forget", &ids[0]]).done();
    two.run(&["forget", &ids[1]]).done();
    two.run(&["sync"]).done();
    let commits = Git::of(two).subjects().len();
    fs::remove_dir_all(git_path(one, "objects")).unwrap();
    let late = one.run(&["remember", "Late."]);
    assert!(late.stderr.contains(ANEW), "{}", late.stderr);
    one.run(&["sync"]).done();
    machines.settle();
    assert_eq!(texts(one), texts(two));
    let live: Vec<String> = texts(one)
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| !name.contains('/') || name.starts_with("files/"))
        .collect();
    for forgotten in &ids[..2] {
        assert!(
            !live.iter().any(|name| name.contains(forgotten.as_str())),
            "{live:?}"
        );
    }
    assert_eq!(live.len(), 3, "{live:?}");
    assert!(Git::of(one).subjects().len() > commits);
    Git::of(one).assert_sound();
}
