//! Memories that contradict each other are shown, and decided between: by `resolve`.

use serde_json::Value;

use crate::support::git::Git;
use crate::support::machines::{Machines, edit, failure, text, texts};
use crate::support::program::Home;

/// Two machines that wrote different days into one memory; the ids of the pair.
fn at_odds() -> (Machines, String, String) {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let id = one.remember(&["--agent", "planner", "We meet on Monday."]);
    machines.settle();
    edit(one, &id, "Monday", "Tuesday");
    edit(two, &id, "Monday", "Friday");
    machines.settle();
    let pair = pairs(one);
    let ids = |at: usize| pair[0][at]["id"].as_str().unwrap().to_owned();
    let other = if ids(0) == id { ids(1) } else { ids(0) };
    (machines, id, other)
}

fn pairs(home: &Home) -> Vec<Value> {
    let said = home.run(&["resolve", "--json"]).json();
    said["conflicts"].as_array().unwrap().clone()
}

#[test]
fn a_pair_is_listed_once_with_what_tells_the_two_apart() {
    let (machines, id, other) = at_odds();
    let home = &machines.homes[0];
    let pairs = pairs(home);
    assert_eq!(pairs.len(), 1, "{pairs:?}");
    let mut ids: Vec<&str> = (0..2)
        .map(|at| pairs[0][at]["id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    let mut expected = [id.as_str(), other.as_str()];
    expected.sort_unstable();
    assert_eq!(ids, expected);
    for side in pairs[0].as_array().unwrap() {
        assert_eq!(side["agent"], "planner");
        assert!(side["timestamp"].is_string());
    }
    let shown = home.run(&["resolve"]).done();
    for part in ["on Tuesday.", "on Friday.", &id, &other, "planner"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(home.run(&["status", "--json"]).json()["conflicts"], 1);
    let status = home.run(&["status"]).text();
    assert!(status.contains("1 conflict: memdir resolve"), "{status}");
}

#[test]
fn the_two_texts_are_shown_with_their_difference_and_who_wrote_each_when() {
    let (machines, id, other) = at_odds();
    let home = &machines.homes[0];
    let shown = home.run(&["resolve", &id]).done();
    let lines: Vec<&str> = shown.lines().collect();
    for day in ["Tuesday", "Friday"] {
        let of = |sign: &str| lines.contains(&format!("{sign}We meet on {day}.").as_str());
        assert!(of("-") != of("+"), "{shown}");
    }
    for name in [&id, &other] {
        let begin = lines.iter().position(|line| line.contains(name.as_str()));
        let about = lines[begin.unwrap()..].iter().skip(1);
        let about: Vec<&&str> = about.take_while(|line| line.starts_with("    ")).collect();
        assert!(
            about[0].contains("dated: 20") && about[0].contains("by planner"),
            "{shown}"
        );
        assert!(
            about[1].contains("written: 20") && about[1].contains(" by "),
            "{shown}"
        );
    }
    for side in pairs(home)[0].as_array().unwrap() {
        assert!(
            side["content"].as_str().unwrap().starts_with("We meet on"),
            "{side}"
        );
        assert!(side["user"].is_string(), "{side}");
        assert_eq!(side["history"][0]["commit"].as_str().unwrap().len(), 40);
    }
}

#[test]
fn the_one_that_is_kept_stays_and_the_other_is_forgotten_everywhere() {
    let (machines, id, other) = at_odds();
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let said = one
        .run(&["resolve", &id, "--keep", &other, "--json"])
        .json();
    assert_eq!(said["kept"][0]["id"], other.as_str());
    assert_eq!(said["forgotten"]["id"], id.as_str());
    Git::of(one).assert_sound();
    let all = machines.settle();
    assert_eq!(all.len(), 2, "{all:?}");
    for home in [one, two] {
        assert_eq!(pairs(home), Vec::<Value>::new());
        assert!(!home.text_of(&other).contains("conflicts-with"));
        assert_eq!(home.run(&["status", "--json"]).json()["conflicts"], 0);
    }
    assert!(
        all.iter()
            .any(|(name, _)| name.starts_with("archive/") && name.contains(&id))
    );
    // It kept its link, so both are a pair again if it comes back.
    two.run(&["restore", &id]).done();
    assert_eq!(pairs(two).len(), 1);
}

#[test]
fn a_pair_may_be_named_by_the_one_that_stays() {
    let (machines, id, other) = at_odds();
    let home = &machines.homes[0];
    home.run(&["resolve", &id, "--keep", &id]).done();
    assert!(pairs(home).is_empty());
    assert!(home.text_of(&id).contains("We meet"));
    assert!(home.run(&["recall", &other]).code != 0);
}

#[test]
fn both_may_stay_and_only_the_lines_of_their_links_go() {
    let (machines, id, other) = at_odds();
    let home = &machines.homes[0];
    home.run(&[
        "update",
        &id,
        "--link",
        &format!("{other}:conflicts-with"),
        "--link",
        &format!("{other}:about"),
    ])
    .done();
    let before = [home.text_of(&id), home.text_of(&other)];
    let said = home.run(&["resolve", &other, "--both", "--json"]).json();
    assert_eq!(said["kept"].as_array().unwrap().len(), 2);
    assert_eq!(said["forgotten"], Value::Null);
    let after = [home.text_of(&id), home.text_of(&other)];
    assert!(after[0].contains("type: about"), "{}", after[0]);
    for (before, after) in before.iter().zip(&after) {
        assert!(!after.contains("conflicts-with"), "{after}");
        let mut lines = before.lines();
        let is_kept = |line: &str| lines.any(|known| known == line);
        assert!(
            after
                .lines()
                .filter(|line| !line.contains("links"))
                .all(is_kept),
            "{after}"
        );
    }
    machines.settle();
    assert!(pairs(&machines.homes[1]).is_empty());
    assert_eq!(texts(home).len(), 2);
}

#[test]
fn what_is_no_pair_is_an_error_and_nothing_is_changed() {
    let (machines, id, _) = at_odds();
    let home = &machines.homes[0];
    let third = home.remember(&["Something else."]);
    let before = texts(home);
    for arguments in [
        &["resolve", &third, "--both"][..],
        &["resolve", &third][..],
        &["resolve", &third, "--keep", &id][..],
        &["resolve", &id, "--keep", &third][..],
    ] {
        let said = failure(&home.run(arguments));
        assert!(
            said.contains("there is no such pair"),
            "{arguments:?}: {said}"
        );
    }
    let said = failure(&home.run(&["resolve", "nope1234", "--both"]));
    assert!(said.contains("no memory is called"), "{said}");
    assert_eq!(texts(home), before);
    assert_eq!(pairs(home).len(), 1);
}

#[test]
fn a_pair_that_is_decided_differently_on_two_machines_is_one_again() {
    let (machines, id, other) = at_odds();
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    machines.settle();
    one.run(&["resolve", &id, "--keep", &id]).done();
    two.run(&["resolve", &id, "--keep", &other]).done();
    machines.settle();
    for home in [one, two] {
        assert_eq!(pairs(home).len(), 1);
        assert!(home.text_of(&id).len() > 1 && home.text_of(&other).len() > 1);
    }
    // Decided by one, it is decided.
    one.run(&["resolve", &id, "--keep", &id]).done();
    machines.settle();
    assert_eq!(pairs(two), Vec::<Value>::new());
}

const NAME: &str = "20260101_000000_aaaaaaaa.md";

/// A committed memory in which somebody's git leaves its markers, and one beside it.
fn unmerged(sides: &str) -> Home {
    let home = Home::new();
    home.put(NAME, text("aaaaaaaa", "As it was."));
    home.run(&["sync"]).done();
    home.put(NAME, text("aaaaaaaa", sides));
    home.remember(&["Another one."]);
    home
}

const SIDES: &str = "Before.\n<<<<<<< HEAD\nOn Monday.\n=======\nOn Friday.\n>>>>>>> other\n";

#[test]
fn what_git_left_half_merged_is_not_committed_before_it_is_resolved() {
    let home = unmerged(SIDES);
    let git = Git::of(&home);
    let committed = |git: &Git| git.says(&["show", &format!("HEAD:files/{NAME}")]);
    let synced = home.run(&["sync"]);
    for part in [
        NAME,
        "git's conflict markers on line 10",
        "memdir resolve ID",
    ] {
        assert!(synced.stderr.contains(part), "{part}: {}", synced.stderr);
    }
    assert_eq!(committed(&git), text("aaaaaaaa", "As it was."));
    assert_eq!(
        git.says(&["ls-tree", "--name-only", "HEAD", "files/"])
            .lines()
            .count(),
        2
    );
    let status = home.run(&["status"]).text();
    assert!(status.contains("held back"), "{status}");
    let listed = home.run(&["resolve", "--json"]).json();
    assert_eq!(listed["unmerged"][0]["id"], "aaaaaaaa");
    assert_eq!(listed["unmerged"][0]["line"], 10);
    assert!(
        home.run(&["resolve"])
            .text()
            .contains("memdir resolve aaaaaaaa")
    );

    let done = home.run(&["resolve", "aaaaaaaa", "--json"]).json();
    assert_eq!(done["merged"]["id"], "aaaaaaaa");
    let other = done["aside"]["id"].as_str().unwrap();
    let pair = pairs(&home);
    assert_eq!(pair.len(), 1, "{pair:?}");
    let found = ["Monday", "Friday"].map(|day| {
        let hits = home.run(&["think", "--keywords", day, "--json"]).json();
        assert_eq!(hits.as_array().unwrap().len(), 1, "{day}: {hits}");
        hits[0]["id"].as_str().unwrap().to_owned()
    });
    // Which of the two keeps the name follows from the texts.
    assert!(found.contains(&other.to_owned()) && found.contains(&"aaaaaaaa".to_owned()));
    assert!(!committed(&git).contains("<<<<<<<"));
    assert_eq!(
        home.run(&["resolve", "--json"]).json()["unmerged"],
        serde_json::json!([])
    );
    git.assert_sound();
}

#[test]
fn sides_that_do_not_contradict_become_one() {
    let topics = |topics: &str| {
        text("aaaaaaaa", "Text.").replace("topics: [test]", &format!("topics: [{topics}]"))
    };
    let hunk = "<<<<<<< HEAD\ntopics: [test, ours]\n||||||| base\ntopics: [test]\n=======\ntopics: [test, theirs]\n>>>>>>> other";
    let home = Home::new();
    home.put(
        NAME,
        text("aaaaaaaa", "Text.").replace("topics: [test]", hunk),
    );
    let done = home.run(&["resolve", "aaaaaaaa"]).done();
    assert!(done.contains("merged both sides of aaaaaaaa"), "{done}");
    let (_, merged) = texts(&home).remove(0);
    let either = [topics("test, ours, theirs"), topics("test, theirs, ours")];
    assert!(either.contains(&merged), "{merged}");
}

#[test]
fn markers_that_a_text_is_about_are_its_content() {
    let home = unmerged(&format!("Git writes:\n\n```\n{SIDES}```\n"));
    let git = Git::of(&home);
    home.run(&["sync"]).done();
    assert!(
        git.says(&["show", &format!("HEAD:files/{NAME}")])
            .contains("On Friday.")
    );
    assert_eq!(
        home.run(&["status", "--json"]).json()["problems"],
        serde_json::json!([])
    );
}
