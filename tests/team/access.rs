//! Tokens of workspaces: roles, rotation, ends, and what nobody learns by them.

use std::io::{Read, Write};

use memdir::rows::RowsError;
use memdir::rows::access::{self, Role};
use serde_json::{Value, json};

use crate::consistency;
use crate::postgres::{Session, TestDatabase, query};
use crate::serving::{json_of, server, token};
use crate::support::memdir_server::{Answered, Server, request};
use crate::support::program::Home;
use crate::support::until;

const DAY: std::time::Duration = std::time::Duration::from_secs(86_400);

pub fn make(test: &TestDatabase, workspace: &str, name: &str, role: Role) -> String {
    let made = access::grant(&test.open(), workspace, name, role, None);
    made.unwrap().secret
}

pub fn read(server: &Server, workspace: &str, secret: &str) -> u16 {
    let path = format!("/w/{workspace}/api/v1/topics");
    server.get(&path, secret).status
}

pub fn write(server: &Server, workspace: &str, secret: &str) -> Answered {
    let body = json!({"title": "Zebra", "content": "The zebra has stripes.", "tier": "long"});
    let path = format!("/w/{workspace}/api/v1/memories");
    server.json("POST", &path, secret, &body)
}

/// Calls a tool of a workspace over MCP.
pub fn tool(
    server: &Server,
    workspace: &str,
    secret: &str,
    name: &str,
    arguments: Value,
) -> String {
    let headers = [
        &format!("Authorization: Bearer {secret}"),
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
    let path = format!("/w/{workspace}/mcp");
    let answered = server.ask("POST", &path, &headers, message.to_string().as_bytes());
    assert_eq!(answered.status, 200, "{answered:?}");
    String::from_utf8(answered.body).unwrap()
}

#[test]
fn a_role_says_what_a_token_may_do() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let [reader, writer, owner] = [Role::Reader, Role::Writer, Role::Owner]
        .map(|role| make(&test, "atlas", role.as_str(), role));
    for secret in [&reader, &writer, &owner] {
        assert_eq!(read(&server, "atlas", secret), 200);
    }
    assert_eq!(write(&server, "atlas", &reader).status, 403);
    assert_eq!(write(&server, "atlas", &writer).status, 201);
    assert_eq!(write(&server, "atlas", &owner).status, 201);
    let memory = json!({"content": "The okapi.", "topics": ["animals"], "agent": "a", "user": "u"});
    let refused = tool(&server, "atlas", &reader, "remember", memory.clone());
    assert!(refused.contains("\"isError\":true"), "{refused}");
    assert!(refused.contains("may only read"), "{refused}");
    let stored = tool(&server, "atlas", &writer, "remember", memory);
    assert!(!stored.contains("\"isError\":true"), "{stored}");
    let thought = tool(
        &server,
        "atlas",
        &reader,
        "think",
        json!({"query": "okapi"}),
    );
    assert!(thought.contains("The okapi."), "{thought}");
    // Who has access is the owner's to see, and the operator's.
    let path = "/w/atlas/api/v1/tokens";
    assert_eq!(server.get(path, &reader).status, 403);
    assert_eq!(server.get(path, &writer).status, 403);
    for secret in [&owner, &token(&server)] {
        let listed = server.get(path, secret);
        assert_eq!(listed.status, 200, "{listed:?}");
        let tokens = json_of(&listed)["tokens"].clone();
        let names = tokens.as_array().unwrap().iter().map(|one| &one["name"]);
        assert_eq!(names.collect::<Vec<_>>(), ["owner", "reader", "writer"]);
        assert!(!tokens.to_string().contains("memdir_"), "{tokens}");
    }
    // The figures are of all workspaces.
    assert_eq!(server.get("/w/atlas/metrics", &owner).status, 403);
    assert_eq!(server.get("/w/atlas/metrics", &token(&server)).status, 200);
}

#[test]
fn a_token_opens_one_workspace_and_tells_of_no_other() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("beta");
    let server = server(&test, &[]);
    let secret = make(&test, "atlas", "anna", Role::Owner);
    assert_eq!(read(&server, "atlas", &secret), 200);
    let told = |path: &str| {
        let answered = server.get(path, &secret);
        (answered.status, String::from_utf8(answered.body).unwrap())
    };
    let there = told("/w/beta/api/v1/topics");
    assert_eq!(there.0, 401, "{there:?}");
    for path in [
        "/w/gamma/api/v1/topics",
        "/w/beta/api/v1/tokens",
        "/w/beta/mcp",
        "/w/beta/metrics",
        "/w/Atlas/api/v1/topics",
        "/w/atlas%27/api/v1/topics",
        "/w/atlas/page",
        "/",
    ] {
        assert_eq!(told(path), there, "{path}");
    }
    // Of one that was removed and made again the tokens are gone.
    test.open().drop_workspace("atlas").unwrap();
    test.workspace("atlas");
    assert!(access::granted(&test.open(), "atlas").unwrap().is_empty());
    let tokens = access::AccessTokens::new(&test.open());
    assert_eq!(tokens.holder("atlas", &secret).unwrap(), None);
}

