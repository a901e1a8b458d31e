//! Numbers of changes in replies and requests, and reads from a real standby that is behind.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::postgres::{Session, TestDatabase, with_database};
use crate::support::TestStore;
use crate::support::memdir_server::{Answered, Server};

/// A standby whose replay a test may pause; tests that do so run one after another.
pub struct Standby {
    session: Session,
    pub address: String,
    _alone: MutexGuard<'static, ()>,
}

impl Standby {
    /// Returns the standby, once it has everything in `test`.
    pub fn of(test: &TestDatabase) -> Standby {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let server = std::env::var("MEMDIR_TEST_POSTGRES_STANDBY").unwrap();
        let mut standby = Standby {
            session: Session::new(&server),
            address: with_database(&server, &test.name),
            _alone: alone,
        };
        standby.resume();
        standby.catch_up(test);
        standby
    }

    fn pause(&mut self) {
        self.session.query("SELECT pg_wal_replay_pause()");
        let is_paused = "SELECT WHERE pg_get_wal_replay_pause_state() = 'paused'";
        self.session.until(is_paused);
    }

    fn resume(&mut self) {
        self.session.query("SELECT pg_wal_replay_resume()");
    }

    /// Waits until everything that is written now is there.
    pub fn catch_up(&mut self, test: &TestDatabase) {
        let sql = "SELECT pg_current_wal_lsn()::text";
        let now: String = Session::new(&test.address()).query(sql)[0].get(0);
        let sql = format!("SELECT WHERE pg_last_wal_replay_lsn() >= '{now}'");
        self.session.until(&sql);
    }
}

impl Drop for Standby {
    fn drop(&mut self) {
        let _ = self.session.execute("SELECT pg_wal_replay_resume()");
    }
}

/// Starts a server of the workspaces at `address`.
pub fn server(address: &str, arguments: &[&str]) -> Server {
    let store = TestStore::new();
    let cache = store.root().join("cache");
    let own = ["--database", "--cache", cache.to_str().unwrap()];
    let variables = [("MEMDIR_DATABASE", address), ("MEMDIR_DRAIN", "0")];
    Server::with(store, &[&own, arguments].concat(), &variables)
}

pub fn bearer(server: &Server) -> String {
    let tokens = std::fs::read_to_string(server.store.root().join("cache/tokens")).unwrap();
    let line = tokens.lines().last().unwrap();
    let secret = line.split_whitespace().last().unwrap();
    format!("Authorization: Bearer {secret}")
}

/// Asks for something of the workspace `atlas`, with further headers.
pub fn ask(server: &Server, method: &str, path: &str, headers: &[&str], body: &Value) -> Answered {
    let bearer = bearer(server);
    let mut all = vec![bearer.as_str()];
    all.extend(headers);
    let body = match body {
        Value::Null => Vec::new(),
        body => {
            all.push("Content-Type: application/json");
            body.to_string().into_bytes()
        }
    };
    server.ask(method, &format!("/w/atlas{path}"), &all, &body)
}

/// Remembers `content`; returns the number of the change.
pub fn remember(server: &Server, content: &str) -> u64 {
    let body = json!({"title": content, "content": content, "tier": "long"});
    let answered = ask(server, "POST", "/api/v1/memories", &[], &body);
    assert_eq!(answered.status, 201, "{answered:?}");
    let number = answered.header("memdir-sequence").unwrap();
    number.parse().unwrap()
}

/// Returns whether a search finds a memory with `word`; the headers are sent along.
pub fn finds(server: &Server, word: &str, headers: &[&str]) -> bool {
    let path = format!("/api/v1/search?q={word}");
    let answered = ask(server, "GET", &path, headers, &Value::Null);
    assert_eq!(answered.status, 200, "{answered:?}");
    let text = String::from_utf8(answered.body).unwrap();
    text.contains(&format!("The {word}."))
}

/// Calls a tool of `atlas` by MCP with `_meta`; returns the message.
pub fn call(server: &Server, name: &str, arguments: Value, meta: Value) -> Value {
    called(server, name, arguments, meta, &[]).message()
}

