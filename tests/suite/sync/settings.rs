//! `memdir.toml`, which several machines change.

use std::fs;

use super::Git;
use super::machines::Machines;
use crate::program::Home;

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
