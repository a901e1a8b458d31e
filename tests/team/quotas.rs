//! Quotas of workspaces: memories, bytes and calls a minute.

use memdir::files::{FilesError, Place, Storage, WritableStorage};
use memdir::rows::access::{self, Quota, Role};
use memdir::rows::{Database, Rows, check};
use serde_json::{Value, json};

use crate::access::{make, read, tool};
use crate::postgres::{TestDatabase, query};
use crate::serving::{json_of, server};
use crate::support::memdir_server::{Answered, Server};
use crate::support::program::Home;
use crate::support::until;

fn set(database: &Database, quota: Quota, limit: Option<i64>) {
    access::set_quotas(database, "atlas", &[(quota, limit)]).unwrap();
}

fn name(number: usize) -> String {
    format!("20260101_000000_{number:08x}.md")
}

fn remember(server: &Server, secret: &str, content: &str) -> Answered {
    let body = json!({"title": content, "content": content, "tier": "long"});
    server.json("POST", "/w/atlas/api/v1/memories", secret, &body)
}

#[test]
fn eight_writers_at_once_do_not_exceed_a_quota() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    set(&test.open(), Quota::Memories, Some(10));
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let test = &test;
            scope.spawn(move || {
                let rows = Rows::open(&test.open(), "atlas").unwrap();
                for number in 0..3 {
                    let _ = rows.add(Place::Files, &name(writer * 100 + number), b"12345");
                }
            });
        }
    });
    assert_eq!(rows.list(Place::Files).unwrap().entries.len(), 10);
    let error = rows.add(Place::Files, &name(9999), b"x").unwrap_err();
    assert!(error.is_full(), "{error}");
    let FilesError::Io { source, .. } = error else {
        panic!("{error}");
    };
    let text = "the workspace would hold 11 memories, and its quota is 10: forget some, or ask its operator for more";
    assert_eq!(source.to_string(), text);
    let quotas = access::set_quotas(&test.open(), "atlas", &[]).unwrap();
    assert_eq!((quotas.memories, quotas.bytes), (10, 50));
    assert!(check(&rows).unwrap().findings.is_empty());
}

#[test]
fn counters_follow_every_kind_of_write() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    let database = test.open();
    let count = || {
        let quotas = access::set_quotas(&database, "atlas", &[]).unwrap();
        assert!(check(&rows).unwrap().findings.is_empty());
        (quotas.memories, quotas.bytes)
    };
    let version = |place| rows.reader(place).read(&name(1), u64::MAX).unwrap();
    rows.add(Place::Files, &name(1), b"12345").unwrap();
    rows.add(Place::Files, &name(1), b"taken").unwrap_err();
    assert_eq!(count(), (1, 5));
    rows.add_many(
        Place::Archive,
        &[(name(2), b"1".to_vec()), (name(3), b"22".to_vec())],
    );
    assert_eq!(count(), (3, 8));
    let seen = version(Place::Files);
    rows.replace(Place::Files, &name(1), &seen, b"123").unwrap();
    // One that comes too late changes nothing.
    rows.replace(Place::Files, &name(1), &seen, b"1234567")
        .unwrap();
    assert_eq!(count(), (3, 6));
    rows.rename((Place::Files, &name(1)), (Place::Archive, &name(1)))
        .unwrap();
    assert_eq!(count(), (3, 6));
    rows.put_beside("memdir.toml", None, Some(b"four")).unwrap();
    assert_eq!(count(), (3, 10));
    rows.remove(Place::Archive, &name(1), &version(Place::Archive))
        .unwrap();
    assert_eq!(count(), (2, 7));
    // Above its quota a workspace may shrink, and not grow.
    set(&database, Quota::Bytes, Some(3));
    let seen = rows
        .reader(Place::Archive)
        .read(&name(3), u64::MAX)
        .unwrap();
    assert!(
        rows.replace(Place::Archive, &name(3), &seen, b"333")
            .unwrap_err()
            .is_full()
    );
    rows.replace(Place::Archive, &name(3), &seen, b"3").unwrap();
    assert_eq!(count(), (2, 6));
}

