//! A real server on a store of a test, and requests written by hand: what is refused must be seen
//! as it is sent, not as a library would send it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::TestStore;

/// Longer than anything takes; what waits so long waits in vain.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, killed with the value.
pub struct Server {
    pub store: TestStore,
    pub child: Child,
    /// `127.0.0.1:PORT`.
    pub address: String,
    log: Arc<Log>,
}

#[derive(Default)]
struct Log {
    text: Mutex<String>,
    grown: Condvar,
}

/// What a request was answered with.
#[derive(Debug)]
pub struct Answered {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Server {
    /// Serves an empty store without git.
    pub fn start(arguments: &[&str]) -> Server {
        Server::on(TestStore::of_folder(), arguments)
    }

    /// Serves `store`.
    pub fn on(store: TestStore, arguments: &[&str]) -> Server {
        Server::with(store, arguments, &[])
    }

    /// The same, with variables.
    pub fn with(store: TestStore, arguments: &[&str], variables: &[(&str, &str)]) -> Server {
        let mut command = memdir(store.root());
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .envs(variables.iter().copied());
        Server::run(store, &mut command)
    }

    /// Starts the server that `command` is, and that belongs to `store`.
    pub fn run(store: TestStore, command: &mut Command) -> Server {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Log::default());
        let (lines, kept) = (child.stderr.take().unwrap(), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in BufReader::new(lines).lines() {
                let Ok(line) = line else { return };
                let mut text = kept.text.lock().unwrap();
                text.push_str(&line);
                text.push('\n');
                kept.grown.notify_all();
            }
        });
        let mut server = Server {
            store,
            child,
            address: String::new(),
            log,
        };
        // Other addresses may be named before.
        let text = server.wait_for_log(" at http://127.0.0.1:");
        let (_, rest) = text.split_once(" at http://").unwrap();
        let address = rest.split(|c: char| c.is_whitespace()).next().unwrap();
        server.address = address.to_owned();
        server
    }

    /// Everything that was logged, once it holds `text`.
    pub fn wait_for_log(&self, text: &str) -> String {
        self.wait_for_logs(text, 1)
    }

    /// The same, once it holds it so often.
    pub fn wait_for_logs(&self, text: &str, times: usize) -> String {
        let logged = self.log.text.lock().unwrap();
        let lacks = |logged: &mut String| logged.matches(text).count() < times;
        let (logged, waited) = self
            .log
            .grown
            .wait_timeout_while(logged, PATIENCE, lacks)
            .unwrap();
        assert!(!waited.timed_out(), "no `{text}` in: {logged}");
        logged.clone()
    }

    /// What `memdir token ARGUMENTS` prints.
    pub fn token(&self, arguments: &[&str]) -> String {
        token(self.store.root(), arguments)
    }

    /// Sends `request` as it is, and reads the answer to its end.
    pub fn raw(&self, request: &[u8]) -> Answered {
        let mut stream = self.connect();
        // What is refused before its end may be closed while it is written.
        let _ = stream.write_all(request);
        answer(&mut stream)
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// A request with these headers beside `Host`; `body` comes with its length.
    pub fn ask(&self, method: &str, path: &str, headers: &[&str], body: &[u8]) -> Answered {
        self.raw(&request(method, path, &self.address, headers, body))
    }

    /// The same with JSON and a token.
    pub fn json(&self, method: &str, path: &str, token: &str, body: &Value) -> Answered {
        let bearer = format!("Authorization: Bearer {token}");
        let headers = [bearer.as_str(), "Content-Type: application/json"];
        self.ask(method, path, &headers, body.to_string().as_bytes())
    }

    pub fn get(&self, path: &str, token: &str) -> Answered {
        let bearer = format!("Authorization: Bearer {token}");
        self.ask("GET", path, &[&bearer], b"")
    }

    /// Calls a tool over MCP without a session.
    pub fn tool(&self, token: &str, name: &str, arguments: &Value) -> Answered {
        self.mcp(
            token,
            &[&format!("Mcp-Name: {name}")],
            &json!({
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/call",
                "params": {"name": name, "arguments": arguments, "_meta": {
                    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {},
                    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
                }},
            }),
        )
    }

    /// Sends one message of revision 2026-07-28.
    pub fn mcp(&self, token: &str, headers: &[&str], message: &Value) -> Answered {
        let bearer = format!("Authorization: Bearer {token}");
        let method = format!("Mcp-Method: {}", message["method"].as_str().unwrap());
        let mut all = vec![
            bearer.as_str(),
            "Content-Type: application/json",
            "Accept: application/json, text/event-stream",
            "MCP-Protocol-Version: 2026-07-28",
            &method,
        ];
        all.extend(headers);
        self.ask("POST", "/mcp", &all, message.to_string().as_bytes())
    }

    /// Asks it to end, and waits until it has: its exit code.
    pub fn end(&mut self) -> Option<i32> {
        self.signal("TERM");
        self.child.wait().unwrap().code()
    }

    pub fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let signal = format!("-{name}");
        let done = Command::new("kill").args([&signal, &id]).status();
        assert!(done.unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill(); // It may have ended.
        let _ = self.child.wait();
    }
}

/// The program, on the store at `root`, without this user's settings.
pub fn memdir(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_memdir"));
    command
        .env_remove("MEMDIR_LOG")
        .env("MEMDIR_STORE", root)
        .env("MEMDIR_GIT", "false")
        .env("MEMDIR_EMBEDDING", "off")
        // Its socket would lie in the home of whoever runs the tests.
        .env("MEMDIR_RELAY", "off")
        .env("XDG_CONFIG_HOME", root.join(".memdir/none"));
    command
}

/// What `memdir token ARGUMENTS` prints for the store at `root`.
pub fn token(root: &Path, arguments: &[&str]) -> String {
    let output = memdir(root).arg("token").args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The bytes of a request.
pub fn request(method: &str, path: &str, host: &str, headers: &[&str], body: &[u8]) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    text.push_str("\r\n");
    let mut bytes = text.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Reads an answer until the connection ends.
pub fn answer(stream: &mut TcpStream) -> Answered {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    let end = bytes.windows(4).position(|it| it == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {read:?} {bytes:?}"));
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split_whitespace().nth(1).unwrap().parse().unwrap();
    let mut body = bytes.split_off(end + 4);
    if head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        body = joined(&body);
    }
    Answered { status, head, body }
}

/// What chunks hold.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = chunks.windows(2).position(|it| it == b"\r\n") {
        let length = std::str::from_utf8(&chunks[..end]).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            break;
        }
        body.extend_from_slice(&chunks[end + 2..end + 2 + length]);
        chunks = &chunks[end + 4 + length..];
    }
    body
}

impl Answered {
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1);
        let mut headers = lines.filter_map(|line| line.split_once(": "));
        let named = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value)
    }

    /// The message in an answer of MCP, be it JSON or an event.
    pub fn message(&self) -> Value {
        let text = self.text();
        let mut data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        match data.find(|data| data.starts_with('{')) {
            Some(data) => serde_json::from_str(data).unwrap(),
            None => self.value(),
        }
    }
}
