//! `memdir.toml`, which several machines change.

use std::fs;

use crate::support::git::Git;
use crate::support::machines::Machines;
use crate::support::program::Home;

fn settings(home: &Home) -> String {
    fs::read_to_string(home.store().join("memdir.toml")).unwrap()
}

fn add(home: &Home, line: &str) {
    let text = format!("{}{line}\n", settings(home));
    home.write("store/memdir.toml", text);
}

#[test]
fn settings_that_both_changed_are_merged_by_key_and_can_be_read() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["one"]);
    machines.settle();
    add(one, "limit = 10\nlanguages = [\"german\"]");
    add(two, "limit = 20\nuser = \"mira\"");
    machines.settle();
    assert_eq!(settings(one), settings(two));
    let merged: toml::Table = settings(one).parse().unwrap();
    assert!(merged.contains_key("languages") && merged.contains_key("user"));
    assert!([10, 20].contains(&merged["limit"].as_integer().unwrap()));
    assert!(settings(one).contains('#'), "{}", settings(one));
}

#[test]
fn settings_that_cannot_be_read_replace_none_that_can() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["one"]);
    machines.settle();
    let good = settings(one);
    add(one, "limit = ");
    let told = one.run(&["sync"]);
    assert!(
        told.stderr.contains("memdir.toml cannot be read"),
        "{} {}",
        told.text(),
        told.stderr
    );
    machines.sync(1);
    assert_eq!(settings(two), good);
    // Somebody sends it with git alone.
    Git::of(one).says(&["commit", "-q", "-a", "-m", "Broken"]);
    Git::of(one).says(&["push", "-q", "origin", "HEAD:main"]);
    machines.sync(1);
    machines.sync(1);
    assert_eq!(settings(two), good);
    assert_eq!(machines.shared().says(&["show", "main:memdir.toml"]), good);
}

#[test]
fn no_settings_of_a_remote_stop_a_machine_and_a_later_sync_mends_them() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.remember(&["one"]);
    machines.settle();
    let good = settings(one);
    let copy = machines.copy();
    let folder = machines.remote().with_file_name("copy");
    for (line, named) in [
        (
            "agent = \"\\u001b[31m\"",
            "`agent` holds a control character",
        ),
        ("git = false", "`git` may not be switched off"),
        ("limit = 1000000000000", "`limit` is"),
        ("user = \"\"", "`user` is empty"),
        ("[life]\nshort = \"0s\"", "`life.short` is"),
    ] {
        copy.says(&["fetch", "-q"]);
        copy.says(&["reset", "-q", "--hard", "origin/main"]);
        fs::write(folder.join("memdir.toml"), format!("{good}{line}\n")).unwrap();
        copy.says(&["commit", "-q", "-a", "-m", "Evil"]);
        copy.says(&["push", "-q", "origin", "HEAD:main"]);
        machines.sync(1);
        assert!(settings(two).contains(line), "{}", settings(two));
        let ran = two.run(&["remember", "Written meanwhile."]);
        assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
        assert_eq!(
            ran.stderr.matches(named).count(),
            1,
            "{line}: {}",
            ran.stderr
        );
        machines.sync(1);
        fs::write(folder.join("memdir.toml"), &good).unwrap();
        copy.says(&["commit", "-q", "-a", "-m", "Good"]);
        copy.says(&["pull", "-q", "--no-rebase", "--no-edit"]);
        copy.says(&["push", "-q", "origin", "HEAD:main"]);
        machines.sync(1);
        assert_eq!(settings(two), good);
        let ran = two.run(&["list"]);
        assert!(ran.stderr.is_empty(), "{line}: {}", ran.stderr);
    }
}
