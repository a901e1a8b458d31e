//! The documented examples as people type them: `curl` in a shell, on a server without a token.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::can_run;
use crate::support::rest::Api;

/// Where the documentation has the interface.
const DOCUMENTED: &str = "http://127.0.0.1:9077";

/// Runs a documented command on the server that listens at `address`; the status and the answer.
#[track_caller]
fn typed(api: &Api, command: &str) -> (u16, Value) {
    let here = format!("http://{}", api.server.address);
    let command = command.replace(DOCUMENTED, &here).replacen(
        "curl ",
        "curl --silent --show-error --write-out '\\n%{http_code}' ",
        1,
    );
    let output = Command::new("sh")
        .args(["-c", &command])
        .env("HOME", api.server.store.root())
        .env("NO_PROXY", "*")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command}: {complaint}");
    let (body, status) = text.rsplit_once('\n').unwrap();
    let body = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {text}"));
    (status.parse().unwrap(), body)
}

/// The same, of one that has to end with `status`.
#[track_caller]
fn done(api: &Api, status: u16, command: &str) -> Value {
    let (found, body) = typed(api, command);
    assert_eq!(found, status, "{command}: {body}");
    body
}

/// The answer to a documented example in which `ID` and the like stand for these ids.
#[track_caller]
fn with(api: &Api, status: u16, ids: &[(&str, &str)], command: &str) -> Value {
    let command = ids.iter().fold(command.to_owned(), |command, (name, id)| {
        command.replace(name, id)
    });
    done(api, status, &command)
}

