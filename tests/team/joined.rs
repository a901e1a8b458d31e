//! Folders that are joined to a workspace: a server of the folder exchanges in the background.

use std::fs;
use std::time::{Duration, Instant};

use memdir::rows::access;
use memdir::rows::access::Role;
use serde_json::{Value, json};

use crate::access::{make, read};
use crate::local_first::{Team, name, sync};
use crate::serving::server;
use crate::support::machines::text;
use crate::support::program::{Home, names};
use crate::support::session;
use crate::support::session::Session;

/// Longer than any exchange takes, with the pauses after failures.
const PATIENCE: Duration = Duration::from_secs(90);

/// Asks until there is an answer.
#[track_caller]
fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(begun.elapsed() < PATIENCE, "in vain: {what}");
    }
}

/// The `workspace` of `memdir status --json`.
fn status(home: &Home) -> Value {
    home.run(&["status", "--json"]).json()["workspace"].clone()
}

/// Awaits a state of the exchange of `home`.
#[track_caller]
fn until_status(home: &Home, is_meant: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    until("a state of the exchange", || {
        last = status(home);
        Some(last.clone()).filter(|status| is_meant(status))
    })
}

/// A server of the folder of `home` for agents, which looks at the workspace every second.
fn agent(home: &Home, variables: &[(&str, &str)]) -> Session {
    let mut command = session::memdir(home);
    command.env("MEMDIR_SYNC_INTERVAL", "1");
    command.envs(variables.iter().copied());
    Session::open_on(command)
}

/// Has an agent remember something.
#[track_caller]
fn remember(session: &mut Session, content: &str, more: &Value) {
    let mut memory = json!({"content": content, "topics": ["birds"], "agent": "a", "user": "u"});
    let fields = memory.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    let stored = session.tool("remember", memory);
    assert_ne!(stored["isError"], true, "{stored}");
}

fn holds(home: &Home, content: &str) -> bool {
    let mut files = names(&home.files()).into_iter();
    files.any(|name| {
        let text = fs::read_to_string(home.files().join(name)); // It may have moved.
        text.unwrap_or_default().contains(content)
    })
}

impl Team {
    /// A token of the workspace for a writer.
    fn writer(&self, name: &str) -> String {
        make(&self.test, "atlas", name, Role::Writer)
    }

    #[track_caller]
    fn join(&self, at: usize, secret: &str) {
        let more = ["--join", "--keep-token"];
        let ran = sync(&self.homes[at], &self.address(), secret, &more);
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.contains("joined"), "{ran:?}");
    }

    fn has(&self, content: &str) -> bool {
        let mut texts = self.workspace().into_values();
        texts.any(|text| text.contains(content))
    }

    #[track_caller]
    fn await_in_workspace(&self, content: &str) {
        until(content, || self.has(content).then_some(()));
    }

    #[track_caller]
    fn await_at(&self, at: usize, content: &str) {
        until(content, || holds(&self.homes[at], content).then_some(()));
    }

    /// Writes a memory into the workspace, over HTTP.
    #[track_caller]
    fn write(&self, secret: &str, content: &str) {
        let body = json!({"title": content, "content": content, "tier": "long"});
        let path = "/w/atlas/api/v1/memories";
        let answered = self.server.json("POST", path, secret, &body);
        assert_eq!(answered.status, 201, "{answered:?}");
    }
}

#[test]
fn memories_come_and_go_without_a_command_and_private_ones_stay() {
    let Some(team) = Team::new() else {
        return;
    };
    let home = &team.homes[0];
    let secret = team.writer("anna");
    let rules = |rules: &str| {
        let text = format!("[team]\nprivate = [{rules}]\n");
        home.write("config/memdir/config.toml", text);
    };
    rules("\"personal\"");
    assert_eq!(status(home), Value::Null);
    // The server runs already when the user joins.
    let mut session = agent(home, &[]);
    remember(&mut session, "A heron.", &json!({}));
    team.join(0, &secret);
    assert!(team.has("A heron."));
    remember(&mut session, "A stork.", &json!({}));
    let personal = json!({"namespace": "personal/diary"});
    remember(&mut session, "A secret egret.", &personal);
    team.await_in_workspace("A stork.");
    team.write(&secret, "An ibis.");
    team.await_at(0, "An ibis.");
    // A rule counts from the moment at which it is written.
    rules("\"personal\", \"topic:health\"");
    remember(
        &mut session,
        "A secret crane.",
        &json!({"topics": ["health"]}),
    );
    remember(&mut session, "A spoonbill.", &json!({}));
    team.await_in_workspace("A spoonbill.");
    assert!(!team.has("secret"), "{:?}", team.workspace());
    let shown = until_status(home, |status| {
        status["state"] == "in-step" && status["unsent"] == 0
    });
    assert_eq!(shown["address"], team.address());
    assert_eq!(shown["reason"], Value::Null);
    let said = home.run(&["status"]).text();
    assert!(said.contains(&team.address()), "{said}");
    let checked = home.run(&["doctor", "--json"]).json();
    let checks = checks_of(&checked, "workspace");
    assert_eq!(checks, [true], "{checked}");
    // Neither the folder nor the record that the user has of it tells the token.
    let record = home.run(&["trust", "--show", "--json"]).text();
    assert!(record.contains(&team.address()), "{record}");
    assert!(!record.contains(&secret), "{record}");
}

