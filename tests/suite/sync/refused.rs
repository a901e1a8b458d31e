//! What no machine takes from another one, and what none sends.

use std::fs;

use super::Git;
use super::machines::Machines;
use super::machines::texts;

#[test]
fn what_the_others_would_refuse_stays_here_and_is_told() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["Fine."]);
    let large = "a line of a log file\n".repeat(600_000);
    let names = ["a\\b.md", "git~notes.md", ":x.md", "large.md"];
    for name in names {
        let text = if name == "large.md" { &large } else { "odd\n" };
        one.write(&format!("store/files/{name}"), text);
    }
    let said = machines.sync(0);
    let held = said["held_back"].as_array().unwrap();
    assert_eq!(held.len(), names.len(), "{said}");
    assert!(held.iter().all(|one| one["line"].is_null()), "{said}");
    let told = one.run(&["sync"]);
    for part in ["rename the file", "large.md has more bytes", "shorten it"] {
        assert!(told.stderr.contains(part), "{part}: {}", told.stderr);
    }
    assert!(!told.stderr.contains("redact"), "{}", told.stderr);
    machines.sync(1);
    assert_eq!(texts(two).len(), 1);
    // Once it is renamed and shortened, it goes.
    for name in names {
        fs::remove_file(one.files().join(name)).unwrap();
    }
    one.write("store/files/renamed.md", "odd\n");
    machines.sync(0);
    machines.sync(1);
    assert_eq!((texts(one), texts(two).len()), (texts(two), 2));
    Git::of(one).assert_sound();
}

#[test]
fn nothing_comes_where_the_store_has_something_else() {
    let machines = Machines::new(1);
    let one = &machines.homes[0];
    let id = one.remember(&["Mine."]);
    machines.sync(0);
    let copy = machines.copy();
    let good = copy.says(&["rev-parse", "HEAD"]);
    let folder = machines.remote().with_file_name("copy");
    for (name, reason) in [
        (".memdir/newfile", "belongs to each machine alone"),
        (".MEMDIR/writer.lock", "belongs to each machine alone"),
        ("archive", "`archive` is no folder"),
        ("tombstones", "`tombstones` is no folder"),
        ("journal", "`journal` is no folder"),
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_dir_all(&path); // Where the store has a folder already.
        fs::write(path, "evil").unwrap();
        copy.says(&["add", "-f", "."]);
        copy.says(&["commit", "-q", "-m", "Evil"]);
        copy.says(&["push", "-q"]);
        let said = machines.pauses(0);
        assert!(said.contains(reason), "{name}: {said}");
        assert!(!one.store().join(".memdir/newfile").exists());
        copy.says(&["reset", "-q", "--hard", good.trim()]);
        copy.says(&["push", "-q", "--force"]);
    }
    one.run(&["forget", &id]).done();
    machines.sync(0);
}

#[test]
fn what_a_sparse_checkout_leaves_away_is_not_deleted() {
    let machines = Machines::new(1);
    let one = &machines.homes[0];
    let id = one.remember(&["Forgotten."]);
    one.remember(&["Kept."]);
    one.run(&["forget", &id]).done();
    machines.sync(0);
    let git = Git::of(one);
    let before = git.says(&["rev-parse", "HEAD"]);
    git.says(&[
        "sparse-checkout",
        "set",
        "--no-cone",
        "files",
        "memdir.toml",
    ]);
    assert!(!one.store().join("archive").exists());
    let said = machines.pauses(0);
    assert!(said.contains("sparse checkout"), "{said}");
    one.remember(&["Waits."]);
    assert_eq!(git.says(&["rev-parse", "HEAD"]), before);
    git.says(&["sparse-checkout", "disable"]);
    machines.sync(0);
    assert_eq!(texts(one).len(), 3);
    let listed = machines
        .shared()
        .says(&["ls-tree", "-r", "--name-only", "main"]);
    assert!(listed.contains("archive/"), "{listed}");
}
