//! Which server a workspace prefers: all servers say the same, and only the workspaces of one that goes move.

use crate::postgres::{Session, TestDatabase, query};
use crate::serving::{server, token};
use crate::support::TestStore;
use crate::support::memdir_server::{Answered, Server, memdir};

/// Number of workspaces.
const WORKSPACES: usize = 60;

/// Returns a database with the workspaces `w0`, `w1` and so on.
fn database() -> Option<TestDatabase> {
    let test = TestDatabase::new()?;
    let database = test.open();
    for number in 0..WORKSPACES {
        database.create_workspace(&format!("w{number}")).unwrap();
    }
    Some(test)
}

fn called(test: &TestDatabase, name: &str) -> Server {
    server(test, &["--advertise", name, "--drain", "600"])
}

fn ask(server: &Server, number: usize) -> Answered {
    // Opens nothing.
    server.get(&format!("/w/w{number}/api/v1/tokens"), &token(server))
}

/// Returns the server that each workspace prefers, as `server` says; it answers for all of them.
fn choices(server: &Server) -> Vec<String> {
    let choice = |number| {
        let answered = ask(server, number);
        assert_eq!(answered.status, 200, "{answered:?}");
        answered.header("memdir-server").unwrap().to_owned()
    };
    (0..WORKSPACES).map(choice).collect()
}

/// Returns what the servers say, once they say the same of exactly these names.
fn agreed(servers: &[&Server], names: &[&str]) -> Vec<String> {
    loop {
        let all: Vec<_> = servers.iter().map(|server| choices(server)).collect();
        let mut found: Vec<&str> = all[0].iter().map(String::as_str).collect();
        found.sort_unstable();
        found.dedup();
        if found == names && all.iter().all(|one| *one == all[0]) {
            return all[0].clone();
        }
    }
}

fn count(choices: &[String], name: &str) -> usize {
    choices.iter().filter(|choice| *choice == name).count()
}

#[test]
fn only_the_workspaces_of_a_server_that_dies_move_and_they_come_back_with_it() {
    let Some(test) = database() else {
        return;
    };
    let [a, mut b, c] = ["a", "b", "c"].map(|name| called(&test, name));
    let before = agreed(&[&a, &b, &c], &["a", "b", "c"]);
    b.child.kill().unwrap();
    b.child.wait().unwrap();
    let after = agreed(&[&a, &c], &["a", "c"]);
    let moved = before.iter().zip(&after).filter(|(old, new)| old != new);
    let moved: Vec<_> = moved.collect();
    assert!(moved.iter().all(|(old, _)| *old == "b"), "{moved:?}");
    assert_eq!(moved.len(), count(&before, "b"));
    let again = called(&test, "b");
    let back = agreed(&[&a, &again, &c], &["a", "b", "c"]);
    assert_eq!(back, before);
}

#[test]
fn a_server_that_drains_is_preferred_by_no_workspace() {
    let Some(test) = database() else {
        return;
    };
    let (a, mut b) = (called(&test, "a"), called(&test, "b"));
    agreed(&[&a, &b], &["a", "b"]);
    b.signal("TERM");
    // Its row is removed, and does not just grow old.
    let gone = "SELECT WHERE NOT EXISTS (SELECT FROM server WHERE name = 'b')";
    Session::new(&test.address()).until(gone);
    // It answers still, and sends to the other one.
    let after = agreed(&[&a, &b], &["a"]);
    assert_eq!(count(&after, "a"), WORKSPACES);
    assert!(b.child.try_wait().unwrap().is_none());
    assert_eq!(b.end(), Some(0));
    let rows = query(&test.address(), "SELECT name FROM server");
    assert_eq!(rows.len(), 1);
}

#[test]
fn a_server_without_a_name_and_one_of_long_ago_are_preferred_by_none() {
    let Some(test) = database() else {
        return;
    };
    query(
        &test.address(),
        "INSERT INTO server VALUES ('ghost', now() - interval '7 seconds')",
    );
    let (nameless, named) = (server(&test, &[]), called(&test, "http://10.0.0.7:9077"));
    let all = agreed(&[&named], &["http://10.0.0.7:9077"]);
    assert_eq!(count(&all, "http://10.0.0.7:9077"), WORKSPACES);
    let answered = ask(&nameless, 0);
    assert_eq!(
        (answered.status, answered.header("memdir-server")),
        (200, None)
    );
    // Whoever has no token learns of no server.
    let unknown = named.get(
        "/w/w0/api/v1/tokens",
        "0123456789012345678901234567890123456789",
    );
    assert_eq!(
        (unknown.status, unknown.header("memdir-server")),
        (401, None)
    );
}

#[test]
fn a_name_that_is_none_is_named() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let store = TestStore::new();
    let mut command = memdir(store.root());
    command.args(["serve", "--listen", "127.0.0.1:0", "--database"]);
    command.args(["--advertise", "two words"]);
    let output = command.env("MEMDIR_DATABASE", test.address()).output();
    let output = output.unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("`two words` is no name of a server"),
        "{told}"
    );
}
