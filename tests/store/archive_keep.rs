//! The archive gives up replaced texts after a while, those that the history holds and no others.

use std::fs;
use std::time::Duration;

use chrono::{TimeDelta, Utc};

use crate::support::clock;
use crate::support::program::{Home, names};
use memdir::engine::{Engine, GitOptions, Options, ops};

/// A store in which one memory was replaced twice, and another one forgotten.
fn replaced(settings: &str) -> Home {
    let home = Home::new();
    home.write("store/memdir.toml", settings);
    for text in ["It is 8080.", "It is 8081.", "It is 8082."] {
        let title = ["remember", "--duplicates", "title", "--title", "Port", text];
        assert_eq!(home.run(&title).code, 0);
    }
    let gone = home.remember(&["A heron."]);
    home.run(&["forget", gone.trim()]).done();
    home
}

/// The store as it is in some days.
fn in_days(home: &Home, days: i64, keep: Option<i64>) -> Engine {
    let mut options = Options::new(home.store());
    options.git = Some(GitOptions {
        user: "tester".to_owned(),
        interval: Duration::from_secs(60),
        remote: None,
    });
    options.maintenance.keep_replaced = keep.map(TimeDelta::days);
    Engine::open(options, clock(Utc::now() + TimeDelta::days(days))).unwrap()
}

fn archived(home: &Home) -> Vec<String> {
    names(&home.store().join("archive"))
}

fn archived_text(home: &Home, name: &str) -> String {
    fs::read_to_string(home.store().join("archive").join(name)).unwrap()
}

fn removed(engine: &Engine) -> usize {
    ops::remove_replaced(engine, false).unwrap().len()
}

#[test]
fn replaced_texts_that_the_history_holds_leave_the_archive_after_a_while() {
    let home = replaced("");
    assert_eq!(archived(&home).len(), 3);
    assert_eq!(removed(&in_days(&home, 89, Some(90))), 0);
    assert_eq!(removed(&in_days(&home, 91, None)), 0, "for ever");
    let later = in_days(&home, 91, Some(90));
    assert_eq!(ops::remove_replaced(&later, true).unwrap().len(), 2);
    assert_eq!(archived(&home).len(), 3, "that only said it");
    assert_eq!(removed(&later), 2);
    let left = archived(&home);
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(
        archived_text(&home, &left[0]).contains("A heron."),
        "it was forgotten"
    );
    assert_eq!(removed(&later), 0);
    drop(later);
    home.run(&["sync"]).done();
    let history = home.run(&["git", "log", "-p", "--", "archive"]).text();
    assert!(
        history.contains("It is 8080.") && history.contains("It is 8081."),
        "{history}"
    );
    home.run(&["verify"]).done();
}

#[test]
fn what_no_commit_holds_stays() {
    let home = replaced("");
    let names = archived(&home);
    let earlier: Vec<&String> = (names.iter())
        .filter(|name| archived_text(&home, name).contains("It is 808"))
        .collect();
    // Somebody wrote into one of them, which no commit holds.
    let path = home.store().join("archive").join(earlier[0]);
    let text = archived_text(&home, earlier[0]).replace("It is", "By hand, it is");
    fs::write(&path, &text).unwrap();
    assert_eq!(removed(&in_days(&home, 91, Some(90))), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);

    let without = replaced("git = false\n");
    assert_eq!(removed(&in_days(&without, 91, Some(90))), 0);
    assert_eq!(archived(&without).len(), 3);
}

#[test]
fn how_long_is_a_setting_of_the_user_and_gc_says_what_it_did() {
    let home = replaced("");
    assert!(home.run(&["config"]).text().contains("archive.keep"));
    let gc = home.run(&["gc", "--json"]).json();
    assert_eq!(gc["removed"], serde_json::json!([]), "90 days");
    home.run(&["config", "set", "archive.keep", "2w"]).done();
    home.run(&["config", "set", "archive.keep", "forever"])
        .done();
    home.run(&["config", "set", "archive.keep", "soon"])
        .complains(2, &["archive.keep", "forever"]);
}
