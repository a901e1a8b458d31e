//! An MCP client that keeps every line it was sent and waits for the one it needs.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::sync::mpsc::RecvTimeoutError;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::program::Home;

/// Longer than any answer takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Session {
    pub child: Child,
    input: Option<ChildStdin>,
    lines: mpsc::Receiver<String>,
    early: Vec<Value>,
    log: Option<thread::JoinHandle<String>>,
    calls: u64,
    /// The store, where it is nobody else's.
    _home: Option<Home>,
}

/// Where cargo puts what it builds for the tests: beside the test program's folder.
pub fn probe_server() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let profile = program.parent().and_then(|deps| deps.parent()).unwrap();
    let name = format!("probe_server{}", std::env::consts::EXE_SUFFIX);
    profile.join("examples").join(name)
}

/// The probe server on the store of `home`.
pub fn probe(home: &Home) -> Command {
    let server = probe_server();
    assert!(
        server.exists(),
        "{} is missing: `cargo test` builds it, `cargo test --test dialects` alone does not; run \
         `cargo build --example probe_server`",
        server.display()
    );
    let mut command = Command::new(server);
    home.surround(&mut command);
    command.arg(home.store());
    command
}

/// `memdir mcp` on the store of `home`.
pub fn memdir(home: &Home) -> Command {
    home.command(&["mcp"])
}

/// What a request of revision 2026-07-28 has in its parameters.
pub fn meta() -> Value {
    json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "new-client", "version": "3"},
    }})
}

impl Session {
    /// Starts the server with the noisiest log there is: none of it may get out.
    pub fn start(server: fn(&Home) -> Command) -> Session {
        Session::start_with_log(server, "trace")
    }

    pub fn start_with_log(server: fn(&Home) -> Command, level: &str) -> Session {
        let home = Home::in_folder("the server itself is at the other end of the pipes");
        let mut session = Session::of(server(&home).env("RUST_LOG", level));
        session._home = Some(home);
        session
    }

    /// Starts the server and opens a session of the old era.
    pub fn open(server: fn(&Home) -> Command) -> Session {
        let mut session = Session::start(server);
        session.initialize("2025-06-18");
        session
    }

    /// Opens a session of `memdir mcp` on the store of `home`.
    pub fn on(home: &Home) -> Session {
        let mut session = Session::of(&mut memdir(home));
        session.initialize("2025-11-25");
        session
    }

    /// Opens a session of a server that is started by `command`.
    pub fn open_on(mut command: Command) -> Session {
        Session::open_on_ref(&mut command)
    }

    /// The same.
    pub fn open_on_ref(command: &mut Command) -> Session {
        let mut session = Session::of(command);
        session.initialize("2025-11-25");
        session
    }

    /// Opens a session of `memdir mcp` on an empty store of its own.
    pub fn alone() -> Session {
        let home = Home::new();
        let mut session = Session::on(&home);
        session._home = Some(home);
        session
    }

    /// Starts `command`, without opening a session.
    pub fn of(command: &mut Command) -> Session {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = child.stdout.take().expect("stdout is piped");
        let mut errors = child.stderr.take().expect("stderr is piped");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines() {
                let line = line.expect("stdout is UTF-8");
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let log = thread::spawn(move || {
            let mut log = Vec::new();
            errors.read_to_end(&mut log).expect("stderr can be read");
            String::from_utf8_lossy(&log).into_owned()
        });
        Session {
            input: child.stdin.take(),
            child,
            lines,
            early: Vec::new(),
            log: Some(log),
            calls: 0,
            _home: None,
        }
    }

    pub fn initialize(&mut self, version: &str) -> Value {
        self.send(
            json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "old-client", "version": "1.2"},
            }}),
        );
        let answer = self.answer("init");
        self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    pub fn send(&mut self, message: Value) {
        self.send_line(message.to_string().as_bytes());
    }

    pub fn send_line(&mut self, line: &[u8]) {
        self.send_bytes(line);
        self.send_bytes(b"\n");
    }

    pub fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input is open");
        input.write_all(bytes).expect("the server reads");
        input.flush().expect("the server reads");
    }

    /// Sends a request of the old era, without waiting.
    pub fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id = id.into();
        self.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    /// Sends a call of the old era, without waiting.
    pub fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        self.request(
            id,
            "tools/call",
            json!({"name": tool, "arguments": arguments}),
        );
    }

    /// Sends a request and waits for its result.
    #[track_caller]
    pub fn result(&mut self, id: &str, method: &str, params: Value) -> Value {
        self.request(id, method, params);
        let mut answer = self.answer(id);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    /// Calls a tool and waits for its result.
    #[track_caller]
    pub fn tool(&mut self, tool: &str, arguments: Value) -> Value {
        self.calls += 1;
        self.call(self.calls, tool, arguments);
        let mut answer = self.answer(self.calls);
        assert!(answer["error"].is_null(), "{answer}");
        answer["result"].take()
    }

    /// Waits for the answer with this id; others are kept for later.
    #[track_caller]
    pub fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        if let Some(index) = self.early.iter().position(|answer| answer["id"] == id) {
            return self.early.remove(index);
        }
        loop {
            let answer = self.next();
            if answer["id"] == id {
                return answer;
            }
            self.early.push(answer);
        }
    }

    /// Waits for the next answer, whatever its id.
    #[track_caller]
    pub fn next(&mut self) -> Value {
        message(&self.line())
    }

    /// Waits for the next line, byte for byte.
    #[track_caller]
    pub fn line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("an answer comes")
    }

    /// Shows that the server is alive and has nothing more to say before this.
    #[track_caller]
    pub fn is_alive_and_quiet(&mut self) {
        self.request("alive?", "ping", json!({}));
        let answer = self.next();
        assert_eq!(
            answer,
            json!({"jsonrpc": "2.0", "id": "alive?", "result": {}})
        );
    }

    pub fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for the process to end; tells how.
    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        // The reader of stdout hangs up when the process has closed it.
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.early.push(message(&line)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the process does not end"),
            }
        }
        self.child.wait().expect("the process ends")
    }

    /// The first of the messages that came beside an answer and is meant.
    pub fn take_early(&mut self, is_meant: impl Fn(&Value) -> bool) -> Option<Value> {
        let index = self.early.iter().position(is_meant)?;
        Some(self.early.remove(index))
    }

    /// What came and was not asked for by `answer`.
    pub fn rest(&self) -> &[Value] {
        &self.early
    }

    /// Ends the session and returns what was written to stderr.
    pub fn log(mut self) -> String {
        self.close_input();
        self.wait();
        let log = self.log.take().expect("the log is read once");
        log.join().expect("the log is read")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Already gone, in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Each line on stdout must be JSON-RPC, in all tests.
#[track_caller]
fn message(line: &str) -> Value {
    let message: Value = serde_json::from_str(line).expect("stdout carries JSON only");
    assert_eq!(message["jsonrpc"], "2.0", "not JSON-RPC: {line}");
    message
}
