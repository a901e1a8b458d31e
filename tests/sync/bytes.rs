//! The bytes of memories are the same everywhere, whatever git is told to make of them; and what is
//! too much to be taken is not looked at to its end.

use std::fs;

use crate::support::git::Git;
use crate::support::machines::{Machines, text, texts};
use crate::support::program::Home;

const NAME: &str = "20260101_000000_aaaaaaaa.md";

/// What would change texts on their way, and say that it was run.
fn meddle(home: &Home) {
    let git = Git::at(home, home.root());
    let ran = home.root().join("ran");
    let filter = format!("touch '{}'; cat", ran.display());
    for (key, value) in [
        ("core.autocrlf", "true"),
        ("core.eol", "crlf"),
        ("filter.meddle.clean", filter.as_str()),
        ("filter.meddle.smudge", filter.as_str()),
        ("filter.meddle.required", "true"),
        ("merge.meddle.driver", filter.as_str()),
        ("core.hooksPath", home.root().to_str().unwrap()),
    ] {
        git.says(&["config", "--global", key, value]);
    }
}

#[test]
fn no_filter_and_no_line_end_changes_a_byte() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    meddle(one);
    meddle(two);
    one.write(
        "store/.gitattributes",
        "* text=auto eol=crlf\n*.md filter=meddle merge=meddle ident working-tree-encoding=UTF-16\n",
    );
    let git = Git::of(one);
    git.says(&["add", ".gitattributes"]);
    git.says(&["commit", "-q", "-m", "Attributes"]);
    let odd = [
        (
            "20260101_000000_aaaaaaaa.md",
            text("aaaaaaaa", "unix\nends $Id$\n"),
        ),
        (
            "20260101_000000_bbbbbbbb.md",
            text("bbbbbbbb", "two\n").replace('\n', "\r\n"),
        ),
        (
            "20260101_000000_cccccccc.md",
            text("cccccccc", "mixed\r\nends\nand none"),
        ),
    ];
    for (name, text) in &odd {
        one.put(name, text);
    }
    machines.settle();
    for (name, text) in &odd {
        assert_eq!(
            fs::read_to_string(two.files().join(name)).unwrap(),
            *text,
            "{name}"
        );
    }
    // A merge, too.
    for (home, word) in [(one, "ours"), (two, "theirs")] {
        let file = home.files().join(NAME);
        let merged = fs::read_to_string(&file).unwrap() + word + "\n";
        fs::write(file, merged).unwrap();
    }
    machines.settle();
    assert_eq!(texts(one), texts(two));
    assert!(
        !fs::read_to_string(two.files().join(NAME))
            .unwrap()
            .contains('\r')
    );
    for home in [one, two] {
        assert!(!home.root().join("ran").exists(), "something was run");
    }
}

/// A commit of ten folders in each other, each ten times: ten thousand million files in a dozen
/// objects.
fn bomb(git: &Git<'_>) -> String {
    let folder = |entry: &str| {
        let entries: String = (0..10).map(|number| format!("{entry}{number}\n")).collect();
        git.says_with(&["mktree"], entries.as_bytes())
            .trim()
            .to_owned()
    };
    let blob = git.says_with(&["hash-object", "-w", "--stdin"], b"x");
    let mut tree = folder(&format!("100644 blob {}\tf", blob.trim()));
    for _ in 0..9 {
        tree = folder(&format!("040000 tree {tree}\td"));
    }
    let root = git.says_with(
        &["mktree"],
        format!("040000 tree {tree}\tfiles\n").as_bytes(),
    );
    git.says(&["commit-tree", root.trim(), "-p", "main", "-m", "More"])
        .trim()
        .to_owned()
}

#[test]
fn a_history_that_unfolds_without_end_is_refused() {
    let machines = Machines::new(1);
    let home = &machines.homes[0];
    home.remember(&["One."]);
    machines.sync(0);
    let shared = machines.shared();
    let commit = bomb(&shared);
    shared.says(&["update-ref", "refs/heads/main", &commit]);
    let reason = machines.pauses(0);
    assert!(reason.contains("is not taken"), "{reason}");
    assert_eq!(texts(home).len(), 1);
}
