//! `memdir mcp --connect` and what answers as no server should: a stand-in for one, which says what
//! a test wants it to say.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;

use serde_json::{Value, json};

use crate::support::memdir_server::memdir;
use crate::support::session::{Session, meta};

/// Listens, and hands out what comes, request by request.
struct StandIn {
    address: String,
    requests: mpsc::Receiver<Asked>,
}

/// A request that waits for its answer.
struct Asked {
    head: String,
    body: Value,
    stream: TcpStream,
}

impl StandIn {
    fn new() -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(asked) = stream.map(Asked::read) else {
                    return;
                };
                if sender.send(asked).is_err() {
                    return;
                }
            }
        });
        StandIn { address, requests }
    }

    fn next(&self) -> Asked {
        self.requests.recv().unwrap()
    }

    fn bridge(&self) -> Session {
        let mut command: Command = memdir(&std::env::temp_dir().join("no store"));
        let address = format!("http://{}", self.address);
        Session::of(command.args(["mcp", "--connect", &address]))
    }
}

impl Asked {
    fn read(stream: TcpStream) -> Asked {
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0, "{head}");
        }
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.parse().unwrap())
        });
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).unwrap();
        Asked {
            head: head.to_ascii_lowercase(),
            body: serde_json::from_slice(&body).unwrap_or(Value::Null),
            stream: reader.into_inner(),
        }
    }

    fn say(mut self, answer: &str) {
        self.stream.write_all(answer.as_bytes()).unwrap();
    }

    fn refuse(self, status: &str, headers: &str, body: &str) {
        let length = body.len();
        self.say(&format!(
            "HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n{body}"
        ));
    }

    fn result(self, result: &Value) {
        let answer = json!({"jsonrpc": "2.0", "id": self.body["id"], "result": result});
        self.refuse(
            "200 OK",
            "Content-Type: application/json\r\n",
            &answer.to_string(),
        );
    }
}

/// Sends a request to who answers it by `answer`, and returns the sentence of the error.
#[track_caller]
fn sentence(answer: impl FnOnce(Asked)) -> String {
    let server = StandIn::new();
    let mut session = server.bridge();
    session.request(1, "tools/list", meta());
    answer(server.next());
    let answer = session.answer(1);
    let message = answer["error"]["message"].as_str();
    message.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

#[track_caller]
fn check(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "no `{part}` in: {said}");
    }
}

