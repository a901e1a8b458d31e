//! Servers that end while requests come in.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::consistency::{bearer, remember};
use crate::postgres::{Session, TestDatabase};
use crate::support::TestStore;
use crate::support::memdir_server::{Answered, Server, answer, request};
use crate::support::until;

/// Requests of each client after the server says that it ends.
const MORE: usize = 20;

/// Starts a server of `test` with a log, that drains for `seconds`.
fn server(test: &TestDatabase, seconds: &str) -> Server {
    let store = TestStore::new();
    let cache = store.root().join("cache");
    let arguments = ["--database", "--cache", cache.to_str().unwrap()];
    let address = test.address();
    let variables = [
        ("MEMDIR_DATABASE", address.as_str()),
        ("MEMDIR_DRAIN", seconds),
        ("MEMDIR_LOG", "info"),
    ];
    Server::with(store, &arguments, &variables)
}

/// Returns the bytes of a request to `atlas` with JSON.
fn asking(server: &Server, method: &str, path: &str, headers: &[&str], body: &Value) -> Vec<u8> {
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
    let path = format!("/w/atlas{path}");
    request(method, &path, &server.address, &all, &body)
}

fn searching(server: &Server) -> Vec<u8> {
    asking(server, "GET", "/api/v1/search?q=zebra", &[], &Value::Null)
}

/// Returns the bytes of a call of `remember` within a session of MCP.
fn calling(server: &Server, session: &str, content: &str) -> Vec<u8> {
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "remember",
        "arguments": {"content": content, "topics": ["animals"], "agent": "a", "user": "u"}}});
    let headers = [
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2025-11-25",
        &format!("Mcp-Session-Id: {session}"),
    ];
    asking(server, "POST", "/mcp", &headers, &message)
}

/// Begins a session of MCP; returns its id.
fn session(server: &Server) -> String {
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let headers = ["Accept: application/json, text/event-stream"];
    let answered = server.raw(&asking(server, "POST", "/mcp", &headers, &message));
    answered.header("mcp-session-id").unwrap().to_owned()
}

/// Sends `bytes` on a connection of its own.
fn sent(server: &Server, bytes: &[u8]) -> TcpStream {
    let mut stream = server.connect();
    stream.write_all(bytes).unwrap();
    stream
}

/// Opens a connection that stays open after the answer to a first request.
fn idle(server: &Server) -> TcpStream {
    let head = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut stream = sent(server, head.as_bytes());
    let expected = b"{\"status\":\"ok\"}";
    let mut read = Vec::new();
    while !read.ends_with(expected) {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        read.push(byte[0]);
    }
    stream
}

/// Returns the answer of `/ready` on a new connection.
fn ready(server: &Server) -> Answered {
    server.ask("GET", "/ready", &[], b"")
}

#[test]
fn a_server_that_is_asked_to_end_says_so_and_answers_new_connections_meanwhile() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let mut server = server(&test, "600");
    remember(&server, "The zebra.");
    let (ends, begun) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut more = 0;
                while more < MORE {
                    more += usize::from(ends.load(Ordering::SeqCst));
                    let answered = server.raw(&searching(&server));
                    assert_eq!(answered.status, 200, "{answered:?}");
                    assert!(answered.text().contains("The zebra."), "{answered:?}");
                    begun.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        until("the requests have begun", || {
            begun.load(Ordering::SeqCst) >= MORE
        });
        assert_eq!(ready(&server).status, 200);
        server.signal("TERM");
        let mut said = ready(&server);
        while said.status == 200 {
            said = ready(&server);
        }
        assert_eq!(said.status, 503, "{said:?}");
        assert_eq!(said.value()["reasons"], json!(["the server ends"]));
        ends.store(true, Ordering::SeqCst);
    });
    assert_eq!(server.ask("GET", "/healthz", &[], b"").status, 200);
    assert!(server.child.try_wait().unwrap().is_none());
    // Another signal ends the wait.
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_request_that_was_sent_before_the_server_closes_is_answered_whole() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let mut server = server(&test, "600");
    remember(&server, "The zebra.");
    let session = session(&server);
    let mut idle = [(); 16].map(|()| idle(&server));
    server.signal("TERM");
    server.wait_for_log("draining");
    // Writes that wait for the lock of the workspace are running when the server closes.
    let mut lock = Session::new(&test.address());
    lock.execute("BEGIN; SELECT FROM workspace FOR UPDATE")
        .unwrap();
    let body = json!({"title": "The okapi.", "content": "The okapi.", "tier": "long"});
    let write = asking(&server, "POST", "/api/v1/memories", &[], &body);
    let mut writes = [
        sent(&server, &write),
        sent(&server, &calling(&server, &session, "The tapir.")),
    ];
    let figures = asking(&server, "GET", "/metrics", &[], &Value::Null);
    let both = "memdir_calls_running{lane=\"writes\"} 2";
    until("both are counted", || {
        server.raw(&figures).text().contains(both)
    });
    let search = searching(&server);
    for stream in &mut idle {
        stream.write_all(&search).unwrap();
    }
    let mut new = [(); 16].map(|()| sent(&server, &search));
    server.signal("TERM");
    server.wait_for_log("closed to new connections");
    TcpStream::connect(&server.address).unwrap_err();
    lock.execute("COMMIT").unwrap();
    for stream in idle.iter_mut().chain(&mut new) {
        let answered = answer(stream);
        assert_eq!(answered.status, 200, "{answered:?}");
        assert!(answered.text().contains("The zebra."), "{answered:?}");
    }
    let [written, called] = writes.each_mut().map(answer);
    assert_eq!(written.status, 201, "{written:?}");
    let called = called.message();
    assert_ne!(called["result"]["isError"], json!(true), "{called}");
    assert!(called["result"]["content"].is_array(), "{called}");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    let live = "SELECT FROM memory WHERE place = 'files'";
    assert_eq!(lock.query(live).len(), 3);
}

#[test]
fn a_person_at_the_terminal_does_not_wait_for_a_load_balancer() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let mut server = server(&test, "600");
    server.signal("INT");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
    assert!(!server.wait_for_log("stopping").contains("draining"));
}

#[test]
fn a_time_to_drain_that_is_none_is_named() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    for text in ["soon", "-1", "601", "1.5"] {
        let store = TestStore::new();
        let mut command = crate::support::memdir_server::memdir(store.root());
        command.args(["serve", "--listen", "127.0.0.1:0", "--database"]);
        command.env("MEMDIR_DATABASE", test.address());
        let output = command.env("MEMDIR_DRAIN", text).output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains(&format!("`{text}` of MEMDIR_DRAIN")),
            "{told}"
        );
    }
}
