//! How a session ends.
//!
//! That it ends at all is the point: a client that has to wait kills the server. `Session::wait`
//! fails where a process stays.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::program::Home;
use crate::support::session::{Session, memdir, probe};

#[test]
fn the_end_of_input_ends_the_process() {
    let mut session = Session::open(memdir);
    session.close_input();
    assert!(session.wait().success());
}

#[test]
fn no_input_at_all_is_a_session_too() {
    let mut session = Session::start(memdir);
    session.close_input();
    assert!(session.wait().success());
    assert_eq!(session.rest(), &[] as &[Value]);
}

#[test]
fn calls_pending_at_the_end_of_input_are_answered() {
    let mut session = Session::open(probe);
    // Held until the last call, which is read last, opens the gate.
    (0..6).for_each(|id| session.call(id, "hold", json!({"gate": "a"})));
    session.call("opener", "open", json!({"gate": "a"}));
    session.close_input();
    assert!(session.wait().success());
    assert_eq!(session.rest().len(), 7);
}

#[test]
fn what_was_to_be_remembered_at_the_end_of_input_is_on_disk() {
    let home = Home::new();
    let mut session = Session::on(&home);
    let memory = json!({"agent": "a", "user": "u", "topics": ["t"], "content": "The last word."});
    (0..5).for_each(|id| session.call(id, "remember", memory.clone()));
    session.close_input();
    assert!(session.wait().success());
    assert_eq!(session.rest().len(), 5);
    assert_eq!(home.names().len(), 5);
}

#[test]
fn a_message_without_its_line_feed_counts_at_the_end() {
    let mut session = Session::start(memdir);
    session.send_bytes(br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    session.close_input();
    session.wait();
    assert_eq!(
        session.rest(),
        &[json!({"jsonrpc": "2.0", "id": 1, "result": {}})]
    );
}

#[test]
fn a_tool_that_never_ends_does_not_keep_the_process() {
    let mut session = Session::open(probe);
    session.call("stuck", "hold", json!({"gate": "never"}));
    session.call("done", "zeta", json!({}));
    session.answer("done");
    session.close_input();
    assert!(session.wait().success());
    assert_eq!(session.rest(), &[] as &[Value]);
}

#[test]
fn a_client_that_does_not_read_cannot_hold_the_process() {
    let home = Home::in_folder("the server itself is at the other end of the pipes");
    let mut child = probe(&home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let mut input = child.stdin.take().expect("stdin is piped");
    // More answers than the pipe holds.
    let text = "x".repeat(200_000);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "echo", "arguments": {"text": text}}});
    writeln!(input, "{call}").expect("the server reads");
    drop(input);
    // Its output stays open, and unread.
    let output = child.stdout.take();
    assert!(child.wait().expect("the process ends").success());
    drop(output);
}

#[test]
fn a_closed_output_ends_the_process_without_a_panic() {
    let home = Home::new();
    let mut child = memdir(&home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    drop(child.stdout.take());
    // Taken, so that waiting does not close it: it is the failed answer that ends the server.
    let mut input = child.stdin.take().expect("stdin is piped");
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    writeln!(input, "{ping}").expect("the server reads");
    let output = child.wait_with_output().expect("the process ends");
    drop(input);
    assert!(output.status.success());
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(!log.contains("panicked"), "{log}");
}

#[test]
#[cfg(target_os = "linux")]
fn an_output_that_cannot_be_written_is_an_error() {
    let home = Home::in_folder("looks at the files of a folder");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let mut child = memdir(&home)
        .stdin(Stdio::piped())
        .stdout(full.expect("Linux has this device"))
        .stderr(Stdio::piped())
        .spawn()
        .expect("the server starts");
    let mut input = child.stdin.take().expect("stdin is piped");
    writeln!(input, "nonsense").expect("the server reads");
    let output = child.wait_with_output().expect("the process ends");
    drop(input);
    assert_eq!(output.status.code(), Some(2));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("cannot write to standard output"), "{log}");
}

#[test]
#[cfg(unix)]
fn an_input_that_cannot_be_read_is_an_error() {
    let home = Home::in_folder("looks at the files of a folder");
    let folder = std::fs::File::open(home.root()).expect("the folder exists");
    let output = memdir(&home)
        .stdin(folder)
        .output()
        .expect("the server starts");
    assert_eq!(output.status.code(), Some(2));
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(log.contains("cannot read from standard input"), "{log}");
}
