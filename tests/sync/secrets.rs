//! Credentials in memories: what is written of them, and that none leaves the machine unasked.
//!
//! No secret here was ever anybody's; they are put together in pieces, so that no scanner takes
//! this file for a leak.

use std::fs;

use serde_json::{Value, json};

use crate::support::git::Git;
use crate::support::machines::{Machines, edit, text, texts};
use crate::support::program::{Home, Ran, names, run};
use crate::support::session::Session;
use crate::support::{regular_files, until};

const NAME: &str = "20260101_000000_aaaaaaaa.md";
const FILE: &str = "files/20260101_000000_aaaaaaaa.md";

/// What no output may show: the middle of all the tokens here.
const BODY: &str = "2vX9kLw4TzB8nYc1JfHd6sPa3Gu";

fn token() -> String {
    format!("{}{}{BODY}{}", "gh", "p_R7mQ", "E5oKi")
}

fn another_token() -> String {
    format!("{}{}{BODY}{}", "gh", "p_Z3nW", "T8qLe")
}

fn holds(bytes: &[u8]) -> bool {
    bytes
        .windows(BODY.len())
        .any(|window| window == BODY.as_bytes())
}

/// The program with everything logged that it logs, under a policy.
#[track_caller]
fn with(home: &Home, policy: &str, arguments: &[&str]) -> Ran {
    let mut command = home.command(arguments);
    command.env("MEMDIR_SECRETS", policy);
    tells_nothing(run(command.env("MEMDIR_LOG", "debug")))
}

/// As [`with`], under the default.
#[track_caller]
fn quietly(home: &Home, arguments: &[&str]) -> Ran {
    tells_nothing(run(home.command(arguments).env("MEMDIR_LOG", "debug")))
}

#[track_caller]
fn tells_nothing(ran: Ran) -> Ran {
    assert!(!holds(&ran.stdout) && !holds(ran.stderr.as_bytes()), "told");
    ran
}

/// Fails if a repository holds the tokens in any object, reachable or not.
#[track_caller]
fn is_in_no_object(git: &Git<'_>) {
    let all = git.run(&["cat-file", "--batch-all-objects", "--batch"]);
    assert_eq!(all.code, 0, "{}", all.stderr);
    assert!(!all.stdout.is_empty() && !holds(&all.stdout));
}

/// Fails if a file of the store but the index holds the tokens, those below `but` left out.
#[track_caller]
fn is_in_no_file(home: &Home, but: &str) {
    for path in regular_files(&home.store()) {
        let shown = path.strip_prefix(home.store()).unwrap().to_owned();
        let shown = shown.to_str().unwrap();
        let is_left_out =
            shown.starts_with(".memdir/index-") || !but.is_empty() && shown.contains(but);
        assert!(is_left_out || !holds(&fs::read(&path).unwrap()), "{shown}");
    }
}

fn held_back(home: &Home) -> Value {
    quietly(home, &["status", "--json"]).json()["git"]["held_back"].take()
}

#[test]
fn what_is_written_says_what_it_holds() {
    let home = Home::new();
    let ran = with(&home, "warn", &["remember", &format!("Use {}.", token())]);
    ran.complains(0, &["a GitHub token on line 9"]);
    let id = ran.text().trim().to_owned();
    assert!(home.text_of(&id).contains(&token()));
    // What it held before is no news.
    let ran = with(&home, "warn", &["update", &id, "--importance", "3"]);
    assert!(!ran.stderr.contains("token"), "{ran:?}");
    let ran = with(
        &home,
        "warn",
        &["update", &id, "--title", &another_token(), "--json"],
    );
    assert_eq!(ran.json()["warnings"].as_array().unwrap().len(), 1);
    let ran = with(&home, "off", &["remember", "--json", &token()]);
    assert_eq!(
        (ran.json()["warnings"].clone(), ran.stderr.contains("token")),
        (json!(null), false)
    );
    // Without a remote all of it is committed.
    assert_eq!(Git::of(&home).subjects().len(), 4);
    assert_eq!(held_back(&home), json!([]));
}

