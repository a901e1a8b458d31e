//! A server of probe tools for the tests of `mcp`: each tool shows one behaviour of the protocol.
//!
//! An example to cargo, so that `cargo test` builds it and no product contains it.

#![expect(
    clippy::print_stderr,
    reason = "this program has no other way to say why it ended"
)]

use std::collections::HashSet;
use std::io::Read;
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::{Arc, Condvar, LazyLock, Mutex};

use memdir::clock::SystemClock;
use memdir::dialect::{
    About, Arguments, Call, Dialect, Hints, JsonObject, Parameter, Reply, Tool, ToolError,
};
use memdir::engine::{Engine, Options};
use memdir::mcp::Served;
use serde_json::json;

/// Serves the probe tools; the one argument is the folder of a store, which no tool uses.
fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .init();
    let store = std::env::args_os().nth(1).expect("a store is named");
    let options = Options::new(store);
    let engine = Engine::open(options, Box::new(SystemClock)).expect("the store opens");
    let served = Served {
        stores: std::sync::Arc::default(),
        engine: Arc::new(engine),
        dialect: Arc::new(Probe),
        preferences: Arc::default(),
        session: memdir::mcp::Session::default(),
        notice: Default::default(),
    };
    match memdir::mcp::serve_stdio(served) {
        // A probe that still waits must not keep the process.
        Ok(()) => std::process::exit(0),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

struct Probe;

impl Dialect for Probe {
    fn about(&self) -> About {
        About {
            name: "probe",
            title: "Probe",
            version: "9.8.7",
            instructions: "Call `echo`.",
        }
    }

    fn tools(&self) -> &[Tool] {
        TOOLS
    }
}

type Run = fn(&Call<'_>, &Arguments) -> Result<Reply, ToolError>;

const fn tool(name: &'static str, run: Run) -> Tool {
    Tool {
        name,
        description: "A probe.",
        parameters: &[Parameter::REST],
        result: Some(any_object),
        hints: Hints {
            title: "A probe",
            read_only: true,
            destructive: false,
            idempotent: true,
            at_hand: true,
        },
        is_short: false,
        run,
        refuse: |error| Reply::text(error.message()).failed(),
    }
}

const TOOLS: &[Tool] = &[
    tool("zeta", |_, _| reply(json!({}), false)),
    tool("echo", |_, arguments| {
        reply(json!(arguments.values()), false)
    }),
    tool("fail", |_, _| {
        reply(json!({"error": "no such memory"}), true)
    }),
    tool("fail_bare", |_, _| reply(json!({}), true)),
    tool("whoami", |call, _| {
        let caller = call.caller;
        reply(
            json!({"client": caller.client, "version": caller.version}),
            false,
        )
    }),
    tool("panic", |_, _| panic!("the probe panicked on purpose")),
    tool("hold", hold),
    tool("open", open),
    tool("visit", visit),
];

/// What `hold` waits for and `open` changes.
#[derive(Default)]
struct Gates {
    open: HashSet<String>,
    held: u64,
    most_held: u64,
}

static GATES: LazyLock<Mutex<Gates>> = LazyLock::new(Mutex::default);
static CHANGED: Condvar = Condvar::new();

/// Waits until `open` was called for the same gate, or until so many wait.
fn hold(_: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let arguments = arguments.values();
    let gate = arguments["gate"].as_str().unwrap_or_default().to_owned();
    let party = arguments.get("party").and_then(|party| party.as_u64());
    let mut gates = GATES.lock().expect("no holder panics");
    gates.held += 1;
    gates.most_held = gates.most_held.max(gates.held);
    if party.is_some_and(|party| gates.held >= party) {
        gates.open.insert(gate.clone());
    }
    CHANGED.notify_all();
    gates = CHANGED
        .wait_while(gates, |gates| !gates.open.contains(&gate))
        .expect("no holder panics");
    gates.held -= 1;
    reply(json!({"most": gates.most_held}), false)
}

fn open(_: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let arguments = arguments.values();
    let gate = arguments["gate"].as_str().unwrap_or_default().to_owned();
    let mut gates = GATES.lock().expect("no holder panics");
    let was_closed = gates.open.insert(gate);
    CHANGED.notify_all();
    reply(json!({"was_closed": was_closed}), false)
}

/// Calls on the test and stays until it is shown the door: the one gate that opens from outside.
fn visit(_: &Call<'_>, arguments: &Arguments) -> Result<Reply, ToolError> {
    let arguments = arguments.values();
    let host = arguments["host"].as_str().expect("a host is named");
    let mut door = TcpStream::connect(host).expect("the test is at home");
    let _ = door.read(&mut [0]); // Its end is what is waited for.
    reply(json!({}), false)
}

fn reply(value: serde_json::Value, is_error: bool) -> Result<Reply, ToolError> {
    let text = format!("text of {value}");
    let serde_json::Value::Object(structured) = value else {
        unreachable!("probes reply with objects")
    };
    Ok(Reply {
        structured,
        text,
        is_error,
    })
}

fn any_object() -> JsonObject {
    JsonObject::from_iter([("type".to_owned(), json!("object"))])
}