#[test]
fn the_documented_examples_work_as_they_are_typed() {
    if !can_run("curl", &["--version"]) || !can_run("sh", &["-c", ":"]) {
        return;
    }
    let api = Api::start();
    let health = done(&api, 200, "curl http://127.0.0.1:9077/api/v1/health");
    assert_eq!(
        (&health["status"], &health["service"]),
        (&"ok".into(), &"ai-memory".into())
    );

    let made = done(
        &api,
        201,
        r#"curl -X POST http://127.0.0.1:9077/api/v1/memories -H "Content-Type: application/json" -d '{
        "title": "Project uses Axum",
        "content": "The HTTP server is built with Axum 0.8.",
        "tier": "mid",
        "namespace": "my-app",
        "tags": ["rust", "web"],
        "priority": 6,
        "confidence": 1.0,
        "source": "api",
        "expires_at": "2096-04-06T00:00:00Z",
        "ttl_secs": 86400
    }'"#,
    );
    let id = made["id"].as_str().unwrap();
    let bulk = done(
        &api,
        200,
        r#"curl -X POST http://127.0.0.1:9077/api/v1/memories/bulk -H "Content-Type: application/json" -d '[
        {"title": "Memory 1", "content": "JWT flow.", "namespace": "my-app"},
        {"title": "Memory 2", "content": "Refresh tokens.", "namespace": "my-app"},
        {"title": "Memory 3", "content": "The deprecated API.", "namespace": "my-app", "tier": "short"}
    ]'"#,
    );
    assert_eq!(
        (&bulk["created"], &bulk["errors"]),
        (&3.into(), &Value::Array(Vec::new()))
    );
    let [one, two] = [0, 1].map(|place| bulk["ids"][place].as_str().unwrap());
    let ids = [("ID1", one), ("ID2", two), ("ID", id)];
    let with = |status: u16, command: &str| with(&api, status, &ids, command);

    let got = with(200, "curl http://127.0.0.1:9077/api/v1/memories/ID");
    assert_eq!(got["memory"]["id"], id);
    let changed = with(
        200,
        r#"curl -X PUT http://127.0.0.1:9077/api/v1/memories/ID -H "Content-Type: application/json" -d '{"content": "Updated content", "priority": 8, "expires_at": "2096-06-01T00:00:00Z"}'"#,
    );
    assert_eq!(changed["content"], "Updated content");
    let promoted = with(
        200,
        "curl -X POST http://127.0.0.1:9077/api/v1/memories/ID/promote",
    );
    assert_eq!(promoted["promoted"], true);

    let listed = with(
        200,
        "curl 'http://127.0.0.1:9077/api/v1/memories?namespace=my-app&tier=long&limit=20&offset=0&min_priority=5&since=2026-01-01T00:00:00Z&until=2096-12-31T23:59:59Z&tags=rust'",
    );
    assert_eq!(
        (&listed["count"], &listed["memories"][0]["id"]),
        (&1.into(), &id.into())
    );
    let found = with(
        200,
        "curl 'http://127.0.0.1:9077/api/v1/search?q=refresh+tokens&namespace=my-app&tier=mid&limit=10'",
    );
    assert_eq!(
        (&found["count"], &found["query"]),
        (&1.into(), &"refresh tokens".into())
    );
    let recalled = with(
        200,
        "curl 'http://127.0.0.1:9077/api/v1/recall?context=auth+flow+jwt&namespace=my-app&limit=10'",
    );
    assert_eq!(recalled["memories"][0]["id"], one);
    let recalled = with(
        200,
        r#"curl -X POST http://127.0.0.1:9077/api/v1/recall -H "Content-Type: application/json" -d '{"context": "auth flow jwt", "namespace": "my-app", "limit": 10}'"#,
    );
    assert_eq!(recalled["memories"][0]["id"], one);

    let linked = with(
        201,
        r#"curl -X POST http://127.0.0.1:9077/api/v1/links -H "Content-Type: application/json" -d '{"source_id": "ID1", "target_id": "ID2", "relation": "related_to"}'"#,
    );
    assert_eq!(linked["linked"], true);
    let links = with(200, "curl http://127.0.0.1:9077/api/v1/links/ID1");
    assert_eq!(links["links"][0]["target_id"], two);
    let namespaces = with(200, "curl http://127.0.0.1:9077/api/v1/namespaces");
    assert_eq!(namespaces["namespaces"][0]["namespace"], "my-app");
    let stats = with(200, "curl http://127.0.0.1:9077/api/v1/stats");
    assert_eq!(
        (&stats["total"], &stats["links_count"]),
        (&4.into(), &1.into())
    );
    let collected = with(200, "curl -X POST http://127.0.0.1:9077/api/v1/gc");
    assert_eq!(collected["expired_deleted"], 0);
    let exported = with(200, "curl http://127.0.0.1:9077/api/v1/export");
    assert_eq!(
        (
            &exported["count"],
            exported["links"].as_array().map(Vec::len)
        ),
        (&4.into(), Some(1))
    );
    let file = api.server.store.root().join("backup.json");
    std::fs::write(&file, exported.to_string()).unwrap();
    let import = format!(
        "curl -X POST http://127.0.0.1:9077/api/v1/import -H 'Content-Type: application/json' -d @{}",
        file.display()
    );
    let imported = with(200, &import);
    assert_eq!(
        (&imported["imported"], &imported["known"]),
        (&0.into(), &4.into())
    );

    let forgotten = with(
        200,
        r#"curl -X POST http://127.0.0.1:9077/api/v1/forget -H "Content-Type: application/json" -d '{"namespace": "my-app", "pattern": "deprecated API", "tier": "short"}'"#,
    );
    assert_eq!(forgotten["deleted"], 1);
    let consolidated = with(
        201,
        r#"curl -X POST http://127.0.0.1:9077/api/v1/consolidate -H "Content-Type: application/json" -d '{
        "ids": ["ID1", "ID2"],
        "title": "Auth system summary",
        "summary": "JWT with refresh tokens, RBAC middleware, Redis sessions.",
        "namespace": "my-app",
        "tier": "long"
    }'"#,
    );
    assert_eq!(consolidated["consolidated"], 2);
    let deleted = with(
        200,
        "curl -X DELETE http://127.0.0.1:9077/api/v1/memories/ID",
    );
    assert_eq!(deleted["deleted"], true);

    let archive = with(200, "curl http://127.0.0.1:9077/api/v1/archive");
    // The content that was replaced lies there, too.
    assert_eq!(archive["count"], 5);
    let restored = with(
        200,
        "curl -X POST http://127.0.0.1:9077/api/v1/archive/ID/restore",
    );
    assert_eq!(restored["restored"], true);
    let stats = with(200, "curl http://127.0.0.1:9077/api/v1/archive/stats");
    assert_eq!(stats["archived_total"], 4);
    let purged = with(
        200,
        "curl -X DELETE 'http://127.0.0.1:9077/api/v1/archive?older_than_days=30'",
    );
    assert_eq!(purged["purged"], 0);
    let missing = with(404, "curl http://127.0.0.1:9077/api/v1/memories/ffffffff");
    assert_eq!(missing["code"], "NOT_FOUND");
}
