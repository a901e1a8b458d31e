//! `memdir serve --database`: several servers, several workspaces, over HTTP.

use std::collections::BTreeSet;
use std::io::Write;

use memdir::files::{Place, WritableStorage};
use memdir::rows::access::Role;
use serde_json::{Value, json};

use crate::postgres::{Session, TestDatabase};
use crate::support::TestStore;
use crate::support::memdir_server::{Answered, Server, answer, request};
use crate::support::until;

/// Starts a server of the workspaces in the database.
pub fn server(test: &TestDatabase, arguments: &[&str]) -> Server {
    let store = TestStore::new();
    let cache = store.root().join("cache");
    let own = ["--database", "--cache", cache.to_str().unwrap()];
    let address = test.address();
    let variables = [("MEMDIR_DATABASE", address.as_str()), ("MEMDIR_DRAIN", "0")];
    Server::with(store, &[&own, arguments].concat(), &variables)
}

/// The first token of a server.
pub fn token(server: &Server) -> String {
    let tokens = std::fs::read_to_string(server.store.root().join("cache/tokens")).unwrap();
    let line = tokens.lines().last().unwrap();
    line.split_whitespace().last().unwrap().to_owned()
}

fn remember(server: &Server, workspace: &str, content: &str) -> String {
    let body = json!({"title": content, "content": content, "tier": "long"});
    let path = format!("/w/{workspace}/api/v1/memories");
    let answered = server.json("POST", &path, &token(server), &body);
    assert_eq!(answered.status, 201, "{answered:?}");
    let id = json_of(&answered)["id"].as_str().unwrap().to_owned();
    assert!(!id.is_empty());
    id
}

pub fn json_of(answered: &Answered) -> Value {
    serde_json::from_slice(&answered.body).unwrap()
}

/// The contents of the memories that a server finds.
fn found(server: &Server, workspace: &str, words: &str) -> Vec<String> {
    let path = format!("/w/{workspace}/api/v1/search?q={words}");
    let answered = server.get(&path, &token(server));
    assert_eq!(answered.status, 200, "{answered:?}");
    let hits = json_of(&answered);
    let text = hits.to_string();
    let all = ["zebra of atlas", "zebra of beta", "okapi of atlas"];
    let known = all.into_iter().filter(|one| text.contains(one));
    known.map(str::to_owned).collect()
}

#[test]
fn every_server_answers_from_every_workspace_with_the_newest_writes() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    for name in ["atlas", "beta"] {
        test.workspace(name);
    }
    let servers = [server(&test, &[]), server(&test, &[])];
    remember(&servers[0], "atlas", "The zebra of atlas.");
    remember(&servers[1], "beta", "The zebra of beta.");
    for server in &servers {
        assert_eq!(found(server, "atlas", "zebra"), ["zebra of atlas"]);
        assert_eq!(found(server, "beta", "zebra"), ["zebra of beta"]);
    }
    let id = remember(&servers[1], "atlas", "The okapi of atlas.");
    assert_eq!(found(&servers[0], "atlas", "okapi"), ["okapi of atlas"]);
    let path = format!("/w/atlas/api/v1/memories/{id}");
    let gone = servers[0].json("DELETE", &path, &token(&servers[0]), &Value::Null);
    assert!(gone.status < 300, "{gone:?}");
    assert!(found(&servers[1], "atlas", "okapi").is_empty());
    let history = servers[1].get(&format!("{path}/history?limit=9"), &token(&servers[1]));
    assert_eq!(history.status, 200, "{history:?}");
    assert_eq!(json_of(&history)["changes"].as_array().unwrap().len(), 2);
    // An id of another workspace is unknown.
    let foreign = servers[0].get(
        &format!("/w/beta/api/v1/memories/{id}"),
        &token(&servers[0]),
    );
    assert_eq!(foreign.status, 404, "{foreign:?}");
}

