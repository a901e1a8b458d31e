//! `/events`: changes are told as they come, whoever made them.

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::support::memdir_server::{Server, request};

/// The ids of the next event `changed`.
fn changed(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> Vec<String> {
    loop {
        let line = lines.next().unwrap().unwrap();
        if let Some(data) = line.strip_prefix("data: ") {
            let data: Value = serde_json::from_str(data).unwrap();
            let ids = data["ids"].as_array().unwrap().iter();
            return ids.map(|id| id.as_str().unwrap().to_owned()).collect();
        }
    }
}

#[test]
fn what_is_written_here_or_by_hand_is_told_and_an_open_stream_does_not_keep_the_server() {
    let mut server = Server::start(&["--no-token"]);
    let mut stream = server.connect();
    let asked = request("GET", "/api/v1/events", &server.address, &[], b"");
    stream.write_all(&asked).unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut head = Vec::new();
    loop {
        let line = lines.next().unwrap().unwrap();
        if line == ": listening" {
            break;
        }
        head.push(line);
    }
    assert_eq!(head[0], "HTTP/1.1 200 OK");
    assert!(
        head.contains(&"content-type: text/event-stream".to_owned()),
        "{head:?}"
    );
    let body = json!({"title": "t", "content": "c"});
    let made = server.json("POST", "/api/v1/memories", "", &body).value();
    assert_eq!(changed(&mut lines), [made["id"].as_str().unwrap()]);
    let text = crate::support::memory_text("1f3a9c02", "2026-01-14T09:15:00", "By hand.");
    server.store.put("20260114_091500_1f3a9c02.md", text);
    assert_eq!(changed(&mut lines), ["1f3a9c02"]);
    let metrics = server.get("/metrics", "").text();
    assert!(metrics.contains("memdir_http_listeners 1\n"), "{metrics}");
    assert_eq!(server.end(), Some(0));
}
