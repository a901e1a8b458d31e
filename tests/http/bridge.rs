//! `memdir mcp --connect` and a running server: a client on standard input and output cannot tell
//! them from `memdir mcp`.

use std::process::Command;

use serde_json::{Value, json};

use crate::support::TestStore;
use crate::support::memdir_server::{Server, memdir};
use crate::support::session::{Session, meta};

/// A bridge to the server of its store.
pub fn bridge(server: &Server, arguments: &[&str]) -> Command {
    let mut command = memdir(server.store.root());
    command.args(["mcp", "--connect"]).args(arguments);
    command
}

/// Opens a session of the old era.
fn open(server: &Server) -> Session {
    Session::open_on(bridge(server, &[]))
}

fn remember(session: &mut Session, content: &str) -> String {
    let memory = json!({"agent": "a", "user": "mira", "topics": "birds", "content": content});
    let stored = session.tool("remember", memory);
    let id = stored["structuredContent"]["memory_id"].as_str();
    id.expect("there is an id").to_owned()
}

fn recalled(session: &mut Session, id: &str) -> String {
    let recalled = session.tool("recall", json!({"memory_ids": [id]}));
    let content = recalled["structuredContent"]["results"][0]["content"].as_str();
    content.unwrap_or_else(|| panic!("{recalled}")).to_owned()
}

/// Looks at the store: what changes is told to who knows what was there.
fn look(session: &mut Session) {
    session.tool("think", json!({"query": "anything"}));
}

/// The resource that the next notification is about.
#[track_caller]
fn told(session: &mut Session) -> String {
    let kept = session.take_early(|message| message.get("method").is_some());
    let news = kept.unwrap_or_else(|| session.next());
    assert_eq!(news["method"], "notifications/resources/updated", "{news}");
    news["params"]["uri"].as_str().unwrap().to_owned()
}

/// What the sentence of the error says that `id` is answered with.
#[track_caller]
fn sentence(session: &mut Session, id: impl Into<Value>) -> String {
    let answer = session.answer(id);
    let message = answer["error"]["message"].as_str();
    message.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// The server starts anew after it was killed.
fn restarted(server: &mut Server, arguments: &[&str]) -> Server {
    let store = std::mem::replace(&mut server.store, TestStore::new());
    Server::on(store, arguments)
}

#[test]
fn an_old_client_uses_a_running_server() {
    let server = Server::start(&[]);
    let mut session = open(&server);
    let listed = session.result("l", "tools/list", json!({}));
    let names = listed["tools"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["remember", "think", "recall"]);
    let texts = [
        "Der Reiher steht — 日本語 😀 \"so\"\n\\ \u{2028}.".to_owned(),
        "ä".repeat(100 * 1024),
    ];
    for text in texts {
        let id = remember(&mut session, &text);
        assert_eq!(recalled(&mut session, &id), text);
    }
    let found = session.tool("think", json!({"query": "Reiher"}));
    assert_eq!(found["structuredContent"]["total"], 1, "{found}");
    // The name that the client gave itself at the beginning.
    assert_eq!(server.store.texts().len(), 2);
    session.is_alive_and_quiet();
    assert_eq!(sessions(&server), 1);
    session.close_input();
    assert!(session.wait().success());
    assert_eq!(session.rest(), [] as [Value; 0]);
    assert_eq!(session.log(), "");
    assert_eq!(sessions(&server), 0);
}

/// How many sessions the server has open.
fn sessions(server: &Server) -> usize {
    let metrics = server.get("/metrics", &server.token(&["show"])).text();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("memdir_mcp_sessions "));
    line.unwrap_or_else(|| panic!("{metrics}")).parse().unwrap()
}

