//! What an operator has to do with: beginning, ending, logs and figures.

use serde_json::{Value, json};

use crate::support::TestStore;
use crate::support::memdir_server::{Server, memdir};
use crate::support::until;

#[cfg(unix)]
#[test]
fn it_ends_in_order_and_says_where_it_listens_only_while_it_does() {
    let mut server = Server::start(&[]);
    let note = server.store.state().join("serving");
    let token = server.token(&["show"]);
    // Told right after the line on standard error; a request is answered after it.
    server.get("/api/v1/health", &token);
    server.wait_for_log("memdir token header");
    let named = std::fs::read_to_string(&note).unwrap();
    assert_eq!(named, format!("http://{}\n", server.address));
    let body = json!({"title": "t", "content": "c"});
    assert_eq!(
        server
            .json("POST", "/api/v1/memories", &token, &body)
            .status,
        201
    );
    assert_eq!(server.end(), Some(0));
    assert!(!note.exists());
    assert_eq!(server.store.texts().len(), 1);
}

#[test]
fn a_taken_address_is_said_with_what_to_do() {
    let server = Server::start(&["--no-token"]);
    let other = TestStore::new();
    let output = memdir(other.root())
        .args(["serve", "--listen", &server.address])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains(&server.address) && said.contains("--listen"),
        "{said}"
    );
}

#[test]
fn the_log_has_a_line_for_each_request_for_programs_without_what_was_asked() {
    let variables = [("MEMDIR_LOG", "info")];
    let arguments = ["--no-token", "--log-format", "json"];
    let server = Server::with(TestStore::new(), &arguments, &variables);
    let asked = ["X-Request-Id: mine-1"];
    let answered = server.ask("GET", "/api/v1/memories/quokka?words=wombat", &asked, b"");
    assert_eq!(answered.header("x-request-id"), Some("mine-1"));
    let answered = server.ask("GET", "/api/v1/health", &["X-Request-Id: a\tb"], b"");
    let id = answered.header("x-request-id").unwrap().to_owned();
    assert!(!id.contains('\t') && !id.is_empty());
    let log = server.wait_for_log(&id);
    assert!(!log.contains("quokka") && !log.contains("wombat"), "{log}");
    let lines = log.lines().filter(|line| line.starts_with('{'));
    let lines: Vec<Value> = lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let line = lines
        .iter()
        .find(|line| line["request"] == "mine-1")
        .unwrap();
    assert_eq!(line["route"], "/api/v1/memories/{id}");
    assert_eq!(line["method"], "GET");
    assert_eq!(line["client"], "127.0.0.1");
    assert!(line["status"].is_u64() && line["micros"].is_u64() && line["timestamp"].is_string());
}

#[test]
fn the_figures_are_as_prometheus_reads_them() {
    let server = Server::start(&["--no-token"]);
    for number in 0..3 {
        let body = json!({"title": format!("t{number}"), "content": "c"});
        server.json("POST", "/api/v1/memories", "", &body);
    }
    server.get("/api/v1/nothing/quokka", "");
    let mut metrics = server.get("/metrics", "");
    // A connection counts until the server has noticed its end.
    until("no other connection is left", || {
        metrics = server.get("/metrics", "");
        let text = metrics.text();
        text.lines().any(|line| line == "memdir_http_connections 1")
    });
    assert!(
        metrics
            .header("content-type")
            .unwrap()
            .starts_with("application/openmetrics-text")
    );
    let text = metrics.text();
    for line in [
        r#"memdir_http_requests_total{route="/api/v1/memories",method="POST",status="201"} 3"#,
        r#"memdir_http_requests_total{route="-",method="GET",status="404"} 1"#,
        "memdir_files 3.0",
        "memdir_mcp_sessions 0",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in {text}");
    }
    assert!(!text.contains("quokka"));
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn nothing_about_the_machine_is_told_where_the_store_is_gone() {
    let server = Server::start(&["--no-token"]);
    let root = server.store.root().to_owned();
    let away = root.with_extension("away");
    std::fs::rename(&root, &away).unwrap();
    let body = json!({"title": "t", "content": "c"});
    let answers = [
        server.json("POST", "/api/v1/memories", "", &body),
        server.get("/api/v1/health", ""),
        server.get("/api/v1/topics", ""),
    ];
    std::fs::rename(&away, &root).unwrap();
    let place = root.to_str().unwrap();
    for answered in &answers {
        assert!(answered.status >= 500, "{answered:?}");
        assert!(!answered.text().contains(place), "{}", answered.text());
    }
    assert_eq!(answers[0].value()["message"], "Internal server error");
}
