//! Check of the server that a client starts: its tools, and the time until they are named.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cli::doctor::check::Check;
use crate::cli::wiring::context::Context;
use crate::cli::wiring::service;
use crate::engine::Engine;

const NAME: &str = "server";

/// Time within which clients are to have the tools: some give up after a few seconds.
const SOON: Duration = Duration::from_secs(1);

/// Time after which the server is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Starts a server of the store in use as a client does, and asks for its tools.
pub fn server(context: &Context, engine: &Engine) -> Check {
    let service = service::installed(&context.config, &context.environment);
    let installed = match &service {
        Some(service) if !service.runs => {
            return Check::wrong(
                NAME,
                format!("the service {} is installed and does not run", service.name),
                "`memdir serve --install-service` starts it again, `--uninstall-service` removes it.",
            );
        }
        Some(service) => format!("; the service {} runs", service.name),
        None => String::new(),
    };
    let served = service::served(engine);
    let installed = match served.is_empty() {
        true => installed,
        false => format!("{installed}; a server runs at {}", served.join(" and ")),
    };
    let hint = "Run `memdir mcp` in a terminal: what it says on standard error is the reason.";
    match tools(context) {
        Ok((tools, taken)) if taken > SOON => Check::wrong(
            NAME,
            format!("{tools} tools, only after {} ms", taken.as_millis()),
            "`memdir reindex` brings the index up to date; the machine may be busy.",
        ),
        Ok((0, _)) => Check::wrong(NAME, "it has no tools", hint),
        Ok((tools, taken)) => Check::well(
            NAME,
            format!("{tools} tools after {} ms{installed}", taken.as_millis()),
        ),
        Err(why) => Check::wrong(NAME, why, hint),
    }
}

/// Returns the number of tools, and the time from the start until they were named.
fn tools(context: &Context) -> Result<(usize, Duration), String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot be found: {error}"))?;
    let begun = Instant::now();
    let child = Command::new(program)
        .arg("--store")
        .arg(&context.config.store.value)
        .arg("mcp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut server = Server::of(child.map_err(|error| format!("cannot be started: {error}"))?);
    let client = json!({"name": "memdir doctor", "version": env!("CARGO_PKG_VERSION")});
    let hello = json!({
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
    });
    server.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}))?;
    answer(&server.answers, 1)?;
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
    server.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}))?;
    let listed = answer(&server.answers, 2)?;
    let tools = listed["tools"].as_array().map_or(0, Vec::len);
    Ok((tools, begun.elapsed()))
}

/// A server that ends with this value.
struct Server {
    child: Child,
    /// Lines of its output as they come; closed when it ends.
    answers: mpsc::Receiver<String>,
}

impl Server {
    fn of(mut child: Child) -> Server {
        let (lines, answers) = mpsc::channel();
        let output = child.stdout.take().expect("it is a pipe");
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if lines.send(line).is_err() {
                    break;
                }
            }
        });
        Server { child, answers }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let input = self.child.stdin.as_mut().expect("it is a pipe");
        let sent = input
            .write_all(format!("{message}\n").as_bytes())
            .and_then(|()| input.flush());
        sent.map_err(|error| format!("ended before it answered: {error}"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // With its input closed it ends by itself, and its output with it; one that does not is ended.
        drop(self.child.stdin.take());
        let begun = Instant::now();
        loop {
            let left = SOON.saturating_sub(begun.elapsed());
            match self.answers.recv_timeout(left) {
                Ok(_) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    break;
                }
            }
        }
        let _ = self.child.wait();
    }
}

/// Waits for the result of the request `id`.
fn answer(answers: &mpsc::Receiver<String>, id: u64) -> Result<Value, String> {
    let begun = Instant::now();
    loop {
        let left = PATIENCE.saturating_sub(begun.elapsed());
        let line = answers.recv_timeout(left).map_err(|error| match error {
            mpsc::RecvTimeoutError::Timeout => {
                format!("no answer within {} s", PATIENCE.as_secs())
            }
            mpsc::RecvTimeoutError::Disconnected => "ended before it answered".to_owned(),
        })?;
        let mut message: Value = serde_json::from_str(&line)
            .map_err(|_| format!("standard output holds what is no message: {line}"))?;
        if message["id"] != json!(id) {
            continue;
        }
        return match message.get("error") {
            Some(error) => Err(format!("refused: {error}")),
            None => Ok(message["result"].take()),
        };
    }
}