#[test]
fn a_new_client_needs_no_session() {
    let server = Server::start(&[]);
    let mut session = Session::of(&mut bridge(&server, &[]));
    let with = |more: Value| {
        let mut params = meta();
        let more = more.as_object().unwrap().clone();
        params.as_object_mut().unwrap().extend(more);
        params
    };
    let discovered = session.result("d", "server/discover", meta());
    let versions = discovered["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{discovered}");
    let listed = session.result("l", "tools/list", meta());
    assert_eq!(listed["ttlMs"], 3_600_000);
    let memory = json!({"user": "mira", "topics": "era", "content": "Eine neue Ära 😀."});
    let call = with(json!({"name": "remember", "arguments": memory}));
    let stored = session.result("r", "tools/call", call);
    let id = stored["structuredContent"]["memory_id"].as_str().unwrap();
    let read = with(json!({"uri": format!("memory://{id}")}));
    let read = session.result("m", "resources/read", read);
    let text = read["contents"][0]["text"].as_str().unwrap();
    // The client's name stands in for the agent's.
    assert!(
        text.contains("Ära 😀") && text.contains("new-client"),
        "{text}"
    );
    let prompt = with(json!({"name": "recall-context", "arguments": {"topic": "Ära"}}));
    let prompted = session.result("p", "prompts/get", prompt);
    assert_eq!(prompted["messages"][0]["role"], "user");
    // A name that no header can hold gets there, too.
    let odd = with(json!({"uri": "memory://Ä😀\n"}));
    session.request("o", "resources/read", odd);
    assert!(sentence(&mut session, "o").contains("Ä😀"));
    session.request("x", "ping", meta());
    assert_eq!(session.answer("x")["error"]["code"], -32601);
    let mut future = meta();
    future["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2099-01-01");
    session.request("f", "tools/list", future);
    assert_eq!(session.answer("f")["error"]["code"], -32022);
    assert_eq!(sessions(&server), 0);
    // Both eras share one bridge.
    session.initialize("2025-11-25");
    session.is_alive_and_quiet();
    assert_eq!(session.log(), "");
}

#[test]
fn what_is_no_message_is_answered_as_everywhere() {
    let server = Server::start(&[]);
    let mut session = Session::of(&mut bridge(&server, &[]));
    session.request(1, "tools/list", json!({}));
    assert!(sentence(&mut session, 1).contains("`initialize`"));
    session.initialize("2025-06-18");
    session.send_line(b"nonsense");
    assert_eq!(session.next()["error"]["code"], -32700);
    session.send_line(b"[]");
    assert_eq!(session.next()["error"]["code"], -32600);
    session.send_line(b"\xef\xbb\xbf");
    session.send(json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    session.send_line(br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"remember","arguments":{"user":"u","topics":"t","content":"cut \ud83d"}}}"#);
    assert!(session.answer(2)["result"]["isError"].is_null());
    session.call(3, "fly", json!({}));
    assert!(sentence(&mut session, 3).contains("fly"));
    let long = "x".repeat(2 << 20);
    session.call(4, "think", json!({"query": long}));
    assert!(sentence(&mut session, 4).contains("may have 1048576 bytes"));
    session.send_line(&vec![b'x'; 5 << 20]);
    assert!(sentence(&mut session, Value::Null).contains("at most"));
    session.is_alive_and_quiet();
}

#[test]
fn an_old_client_is_told_of_what_it_subscribed_to() {
    let server = Server::start(&[]);
    let mut session = open(&server);
    let topics = json!({"uri": "memory://topics"});
    session.result("s", "resources/subscribe", topics.clone());
    let mut other = open(&server);
    look(&mut other);
    remember(&mut other, "The heron stands.");
    assert_eq!(told(&mut session), "memory://topics");
    session.result("u", "resources/unsubscribe", topics);
    remember(&mut other, "The heron flies.");
    session.is_alive_and_quiet();
    other.is_alive_and_quiet();
}