#[test]
fn agents_speak_mcp_to_a_workspace() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let bearer = format!("Authorization: Bearer {}", token(&server));
    let call = |name: &str, arguments: Value| {
        let headers = [
            bearer.as_str(),
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            "MCP-Protocol-Version: 2026-07-28",
            "Mcp-Method: tools/call",
            &format!("Mcp-Name: {name}"),
        ];
        let message = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments, "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            }},
        });
        let answered = server.ask(
            "POST",
            "/w/atlas/mcp",
            &headers,
            message.to_string().as_bytes(),
        );
        assert_eq!(answered.status, 200, "{answered:?}");
        String::from_utf8(answered.body).unwrap()
    };
    let stored = call(
        "remember",
        json!({"content": "The zebra of atlas.", "topics": ["animals"], "agent": "a", "user": "u"}),
    );
    assert!(!stored.contains("\"isError\":true"), "{stored}");
    let thought = call("think", json!({"query": "zebra"}));
    assert!(thought.contains("The zebra of atlas."), "{thought}");
}

#[test]
fn without_a_token_nobody_learns_which_workspaces_there_are() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let paths = [
        "/w/atlas/api/v1/topics",
        "/w/beta/api/v1/topics",
        "/w/atlas/mcp",
        "/",
        "/mcp",
    ];
    for path in paths {
        let answered = server.ask("GET", path, &[], b"");
        assert_eq!(answered.status, 401, "{path}: {answered:?}");
        let answered = server.get(path, "0123456789012345678901234567890123456789");
        assert_eq!(answered.status, 401, "{path}: {answered:?}");
        let proof = server.ask("GET", path, &["Authorization: Memdir x"], b"");
        assert_eq!(proof.status, 401, "{path}: {proof:?}");
    }
    let foreign = server.raw(b"GET /w/atlas/api/v1/topics HTTP/1.1\r\nHost: elsewhere.example\r\nConnection: close\r\n\r\n");
    assert_eq!(foreign.status, 403, "{foreign:?}");
    let token = token(&server);
    assert_eq!(server.get("/w/atlas/api/v1/topics", &token).status, 200);
    for path in [
        "/w/beta/api/v1/topics",
        "/w/Atlas/api/v1/topics",
        "/w/atlas%27/api/v1/topics",
        "/w/%2e%2e/api/v1/topics",
        "/w/atlas/page",
        "/api/v1/topics",
        "/mcp",
    ] {
        assert_eq!(server.get(path, &token).status, 404, "{path}");
    }
    for path in ["/healthz", "/health"] {
        assert_eq!(server.ask("GET", path, &[], b"").status, 200, "{path}");
    }
    // Nothing was made for names that are none.
    let cache = server.store.root().join("cache");
    let made = std::fs::read_dir(cache.join("workspaces"));
    let made = made.into_iter().flatten();
    let names: Vec<_> = made.map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| name == "atlas"), "{names:?}");
}

#[test]
fn the_operator_sees_the_figures_of_a_server_by_the_class_of_workspaces() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("beta");
    let server = server(&test, &[]);
    let token = token(&server);
    assert_eq!(server.ask("GET", "/metrics", &[], b"").status, 401);
    let owner = crate::access::make(&test, "atlas", "anna", Role::Owner);
    assert_eq!(server.get("/metrics", &owner).status, 401);
    for name in ["atlas", "beta"] {
        let path = format!("/w/{name}/api/v1/topics");
        assert_eq!(server.get(&path, &token).status, 200);
    }
    let figures = server.get("/metrics", &token);
    assert_eq!(figures.status, 200);
    let text = String::from_utf8_lossy(&figures.body);
    for line in [
        "memdir_workspaces_open{class=\"small\"} 2",
        "memdir_workspaces_open{class=\"large\"} 0",
        "memdir_workspace_requests_total{class=\"small\",status=\"200\"} 2",
        "memdir_workspace_request_duration_seconds_count{class=\"small\"} 2",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    assert!(!text.contains("atlas"), "{text}");
}

#[test]
fn a_server_that_is_killed_loses_nothing_that_it_acknowledged() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let mut first = server(&test, &[]);
    for number in 0..10 {
        remember(&first, "atlas", &format!("The zebra of atlas, {number}."));
    }
    first.signal("KILL");
    first.child.wait().unwrap();
    let second = server(&test, &[]);
    let mut session = Session::new(&test.address());
    assert_eq!(
        session
            .query("SELECT FROM memory WHERE place = 'files'")
            .len(),
        10
    );
    assert_eq!(found(&second, "atlas", "zebra"), ["zebra of atlas"]);
}

