//! Places that hold more, or less, than conversations of one format.

use super::kept::talks_of;
use super::sources;
use crate::support::program::Home;

const CHAT: &str = "User: Where do okapis live?\nAssistant: In the forest.\n";

#[test]
fn what_lies_in_an_export_of_slack_and_is_none_of_it_is_read_too() {
    let home = Home::new();
    for (name, text) in sources::slack() {
        home.write(&format!("both/{name}"), text);
    }
    let claude = format!("[{}]", sources::claude_conversation("c-1"));
    home.write("both/conversations.json", claude);
    home.write("both/others/chat.txt", CHAT);
    let alone = Home::new();
    for (name, text) in sources::slack() {
        alone.write(&format!("slack/{name}"), text);
    }
    let of_slack = alone.run(&["mine", "slack", "--json"]).json();
    let report = home.run(&["mine", "both", "--json"]).json();
    let formats: Vec<(&str, u64)> = report["formats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|of| {
            (
                of["format"].as_str().unwrap(),
                of["sessions"].as_u64().unwrap(),
            )
        })
        .collect();
    let slack = of_slack["formats"][0]["sessions"].as_u64().unwrap();
    assert_eq!(formats, [("claude", 1), ("slack", slack), ("plain", 1)]);
    assert!(report["damaged"].as_array().unwrap().is_empty());
}

#[test]
fn files_that_are_older_than_asked_for_are_told_of() {
    let home = Home::new();
    home.write("chat.txt", CHAT);
    let ran = home.run(&["mine", "chat.txt", "--since", "2099-01-01"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("1 file left out"), "{ran:?}");
    assert!(talks_of(&home).is_empty());
}

#[test]
fn a_damaged_zip_in_a_folder_is_named_and_the_rest_read() {
    let home = Home::new();
    home.write("all/chat.txt", CHAT);
    home.write("all/export.zip", "PK\u{3}\u{4} and then nothing");
    let ran = home.run(&["mine", "all", "--json"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let report = ran.json();
    assert_eq!(report["new"], 1);
    let place = report["damaged"][0]["place"].as_str().unwrap();
    assert!(place.ends_with("export.zip"), "{report}");
}

#[cfg(unix)]
#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let home = Home::new();
    let fifo = home.root().join("pipe.jsonl");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    assert!(made.unwrap().success());
    for more in [&[][..], &["--format", "plain"], &["--format", "slack"]] {
        let ran = home.run(&[&["mine", "pipe.jsonl"], more].concat());
        assert!([1, 2].contains(&ran.code), "{ran:?}");
    }
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_named_and_the_rest_read() {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    let home = Home::new();
    for name in ["all/ok/a.txt", "all/closed/b.txt", "all/c.txt"] {
        home.write(name, CHAT);
    }
    for (name, text) in sources::opencode() {
        home.write(&format!("all/{name}"), text);
    }
    let parts = home.root().join("all/storage/part");
    let part = fs::read_dir(&parts).unwrap().next().unwrap().unwrap();
    let part = format!("storage/part/{}", part.file_name().to_str().unwrap());
    let closed = ["closed", "c.txt", &part].map(|name| home.root().join("all").join(name));
    let set = |mode: u32| {
        for path in &closed {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    set(0o000);
    let is_readable = fs::read_dir(&closed[0]).is_ok();
    let ran = home.run(&["mine", "all", "--json"]);
    let alone = home.run(&["mine", "all/closed"]);
    set(0o700);
    if is_readable {
        return; // Nothing keeps this user out.
    }
    assert_eq!(ran.code, 1, "{ran:?}");
    let report = ran.json();
    assert_eq!(report["new"], 2, "{report}");
    let damaged = report["damaged"].as_array().unwrap();
    let places: Vec<&str> = damaged
        .iter()
        .map(|damage| damage["place"].as_str().unwrap())
        .collect();
    for end in ["all/c.txt", "all/closed", &part["storage/".len()..]] {
        assert!(
            places.iter().any(|place| place.ends_with(end)),
            "{places:?}"
        );
    }
    assert_eq!(alone.code, 2);
    assert!(alone.stderr.contains("cannot read"), "{alone:?}");
}