#[test]
fn a_new_client_listens_until_it_ends_that() {
    let server = Server::start(&[]);
    let mut session = Session::of(&mut bridge(&server, &[]));
    let mut params = meta();
    params["notifications"] = json!({"resourceSubscriptions": ["memory://recent"]});
    session.request("listen", "subscriptions/listen", params.clone());
    assert_eq!(
        session.next()["method"],
        "notifications/subscriptions/acknowledged"
    );
    let mut other = open(&server);
    look(&mut other);
    remember(&mut other, "The owl hoots.");
    assert_eq!(told(&mut session), "memory://recent");
    let cancelled = json!({"requestId": "listen"});
    session
        .send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    // One that begins later would not be told before an earlier one.
    session.request("again", "subscriptions/listen", params);
    assert_eq!(
        session.next()["method"],
        "notifications/subscriptions/acknowledged"
    );
    remember(&mut other, "The owl sleeps.");
    let news = session.next();
    let of = &news["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(of, "again", "{news}");
}

#[test]
fn more_subscriptions_than_there_are_places_for_are_refused() {
    let server = Server::start(&[]);
    let mut session = Session::of(&mut bridge(&server, &[]));
    let mut params = meta();
    params["notifications"] = json!({"resourceSubscriptions": ["memory://recent"]});
    for at in 0..17 {
        session.request(at, "subscriptions/listen", params.clone());
    }
    assert!(sentence(&mut session, 16).contains("cancel one"));
    // They hold up nothing.
    session.request("l", "tools/list", meta());
    assert!(session.answer("l")["result"]["tools"].is_array());
}

#[test]
fn many_requests_at_once_are_answered_each_once_and_two_bridges_do_not_mix() {
    let server = Server::start(&["--reads-per-second", "0", "--writes-per-second", "0"]);
    let mut sessions = [open(&server), open(&server)];
    for (which, session) in sessions.iter_mut().enumerate() {
        for at in 0..40 {
            let content = format!("Heron {which} stands at {at}.");
            let memory = json!({"agent": "a", "user": "u", "topics": "t", "content": content});
            session.call(at, "remember", memory);
        }
    }
    let mut ids = Vec::new();
    for session in &mut sessions {
        for at in 0..40 {
            let answer = session.answer(at);
            let id = answer["result"]["structuredContent"]["memory_id"].as_str();
            ids.push(id.unwrap_or_else(|| panic!("{answer}")).to_owned());
        }
        session.is_alive_and_quiet();
    }
    let [first, second] = &mut sessions;
    assert_eq!(recalled(second, &ids[7]), "Heron 0 stands at 7.");
    assert_eq!(recalled(first, &ids[47]), "Heron 1 stands at 7.");
    assert_eq!(server.store.texts().len(), 80);
}

#[test]
fn a_server_that_was_killed_and_started_again_is_used_as_if_nothing_had_happened() {
    let mut server = Server::start(&[]);
    let address = server.address.clone();
    let mut session = Session::open_on(bridge(&server, &[&format!("http://{address}")]));
    let id = remember(&mut session, "The heron stands.");
    let topics = json!({"uri": "memory://topics"});
    session.result("s", "resources/subscribe", topics);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    session.call("gone", "think", json!({"query": "heron"}));
    let said = sentence(&mut session, "gone");
    assert!(
        said.contains("memdir serve") && said.contains(&address),
        "{said}"
    );
    let server = restarted(&mut server, &["--listen", &address]);
    assert_eq!(recalled(&mut session, &id), "The heron stands.");
    // Whatever it subscribed to may have changed meanwhile, and is still followed.
    assert_eq!(told(&mut session), "memory://topics");
    session.is_alive_and_quiet();
    remember(&mut open(&server), "The crane dances.");
    assert_eq!(told(&mut session), "memory://topics");
    session.is_alive_and_quiet();
    session.close_input();
    assert!(session.wait().success());
}

#[cfg(unix)]
#[test]
fn news_go_on_after_a_restart_without_a_call() {
    let mut server = Server::start(&[]);
    let address = server.address.clone();
    let mut session = Session::open_on(bridge(&server, &[&format!("http://{address}")]));
    let topics = json!({"uri": "memory://topics"});
    session.result("s", "resources/subscribe", topics);
    assert_eq!(server.end(), Some(0));
    let server = restarted(&mut server, &["--listen", &address]);
    assert_eq!(told(&mut session), "memory://topics");
    look(&mut session);
    remember(&mut open(&server), "The crane dances.");
    assert_eq!(told(&mut session), "memory://topics");
}

#[test]
fn a_server_that_comes_back_elsewhere_is_found_by_its_note() {
    let mut server = Server::start(&[]);
    let mut session = open(&server);
    let id = remember(&mut session, "The heron stands.");
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let _server = restarted(&mut server, &[]);
    assert_eq!(recalled(&mut session, &id), "The heron stands.");
    session.is_alive_and_quiet();
}

#[test]
fn without_a_server_it_says_so_and_ends() {
    let mut server = Server::start(&[]);
    let ended = |server: &Server, arguments: &[&str]| {
        let output = bridge(server, arguments).output().unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.as_slice()),
            (Some(2), &b""[..])
        );
        String::from_utf8(output.stderr).unwrap()
    };
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    // Its note is still there.
    assert!(server.store.state().join("serving").exists());
    let said = ended(&server, &[]);
    assert!(
        said.contains("no server runs for the store") && said.contains("`memdir serve`"),
        "{said}"
    );
    let said = ended(&server, &["ftp://127.0.0.1"]);
    assert!(said.contains("http://HOST:PORT"), "{said}");
    let said = ended(&server, &["--dialect", "loci"]);
    assert!(said.contains("--dialect"), "{said}");
    let said = ended(
        &server,
        &["https://127.0.0.1:1", "--connect-ca", "missing.pem"],
    );
    assert!(said.contains("missing.pem"), "{said}");
}

