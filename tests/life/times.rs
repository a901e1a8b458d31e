//! Which times can be given, and what clocks do that are set forward, back or wrong.

use std::process::Command;

use serde_json::json;

use crate::support::can_run;
use crate::support::program::{Home, Ran, run};
use crate::support::session::Session;

/// What is said of a time that cannot be given.
const SAID: &str = "1970 to 9999";

#[test]
fn a_time_outside_of_the_years_is_refused_in_words() {
    let home = Home::new();
    let id = home.remember(&["Something."]);
    for time in [
        "1969-12-31T23:59:59Z",
        "0001-01-01",
        "10000-01-01",
        "+262142-12-31",
        "-262143-01-01T00:00:00",
        "9999-12-31T23:59:59-23:59",
        "2026-01-01T00:00:00+24:00",
        "999999999999d",
        "1000000y",
    ] {
        for command in [
            &["remember", "Text.", "--timestamp"][..],
            &["remember", "Text.", "--expires"],
            &["update", &id, "--expires"],
            &["list", "--since"],
            &["list", "--until"],
            &["think", "text", "--since"],
        ] {
            // One argument, so that a minus is no flag.
            let (flag, before) = command.split_last().unwrap();
            let given = format!("{flag}={time}");
            let arguments = [before, &[given.as_str()]].concat();
            home.run(&arguments).complains(2, &[time, SAID]);
        }
    }
    assert_eq!(std::fs::read_dir(home.files()).unwrap().count(), 1);
}

#[test]
fn tools_read_times_as_the_command_line_does() {
    let home = Home::new();
    let mut session = Session::on(&home);
    let memory = json!({"agent": "a", "user": "u", "topics": ["t"], "content": "The heron left.",
        "expires": "30d"});
    let said = session.tool("remember", memory);
    assert_ne!(said["isError"], true, "{said}");
    let id = said["structuredContent"]["memory_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut count = |since: &str| {
        let said = session.tool("think", json!({"query": "heron", "since": since}));
        assert_ne!(said["isError"], true, "{since}: {said}");
        said["structuredContent"]["results"]
            .as_array()
            .unwrap()
            .len()
    };
    for since in [
        "yesterday",
        "3d",
        "2 weeks ago",
        "last week",
        "2026-01-01",
        "today",
    ] {
        assert_eq!(count(since), 1, "{since}");
    }
    assert_eq!(count("tomorrow"), 0);
    let said = session.tool("think", json!({"query": "heron", "since": "some day"}));
    assert_eq!(said["isError"], true);
    let shown = home.run(&["inspect", &id, "--json"]).json();
    let expires = shown["now"]["expires"].as_str().unwrap();
    let expires = chrono::DateTime::parse_from_rfc3339(expires)
        .unwrap()
        .to_utc();
    let days = (expires - chrono::Utc::now()).num_hours();
    assert!((29 * 24..=30 * 24).contains(&days), "{days} hours");
}

#[test]
fn an_end_that_is_past_is_refused_by_every_interface() {
    let home = Home::new();
    let id = home.remember(&["Something."]);
    for end in [
        "yesterday",
        "2020-01-01",
        "today",
        "3 days ago",
        "last week",
        "8 May 2020",
    ] {
        for command in [&["remember", "Text."][..], &["update", &id]] {
            let given = format!("--expires={end}");
            home.run(&[command, &[given.as_str()]].concat())
                .complains(2, &[end, "is already past", "next week", "memdir forget"]);
        }
    }
    let mut session = Session::on(&home);
    let memory = json!({"agent": "a", "user": "u", "topics": ["t"], "content": "The heron left.",
        "expires": "yesterday"});
    let said = session.tool("remember", memory).to_string();
    assert!(
        said.contains("already past") && said.contains("next week"),
        "{said}"
    );
    assert_eq!(std::fs::read_dir(home.files()).unwrap().count(), 1);
    // What is noted of a former time may have ended then.
    let ended = [
        "--timestamp=2019-01-01",
        "--expires=2020-01-01",
        "Was away.",
    ];
    home.run(&[&["remember"][..], &ended].concat()).done();
}

#[test]
fn ends_are_named_by_plain_words_for_what_comes() {
    let home = Home::new();
    let mut session = Session::on(&home);
    for end in [
        "tomorrow",
        "tomorrow evening",
        "tomorrow at 17:00",
        "the day after tomorrow",
        "next week",
        "next month",
        "next friday",
        "friday",
        "end of month",
        "in two weeks",
        "3 days from now",
        "8 May",
    ] {
        let text = format!("It holds until {end}.");
        let id = home.remember(&["--expires", end, &text]);
        let shown = home.run(&["inspect", &id, "--json"]).json();
        let expires = shown["now"]["expires"].as_str().unwrap();
        let expires = chrono::DateTime::parse_from_rfc3339(expires)
            .unwrap()
            .to_utc();
        assert!(expires > chrono::Utc::now(), "{end}: {expires}");
        let memory = json!({"agent": "a", "user": "u", "topics": ["t"], "content": format!("Over MCP: {text}"),
            "expires": end});
        let said = session.tool("remember", memory);
        assert_ne!(said["isError"], true, "{end}: {said}");
    }
    home.run(&["remember", "Text.", "--expires", "soon"])
        .complains(2, &["soon", "next friday", "30d"]);
}

