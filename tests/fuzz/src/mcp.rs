//! Lines that a client sends.

use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use arbitrary::Arbitrary;
use serde_json::{Value, json};

/// Anything up to a line end; made of a valid request or not.
#[derive(Arbitrary)]
pub struct McpLine<'a>(&'a [u8]);

impl fmt::Debug for McpLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.escape_ascii().to_string())
    }
}

struct Server {
    _child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
    _store: tempfile::TempDir,
}

/// After any line the server is alive, and has written nothing but JSON-RPC.
pub fn mcp_line(input: McpLine<'_>) {
    static SERVER: Mutex<Option<Server>> = Mutex::new(None);
    let mut server = SERVER.lock().expect("one call at a time");
    let server = server.get_or_insert_with(start);
    server.number += 1;
    let number = format!("ping {}", server.number);
    let ping = json!({"jsonrpc": "2.0", "id": number, "method": "ping"});
    let lines = [input.0, b"\n", ping.to_string().as_bytes(), b"\n"].concat();
    server.input.write_all(&lines).expect("the server reads");
    loop {
        let mut line = String::new();
        let read = server.output.read_line(&mut line);
        assert!(read.is_ok_and(|bytes| bytes > 0), "the server has ended");
        let message: Value = serde_json::from_str(&line).expect("a line of JSON");
        assert_eq!(message["jsonrpc"], "2.0");
        if message["id"] == number {
            return;
        }
    }
}

fn start() -> Server {
    let program = std::env::var_os("MEMDIR_PROGRAM").expect("MEMDIR_PROGRAM names the program");
    let store = tempfile::tempdir().expect("a folder can be made");
    std::fs::create_dir(store.path().join("files")).expect("a folder can be made");
    let mut child = Command::new(program)
        .arg("--store")
        .arg(store.path())
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    Server {
        input: child.stdin.take().expect("it is piped"),
        output: BufReader::new(child.stdout.take().expect("it is piped")),
        _child: child,
        number: 0,
        _store: store,
    }
}