/// Whether each check of `doctor` with this name found all well.
fn checks_of(doctor: &Value, name: &str) -> Vec<bool> {
    let checks = doctor["checks"].as_array().unwrap().iter();
    let named = checks.filter(|check| check["name"] == name);
    named.map(|check| check["well"] == true).collect()
}

#[test]
fn a_server_that_was_away_gets_what_was_written_meanwhile_and_so_does_the_folder() {
    let Some(mut team) = Team::new() else {
        return;
    };
    let secret = team.writer("anna");
    let address = team.address();
    team.join(0, &secret);
    // Nothing of it needs git.
    let mut session = agent(&team.homes[0], &[("MEMDIR_GIT", "false")]);
    remember(&mut session, "A heron.", &json!({}));
    team.await_in_workspace("A heron.");
    // The exchange goes on after the workspace has it.
    until_status(&team.homes[0], |status| {
        status["state"] == "in-step" && status["unsent"] == 0
    });
    let place = team.server.address.clone();
    team.server.signal("KILL");
    team.server.child.wait().unwrap();
    remember(&mut session, "A stork.", &json!({}));
    let shown = until_status(&team.homes[0], |status| status["state"] == "failed");
    assert_eq!(shown["unsent"], 1, "{shown}");
    assert!(shown["in_step_at"].is_i64(), "{shown}");
    // The workspace is written by way of another server.
    team.server = server(&team.test, &[]);
    team.write(&secret, "An ibis.");
    team.server = server(&team.test, &["--listen", &place]);
    team.await_in_workspace("A stork.");
    team.await_at(0, "An ibis.");
    until_status(&team.homes[0], |status| {
        status["state"] == "in-step" && status["unsent"] == 0
    });
    assert_eq!(status(&team.homes[0])["address"], address);
}

#[test]
fn a_revoked_token_pauses_the_exchange_until_there_is_another() {
    let Some(team) = Team::new() else {
        return;
    };
    let home = &team.homes[0];
    let secret = team.writer("anna");
    team.join(0, &secret);
    let mut session = agent(home, &[]);
    remember(&mut session, "A heron.", &json!({}));
    team.await_in_workspace("A heron.");
    access::revoke(&team.test.open(), "atlas", "anna").unwrap();
    until("the token ends", || {
        (read(&team.server, "atlas", &secret) == 401).then_some(())
    });
    remember(&mut session, "A stork.", &json!({}));
    let shown = until_status(home, |status| status["state"] == "paused");
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.contains("401"), "{reason}");
    assert!(reason.contains("--keep-token"), "{reason}");
    assert_eq!(shown["unsent"], 1, "{shown}");
    let said = home.run(&["status"]).text();
    assert!(said.contains("1 memory waits to be sent"), "{said}");
    let checked = home.run(&["doctor", "--json"]).json();
    assert_eq!(checks_of(&checked, "workspace"), [false], "{checked}");
    assert!(!team.has("A stork."));
    // Another one, by the command that the reason names; the server goes on by itself.
    let secret = team.writer("bert");
    let ran = sync(home, &team.address(), &secret, &["--keep-token"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(team.has("A stork."));
    remember(&mut session, "A crane.", &json!({}));
    team.await_in_workspace("A crane.");
    let log = session.log();
    assert_eq!(log.matches("answers 401").count(), 1, "{log}");
}

#[test]
fn a_token_that_only_reads_says_that_what_is_here_waits() {
    let Some(team) = Team::new() else {
        return;
    };
    let home = &team.homes[0];
    home.remember(&["a heron"]);
    let secret = make(&team.test, "atlas", "anna", Role::Reader);
    team.join(0, &secret);
    let shown = status(home);
    assert_eq!(
        (&shown["state"], &shown["unsent"]),
        (&json!("paused"), &json!(1)),
        "{shown}"
    );
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.contains("--direction pull"), "{reason}");
    let more = ["--join", "--direction", "pull"];
    let ran = sync(home, &team.address(), &secret, &more);
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown = status(home);
    assert_eq!(
        (&shown["state"], &shown["unsent"]),
        (&json!("in-step"), &json!(0)),
        "{shown}"
    );
    assert_eq!(shown["direction"], "pull");
    assert!(team.workspace().is_empty());
}