#[test]
fn the_description_of_a_workspace_has_what_is_served_there_and_no_more() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let token = token(&server);
    let served = json_of(&server.get("/w/atlas/api/v1/openapi.json", &token));
    assert_eq!(
        served["servers"][0]["url"],
        json!("/w/{workspace}/api/v1"),
        "{served}"
    );
    let of_a_store = memdir::http::document();
    let known = of_a_store["paths"].as_object().unwrap();
    let mut own = Vec::new();
    for (path, described) in served["paths"].as_object().unwrap() {
        match known.get(path) {
            Some(known) => assert_eq!(known, described),
            None => own.push(path.as_str()),
        }
    }
    let expected = [
        "/exchange/state",
        "/exchange/listing",
        "/exchange/texts",
        "/exchange/changes",
        "/tokens",
        "/audit",
    ];
    assert_eq!(own, expected);
    let bodies = [
        json!({}),
        json!({"after": ""}),
        json!({"paths": []}),
        json!({"changes": []}),
    ];
    for (path, body) in expected.iter().zip(&bodies) {
        let answered = server.json("POST", &format!("/w/atlas/api/v1{path}"), &token, body);
        check_reply(&served["paths"][path]["post"], &answered);
    }
    for path in &expected[bodies.len()..] {
        let answered = server.get(&format!("/w/atlas/api/v1{path}"), &token);
        check_reply(&served["paths"][path]["get"], &answered);
    }
}

/// Checks that an answer has the members that an operation is described with.
#[track_caller]
fn check_reply(operation: &Value, answered: &Answered) {
    assert_eq!(answered.status, 200, "{answered:?}");
    let schema = &operation["responses"]["200"]["content"]["application/json"]["schema"];
    let described = schema["properties"].as_object().unwrap();
    let reply = json_of(answered);
    let reply = reply.as_object().unwrap();
    let names = |object: &serde_json::Map<String, Value>| -> BTreeSet<String> {
        object.keys().cloned().collect()
    };
    assert_eq!(names(described), names(reply));
}

#[test]
fn a_server_is_not_ready_while_it_opens_a_workspace() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let ready = || {
        let answered = server.ask("GET", "/ready", &[], b"");
        (answered.status, json_of(&answered)["reasons"].clone())
    };
    assert_eq!(ready(), (200, json!([])));
    // A copy of the index is looked for first.
    let mut lock = Session::new(&test.address());
    lock.execute("BEGIN; LOCK TABLE index_copy").unwrap();
    let bearer = format!("Authorization: Bearer {}", token(&server));
    let path = "/w/atlas/api/v1/topics";
    let asked = request("GET", path, &server.address, &[&bearer], b"");
    let mut stream = server.connect();
    stream.write_all(&asked).unwrap();
    until("a workspace is being opened", || ready().0 != 200);
    assert_eq!(ready(), (503, json!(["1 workspaces are being opened"])));
    // An opening that lasts does not keep the requests to other workspaces away.
    until("the server is ready again", || ready().0 == 200);
    lock.execute("COMMIT").unwrap();
    assert_eq!(answer(&mut stream).status, 200);
    assert_eq!(ready(), (200, json!([])));
}

#[test]
fn a_memory_whose_name_is_taken_in_the_archive_stays() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    let rows = test.workspace("atlas");
    for place in [Place::Files, Place::Archive] {
        rows.add(place, "plan.md", b"The zebra of atlas.").unwrap();
    }
    let server = server(&test, &[]);
    let path = "/w/atlas/api/v1/memories/plan";
    let refused = server.json("DELETE", path, &token(&server), &Value::Null);
    assert_eq!(refused.status, 409, "{refused:?}");
    assert_eq!(found(&server, "atlas", "zebra"), ["zebra of atlas"]);
}

#[test]
fn a_server_ends_in_order() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let mut server = server(&test, &[]);
    remember(&server, "atlas", "The zebra of atlas.");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_server_of_a_database_that_is_not_migrated_says_so() {
    let Some(test) = TestDatabase::empty() else {
        return;
    };
    let store = TestStore::new();
    let mut command = crate::support::memdir_server::memdir(store.root());
    command.args(["serve", "--listen", "127.0.0.1:0", "--database"]);
    command.env("MEMDIR_DATABASE", test.address());
    let output = command.output().unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("memdir team migrate"), "{told}");
}
