//! Calls of tools: results, faults, many at once, cancelled ones.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::support::session::{Session, probe};

#[test]
fn a_reply_becomes_text_and_structured_content() {
    let mut session = Session::open(probe);
    session.call(1, "echo", json!({"a": [1, "ü"], "b": null}));
    let expected = json!({
        "content": [{"type": "text", "text": "text of {\"a\":[1,\"ü\"],\"b\":null}"}],
        "structuredContent": {"a": [1, "ü"], "b": null},
    });
    assert_eq!(session.answer(1)["result"], expected);
}

#[test]
fn an_error_of_a_tool_is_a_result() {
    let mut session = Session::open(probe);
    session.call(1, "fail", json!({}));
    let expected = json!({
        "content": [{"type": "text", "text": "text of {\"error\":\"no such memory\"}"}],
        "structuredContent": {"error": "no such memory"},
        "isError": true,
    });
    assert_eq!(session.answer(1)["result"], expected);
    session.call(2, "fail_bare", json!({}));
    let bare = json!({"content": [{"type": "text", "text": "text of {}"}], "isError": true});
    assert_eq!(session.answer(2)["result"], bare);
}

#[test]
fn an_unknown_tool_is_told_the_names() {
    let mut session = Session::open(probe);
    session.call(1, "remeber", json!({}));
    let error = session.answer(1)["error"].take();
    assert_eq!(error["code"], -32602);
    let message = "unknown tool `remeber`, the tools are: \
        zeta, echo, fail, fail_bare, whoami, panic, hold, open, visit";
    assert_eq!(error["message"], message);
    session.call(2, &"x".repeat(100_000), json!({}));
    let message = session.answer(2)["error"]["message"].take();
    assert!(message.as_str().is_some_and(|message| message.len() < 200));
}

#[test]
fn arguments_that_are_no_object_count_as_none() {
    check_arguments(json!({"name": "echo"}));
    check_arguments(json!({"name": "echo", "arguments": null}));
    check_arguments(json!({"name": "echo", "arguments": []}));
    check_arguments(json!({"name": "echo", "arguments": "{\"a\":1}"}));
    check_arguments(json!({"name": "echo", "arguments": 5}));
    check_arguments(json!({"name": "echo", "arguments": {}, "task": {"ttl": 1}}));
}

#[track_caller]
fn check_arguments(params: Value) {
    let mut session = Session::open(probe);
    session.request(1, "tools/call", params);
    let answer = session.answer(1);
    assert_eq!(answer["result"]["structuredContent"], json!({}));
}

#[test]
fn a_call_without_a_name_has_invalid_params() {
    let mut session = Session::open(probe);
    session.request(1, "tools/call", json!({}));
    assert_eq!(session.answer(1)["error"]["code"], -32602);
    session.request(2, "tools/call", json!({"name": 5}));
    assert_eq!(session.answer(2)["error"]["code"], -32602);
    session.request(3, "tools/call", json!(["echo"]));
    assert_eq!(session.answer(3)["error"]["code"], -32600);
    session.send(json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call"}));
    assert_eq!(session.answer(4)["error"]["code"], -32602);
    session.is_alive_and_quiet();
}

#[test]
fn a_panic_costs_one_call_and_shows_on_stderr_only() {
    let mut session = Session::open(probe);
    session.call(1, "panic", json!({}));
    let result = session.answer(1)["result"].take();
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(text.starts_with("internal error, `panic` did not finish: please report"));
    assert!(!result.to_string().contains("on purpose"));
    session.is_alive_and_quiet();
    assert!(session.log().contains("the probe panicked on purpose"));
}

#[test]
fn a_slow_call_does_not_block_a_quick_one() {
    let mut session = Session::open(probe);
    session.call("slow", "hold", json!({"gate": "a"}));
    session.call("quick", "zeta", json!({}));
    assert!(session.next()["id"] == "quick");
    session.is_alive_and_quiet();
    session.call("opener", "open", json!({"gate": "a"}));
    assert!(session.answer("slow")["result"].is_object());
    assert!(session.answer("opener")["result"].is_object());
}

#[test]
fn eight_calls_run_at_once_and_not_more() {
    let mut session = Session::open(probe);
    // The first eight let each other go; a ninth before would raise the peak.
    (0..16).for_each(|id| session.call(id, "hold", json!({"gate": "a", "party": 8})));
    let most: Vec<_> = (0..16)
        .map(|id| session.answer(id)["result"]["structuredContent"]["most"].take())
        .collect();
    assert_eq!(most, vec![json!(8); 16]);
}

#[test]
fn eight_slow_calls_leave_the_server_its_ears_and_voice() {
    let mut session = Session::open(probe);
    (0..8).for_each(|id| session.call(id, "hold", json!({"gate": "a", "party": 9})));
    session.request("l", "tools/list", json!({}));
    assert!(session.answer("l")["result"].is_object());
    session.send_line(b"nonsense");
    assert_eq!(session.next()["error"]["code"], -32700);
    session.is_alive_and_quiet();
}

#[test]
fn a_thousand_calls_are_all_answered() {
    let mut session = Session::start_with_log(probe, "warn");
    (0..1000).for_each(|id| session.call(id, "echo", json!({"id": id})));
    (0..1000).for_each(|id| {
        let answer = session.answer(id);
        assert_eq!(answer["result"]["structuredContent"]["id"], id);
    });
}

#[test]
fn a_cancelled_call_is_not_answered_and_harms_no_other() {
    let mut session = Session::open(probe);
    session.call("slow", "hold", json!({"gate": "a"}));
    session.send(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "slow", "reason": "too slow"}}),
    );
    session.send(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "never sent"}}),
    );
    session.call("opener", "open", json!({"gate": "a"}));
    assert_eq!(session.next()["id"], "opener");
    session.is_alive_and_quiet();
    session.close_input();
    session.wait();
    assert_eq!(session.rest(), &[] as &[Value]);
}

#[test]
fn a_call_cancelled_while_it_waits_is_not_run() {
    let home = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = home.local_addr().unwrap().to_string();
    let mut session = Session::open(probe);
    // Eight fill all places, so that the ninth has to wait.
    (0..8).for_each(|id| session.call(id, "visit", json!({"host": host})));
    let guests: Vec<_> = (0..8).map(|_| home.accept().unwrap()).collect();
    session.call("waiting", "open", json!({"gate": "a"}));
    session.send(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "waiting"}}),
    );
    session.is_alive_and_quiet();
    drop(guests);
    (0..8).for_each(|id| drop(session.answer(id)));
    session.call("later", "open", json!({"gate": "a"}));
    let later = session.answer("later")["result"].take();
    assert_eq!(later["structuredContent"]["was_closed"], true);
    assert_eq!(session.rest(), &[] as &[Value]);
}