/// Calls a tool of `atlas` by MCP without a session, with `_meta` and further headers.
fn called(
    server: &Server,
    name: &str,
    arguments: Value,
    meta: Value,
    further: &[&str],
) -> Answered {
    let mut all = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    for (key, value) in meta.as_object().unwrap() {
        all[key] = value.clone();
    }
    let name_header = format!("Mcp-Name: {name}");
    let own = [
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        &name_header,
    ];
    let headers = [&own, further].concat();
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": name, "arguments": arguments, "_meta": all}});
    ask(server, "POST", "/mcp", &headers, &message)
}

fn heads(test: &TestDatabase) -> u64 {
    let sql = "SELECT head FROM workspace WHERE name = 'atlas'";
    let head: i64 = Session::new(&test.address()).query(sql)[0].get(0);
    head as u64
}

#[test]
fn the_reply_to_a_write_carries_the_number_of_its_change() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test.address(), &[]);
    for content in ["The zebra.", "The okapi."] {
        assert_eq!(remember(&server, content), heads(&test));
    }
    let arguments =
        json!({"content": "The tapir.", "topics": ["animals"], "agent": "a", "user": "u"});
    let answered = called(&server, "remember", arguments, json!({}), &[]);
    let told = answered.message();
    assert_eq!(
        told["result"]["_meta"]["memdir/sequence"],
        heads(&test),
        "{told}"
    );
    let header = heads(&test).to_string();
    assert_eq!(answered.header("memdir-sequence"), Some(header.as_str()));
}

#[test]
fn on_a_standby_that_is_behind_each_server_sees_its_own_writes_and_what_it_is_told_of() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let mut standby = Standby::of(&test);
    let replica = ["--replica", standby.address.as_str()];
    let one = server(&test.address(), &replica);
    let other = server(&test.address(), &replica);
    remember(&one, "The zebra.");
    standby.catch_up(&test);
    assert!(finds(&one, "zebra", &[]) && finds(&other, "zebra", &[]));
    standby.pause();
    let number = remember(&one, "The okapi.");
    assert!(finds(&one, "okapi", &[]));
    let header = format!("Memdir-Sequence: {number}");
    assert!(finds(&other, "okapi", &[&header]));
    let number = remember(&one, "The tapir.");
    let told = call(
        &other,
        "think",
        json!({"query": "tapir"}),
        json!({"memdir/sequence": number}),
    );
    assert!(told.to_string().contains("The tapir."), "{told}");
    let number = remember(&one, "The gnu.");
    let header = format!("Memdir-Sequence: {number}");
    let query = json!({"query": "gnu"});
    let answered = called(&other, "think", query, json!({}), &[&header]);
    assert!(answered.text().contains("The gnu."), "{answered:?}");
    let held = answered.header("memdir-sequence").unwrap();
    assert!(held.parse::<u64>().unwrap() >= number, "{answered:?}");
    // Without a number it is there once the notification came.
    remember(&one, "The quagga.");
    while !finds(&other, "quagga", &[]) {}
    standby.resume();
    for word in ["zebra", "okapi", "tapir", "gnu", "quagga"] {
        assert!(finds(&one, word, &[]) && finds(&other, word, &[]), "{word}");
    }
}

#[test]
fn a_replica_that_is_away_is_passed_over() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    // Nobody listens there.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let address = format!("postgres://memdir@127.0.0.1:{port}/x");
    let server = server(&test.address(), &["--replica", &address]);
    let number = remember(&server, "The zebra.");
    let header = format!("Memdir-Sequence: {number}");
    assert!(finds(&server, "zebra", &[&header]));
}

