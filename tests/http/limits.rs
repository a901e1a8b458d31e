//! How much, how often, how slowly: nobody's requests keep the others waiting, or fill the machine.

use std::io::{Read, Write};
use std::time::Instant;

use serde_json::{Value, json};

use crate::support::memdir_server::{Server, answer, request};

const JSON: &str = "Content-Type: application/json";
const PATHS: [&str; 2] = ["/mcp", "/api/v1/memories"];

#[test]
fn bodies_and_headers_have_an_end() {
    let server = Server::start(&["--no-token"]);
    let accept = "Accept: application/json, text/event-stream";
    let blank = vec![b' '; 5_000_000];
    for path in ["/api/v1/nothing", "/nothing"].into_iter().chain(PATHS) {
        let answered = server.ask("POST", path, &[JSON, accept], &blank);
        assert_eq!(answered.status, 413, "{path}");
    }
    for path in PATHS {
        // In chunks, without a length.
        let mut asked = request(
            "POST",
            path,
            &server.address,
            &[JSON, accept, "Transfer-Encoding: chunked"],
            b"",
        );
        for _ in 0..40 {
            asked.extend_from_slice(b"10000\r\n");
            asked.extend_from_slice(&[b' '; 0x10000]);
            asked.extend_from_slice(b"\r\n");
        }
        assert_eq!(server.raw(&asked).status, 413, "{path}");
        let deep = [b'['; 100_000];
        let answered = server.ask("POST", path, &[JSON, accept], &deep);
        assert!((400..500).contains(&answered.status), "{path}");
        let deep = format!(
            r#"{{"title":"t","content":"c","metadata":{}1{}}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        let answered = server.ask("POST", path, &[JSON, accept], deep.as_bytes());
        assert!((400..500).contains(&answered.status), "{path}");
        for bad in [&b"{"[..], b"\xff\xfe", b"[]", b"1", b"null", b"{} {}"] {
            let answered = server.ask("POST", path, &[JSON, accept], bad);
            assert!((400..500).contains(&answered.status), "{path} {bad:?}");
        }
        let long = format!("X-Long: {}", "x".repeat(20_000));
        let answered = server.ask("GET", path, &[&long], b"");
        assert_eq!(answered.status, 431, "{path}");
    }
    let long = "x".repeat(20_000);
    let answered = server.ask("GET", &format!("/api/v1/health?{long}"), &[], b"");
    assert!(
        [400, 414, 431].contains(&answered.status),
        "{}",
        answered.status
    );
    assert_eq!(server.get("/api/v1/health", "").status, 200);
}

#[test]
fn who_sends_a_long_body_whole_before_it_reads_gets_the_refusal() {
    let server = Server::start(&["--no-token"]);
    let blank = vec![b' '; 4_000_000];
    for path in PATHS.into_iter().chain(["/api/v1/archive"]) {
        for round in 0..5 {
            let asked = request("POST", path, &server.address, &[JSON], &blank);
            let mut stream = server.connect();
            // Longer than all buffers on the way.
            stream
                .write_all(&asked)
                .unwrap_or_else(|error| panic!("{path} {round}: {error}"));
            assert_eq!(answer(&mut stream).status, 413, "{path} {round}");
        }
    }
}

#[test]
fn a_thousand_calls_at_once_are_cut_with_a_time_to_try_again_and_others_are_unhurt() {
    let server = Server::start(&["--reads-per-second", "1", "--writes-per-second", "1"]);
    let one = server.token(&["show"]);
    let other = server.token(&["new", "other"]);
    let begun = Instant::now();
    let mut done = 0;
    for _ in 0..1000 {
        let answered = server.get("/api/v1/health", &one);
        match answered.status {
            200 => done += 1,
            429 => {
                let wait: u64 = answered.header("retry-after").unwrap().parse().unwrap();
                assert!((1..=2).contains(&wait));
                assert_eq!(answered.value()["code"], "RATE_LIMITED");
            }
            status => panic!("{status}"),
        }
    }
    let earned = begun.elapsed().as_secs() as usize + 1;
    assert!((200..=200 + earned).contains(&done), "{done}");
    // A tool says so where the model reads it.
    let reply = server.tool(&one, "think", &json!({"query": "x"})).message();
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    assert!(reply.to_string().contains("try again in"), "{reply}");
    assert_eq!(server.get("/api/v1/health", &other).status, 200);
    // Writes have a bucket of their own.
    let body = json!({"title": "t", "content": "c"});
    assert_eq!(
        server.json("POST", "/api/v1/memories", &one, &body).status,
        201
    );
}

#[test]
fn who_does_not_finish_a_request_or_take_an_answer_is_cut_and_keeps_nobody_waiting() {
    let server = Server::with(
        crate::support::TestStore::new(),
        &[
            "--no-token",
            "--writes-per-second",
            "0",
            "--reads-per-second",
            "0",
        ],
        &[("MEMDIR_LOG", "memdir=debug")],
    );
    let content = "word ".repeat(12_000);
    for number in 0..50 {
        let body = json!({"title": format!("t{number}"), "content": content});
        assert_eq!(
            server.json("POST", "/api/v1/memories", "", &body).status,
            201
        );
    }
    let list = "/api/v1/recall?context=word&limit=50";
    let whole = server.get(list, "");
    let length = whole.body.len();
    assert!(whole.status == 200 && length > 2_000_000, "{length}");
    // Headers that do not end, bodies that do not come, answers that nobody takes.
    let mut half: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for stream in &mut half {
        stream
            .write_all(b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nX: ")
            .unwrap();
    }
    let mut bodies: Vec<_> = (0..20).map(|_| server.connect()).collect();
    for stream in &mut bodies {
        let head = format!(
            "POST /api/v1/memories HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\nContent-Length: 100\r\n\r\n{{"
        );
        stream.write_all(head.as_bytes()).unwrap();
    }
    // More than the system itself takes on the way.
    const ASKED: usize = 8;
    let asked = format!("GET {list} HTTP/1.1\r\nHost: localhost\r\n\r\n").repeat(ASKED);
    let mut slow: Vec<_> = (0..40).map(|_| server.connect()).collect();
    for stream in &mut slow {
        stream.write_all(asked.as_bytes()).unwrap();
    }
    assert_eq!(server.get("/api/v1/health", "").status, 200);
    for stream in &mut half {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        let rest = String::from_utf8(rest).unwrap();
        assert!(
            rest.is_empty() || rest.starts_with("HTTP/1.1 408"),
            "{rest}"
        );
    }
    for stream in &mut bodies {
        assert_eq!(answer(stream).status, 408);
    }
    server.wait_for_logs("nobody takes what was answered", slow.len());
    for stream in &mut slow {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest); // The connection may have been reset.
        assert!(rest.len() < ASKED * length, "{} of {length}", rest.len());
    }
    assert_eq!(server.get("/api/v1/health", "").status, 200);
}

#[test]
fn sessions_are_bound_to_their_token_and_bounded_in_number() {
    let server = Server::start(&["--reads-per-second", "0"]);
    let owner = server.token(&["show"]);
    let thief = server.token(&["new", "thief"]);
    let begin = |token: &str| {
        let bearer = format!("Authorization: Bearer {token}");
        let accept = "Accept: application/json, text/event-stream";
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }});
        let headers = [bearer.as_str(), JSON, accept];
        let answered = server.ask("POST", "/mcp", &headers, body.to_string().as_bytes());
        assert_eq!(answered.status, 200, "{}", answered.text());
        answered.header("mcp-session-id").unwrap().to_owned()
    };
    let list = |token: &str, session: &str| {
        let bearer = format!("Authorization: Bearer {token}");
        let session = format!("Mcp-Session-Id: {session}");
        let accept = "Accept: application/json, text/event-stream";
        let version = "MCP-Protocol-Version: 2025-11-25";
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
        let headers = [bearer.as_str(), JSON, accept, version, &session];
        server.ask("POST", "/mcp", &headers, body.as_bytes())
    };
    let session = begin(&owner);
    assert!(session.len() >= 32, "{session}");
    assert_eq!(list(&owner, &session).status, 200);
    assert_eq!(list(&thief, &session).status, 404);
    assert_eq!(list(&owner, "0000").status, 404);
    let sessions: Vec<String> = (0..300).map(|_| begin(&thief)).collect();
    let metrics = server.get("/metrics", &owner).text();
    assert!(metrics.contains("memdir_mcp_sessions 256\n"), "{metrics}");
    assert_eq!(list(&thief, &sessions[0]).status, 404);
    assert_eq!(list(&thief, &sessions[299]).status, 200);
    // Who has many pushes nobody else out.
    assert_eq!(list(&owner, &session).status, 200);
    let end = |token: &str, session: &str| {
        let bearer = format!("Authorization: Bearer {token}");
        let session = format!("Mcp-Session-Id: {session}");
        let version = "MCP-Protocol-Version: 2025-11-25";
        server.ask("DELETE", "/mcp", &[&bearer, version, &session], b"")
    };
    assert_eq!(end(&owner, &sessions[299]).status, 404);
    assert_eq!(end(&thief, &sessions[299]).status, 204);
    assert_eq!(list(&thief, &sessions[299]).status, 404);
    let metrics = server.get("/metrics", &owner).text();
    assert!(metrics.contains("memdir_mcp_sessions 255\n"), "{metrics}");
}

#[test]
fn bulk_requests_may_be_larger_than_others() {
    let server = Server::start(&["--no-token"]);
    let content = "x ".repeat(10_000);
    let items: Vec<Value> = (0..100)
        // To be read is enough: storing so much takes longer than an answer may.
        .map(|_| json!({"title": "", "content": content}))
        .collect();
    let answered = server.json("POST", "/api/v1/memories/bulk", "", &json!(items));
    let errors = answered.value()["errors"].as_array().map(Vec::len);
    assert_eq!(errors, Some(100), "{}", answered.text());
}

#[test]
fn the_owner_writes_as_often_as_it_likes_on_loopback() {
    let open = Server::start(&["--no-token"]);
    let guarded = Server::start(&[]);
    let own = guarded.token(&["show"]);
    for number in 0..120 {
        let body = json!({"title": format!("t{number}"), "content": "c"});
        for (server, token) in [(&open, ""), (&guarded, own.as_str())] {
            let answered = server.json("POST", "/api/v1/memories", token, &body);
            assert_eq!(answered.status, 201);
        }
    }
}
