//! Lines that are no messages: answered, and the session goes on.

use serde_json::{Value, json};

use crate::support::session::{Session, memdir, probe};

const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;

/// Mirrors `mcp::transport::MAX_LINE_BYTES`.
const MAX_LINE_BYTES: usize = 4 << 20;

#[test]
fn a_line_that_is_not_json_is_a_parse_error() {
    check(b"not json", Value::Null, PARSE_ERROR);
    check(b"{\"jsonrpc\":\"2.0\",\"id\":1,", Value::Null, PARSE_ERROR);
    check(b"{} {}", Value::Null, PARSE_ERROR);
    check(b"\0", Value::Null, PARSE_ERROR);
    check(b"\xff\xfe\x00garbage", Value::Null, PARSE_ERROR);
}

#[test]
fn invalid_utf_8_is_a_parse_error() {
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\
        \"params\":{\"name\":\"echo\",\"arguments\":{\"a\":\"\xc3\x28\"}}}";
    check(line, Value::Null, PARSE_ERROR);
}

#[test]
fn bottomless_nesting_is_a_parse_error() {
    check(&b"[".repeat(100_000), Value::Null, PARSE_ERROR);
    check(&b"{\"a\":".repeat(100_000), Value::Null, PARSE_ERROR);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"a":{deep}}}}}}}"#
    );
    check(call.as_bytes(), Value::Null, PARSE_ERROR);
}

#[test]
fn json_that_is_no_message_is_an_invalid_request() {
    check(b"42", Value::Null, INVALID_REQUEST);
    check(b"null", Value::Null, INVALID_REQUEST);
    check(b"\"ping\"", Value::Null, INVALID_REQUEST);
    check(b"{}", Value::Null, INVALID_REQUEST);
    check(b"{\"id\":7}", json!(7), INVALID_REQUEST);
    check(b"{\"id\":7,\"method\":\"ping\"}", json!(7), INVALID_REQUEST);
    check(
        b"{\"jsonrpc\":\"1.0\",\"id\":\"a\",\"method\":\"ping\"}",
        json!("a"),
        INVALID_REQUEST,
    );
    check(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}",
        json!(1),
        INVALID_REQUEST,
    );
    check(
        b"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}",
        json!(1.5),
        INVALID_REQUEST,
    );
    check(
        b"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}",
        Value::Null,
        INVALID_REQUEST,
    );
    check(
        b"{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}",
        Value::Null,
        INVALID_REQUEST,
    );
}

#[test]
fn a_batch_is_an_invalid_request() {
    check(b"[]", Value::Null, INVALID_REQUEST);
    check(
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
        Value::Null,
        INVALID_REQUEST,
    );
}

#[track_caller]
fn check(line: &[u8], id: Value, code: i64) {
    // Before the opening and after it.
    let mut session = Session::start(memdir);
    session.send_line(line);
    let early = session.next();
    assert_eq!((&early["id"], &early["error"]["code"]), (&id, &json!(code)));
    assert!(early.get("id").is_some(), "`null` must be written out");
    session.initialize("2025-11-25");
    session.send_line(line);
    assert_eq!(session.next(), early);
    session.is_alive_and_quiet();
}

#[test]
fn blank_lines_answers_and_stray_notifications_are_passed_over() {
    let mut session = Session::start(memdir);
    session.send_bytes(b"\n\r\n   \t\r\n");
    session.send_line("\u{feff}".as_bytes());
    session.send_line(br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#);
    session.send_line(br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"x"}}"#);
    session.send_line(br#"{"jsonrpc":"2.0","id":9,"result":[1]}"#);
    session.send_line(br#"{"method":"$/progress"}"#);
    session.send_line(br#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#);
    session.send_line(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#);
    session.is_alive_and_quiet();
}

#[test]
fn line_endings_and_a_byte_order_mark_of_windows_are_fine() {
    let mut session = Session::start(memdir);
    let ping = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r";
    session.send_line(ping.as_bytes());
    assert_eq!(session.next()["result"], json!({}));
}

#[test]
fn a_string_cut_within_an_emoji_is_still_answered() {
    let mut session = Session::open(probe);
    session.send_line(
        br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"cut \ud83d"}}}"#,
    );
    let answer = session.answer(1);
    assert_eq!(
        answer["result"]["structuredContent"]["text"],
        "cut \u{fffd}"
    );
}

#[test]
fn a_message_may_have_just_four_mebibytes() {
    let mut session = Session::start_with_log(probe, "warn");
    session.send_line(&call_of(MAX_LINE_BYTES));
    assert!(session.answer(1)["result"].is_object());
    session.send_line(&call_of(MAX_LINE_BYTES + 1));
    let refused = session.next();
    assert_eq!(refused["error"]["code"], INVALID_REQUEST);
    assert_eq!(refused["id"], Value::Null);
    session.is_alive_and_quiet();
}

/// A call whose line, without its end, is `bytes` long.
fn call_of(bytes: usize) -> Vec<u8> {
    let head = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zeta","arguments":{"a":""#;
    let tail = "\"}}}";
    let filling = "x".repeat(bytes - head.len() - tail.len());
    format!("{head}{filling}{tail}").into_bytes()
}

#[test]
#[cfg(target_os = "linux")]
fn a_line_of_any_length_is_skipped_in_constant_memory() {
    let mut session = Session::start(memdir);
    let mebibyte = vec![b'x'; 1 << 20];
    (0..5).for_each(|_| session.send_bytes(&mebibyte));
    // The answer does not wait for the end of the line.
    assert_eq!(session.next()["error"]["code"], INVALID_REQUEST);
    // Whoever kept the line would need many times what the server may.
    (5..128).for_each(|_| session.send_bytes(&mebibyte));
    session.send_bytes(b"\n");
    session.is_alive_and_quiet();
    let status = std::fs::read_to_string(format!("/proc/{}/status", session.child.id()));
    let status = status.expect("the server is alive");
    let kib = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        number.expect(name).trim().parse().expect("a number")
    };
    // Without the pages of the program's own file: how many are mapped at once is the system's choice, and a build without
    // optimisation has 50 MB of them.
    let peak_kib = kib("VmHWM:") - kib("RssFile:");
    eprintln!("peak of its own memory: {peak_kib} KiB");
    assert!(peak_kib < 16 << 10, "{peak_kib} KiB");
}