#[test]
fn a_number_that_is_none_or_of_another_workspace_is_refused() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("beta");
    let server = server(&test.address(), &[]);
    let number = remember(&server, "The zebra.");
    let beyond = (number + 1).to_string();
    for value in ["x", "-1", "1.0", "", "99999999999999999999", &beyond] {
        let header = format!("Memdir-Sequence: {value}");
        let path = "/api/v1/search?q=zebra";
        let answered = ask(&server, "GET", path, &[&header], &Value::Null);
        assert_eq!(answered.status, 400, "{value}: {answered:?}");
        let meta = json!({"memdir/sequence": value});
        let told = call(&server, "think", json!({"query": "zebra"}), meta);
        assert_eq!(told["error"]["code"], -32602, "{value}: {told}");
        let query = json!({"query": "zebra"});
        let told = called(&server, "think", query, json!({}), &[&header]).message();
        assert_eq!(told["error"]["code"], -32602, "{value}: {told}");
    }
    // Two are none.
    let one = format!("Memdir-Sequence: {number}");
    let twice = [one.as_str(), one.as_str()];
    let path = "/api/v1/search?q=zebra";
    let answered = ask(&server, "GET", path, &twice, &Value::Null);
    assert_eq!(answered.status, 400, "{answered:?}");
    // A number opens nothing: `beta` has no such change, and none of these memories.
    let bearer = bearer(&server);
    let path = "/w/beta/api/v1/search?q=zebra";
    let headers = [bearer.as_str(), &one];
    let answered = server.ask("GET", path, &headers, b"");
    assert_eq!(answered.status, 400, "{answered:?}");
}

/// Moves the memories of the workspace `beta` to `atlas` as another writer does, without a notification.
const MOVE: &str = "WITH head AS (UPDATE workspace SET head = head + 1 WHERE name = 'atlas' RETURNING head), \
    moved AS (UPDATE memory SET workspace = 'atlas', seq = head.head FROM head WHERE workspace = 'beta' \
        RETURNING place, name, hash, seq) \
    INSERT INTO change (workspace, seq, op, place, name, hash, token) \
    SELECT 'atlas', seq, 'put', place, name, hash, 0 FROM moved";

#[test]
fn an_answer_holds_what_was_written_50_ms_before_if_nobody_tells() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("beta");
    check_nobody_told(&test, &[]);
}

#[test]
fn the_same_holds_with_a_standby_that_is_behind() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("beta");
    let mut standby = Standby::of(&test);
    standby.pause();
    check_nobody_told(&test, &["--replica", &standby.address]);
}

#[track_caller]
fn check_nobody_told(test: &TestDatabase, options: &[&str]) {
    let server = server(&test.address(), options);
    let bearer = bearer(&server);
    let write = |word: &str| {
        let body = json!({"title": word, "content": format!("The {word}."), "tier": "long"});
        let headers = [bearer.as_str(), "Content-Type: application/json"];
        let path = "/w/beta/api/v1/memories";
        let answered = server.ask("POST", path, &headers, body.to_string().as_bytes());
        assert_eq!(answered.status, 201, "{answered:?}");
        answered.value()["id"].as_str().unwrap().to_owned()
    };
    // A listing counts no uses, so that nothing is notified.
    let lists = |id: &str| {
        let answered = ask(&server, "GET", "/api/v1/memories", &[], &Value::Null);
        assert_eq!(answered.status, 200, "{answered:?}");
        String::from_utf8(answered.body).unwrap().contains(id)
    };
    let mut writer = Session::new(&test.address());
    for word in ["zebra", "okapi", "quagga"] {
        let id = write(word);
        assert!(!lists(&id), "{word}");
        writer.execute(MOVE).unwrap();
        let committed = Instant::now();
        while committed.elapsed() < Duration::from_millis(50) {
            lists(&id);
        }
        assert!(lists(&id) && finds(&server, word, &[]), "{word}");
    }
    // A call that writes holds everything.
    let id = write("tapir");
    assert!(!lists(&id));
    writer.execute(MOVE).unwrap();
    let body = json!({"content": "The gnu."});
    let path = format!("/api/v1/memories/{id}");
    let answered = ask(&server, "PUT", &path, &[], &body);
    assert_eq!(answered.status, 200, "{answered:?}");
    assert!(finds(&server, "gnu", &[]));
}