#[test]
fn who_exceeds_a_quota_is_told_which_and_what_to_do() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let secret = make(&test, "atlas", "anna", Role::Writer);
    let server = server(&test, &[]);
    let first = remember(&server, &secret, "The zebra has stripes.");
    assert_eq!(first.status, 201, "{first:?}");
    set(&test.open(), Quota::Memories, Some(1));
    let refused = remember(&server, &secret, "An okapi lives in the forest of Ituri.");
    assert_eq!(refused.status, 403, "{refused:?}");
    let error = json_of(&refused);
    assert_eq!(error["code"], json!("OVER_QUOTA"));
    let text = "the workspace would hold 2 memories, and its quota is 1: forget some, or ask its operator for more";
    assert_eq!(error["message"], json!(text));
    let memory = json!({"content": "An okapi lives in the forest.", "topics": ["a"], "agent": "a", "user": "u"});
    let refused = tool(&server, "atlas", &secret, "remember", memory);
    assert!(refused.contains("\"isError\":true"), "{refused}");
    assert!(refused.contains(text), "{refused}");
    // What is there is read and forgotten still.
    let id = json_of(&first)["id"].as_str().unwrap().to_owned();
    let path = format!("/w/atlas/api/v1/memories/{id}");
    assert_eq!(server.get(&path, &secret).status, 200);
    let gone = server.json("DELETE", &path, &secret, &Value::Null);
    assert!(gone.status < 300, "{gone:?}");
}

#[test]
fn the_calls_of_a_workspace_have_a_limit_of_their_own() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("beta");
    set(&test.open(), Quota::Requests, Some(3));
    let (anna, bert) = (
        make(&test, "atlas", "anna", Role::Reader),
        make(&test, "beta", "bert", Role::Reader),
    );
    let server = server(&test, &[]);
    await_early_minute(&test);
    for _ in 0..3 {
        assert_eq!(read(&server, "atlas", &anna), 200);
    }
    let refused = server.get("/w/atlas/api/v1/topics", &anna);
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(
        refused.head.to_lowercase().contains("retry-after: "),
        "{refused:?}"
    );
    let text = "the workspace may be called 3 times a minute";
    assert!(
        json_of(&refused)["message"]
            .as_str()
            .unwrap()
            .starts_with(text)
    );
    let thought = tool(&server, "atlas", &anna, "think", json!({"query": "zebra"}));
    assert!(thought.contains("\"isError\":true"), "{thought}");
    assert!(thought.contains(text), "{thought}");
    assert_eq!(read(&server, "beta", &bert), 200);
}

/// Waits until so much of a minute of the database is left that all calls of a test are within it. A cast alone rounds:
/// half a second before a minute ends it would be the next one.
fn await_early_minute(test: &TestDatabase) {
    let sql = "SELECT floor(extract(epoch FROM clock_timestamp()))::bigint % 60 < 30";
    until("a minute is early", || {
        query(&test.address(), sql)[0].get(0)
    });
}

#[test]
fn servers_share_the_calls_of_a_workspace() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let database = test.open();
    // Of 100 a server leases two at a time.
    set(&database, Quota::Requests, Some(100));
    let anna = make(&test, "atlas", "anna", Role::Reader);
    let servers = [server(&test, &[]), server(&test, &[])];
    await_early_minute(&test);
    let asked = (0..102).map(|number| read(&servers[number % 2], "atlas", &anna));
    let answers: Vec<u16> = asked.collect();
    assert_eq!(answers.iter().filter(|status| **status == 200).count(), 100);
    assert_eq!(answers[100..], [429, 429]);
    let (granted, left) = access::lease_calls(&database, "atlas", 100, 5).unwrap();
    assert!(granted <= 5 && left.as_secs() < 60, "{granted} {left:?}");
}

#[test]
fn the_command_shows_and_sets_quotas() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    rows.add(Place::Files, &name(1), b"12345").unwrap();
    let home = Home::new();
    let team = |arguments: &[&str]| {
        let mut command = home.command(&[&["team", "quota"], arguments].concat());
        command.env("MEMDIR_DATABASE", test.address());
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap(), told)
    };
    let (code, told) = team(&["atlas", "--memories", "10", "--requests", "60"]);
    assert_eq!(code, 0);
    assert!(
        told.contains("1 of 10") && told.contains("5 of no limit"),
        "{told}"
    );
    let (_, told) = team(&["atlas", "--memories", "none", "--json"]);
    let shown: Value = serde_json::from_str(&told).unwrap();
    let expected = json!({"memories": 1, "bytes": 5, "max_memories": null, "max_bytes": null, "max_requests": 60});
    assert_eq!(shown, expected);
    assert_eq!(team(&["atlas", "--requests", "0"]).0, 2);
    assert_eq!(team(&["atlas", "--bytes", "many"]).0, 2);
    assert_eq!(team(&["nowhere"]).0, 2);
}