#[test]
fn who_took_the_place_of_a_killed_server_is_shown_no_token() {
    let mut server = Server::start(&[]);
    let mut session = open(&server);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    let other = std::net::TcpListener::bind(&server.address).unwrap();
    session.call(1, "think", json!({"query": "heron"}));
    assert!(sentence(&mut session, 1).contains("memdir serve"));
    session.close_input();
    assert!(session.wait().success());
    let output = bridge(&server, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    other.set_nonblocking(true).unwrap();
    let met = other.accept().map(drop).map_err(|error| error.kind());
    assert_eq!(met, Err(std::io::ErrorKind::WouldBlock));
}

#[cfg(unix)]
#[test]
fn of_two_servers_the_first_is_found_and_the_second_leaves_its_note() {
    let server = Server::start(&["--no-token"]);
    let note = server.store.state().join("serving");
    let noted = std::fs::read_to_string(&note).unwrap();
    assert_eq!(noted, format!("http://{}\n", server.address));
    let mut second = memdir(server.store.root());
    second.args(["serve", "--listen", "127.0.0.1:0"]);
    let mut second = second.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    let mut log = std::io::BufReader::new(second.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut log, &mut said).unwrap();
    assert!(said.starts_with("serving "), "{said}");
    assert_eq!(std::fs::read_to_string(&note).unwrap(), noted);
    let id = second.id().to_string();
    assert!(Command::new("kill").arg(id).status().unwrap().success());
    assert!(second.wait().unwrap().success());
    assert_eq!(std::fs::read_to_string(&note).unwrap(), noted);
    look(&mut open(&server));
}

#[test]
fn a_token_that_is_none_or_may_only_read_is_told_what_to_do() {
    let server = Server::start(&[]);
    let with = |secret: &str| {
        let mut command = bridge(&server, &[]);
        command.env("MEMDIR_TOKEN", secret);
        Session::of(&mut command)
    };
    let wrong = "memdir_0000000000000000";
    let mut stranger = with(wrong);
    let said = stranger.initialize("2025-11-25");
    let message = said["error"]["message"].as_str().unwrap();
    assert!(message.contains("MEMDIR_TOKEN"), "{said}");
    assert_eq!(said["error"]["data"]["status"], 401);
    assert!(!stranger.log().contains(wrong));

    let mut reader = with(&server.token(&["new", "reader", "--read-only"]));
    reader.initialize("2025-11-25");
    let memory = json!({"agent": "a", "user": "u", "topics": "t", "content": "c"});
    reader.call(1, "remember", memory);
    let refused = reader.answer(1)["result"].take();
    assert_eq!(refused["isError"], true, "{refused}");
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("may only read"), "{text}");
    reader.tool("think", json!({"query": "heron"}));
    assert_eq!(server.store.texts().len(), 0);
}

#[test]
fn the_store_s_token_may_be_changed_meanwhile() {
    let server = Server::start(&[]);
    let mut session = open(&server);
    server.token(&["rotate"]);
    session.tool("think", json!({"query": "heron"}));
    let header = server.token(&["header"]);
    assert_eq!(
        header,
        format!("Authorization: Bearer {}", server.token(&["show"]))
    );
    // No token goes to another machine by itself; `localhost.` is none, but only a resolver knows.
    let other = format!(
        "http://localhost.:{}",
        server.address.rsplit(':').next().unwrap()
    );
    let mut far = Session::of(&mut bridge(&server, &[&other]));
    let said = far.initialize("2025-11-25");
    assert!(said["error"].is_object(), "{said}");
}

#[test]
fn a_server_without_tokens_needs_none() {
    let server = Server::start(&["--no-token"]);
    let mut session = open(&server);
    let id = remember(&mut session, "The heron stands.");
    assert_eq!(recalled(&mut session, &id), "The heron stands.");
}

/// A stranger who listens and says nothing; what he got once `ask` is done.
fn got_by_a_stranger(ask: impl FnOnce(&str)) -> String {
    use std::io::Read;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let stranger = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut got = [0; 65536];
        let count = stream.read(&mut got).unwrap();
        String::from_utf8_lossy(&got[..count]).into_owned()
    });
    ask(&address);
    stranger.join().unwrap()
}

