//! The layers before everything: nothing that a page, a stranger or a slip sends comes through, at
//! any address.

use serde_json::json;

use crate::support::TestStore;
use crate::support::memdir_server::{Server, memdir, request};

/// Addresses of every kind, those that do not exist among them.
const PATHS: [&str; 7] = [
    "/mcp",
    "/api/v1/memories",
    "/api/v1/nothing",
    "/metrics",
    "/",
    "/favicon.ico",
    "/healthz",
];

const JSON: &str = "Content-Type: application/json";

#[test]
fn foreign_pages_and_names_are_refused_at_every_address_whatever_they_show() {
    let server = Server::start(&[]);
    let bearer = format!("Authorization: Bearer {}", server.token(&["show"]));
    for path in PATHS {
        for origin in [
            "http://evil.example",
            "null",
            "http://localhost:1",
            "https://127.0.0.1",
            "",
        ] {
            let origin = format!("Origin: {origin}");
            for method in ["GET", "POST"] {
                let answered = server.ask(method, path, &[&bearer, &origin, JSON], b"{}");
                assert_eq!(answered.status, 403, "{method} {path} {origin}");
            }
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example",
            "10.0.0.1",
            "[::2]",
        ] {
            let asked = request("GET", path, host, &[&bearer], b"");
            assert_eq!(server.raw(&asked).status, 403, "{path} {host}");
        }
        // Two names, one of them ours.
        let asked = request("GET", path, &server.address, &["Host: evil.example"], b"");
        assert!([400, 403].contains(&server.raw(&asked).status), "{path}");
        let asked = format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n");
        assert!([400, 403].contains(&server.raw(asked.as_bytes()).status));
        let asked = format!(
            "GET http://evil.example{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(server.raw(asked.as_bytes()).status, 403, "{path}");
    }
    // The same without any of it.
    for site in ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: none"] {
        let health = server.ask("GET", "/api/v1/health", &[&bearer, site], b"");
        assert_eq!(health.status, 200, "{site}");
    }
}

#[test]
fn names_and_pages_that_were_allowed_come_in() {
    let server = Server::start(&[
        "--no-token",
        "--allow-host",
        "notes.example",
        "--allow-origin",
        "https://notes.example",
    ]);
    let headers = ["Origin: https://notes.example"];
    let asked = request("GET", "/api/v1/health", "notes.example:443", &headers, b"");
    let answered = server.raw(&asked);
    assert_eq!(answered.status, 200);
    assert!(!answered.head.to_lowercase().contains("access-control"));
}

#[test]
fn a_page_of_our_own_comes_in_by_the_name_that_it_was_called_by() {
    let server = Server::start(&["--no-token"]);
    let port = server.address.rsplit(':').next().unwrap();
    let ask = |origin: &str, host: &str| {
        let origin = format!("Origin: {origin}");
        let asked = request("GET", "/api/v1/health", host, &[&origin], b"");
        server.raw(&asked)
    };
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        let answered = ask(&format!("http://{host}"), &host);
        assert_eq!(answered.status, 200, "{host}");
        assert!(!answered.head.to_lowercase().contains("access-control"));
        assert_eq!(ask(&format!("https://{host}"), &host).status, 403);
        assert_eq!(ask("http://127.0.0.1:1", &host).status, 403);
    }
    let other = format!("http://localhost:{port}");
    assert_eq!(ask(&other, &server.address).status, 403);
    let rebound = format!("evil.example:{port}");
    assert_eq!(ask(&format!("http://{rebound}"), &rebound).status, 403);
}