#[test]
fn what_a_server_refuses_is_told_with_what_to_do() {
    let json = "Content-Type: application/json\r\n";
    let said = sentence(|asked| asked.refuse("401 Unauthorized", json, r#"{"message":"x"}"#));
    check(&said, &["asks for a token", "memdir token show"]);
    let body = r#"{"code":"FOREIGN_HOST","message":"add it with --allow-host"}"#;
    let said = sentence(|asked| asked.refuse("403 Forbidden", json, body));
    check(&said, &["refuses", "--allow-host"]);
    let said = sentence(|asked| asked.refuse("429 Too Many Requests", "Retry-After: 3\r\n", ""));
    check(&said, &["too often", "in 3 seconds"]);
    let busy = "503 Service Unavailable";
    let said = sentence(|asked| asked.refuse(busy, "Retry-After: 1\r\n", ""));
    check(&said, &["busy", "in a second"]);
    let said = sentence(|asked| asked.refuse("404 Not Found", "", "nothing here"));
    check(&said, &["is it the address that `memdir serve` said?"]);
    let said = sentence(|asked| asked.refuse("502 Bad Gateway", "", "<b>\u{1b}[31mno</b>"));
    check(&said, &["502"]);
    assert!(!said.contains('\u{1b}'));
    let said =
        sentence(|asked| asked.refuse("302 Found", "Location: http://evil.example/\r\n", ""));
    check(&said, &["302"]);
}

#[test]
fn a_server_that_goes_away_in_the_midst_leaves_the_outcome_open() {
    let open = ["went away", "look before you ask again"];
    check(&sentence(drop), &open);
    let begun = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    check(&sentence(|asked| asked.say(begun)), &open);
    let cut = format!("{begun}data: {{\"jsonrpc\":\"2.0\",\"id\":1,\"resu");
    check(&sentence(|asked| asked.say(&cut)), &open);
    let short = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{";
    check(&sentence(|asked| asked.say(short)), &open);
}

#[test]
fn what_is_no_message_never_gets_to_the_client() {
    // Whatever is on standard output that is no message fails the session.
    let odd = ["no memdir server"];
    let html = "Content-Type: text/html\r\n";
    let said = sentence(|asked| asked.refuse("200 OK", html, "<html>log in</html>"));
    check(&said, &odd);
    let json = "Content-Type: application/json\r\n";
    check(&sentence(|asked| asked.refuse("200 OK", json, "[1]")), &odd);
    check(
        &sentence(|asked| asked.refuse("202 Accepted", "", "")),
        &["went away"],
    );
    let said = sentence(|asked| asked.say("SSH-2.0-OpenSSH_9.9\r\n"));
    check(&said, &["went away"]);
}

#[test]
fn the_headers_say_what_the_message_says() {
    let server = StandIn::new();
    let mut session = server.bridge();
    let mut call = meta();
    call["name"] = json!("Ä");
    session.request(1, "tools/call", call);
    let asked = server.next();
    for header in [
        "post /mcp http/1.1\r\n",
        "\r\naccept: application/json, text/event-stream\r\n",
        "\r\ncontent-type: application/json\r\n",
        "\r\nmcp-protocol-version: 2026-07-28\r\n",
        "\r\nmcp-method: tools/call\r\n",
        // In small letters, as everything of the head.
        "\r\nmcp-name: =?base64?w4q=?=\r\n",
    ] {
        assert!(asked.head.contains(header), "no {header} in {}", asked.head);
    }
    assert!(!asked.head.contains("authorization") && !asked.head.contains("session"));
    asked.result(&json!({}));
    session.answer(1);
}

#[test]
fn eight_run_at_once_begun_in_order_and_a_slow_one_holds_up_no_other() {
    let server = StandIn::new();
    let mut session = server.bridge();
    for id in 0..10 {
        session.request(id, "tools/list", meta());
    }
    let mut slow: Vec<Asked> = (0..8).map(|_| server.next()).collect();
    slow.sort_by_key(|asked| asked.body["id"].as_u64());
    let first: Vec<_> = slow.iter().map(|asked| asked.body["id"].clone()).collect();
    assert_eq!(first, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(server.requests.try_recv().is_err());
    // Two places are free: for the next two, in their order.
    slow.pop().unwrap().result(&json!({}));
    assert_eq!(session.next()["id"], 7);
    let quick = server.next();
    assert_eq!(quick.body["id"], 8);
    quick.result(&json!({}));
    assert_eq!(session.next()["id"], 8);
    let quick = server.next();
    assert_eq!(quick.body["id"], 9);
    quick.result(&json!({}));
    assert_eq!(session.next()["id"], 9);
    // One that is cancelled is let go, behind whatever else is said.
    let cancelled = json!({"requestId": 0});
    session
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    let told = server.next();
    assert_eq!(told.body["method"], "notifications/cancelled");
    told.refuse("202 Accepted", "", "");
    let mut let_go = slow.remove(0).stream;
    assert!(matches!(let_go.read(&mut [0]), Ok(0) | Err(_)));
    for asked in slow {
        asked.result(&json!({}));
    }
    let mut rest: Vec<_> = (0..6)
        .map(|_| session.next()["id"].as_u64().unwrap())
        .collect();
    rest.sort_unstable();
    assert_eq!(rest, [1, 2, 3, 4, 5, 6]);
}

#[test]
fn the_end_of_the_input_waits_for_nobody_who_says_nothing() {
    let server = StandIn::new();
    let mut session = server.bridge();
    session.request(
        1,
        "initialize",
        json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "c", "version": "1"},
        }),
    );
    let _silent = server.next();
    session.request(2, "tools/list", meta());
    session.close_input();
    // Otherwise it would wait for longer than the test does.
    assert!(session.wait().success());
}

#[test]
fn a_session_is_ended_and_one_that_is_lost_begun_anew_once() {
    let server = StandIn::new();
    let mut session = server.bridge();
    let opening = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    });
    let agreed = json!({"jsonrpc": "2.0", "id": "i", "result": {"protocolVersion": "2025-11-25"}});
    let begin = |name: &str| {
        let asked = server.next();
        assert_eq!(asked.body["method"], "initialize");
        assert!(!asked.head.contains("mcp-session-id"));
        let headers = format!("Content-Type: application/json\r\nMcp-Session-Id: {name}\r\n");
        asked.refuse("200 OK", &headers, &agreed.to_string());
    };
    let no_stream = |name: &str| {
        let asked = server.next();
        assert!(asked.head.starts_with("get /mcp "), "{}", asked.head);
        assert!(asked.head.contains(&format!("mcp-session-id: {name}\r\n")));
        asked.refuse("405 Method Not Allowed", "", "");
    };
    session.request("i", "initialize", opening);
    begin("one");
    assert_eq!(session.answer("i"), agreed);
    no_stream("one");
    session.request(1, "tools/list", json!({}));
    let asked = server.next();
    assert!(asked.head.contains("mcp-session-id: one\r\n"));
    assert!(asked.head.contains("mcp-protocol-version: 2025-11-25\r\n"));
    asked.refuse("404 Not Found", "", "Not Found: Session not found");
    begin("two");
    let told = server.next();
    assert_eq!(told.body["method"], "notifications/initialized");
    told.refuse("202 Accepted", "", "");
    no_stream("two");
    let asked = server.next();
    assert!(asked.head.contains("mcp-session-id: two\r\n"));
    assert_eq!(asked.body["method"], "tools/list");
    // Once is enough.
    asked.refuse("404 Not Found", "", "Not Found: Session not found");
    assert!(session.next()["error"]["message"].is_string());
    session.close_input();
    let asked = server.next();
    assert!(asked.head.starts_with("delete /mcp "), "{}", asked.head);
    assert!(asked.head.contains("mcp-session-id: two\r\n"));
    asked.refuse("202 Accepted", "", "");
    assert!(session.wait().success());
    assert_eq!(session.rest(), [] as [Value; 0]);
}