#[test]
fn who_cannot_prove_to_know_the_token_gets_neither_that_nor_the_question() {
    let server = Server::start(&[]);
    let token = server.token(&["show"]);
    let ask = |with_variable: bool| {
        got_by_a_stranger(|address| {
            let mut command = bridge(&server, &[&format!("http://{address}")]);
            if with_variable {
                command.env("MEMDIR_TOKEN", &token);
            }
            let mut session = Session::of(&mut command);
            session.request(1, "tools/list", meta());
            let said = sentence(&mut session, 1);
            assert!(
                said.contains("does not prove") && said.contains("MEMDIR_CONNECT"),
                "{said}"
            );
            assert!(!session.log().contains(&token));
        })
    };
    for got in [ask(false), ask(true)] {
        assert!(got.starts_with("GET /proof HTTP/1.1\r\n"), "{got}");
        assert!(!got.to_lowercase().contains("authorization") && !got.contains("tools/list"));
        assert!(!got.contains(&token[10..30]));
    }
}

#[test]
fn an_address_of_the_user_s_own_settings_gets_the_token() {
    let server = Server::start(&[]);
    let token = server.token(&["show"]);
    let got = got_by_a_stranger(|address| {
        let mut command = bridge(&server, &[]);
        command.env("MEMDIR_CONNECT", format!("http://{address}"));
        command.env("MEMDIR_TOKEN", &token);
        let mut session = Session::of(&mut command);
        session.request(1, "tools/list", meta());
        sentence(&mut session, 1);
    });
    assert!(got.contains(&format!("Bearer {token}")), "{got}");
}

#[test]
fn a_relay_to_the_real_server_is_noticed() {
    let server = Server::start(&[]);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = listener.local_addr().unwrap();
    let target = server.address.clone();
    std::thread::spawn(move || {
        for near in listener.incoming() {
            let (mut near, mut far) = (
                near.unwrap(),
                std::net::TcpStream::connect(&target).unwrap(),
            );
            let (mut from, mut to) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut from, &mut to));
            std::thread::spawn(move || std::io::copy(&mut far, &mut near));
        }
    });
    let mut session = Session::of(&mut bridge(&server, &[&format!("http://{relay}")]));
    session.request(1, "tools/list", meta());
    assert!(sentence(&mut session, 1).contains("does not prove"));
    // By its own address, also by name, it is used.
    let port = server.address.rsplit(':').next().unwrap();
    for address in [
        format!("http://{}", server.address),
        format!("http://localhost:{port}"),
    ] {
        let mut session = Session::of(&mut bridge(&server, &[&address]));
        session.request(1, "tools/list", meta());
        assert!(session.answer(1)["result"]["tools"].is_array());
    }
}

#[test]
fn a_proof_serves_one_request_on_its_connection() {
    use std::io::{BufRead, Read, Write};
    let server = Server::start(&[]);
    let mut stream = std::io::BufReader::new(server.connect());
    let host = server.address.clone();
    let mut ask = |path: &str, headers: &str| -> (u16, Value) {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{headers}\r\n");
        stream.get_mut().write_all(request.as_bytes()).unwrap();
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(stream.read_line(&mut head).unwrap(), 0);
        }
        let status = head[9..12].parse().unwrap();
        let length = head.lines().find_map(|line| {
            line.to_lowercase()
                .strip_prefix("content-length: ")?
                .parse()
                .ok()
        });
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).unwrap();
        (status, serde_json::from_slice(&body).unwrap_or(Value::Null))
    };
    let nonce = "0".repeat(64);
    // Without the token's name nothing is proved, and nothing is learned.
    let (status, said) = ask(
        "/proof",
        &format!("memdir-nonce: {nonce}\r\nmemdir-token: x\r\n"),
    );
    assert_eq!((status, &said["code"]), (401, &json!("UNKNOWN_TOKEN")));
    let wrong = format!("Authorization: Memdir {nonce}\r\n");
    assert_eq!(ask("/api/v1/stats", &wrong).0, 401);
    let key = blake3::derive_key(
        "memdir 2026-11-23 proof of a token of `memdir serve`",
        server.token(&["show"]).as_bytes(),
    );
    let id = &blake3::keyed_hash(&key, b"id").to_hex()[..32];
    let begin = format!("memdir-nonce: {nonce}\r\nmemdir-token: {id}\r\n");
    let (status, said) = ask("/proof", &begin);
    assert_eq!(status, 200, "{said}");
    let mut hasher = blake3::Hasher::new_keyed(&key);
    for part in [
        "client",
        &server.address,
        &nonce,
        said["nonce"].as_str().unwrap(),
    ] {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let proof = format!("Authorization: Memdir {}\r\n", hasher.finalize().to_hex());
    assert_eq!(ask("/api/v1/stats", &proof).0, 200);
    assert_eq!(ask("/api/v1/stats", &proof).0, 401, "a proof is good once");
    // A wrong one ends what was begun.
    ask("/proof", &begin);
    assert_eq!(ask("/api/v1/stats", &wrong).0, 401);
}