#[test]
fn a_revoked_token_opens_nothing_and_its_name_may_be_given_again() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let database = test.open();
    let first = make(&test, "atlas", "anna", Role::Reader);
    assert_eq!(read(&server, "atlas", &first), 200);
    let taken = access::grant(&database, "atlas", "anna", Role::Owner, None).err();
    assert!(matches!(taken, Some(RowsError::TokenExists(_))));
    assert_eq!(access::revoke(&database, "atlas", "anna").unwrap(), 1);
    // The server hears of it, or asks again within seconds.
    until("the token is revoked", || {
        read(&server, "atlas", &first) == 401
    });
    let gone = access::revoke(&database, "atlas", "anna").err();
    assert!(matches!(gone, Some(RowsError::NoToken(_))));
    let second = make(&test, "atlas", "anna", Role::Writer);
    assert_eq!(write(&server, "atlas", &second).status, 201);
    assert_eq!(read(&server, "atlas", &first), 401);
}

#[test]
fn a_rotated_token_has_two_secrets_until_the_former_one_ends() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let database = test.open();
    let tokens = access::AccessTokens::new(&database);
    let former = access::grant(&database, "atlas", "ci", Role::Writer, Some(90 * DAY)).unwrap();
    let newer = access::rotate(&database, "atlas", "ci", None, DAY).unwrap();
    assert_ne!(former.secret, newer.secret);
    assert_eq!(newer.role, Role::Writer);
    assert!(newer.expires >= former.expires);
    for secret in [&former.secret, &newer.secret] {
        let holder = tokens.holder("atlas", secret).unwrap().unwrap();
        assert_eq!((&*holder.name, holder.role), ("ci", Role::Writer));
    }
    let mut session = Session::new(&test.address());
    let ends = "SELECT FROM token WHERE expires < now() + interval '25 hours'";
    assert_eq!(session.query(ends).len(), 1);
    // A day later.
    session.query("UPDATE token SET expires = expires - interval '1 day', created = created - interval '1 day'");
    assert_eq!(tokens.holder("atlas", &former.secret).unwrap(), None);
    assert!(tokens.holder("atlas", &newer.secret).unwrap().is_some());
    let valid = access::granted(&database, "atlas").unwrap();
    assert_eq!(valid.iter().filter(|one| one.is_valid).count(), 1);
    let missing = access::rotate(&database, "atlas", "cd", None, DAY).err();
    assert!(matches!(missing, Some(RowsError::NoToken(_))));
}

#[test]
fn a_secret_is_kept_nowhere_and_its_last_use_once_a_minute() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let secret = make(&test, "atlas", "anna", Role::Reader);
    let mut session = Session::new(&test.address());
    let all = session.query("SELECT t::text FROM token t");
    let text: String = all[0].get(0);
    assert!(!text.contains(&secret["memdir_".len()..]), "{text}");
    assert_eq!(read(&server, "atlas", &secret), 200);
    session.until("SELECT FROM token WHERE last_used IS NOT NULL");
    let version = "SELECT xmin::text FROM token";
    let before: String = session.query(version)[0].get(0);
    let tokens = access::AccessTokens::new(&test.open());
    tokens.holder("atlas", &secret).unwrap().unwrap();
    assert_eq!(session.query(version)[0].get::<_, String>(0), before);
    session.query("UPDATE token SET last_used = now() - interval '2 minutes'");
    tokens.holder("atlas", &secret).unwrap().unwrap();
    session.until("SELECT FROM token WHERE last_used > now() - interval '1 minute'");
}

#[test]
fn the_role_of_servers_sees_tokens_of_one_workspace_and_makes_none() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    test.workspace("beta");
    make(&test, "atlas", "anna", Role::Owner);
    make(&test, "beta", "bert", Role::Reader);
    let mut session = Session::new(&test.address());
    let begin = "BEGIN; SET LOCAL ROLE memdir_server; SET LOCAL memdir.workspace = 'beta'";
    session.execute(begin).unwrap();
    let names = session.query("SELECT name FROM token");
    let names: Vec<&str> = names.iter().map(|row| row.get(0)).collect();
    assert_eq!(names, ["bert"]);
    for sql in [
        "UPDATE token SET role = 'owner'",
        "UPDATE token SET revoked = NULL",
        "DELETE FROM token",
        "INSERT INTO token (workspace, hash, name, role) VALUES ('beta', sha256('x'), 'eve', 'owner')",
    ] {
        let error = session.execute(&format!("SAVEPOINT s; {sql}")).unwrap_err();
        let message = error.as_db_error().unwrap().message().to_owned();
        assert!(message.contains("permission denied"), "{sql}: {message}");
        session.execute("ROLLBACK TO s").unwrap();
    }
}