#[test]
fn what_is_redacted_is_written_nowhere() {
    let home = Home::new();
    home.write("store/memdir.toml", "secrets = \"redact\"\n");
    let token = token();
    let ran = quietly(
        &home,
        &[
            "remember",
            "--topics",
            &format!("a,{token}"),
            "--title",
            &format!("for {token}: x"),
            "--meta",
            &format!("ci={{\"api_token\":\"{token}\"}}"),
            &format!("Use {token}.\n"),
        ],
    );
    ran.complains(0, &["a GitHub token on line", "was replaced"]);
    let id = ran.text().trim().to_owned();
    let text = home.text_of(&id);
    assert!(
        text.ends_with("Use [redacted: a GitHub token].\n"),
        "{text}"
    );
    assert!(
        text.contains("topics: [a, redacted]\ntitle: \"for redacted: x\"\n"),
        "{text}"
    );
    quietly(
        &home,
        &["update", &id, "--content", &format!("Now {token}")],
    )
    .complains(0, &["replaced"]);
    let ran = quietly(&home, &["update", &id, "--title", &token]);
    ran.complains(0, &["replaced"]);
    let lines = json!({"text": format!("{token} again")}).to_string();
    let lines = home.write("lines.jsonl", format!("{lines}\n"));
    for expected in ["imported 1", "imported 0, known already 1"] {
        let path = lines.to_str().unwrap();
        let ran = quietly(&home, &["import", "--from", "jsonl", path]);
        assert!(ran.text().starts_with(expected), "{ran:?}");
    }
    assert_eq!(home.run(&["verify"]).code, 0);
    assert_eq!(names(&home.files()).len(), 2);
    is_in_no_file(&home, "");
    is_in_no_object(&Git::of(&home));
    let settings = home.run(&["config", "--json"]).json();
    assert_eq!(settings["secrets"]["value"], "redact");
}

#[test]
fn what_is_refused_is_not_written() {
    let home = Home::new();
    let ran = with(&home, "refuse", &["remember", &token()]);
    ran.complains(2, &["nothing was written", "a GitHub token on line 9"]);
    assert_eq!(names(&home.files()).len(), 0);
    let id = home.remember(&["Fine."]);
    let before = home.text_of(&id);
    with(&home, "refuse", &["update", &id, "--content", &token()]).complains(2, &["GitHub"]);
    let topics = ["update", &id, "--topics", &token()];
    with(&home, "refuse", &topics).complains(2, &["a GitHub token on line 6"]);
    let lines = home.write("l.jsonl", json!({"text": token()}).to_string());
    let ran = with(
        &home,
        "refuse",
        &["import", "--from", "jsonl", lines.to_str().unwrap()],
    );
    ran.complains(1, &["a GitHub token"]);
    assert_eq!((names(&home.files()).len(), home.text_of(&id)), (1, before));
    is_in_no_file(&home, "");
    is_in_no_object(&Git::of(&home));
    let ran = with(&home, "perhaps", &["status"]);
    ran.complains(2, &["MEMDIR_SECRETS", "off, warn, redact, refuse"]);
}