#[test]
fn many_deletions_pause_the_exchange_until_they_are_accepted() {
    let Some(team) = Team::new() else {
        return;
    };
    let home = &team.homes[0];
    let ids: Vec<String> = (0..12).map(|number| format!("{number:08x}")).collect();
    for id in &ids {
        home.put(&name(id), text(id, &format!("about {id}\n")));
    }
    team.join(0, &team.writer("anna"));
    let _session = agent(home, &[]);
    for id in &ids[..8] {
        fs::remove_file(home.file_of(id)).unwrap();
    }
    let shown = until_status(home, |status| status["state"] == "paused");
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.contains("--accept-deletions"), "{reason}");
    assert_eq!(shown["unsent"], 8, "{shown}");
    let live = || {
        let texts = team.workspace().into_keys();
        texts.filter(|path| path.starts_with("files/")).count()
    };
    assert_eq!(live(), 12);
    let ran = home.run(&["sync", "--accept-deletions"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(live(), 4);
    until_status(home, |status| status["state"] == "in-step");
}

#[test]
fn a_folder_in_other_hands_is_not_exchanged() {
    let Some(team) = Team::new() else {
        return;
    };
    let secret = team.writer("anna");
    let [mine, theirs] = &team.homes;
    mine.remember(&["a heron"]);
    team.join(0, &secret);
    copy(&mine.store(), &theirs.store());
    assert_eq!(status(theirs), Value::Null);
    let mut their_session = agent(theirs, &[("MEMDIR_TOKEN", &secret)]);
    remember(&mut their_session, "A secret stork.", &json!({}));
    let ran = theirs.run(&["sync"]);
    assert!(!ran.text().contains("/w/atlas"), "{ran:?}");
    // The owner's server exchanges meanwhile.
    let mut session = agent(mine, &[]);
    remember(&mut session, "A crane.", &json!({}));
    team.await_in_workspace("A crane.");
    assert!(!team.has("secret"), "{:?}", team.workspace());
    drop(session);
    // Another folder in the place of the one that was joined.
    fs::rename(mine.store(), mine.root().join("moved")).unwrap();
    fs::create_dir_all(mine.files()).unwrap();
    mine.remember(&["a secret ibis"]);
    let shown = status(mine);
    assert_eq!(shown["state"], "paused", "{shown}");
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.contains("--join"), "{reason}");
    assert_eq!(mine.run(&["sync"]).code, 0);
    assert!(!team.has("secret"), "{:?}", team.workspace());
    assert_eq!(mine.run(&["sync", "--leave"]).code, 0);
    assert_eq!(status(mine), Value::Null);
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

#[test]
fn one_sync_serves_the_joined_workspace_until_it_is_left() {
    let Some(mut team) = Team::new() else {
        return;
    };
    let home = &team.homes[0];
    let secret = team.writer("anna");
    let address = team.address();
    home.run(&["sync", "--with", "elsewhere", "--join"])
        .complains(2, &["no workspace to join"]);
    // What failed joined nothing.
    sync(home, &address, &"x".repeat(43), &["--join"]).complains(2, &["401"]);
    assert_eq!(status(home), Value::Null);
    team.join(0, &secret);
    home.remember(&["a heron"]);
    assert_eq!(status(home)["unsent"], 1);
    let said = home.run(&["sync"]).done();
    assert!(said.contains("everything is committed"), "{said}");
    let exchanged = format!("exchanged with {address}\nsent: 1 came\n");
    assert!(said.contains(&exchanged), "{said}");
    assert!(team.has("a heron"));
    home.remember(&["a stork"]);
    let mut without_git = home.command(&["sync", "--json"]);
    let ran = crate::support::program::run(without_git.env("MEMDIR_GIT", "false"));
    assert_eq!(ran.code, 0, "{ran:?}");
    let sent = &ran.json()["workspace"]["sent"]["files"];
    assert_eq!(sent.as_array().unwrap().len(), 1, "{ran:?}");
    // Another workspace of the same name is not the one that was agreed to.
    let place = team.server.address.clone();
    team.server.signal("KILL");
    team.server.child.wait().unwrap();
    team.homes[0]
        .run(&["sync"])
        .complains(2, &["cannot exchange memories"]);
    team.test.open().drop_workspace("atlas").unwrap();
    team.test.workspace("atlas");
    team.server = server(&team.test, &["--listen", &place]);
    let home = &team.homes[0];
    let secret = team.writer("anna");
    sync(home, &address, &secret, &["--keep-token"]).complains(2, &["another workspace now"]);
    assert!(team.workspace().is_empty());
    let ran = sync(home, &address, &secret, &["--join"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("MEMDIR_TOKEN"), "{ran:?}");
    assert_eq!(team.workspace().len(), 2);
    // Without the variable that was joined with there is no token, whatever was kept.
    home.run(&["sync"])
        .complains(2, &["there is no token", "MEMDIR_TOKEN"]);
    let left = home.run(&["sync", "--leave"]);
    assert_eq!(left.code, 0, "{left:?}");
    assert!(left.text().contains(&address), "{left:?}");
    assert!(left.stderr.contains("the token stays in"), "{left:?}");
    assert_eq!(home.run(&["sync", "--leave"]).code, 1);
    assert_eq!(status(home), Value::Null);
    home.remember(&["a secret ibis"]);
    assert_eq!(home.run(&["sync"]).code, 0);
    assert!(!team.has("secret"), "{:?}", team.workspace());
}
