//! What no machine takes from another one, and what none sends.

use std::fs;

use crate::support::git::Git;
use crate::support::machines::{Machines, text, texts};

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

/// What `sync` says was left out, each with its reason.
fn left_out(said: &serde_json::Value) -> String {
    said["left_out"].to_string()
}

#[test]
fn nothing_comes_where_the_store_has_something_else() {
    let machines = Machines::new(1);
    let one = &machines.homes[0];
    let id = one.remember(&["Mine."]);
    machines.sync(0);
    let before = texts(one);
    let copy = machines.copy();
    let folder = machines.remote().with_file_name("copy");
    for (name, reason) in [
        (".memdir/newfile", "belongs to each machine alone"),
        (".MEMDIR/writer.lock", "belongs to each machine alone"),
        ("archive", "is no folder"),
        ("tombstones", "is no folder"),
        ("journal", "is no folder"),
    ] {
        copy.says(&["fetch", "-q"]);
        copy.says(&["reset", "-q", "--hard", "origin/main"]);
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_dir_all(&path); // Where the store has a folder already.
        fs::write(path, "evil").unwrap();
        copy.says(&["add", "-f", "."]);
        copy.says(&["commit", "-q", "-m", "Evil"]);
        copy.says(&["push", "-q"]);
        let said = left_out(&machines.sync(0));
        let part = name.split('/').next().unwrap();
        assert!(
            said.contains(reason) && said.contains(part),
            "{name}: {said}"
        );
        assert!(!one.store().join(".memdir/newfile").exists());
        assert_eq!(texts(one), before, "{name}");
    }
    // Where the store needs the folder, it takes the place of what stands there.
    one.run(&["forget", &id]).done();
    machines.sync(0);
    let listed = ["ls-tree", "-r", "--name-only", "main"];
    let listed = machines.shared().says(&listed);
    assert!(
        listed.contains("archive/2") && listed.contains(".memdir/newfile"),
        "{listed}"
    );
    Git::of(one).says(&["fsck", "--no-dangling"]);
}

#[test]
fn what_no_machine_holds_is_left_out_named_and_stays_on_the_remote() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["Fine."]);
    machines.settle();
    let long = format!("files/{}.md", "n".repeat(297));
    let deep = format!("files/{}a.md", "d/".repeat(20));
    let odd = [
        (long.as_str(), "not every system"),
        (&deep, "too many folders"),
        ("files/.git/config", "git would act on"),
        (".gitmodules", "git would act on"),
        ("files/a.md/b.md", "called as a memory"),
        ("memdir.toml", "too large"),
    ];
    for (at, (path, reason)) in odd.into_iter().enumerate() {
        let bytes = match path {
            "memdir.toml" => vec![b'#'; 11 << 20],
            _ => b"odd\n".to_vec(),
        };
        machines.push_text(path, &bytes);
        let kept = format!("main:{path}");
        let id = machines.shared().says(&["rev-parse", &kept]);
        let memory = text(&format!("{at:07x}a"), "It comes along.");
        machines.push_text(&format!("files/2026/with {at}.md"), memory.as_bytes());
        // The first machine puts two histories together, the second one takes all of it as it is.
        one.remember(&[&format!("Here {at}.")]);
        for home in [0, 1] {
            let said = left_out(&machines.sync(home));
            assert!(said.contains(reason), "{path}: {said}");
        }
        two.remember(&[&format!("There {at}.")]);
        machines.sync(1);
        machines.sync(0);
        assert_eq!(texts(one), texts(two));
        assert!(one.files().join(format!("2026/with {at}.md")).exists());
        if path != "memdir.toml" {
            // Settings of a size that can be read take the place of those that cannot.
            assert_eq!(machines.shared().says(&["rev-parse", &kept]), id, "{path}");
        }
    }
    assert_eq!(texts(one).len(), 1 + 3 * odd.len());
    let verified = one.run(&["verify", "--json"]).json();
    for faults in ["git_faults", "index_faults"] {
        assert_eq!(verified[faults], serde_json::json!([]), "{verified}");
    }
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