#[test]
fn an_agent_is_told_what_it_has_stored() {
    let home = Home::new();
    let mut command = home.command(&["mcp"]);
    command.env("MEMDIR_LOG", "debug");
    let mut session = Session::open_on(command);
    let arguments = |content: &str| json!({"agent": "claude", "user": "mira", "topics": ["a"], "content": content});
    let reply = session.tool("remember", arguments(&token()));
    let said = &reply["structuredContent"];
    assert!(
        said["warnings"][0]
            .as_str()
            .unwrap()
            .contains("a GitHub token on line 9")
    );
    let text: Value = serde_json::from_str(reply["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(&text, said);
    assert!(!holds(reply.to_string().as_bytes()));
    let reply = session.tool("remember", arguments("Nothing."));
    assert!(reply["structuredContent"]["warnings"].is_null());
    assert!(!holds(session.log().as_bytes()));
}

#[test]
fn a_memory_with_a_secret_waits_until_it_is_redacted() {
    let machines = Machines::new(2);
    let home = &machines.homes[0];
    home.put(NAME, text("aaaaaaaa", &format!("one\n\n{}\n", token())));
    let other = home.remember(&["fine"]);
    let said = machines.sync(0);
    let held = json!([{"file": FILE, "kind": "a GitHub token", "line": 11}]);
    assert_eq!((&said["held_back"], &held_back(home)), (&held, &held));
    quietly(home, &["sync"])
        .complains(0, &["not committed", FILE, "memdir redact", "memdir allow"]);
    let shown = quietly(home, &["status"]).text();
    assert!(
        shown.contains("held back") && shown.contains(FILE),
        "{shown}"
    );
    machines.sync(1);
    assert_eq!(machines.homes[1].text_of(&other), home.text_of(&other));
    assert_eq!(names(&machines.homes[1].files()).len(), 1);
    // A forgotten one waits as well.
    quietly(home, &["forget", "aaaaaaaa"]);
    assert_eq!(held_back(home)[0]["file"], format!("archive/{NAME}"));
    let ran = quietly(home, &["redact", "aaaaaaaa"]);
    assert!(ran.text().contains("a GitHub token on line 11"), "{ran:?}");
    assert_eq!(held_back(home), json!([]));
    let all = machines.settle();
    assert_eq!(all[1].0, format!("archive/{NAME}"));
    assert!(
        all[1].1.ends_with("one\n\n[redacted: a GitHub token]\n"),
        "{all:?}"
    );
    is_in_no_object(&Git::of(home));
    is_in_no_object(&machines.shared());
    is_in_no_file(home, "");
}

#[test]
fn what_is_allowed_goes_and_what_comes_later_does_not() {
    let machines = Machines::new(2);
    let home = &machines.homes[0];
    let before = text("aaaaaaaa", &format!("{}\n", token()));
    home.put(NAME, &before);
    machines.sync(0);
    let ran = quietly(home, &["allow", "aaaaaaaa", "--json"]).json();
    let found = json!([{"kind": "a GitHub token", "line": 9}]);
    assert_eq!(ran["allowed"][0]["found"], found);
    let noted = home.text_of("aaaaaaaa");
    let lines: Vec<&str> = noted
        .lines()
        .filter(|line| !line.starts_with("secrets_allowed: [\""))
        .collect();
    assert_eq!(lines.join("\n") + "\n", before);
    assert_eq!(machines.settle()[0].1, noted);
    assert!(
        quietly(home, &["allow", "aaaaaaaa"])
            .text()
            .starts_with("nothing to do")
    );
    // Its committed version stays; the new text waits.
    edit(
        home,
        "aaaaaaaa",
        &token(),
        &format!("{}\n{}", token(), another_token()),
    );
    let said = machines.sync(0);
    assert_eq!(said["held_back"][0]["line"], 11, "{said}");
    assert_eq!(
        Git::of(home).says(&["show", &format!("HEAD:{FILE}")]),
        noted
    );
    machines.sync(1);
    assert_eq!(machines.homes[1].text_of("aaaaaaaa"), noted);
    quietly(home, &["allow", "aaaaaaaa"]);
    assert_eq!(machines.settle()[0].1.matches(BODY).count(), 2);
}

#[test]
fn a_change_elsewhere_comes_in_beside_what_waits() {
    let machines = Machines::new(2);
    let (here, there) = (&machines.homes[0], &machines.homes[1]);
    here.put(NAME, text("aaaaaaaa", "one\n\ntwo\n\nthree\n"));
    here.remember(&["other"]);
    machines.settle();
    edit(here, "aaaaaaaa", "one", &format!("one {}", token()));
    edit(there, "aaaaaaaa", "three", "THREE");
    machines.sync(1);
    assert_eq!(machines.sync(0)["held_back"][0]["line"], 9);
    let now = here.text_of("aaaaaaaa");
    assert!(now.contains(&token()) && now.contains("THREE"), "{now}");
    let committed = Git::of(here).says(&["show", &format!("HEAD:{FILE}")]);
    assert_eq!(committed, there.text_of("aaaaaaaa"));
    // Forgetting it there does not hide it here.
    quietly(there, &["forget", "aaaaaaaa"]);
    machines.sync(1);
    machines.sync(0);
    assert_eq!(here.text_of("aaaaaaaa"), now);
    is_in_no_object(&Git::of(here));
    quietly(here, &["redact", "aaaaaaaa"]);
    let all = machines.settle();
    assert_eq!(all.len(), 2);
    let redacted = "one [redacted: a GitHub token]\n\ntwo\n\nTHREE\n";
    assert!(
        all.iter()
            .any(|(path, text)| path == FILE && text.ends_with(redacted)),
        "{all:?}"
    );
    is_in_no_object(&machines.shared());
}

#[test]
fn sides_that_contradict_keep_both_and_send_one() {
    let machines = Machines::new(2);
    let (here, there) = (&machines.homes[0], &machines.homes[1]);
    here.put(NAME, text("aaaaaaaa", "one\n"));
    machines.settle();
    edit(here, "aaaaaaaa", "one", &format!("ours {}", token()));
    edit(there, "aaaaaaaa", "one", "theirs");
    machines.sync(1);
    machines.sync(0);
    machines.sync(0);
    let all: Vec<String> = texts(here).into_iter().map(|(_, text)| text).collect();
    assert!(all.iter().any(|text| text.contains(&token())), "{all:?}");
    assert!(all.iter().any(|text| text.contains("theirs")), "{all:?}");
    assert_eq!(held_back(here).as_array().unwrap().len(), 1);
    is_in_no_object(&Git::of(here));
    is_in_no_object(&machines.shared());
}

#[test]
fn a_server_says_once_what_it_holds_back() {
    let machines = Machines::new(1);
    let home = &machines.homes[0];
    let mut command = home.command(&["mcp"]);
    command.env("MEMDIR_LOG", "debug");
    let session = Session::open_on(command);
    home.put(
        NAME,
        text("aaaaaaaa", &format!("{}\n{}\n", token(), another_token())),
    );
    let git = Git::of(home);
    for number in ["bbbbbbbb", "cccccccc"] {
        home.put(
            &format!("20260101_000000_{number}.md"),
            text(number, "fine"),
        );
        until("it is committed", || git.subjects()[0].contains(number));
    }
    edit(home, "aaaaaaaa", &another_token(), "gone");
    edit(home, "aaaaaaaa", &token(), "gone");
    until("it is committed", || git.subjects()[0].contains("aaaaaaaa"));
    let log = session.log();
    assert_eq!(log.matches("not committed: ").count(), 1, "{log}");
    assert!(
        log.contains(&format!("{FILE} holds a GitHub token on line 9")),
        "{log}"
    );
    assert!(!holds(log.as_bytes()));
    is_in_no_object(&git);
}

#[test]
fn a_history_with_secrets_is_not_sent_unasked() {
    let machines = Machines::new(1);
    machines.sync(0);
    let home = Home::new();
    let id = home.run(&["remember", &token()]).text().trim().to_owned();
    let remote = machines.remote();
    let setup = ["sync", "--setup", remote.to_str().unwrap(), "--allow-local"];
    let ran = quietly(&home, &setup);
    ran.complains(
        2,
        &[
            "nothing was sent",
            "a GitHub token on line 9",
            "memdir allow",
            "history",
        ],
    );
    is_in_no_object(&machines.shared());
    quietly(&home, &["sync"]);
    is_in_no_object(&machines.shared());
    quietly(&home, &["allow", &id]);
    assert_eq!(quietly(&home, &setup).code, 0);
    let sent = machines
        .shared()
        .says(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(sent.contains(&id), "{sent}");
}

#[test]
fn only_the_file_that_holds_it_is_held_back_not_all_of_its_name() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    let put = |home: &Home, folder: &str, text: &str| {
        let name = format!("store/files/{folder}/index.md");
        home.write(&name, text);
    };
    put(one, "p3", "three\n");
    machines.sync(0);
    machines.sync(1);
    put(one, "p1", &format!("notes {}\n", token()));
    put(one, "p3", "three, changed\n");
    machines.sync(0);
    put(two, "p2", "by two\n");
    machines.sync(1);
    machines.sync(0);
    let read = |home: &Home, folder: &str| {
        let path = home.files().join(folder).join("index.md");
        fs::read_to_string(path).unwrap()
    };
    assert_eq!(read(one, "p2"), "by two\n");
    assert_eq!(read(two, "p3"), "three, changed\n");
    assert!(!two.files().join("p1").exists());
    put(one, "p1", "notes\n");
    machines.sync(0);
    machines.sync(1);
    assert_eq!((texts(one), texts(two).len()), (texts(two), 3));
    is_in_no_object(&machines.shared());
}

#[test]
fn what_another_machine_adds_under_the_name_of_a_held_file_is_kept_beside_it() {
    let machines = Machines::new(2);
    let [one, two] = &machines.homes[..] else {
        unreachable!()
    };
    one.write("store/files/todo.md", format!("mine {}\n", token()));
    two.write("store/files/todo.md", "theirs\n");
    machines.sync(1);
    machines.sync(0);
    let all: String = texts(one).into_iter().map(|(_, text)| text).collect();
    assert!(all.contains("theirs") && all.contains("mine"), "{all}");
}

#[test]
fn what_was_taken_out_of_a_text_and_not_out_of_the_history_is_not_sent() {
    let machines = Machines::new(1);
    let home = Home::new();
    home.put(NAME, text("aaaaaaaa", &format!("Use {}.", token())));
    home.run(&["sync"]).done();
    quietly(&home, &["redact", "aaaaaaaa"]).done();
    let remote = machines.remote();
    let setup = ["sync", "--setup", remote.to_str().unwrap(), "--allow-local"];
    let refused = quietly(&home, &setup);
    assert_eq!(refused.code, 2, "{}", refused.text());
    for part in [FILE, "of commit", "begin a new history"] {
        assert!(refused.stderr.contains(part), "{part}: {}", refused.stderr);
    }
    assert_eq!(machines.shared().run(&["log"]).code, 128, "sent");
    fs::rename(home.store().join(".git"), home.root().join("old")).unwrap();
    quietly(&home, &setup).done();
    let objects = machines.shared().says(&["log", "-p", "--all"]);
    assert!(!holds(objects.as_bytes()));
}

#[test]
fn what_a_memory_may_hold_today_may_be_in_its_history() {
    let machines = Machines::new(1);
    let home = Home::new();
    for word in ["Use", "Never use"] {
        home.put(NAME, text("aaaaaaaa", &format!("{word} {}.", token())));
        home.run(&["sync"]).done();
    }
    quietly(&home, &["allow", "aaaaaaaa"]).done();
    let remote = machines.remote();
    let setup = ["sync", "--setup", remote.to_str().unwrap(), "--allow-local"];
    quietly(&home, &setup).done();
}

#[test]
fn what_somebody_committed_with_git_is_looked_at_before_it_is_sent() {
    let machines = Machines::new(1);
    let home = &machines.homes[0];
    home.put(NAME, text("aaaaaaaa", &token()));
    let git = Git::of(home);
    git.says(&["add", "files"]);
    git.says(&["commit", "-q", "-m", "Mine"]);
    let reason = machines.pauses(0);
    for part in [FILE, "line 9 of commit", "memdir allow aaaaaaaa"] {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    assert!(!holds(reason.as_bytes()));
    quietly(home, &["allow", "aaaaaaaa"]).done();
    machines.sync(0);
}

#[test]
fn names_settings_and_texts_of_two_bytes_a_letter_are_looked_at_too() {
    let machines = Machines::new(1);
    let home = &machines.homes[0];
    home.put(&format!("{}.md", token()), "A name.\n");
    let wide: Vec<u8> = format!("\u{feff}A token: {}\n", token())
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    home.put("wide.md", wide);
    home.write("store/memdir.toml", format!("agent = \"{}\"\n", token()));
    let synced = home.run(&["sync"]);
    assert_eq!(synced.code, 0, "{}", synced.stderr);
    let told = synced
        .stderr
        .lines()
        .filter(|line| line.starts_with("not committed"));
    assert_eq!(told.count(), 3, "{}", synced.stderr);
    let sent = machines.shared().run(&["log", "-p", "--all"]).stdout;
    assert!(!holds(&sent));
}

#[test]
fn an_earlier_text_is_redacted_with_its_memory() {
    let home = &Home::new();
    let git = &["--title", "Key"];
    let id = with(
        home,
        "off",
        &[&["remember"], &git[..], &[&format!("Use {}.", token())]].concat(),
    );
    let id = id.done().trim().to_owned();
    let again = [
        "remember",
        "--title",
        "Key",
        "--duplicates",
        "title",
        "It is in the vault.",
    ];
    quietly(home, &again).complains(0, &["its earlier text is"]);
    let archive = home.store().join("archive");
    let earlier = || {
        let name = names(&archive).remove(0);
        fs::read(archive.join(name)).unwrap()
    };
    assert!(holds(&earlier()));
    let said = quietly(home, &["redact", &id]).done();
    assert!(said.contains("a GitHub token"), "{said}");
    assert!(!holds(&earlier()));
}

#[test]
fn what_a_sentence_tells_is_refused_redacted_held_back_and_allowed() {
    let body = format!("Das Passwort für den Router ist {BODY}!\n");
    let machines = Machines::new(2);
    let home = &machines.homes[0];
    with(home, "refuse", &["remember", &body]).complains(2, &["a password on line 9"]);
    let ran = with(home, "redact", &["remember", &body]);
    ran.complains(0, &["a password on line 9", "was replaced"]);
    let id = ran.text().trim().to_owned();
    let redacted = "Das Passwort für den Router ist [redacted: a password]\n";
    assert!(home.text_of(&id).ends_with(redacted));
    home.put(NAME, text("aaaaaaaa", &body));
    let held = json!([{"file": FILE, "kind": "a password", "line": 9}]);
    assert_eq!(machines.sync(0)["held_back"], held);
    is_in_no_object(&Git::of(home));
    quietly(home, &["allow", "aaaaaaaa"]);
    assert_eq!(machines.sync(0)["held_back"], json!([]));
}

#[test]
fn a_token_with_invisible_characters_is_redacted_as_a_whole_and_allowed_by_its_visible_text() {
    let machines = Machines::new(2);
    let home = &machines.homes[0];
    let (first, last) = BODY.split_at(9);
    let hidden = token().replace(BODY, &format!("{first}\u{200b}{last}"));
    let ran = with(home, "redact", &["remember", &format!("Use {hidden}.")]);
    ran.complains(0, &["a GitHub token on line 9", "was replaced"]);
    let written = home.text_of(ran.text().trim());
    assert!(
        written
            .trim_end()
            .ends_with("Use [redacted: a GitHub token].")
            && !written.contains(first),
        "{written}"
    );
    home.put(NAME, text("aaaaaaaa", &format!("{}\n", token())));
    quietly(home, &["allow", "aaaaaaaa"]);
    edit(home, "aaaaaaaa", &token(), &hidden);
    assert_eq!(machines.sync(0)["held_back"], json!([]));
}

#[test]
fn what_is_redacted_lies_in_no_text_that_was_kept_aside() {
    let machines = Machines::new(1);
    let home = &machines.homes[0];
    machines.sync(0);
    let told = quietly(
        home,
        &["remember", "--topics", "a", &format!("to {}", token())],
    );
    let id = told.text().trim().to_owned();
    quietly(home, &["update", &id, "--topics", "+b"]);
    quietly(home, &["redact", &id]);
    machines.sync(0);
    is_in_no_object(&Git::of(home));
    is_in_no_file(home, "");
}