#[test]
fn without_a_token_nothing_but_the_bare_health_is_answered() {
    let server = Server::start(&[]);
    let token = server.token(&["show"]);
    for path in PATHS.into_iter().filter(|path| *path != "/healthz") {
        for shown in [
            None,
            Some(String::new()),
            Some("Bearer".to_owned()),
            Some("Bearer wrong".to_owned()),
            Some(format!("Basic {token}")),
            Some(format!("Bearer {}", &token[..token.len() - 1])),
            Some(format!("Bearer {token}x")),
            Some(token.clone()),
        ] {
            let header = shown.map(|shown| format!("Authorization: {shown}"));
            let headers: Vec<&str> = header.iter().map(String::as_str).collect();
            let answered = server.ask("GET", path, &headers, b"");
            assert_eq!(answered.status, 401, "{path} {header:?}");
            assert!(
                answered
                    .header("www-authenticate")
                    .unwrap()
                    .starts_with("Bearer")
            );
            assert!(!answered.text().contains(&token));
        }
        // An address is written down by whoever passes it on.
        let answered = server.ask(
            "GET",
            &format!("{path}?token={token}&access_token={token}"),
            &[],
            b"",
        );
        assert_eq!(answered.status, 401, "{path}");
    }
    let health = server.ask("GET", "/healthz", &[], b"");
    assert_eq!(
        (health.status, health.text().as_str()),
        (200, r#"{"status":"ok"}"#)
    );
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answered = server.ask(method, "/healthz", &[], b"");
        assert_eq!(answered.status, 405, "{method}");
    }
}

#[test]
fn what_a_page_could_send_without_asking_is_not_read_and_nobody_answers_its_question() {
    let server = Server::start(&["--no-token"]);
    for path in ["/mcp", "/api/v1/memories", "/api/v1/nothing"] {
        for kind in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/jsonp",
            "text/plain; application/json",
            "",
        ] {
            let kind = format!("Content-Type: {kind}");
            let answered = server.ask("POST", path, &[&kind], br#"{"title":"a","content":"b"}"#);
            assert_eq!(answered.status, 415, "{path} {kind}");
        }
        assert_eq!(server.ask("POST", path, &[], b"{}").status, 415, "{path}");
        let asked = [
            "Origin: http://localhost",
            "Access-Control-Request-Method: POST",
        ];
        let asked = server.ask("OPTIONS", path, &asked, b"");
        assert!(asked.status >= 400, "{path}");
        let asked = server.ask("OPTIONS", path, &[], b"");
        assert!(asked.status >= 400 && !asked.head.to_lowercase().contains("access-control"));
    }
    assert_eq!(server.get("/api/v1/memories/00000000", "").status, 404);
    // A kind with a parameter is the same kind.
    let kind = "Content-Type: Application/JSON; charset=utf-8";
    let made = server.ask(
        "POST",
        "/api/v1/memories",
        &[kind],
        br#"{"title":"a","content":"b"}"#,
    );
    assert_eq!(made.status, 201, "{}", made.text());
}

#[test]
fn a_body_that_is_no_message_gets_the_error_of_the_protocol() {
    let server = Server::start(&["--no-token"]);
    let headers = [
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
    ];
    for (body, code) in [
        ("{\"jsonrpc\": \"2.0\", \"id\": 1, ", -32700),
        ("[]", -32600),
        ("7", -32600),
        ("{\"jsonrpc\": \"2.0\", \"id\": 1}", -32600),
    ] {
        let answered = server.ask("POST", "/mcp", &headers, body.as_bytes());
        assert_eq!(answered.status, 400, "{body}: {answered:?}");
        assert_eq!(answered.header("content-type"), Some("application/json"));
        assert_eq!(answered.value()["error"]["code"], code, "{body}");
    }
}

#[test]
fn a_token_that_only_reads_changes_nothing_over_rest_or_mcp() {
    let server = Server::start(&[]);
    let owner = server.token(&["show"]);
    let reader = server.token(&["new", "reader", "--read-only"]);
    let made = server.json(
        "POST",
        "/api/v1/memories",
        &owner,
        &json!({"title": "t", "content": "c"}),
    );
    assert_eq!(made.status, 201);
    let id = made.value()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/memories/{id}");
    assert_eq!(server.get(&path, &reader).status, 200);
    let before = server.store.texts();
    let interface = server.get("/api/v1/openapi.json", &reader).value();
    let mut refused = 0;
    for (path, operations) in interface["paths"].as_object().unwrap() {
        for method in operations
            .as_object()
            .unwrap()
            .keys()
            .filter(|method| *method != "get")
        {
            let path = format!("/api/v1{}", path.replace("{id}", &id));
            let answered = server.json(&method.to_uppercase(), &path, &reader, &json!({}));
            // To recall by a body is to read.
            if path.ends_with("/recall") {
                assert_eq!(answered.status, 400, "{path}");
                continue;
            }
            assert_eq!(answered.status, 403, "{method} {path}");
            assert_eq!(answered.value()["code"], "FORBIDDEN");
            refused += 1;
        }
    }
    assert!(refused > 0);
    let reply = server
        .tool(&reader, "remember", &json!({"content": "poison"}))
        .message();
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    assert!(reply.to_string().contains("may only read"), "{reply}");
    let reply = server
        .tool(&reader, "think", &json!({"query": "c"}))
        .message();
    assert_ne!(reply["result"]["isError"], true, "{reply}");
    assert_eq!(server.store.texts(), before);
}