#[test]
fn the_command_gives_lists_and_ends_tokens() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let home = Home::new();
    let team = |arguments: &[&str]| {
        let mut command = home.command(&[&["team"], arguments].concat());
        command.env("MEMDIR_DATABASE", test.address());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap();
        (code, text(output.stdout), text(output.stderr))
    };
    let (code, secret, told) = team(&[
        "grant",
        "atlas",
        "ci",
        "--role",
        "writer",
        "--expires",
        "90d",
    ]);
    assert_eq!(code, 0, "{told}");
    assert_eq!(secret.trim_end().len(), "memdir_".len() + 64, "{secret}");
    assert!(!told.contains(secret.trim_end()), "{told}");
    let days = "SELECT FROM token WHERE expires - created = interval '7776000 seconds'";
    assert_eq!(query(&test.address(), days).len(), 1);
    let (code, _, told) = team(&["grant", "atlas", "ci", "--role", "owner"]);
    assert_eq!(code, 2);
    assert!(told.contains("--rotate"), "{told}");
    let (code, rotated, told) = team(&[
        "grant",
        "atlas",
        "ci",
        "--rotate",
        "--overlap",
        "2h",
        "--json",
    ]);
    assert_eq!(code, 0, "{told}");
    let rotated: Value = serde_json::from_str(&rotated).unwrap();
    assert_eq!(rotated["role"], json!("writer"));
    let (code, listed, _) = team(&["tokens", "atlas"]);
    assert_eq!((code, listed.lines().count()), (0, 2), "{listed}");
    assert!(listed.contains("writer  ci"), "{listed}");
    assert!(!listed.contains("memdir_"), "{listed}");
    assert_eq!(team(&["revoke", "atlas", "ci"]).0, 0);
    assert_eq!(team(&["tokens", "atlas"]).0, 1);
    for wrong in [
        &["grant", "atlas", "a b", "--role", "reader"][..],
        &["grant", "nowhere", "ci", "--role", "reader"],
        &["grant", "atlas", "ci", "--role", "king"],
        &["grant", "atlas", "ci"],
        &[
            "grant",
            "atlas",
            "ci",
            "--role",
            "reader",
            "--expires",
            "soon",
        ],
        &["revoke", "atlas", "ci"],
        &["tokens", "nowhere"],
    ] {
        assert_eq!(team(wrong).0, 2, "{wrong:?}");
    }
}

#[test]
fn a_login_with_the_role_of_servers_serves() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let login = format!("login_of_{}", test.name);
    let mut session = Session::new(&test.address());
    let made = format!("CREATE ROLE {login} LOGIN IN ROLE memdir_server");
    session.execute(&made).unwrap();
    let address = test.address().replacen("memdir@", &format!("{login}@"), 1);
    // Of all workspaces it sees the numbers of their last changes, and nothing else.
    let mut sees = Session::new(&address);
    assert_eq!(
        sees.query("SELECT FROM memdir_heads(ARRAY['atlas'])").len(),
        1
    );
    assert_eq!(sees.query("SELECT FROM workspace").len(), 0);
    let served = consistency::server(&address, &["--advertise", "one"]);
    consistency::remember(&served, "The zebra.");
    assert!(consistency::finds(&served, "zebra", &[]));
    for part in ["tokens", "groups", "audit"] {
        let path = format!("/api/v1/{part}");
        let answered = consistency::ask(&served, "GET", &path, &[], &Value::Null);
        assert_eq!(answered.status, 200, "{part}: {answered:?}");
    }
    let ready = served.ask("GET", "/ready", &[], b"");
    assert_eq!(ready.status, 200, "{ready:?}");
}

#[test]
fn a_stream_of_events_ends_with_its_token() {
    let Some(test) = TestDatabase::new() else {
        return;
    };
    test.workspace("atlas");
    let server = server(&test, &[]);
    let header = |secret: &str| format!("Authorization: Bearer {secret}");
    let watch = |secret: &str| {
        let mut stream = server.connect();
        let path = "/w/atlas/api/v1/events";
        let asked = request("GET", path, &server.address, &[&header(secret)], b"");
        stream.write_all(&asked).unwrap();
        stream
    };
    let [anna, ben] = ["anna", "ben"].map(|name| make(&test, "atlas", name, Role::Reader));
    let mut streams = [watch(&anna), watch(&ben)];
    let mut bytes = [0; 4096];
    for stream in &mut streams {
        assert!(stream.read(&mut bytes).unwrap() > 0);
    }
    access::revoke(&test.open(), "atlas", "anna").unwrap();
    // To its end.
    let mut told = String::new();
    streams[0].read_to_string(&mut told).unwrap();
    assert!(!told.contains("changed"), "{told}");
    // The other one goes on.
    assert_eq!(write(&server, "atlas", &token(&server)).status, 201);
    let mut told = String::new();
    while !told.contains("event: changed") {
        let length = streams[1].read(&mut bytes).unwrap();
        assert!(length > 0, "{told}");
        told.push_str(&String::from_utf8_lossy(&bytes[..length]));
    }
}