#[test]
fn a_file_with_a_time_outside_of_the_years_is_told_and_read() {
    let home = Home::new();
    for (handle, time) in [
        ("a0000001", "1960-01-01T00:00:00Z"),
        ("a0000002", "+12026-01-01T00:00:00Z"),
    ] {
        home.put(
            &format!("20260114_091500_{handle}.md"),
            format!("---\nid: {handle}\ntimestamp: {time}\nexpires: {time}\nagent: a\nuser: u\ntopics: [t]\n---\n\nText.\n"),
        );
    }
    home.put("00010101_000000_a0000003.md", "No frontmatter.\n");
    let listed = home.run(&["list", "--json"]).json();
    assert_eq!(listed["memories"].as_array().unwrap().len(), 3);
    let shown = home.run(&["recall", "--json", "a0000001"]).json();
    assert_eq!(shown[0]["timestamp"], "2026-01-14T09:15:00.000000+00:00");
    let problems = home.run(&["status"]);
    assert!(problems.text().contains(SAID), "{problems:?}");
}

/// The name of the one file that remembering at `time` in `zone` makes.
fn file_at(zone: &str, time: &str) -> String {
    let home = Home::new();
    let mut command = home.command(&["remember", "Text.", "--timestamp", time]);
    let ran = run(command.env("TZ", zone));
    let id = ran.done();
    let path = home.file_of(id.trim());
    path.file_name().unwrap().to_str().unwrap()[..15].to_owned()
}

// Programs of Windows have the zone of the system alone.
#[cfg(unix)]
#[test]
fn local_times_around_a_clock_change_are_read() {
    const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
    assert_eq!(file_at(BERLIN, "2026-03-29 01:30"), "20260329_003000");
    // The clocks never show it: half an hour after they were set forward.
    assert_eq!(file_at(BERLIN, "2026-03-29 02:30"), "20260329_013000");
    assert_eq!(file_at(BERLIN, "2026-03-29 03:30"), "20260329_013000");
    // They show it twice: the first time.
    assert_eq!(file_at(BERLIN, "2026-10-25 02:30"), "20261025_003000");
    assert_eq!(file_at(BERLIN, "2026-10-25 03:30"), "20261025_023000");
}

#[test]
fn a_leap_second_is_the_end_of_the_second_before() {
    assert_eq!(file_at("UTC", "2016-12-31T23:59:60Z"), "20161231_235959");
    assert_eq!(
        file_at("UTC", "2017-01-01T08:59:60.9+09:00"),
        "20161231_235959"
    );
}

/// Runs the program while the clock says `moment`; `None` where no clock can be made to.
fn while_it_is(home: &Home, zone: &str, moment: &str, arguments: &[&str]) -> Option<Ran> {
    let mut command = Command::new("faketime");
    home.surround(&mut command);
    command.env("TZ", zone).env("MEMDIR_STORE", home.store());
    command.args(["-f", moment, env!("CARGO_BIN_EXE_memdir")]);
    command.args(arguments);
    can_run("faketime", &["--version"]).then(|| run(&mut command))
}

#[test]
fn nothing_is_written_while_the_clock_is_wrong_and_all_is_read() {
    let home = Home::new();
    let id = home.remember(&["Something."]);
    for moment in ["@1960-01-01 00:00:00", "+8000y"] {
        for arguments in [
            &["remember", "Text."][..],
            &["update", &id, "--topics", "x"],
            &["forget", &id],
        ] {
            let Some(ran) = while_it_is(&home, "UTC", moment, arguments) else {
                return;
            };
            ran.complains(2, &["clock", SAID]);
        }
        for arguments in [
            &["list"][..],
            &["think", "something"],
            &["status"],
            &["recall", &id],
        ] {
            let Some(ran) = while_it_is(&home, "UTC", moment, arguments) else {
                return;
            };
            assert_eq!(ran.code, 0, "{moment} {arguments:?} {ran:?}");
        }
    }
    let Some(ran) = while_it_is(&home, "UTC", "+8000y", &["serve", "--no-token"]) else {
        return;
    };
    ran.complains(2, &["clock", SAID]);
    assert_eq!(std::fs::read_dir(home.files()).unwrap().count(), 1);
}

#[test]
fn yesterday_is_the_day_before_also_where_a_day_has_23_hours() {
    const BERLIN: &str = "CET-1CEST,M3.5.0,M10.5.0/3";
    let home = Home::new();
    home.remember(&["On Saturday.", "--timestamp", "2026-03-28T12:00:00Z"]);
    home.remember(&["On Sunday.", "--timestamp", "2026-03-29T12:00:00Z"]);
    let asked = ["list", "--json", "--since", "yesterday"];
    // 24 hours before Monday's half past twelve it was Saturday.
    let Some(ran) = while_it_is(&home, BERLIN, "@2026-03-30 00:30:00", &asked) else {
        return;
    };
    assert_eq!(ran.json()["memories"].as_array().unwrap().len(), 1);
}