#[test]
fn what_was_rotated_or_removed_is_refused_from_the_next_request_on() {
    let server = Server::start(&[]);
    let first = server.token(&["show"]);
    let other = server.token(&["new", "other"]);
    assert_eq!(server.get("/api/v1/health", &first).status, 200);
    assert_eq!(server.get("/api/v1/health", &other).status, 200);
    let second = server.token(&["rotate"]);
    assert_ne!(first, second);
    assert_eq!(server.get("/api/v1/health", &first).status, 401);
    assert_eq!(server.get("/api/v1/health", &second).status, 200);
    server.token(&["remove", "other"]);
    assert_eq!(server.get("/api/v1/health", &other).status, 401);
    let listed = server.token(&["list"]);
    assert!(
        listed.contains("default") && !listed.contains(&second),
        "{listed}"
    );
}

#[test]
fn other_machines_are_let_in_by_a_token_and_over_tls_only() {
    let store = TestStore::new();
    for (arguments, says) in [
        (&["--listen", "0.0.0.0:0"][..], "--tls-cert"),
        (&["--listen", "[::]:0"], "--tls-cert"),
        (&["--listen", "192.0.2.1:0", "--no-token"], "--tls-cert"),
        (
            &["--listen", "0.0.0.0:0", "--insecure", "--no-token"],
            "--no-token",
        ),
        (&["--listen", "evil.example:80"], "is no address"),
        (
            &["--listen", "127.0.0.1:0", "--tls-cert", "x.pem"],
            "--tls-key",
        ),
    ] {
        let output = memdir(store.root())
            .arg("serve")
            .args(arguments)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(says), "{arguments:?}: {said}");
    }
}

#[test]
fn a_token_stands_in_no_log_answer_or_list_of_processes() {
    let variables = [("MEMDIR_LOG", "trace")];
    let server = Server::with(TestStore::new(), &[], &variables);
    let token = server.token(&["show"]);
    server.json(
        "POST",
        "/api/v1/memories",
        &token,
        &json!({"title": "t", "content": "a quokka"}),
    );
    server.get("/api/v1/nothing", &token);
    server.get("/metrics", &token);
    server.tool(&token, "think", &json!({"query": "quokka"}));
    server.ask(
        "GET",
        "/mcp",
        &[&format!("Authorization: Bearer {token} ")],
        b"",
    );
    server.ask(
        "GET",
        "/api/v1/health",
        &[&format!("Authorization: Basic {token}")],
        b"",
    );
    let log = server.wait_for_log("/api/v1/health");
    let secret = token.trim_start_matches("memdir_");
    assert!(!log.contains(secret) && !log.contains("quokka"), "{log}");
    let id = server.child.id();
    for part in ["cmdline", "environ"] {
        if let Ok(text) = std::fs::read(format!("/proc/{id}/{part}")) {
            assert!(!String::from_utf8_lossy(&text).contains(secret), "{part}");
        }
    }
}

#[test]
fn no_page_of_the_documentation_shows_a_token_in_an_argument() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages: Vec<(String, String)> = Vec::new();
    for folder in [
        ".",
        "docs",
        "examples",
        "examples/clients",
        "src/cli/args",
        "src/http",
    ] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.display().to_string();
            let is_page = [".md", ".json", ".toml", ".rs", ".yml"].iter();
            if is_page.clone().any(|end| name.ends_with(end)) {
                pages.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(pages.len() > 20);
    for (name, text) in pages {
        // Every user of a machine reads the arguments of its programs.
        assert!(!text.contains("$(memdir token"), "{name}");
        for line in text
            .lines()
            .filter(|line| line.contains("memdir token header)"))
        {
            assert!(line.contains("<(memdir token header)"), "{name}: {line}");
        }
    }
}
