//! A server of the tools, resources and prompts that the protocol's conformance suite calls, behind
//! the very layers that `memdir serve` has: `conformance_server STORE`. With `--stdio` it answers on
//! standard input and output, as `memdir mcp` does.
//!
//! An example to cargo, so that `cargo test` builds it and no product contains it.

#![expect(
    clippy::print_stderr,
    reason = "this program has no other way to say where it listens, and why it ended"
)]

mod fixtures;
mod lists;
mod prompts;
mod tasks;
mod tools;

use std::process::ExitCode;
use std::sync::Arc;

use fixtures::{Fixtures, Shared};

use memdir::clock::SystemClock;
use memdir::engine::{Engine, Options};
use memdir::http::{Rate, Settings};
use memdir::mcp::{Gate, Served, Streamable};

fn main() -> ExitCode {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(tracing_subscriber::EnvFilter::from_default_env())
        .init();
    let mut arguments = std::env::args().skip(1);
    let store = arguments.next().expect("a store is named");
    let ended = match arguments.next().as_deref() {
        Some("--stdio") => {
            let shared = Arc::new(Shared::new(None));
            memdir::mcp::serve_stdio_with(Fixtures::of(shared)).map_err(|error| error.to_string())
        }
        _ => over_http(&store),
    };
    match ended {
        // A task that still runs must not keep the process.
        Ok(()) => std::process::exit(0),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// As `memdir serve --no-token --listen 127.0.0.1:0` has it: the suite can show no token.
fn over_http(store: &str) -> Result<(), String> {
    let engine = Engine::open(Options::new(store), Box::new(SystemClock));
    let engine = engine.map_err(|error| error.to_string())?;
    let state = engine.live.state().to_owned();
    let served = Served {
        stores: std::sync::Arc::default(),
        engine: Arc::new(engine),
        dialect: memdir::dialect::named("core").expect("there is a usual tool set"),
        preferences: Arc::default(),
        session: memdir::mcp::Session::default(),
        notice: Default::default(),
    };
    let rate = |a_second, burst| Rate { a_second, burst };
    let settings = Settings {
        addresses: vec!["127.0.0.1:0".parse().expect("this is an address")],
        hosts: Vec::new(),
        origins: Vec::new(),
        tokens: memdir::http::tokens::path(&state),
        needs_token: false,
        examine: std::sync::Arc::new(Vec::new),
        dialect: None,
        tls: None,
        reads: rate(50, 200),
        writes: rate(10, 40),
        owner_reads: rate(50, 200),
        owner_writes: rate(10, 40),
        drain: std::time::Duration::ZERO,
        mcp: mount,
    };
    let ended = memdir::http::serve(served, &settings, |serving| {
        eprintln!("serving {store} at {}", serving.names.join(" and "));
    });
    ended.map_err(|error| error.to_string())
}

/// The fixtures in the place of a tool set.
fn mount(_served: Served, gate: Arc<dyn Gate>, most_bytes: usize) -> Streamable {
    let shared = Arc::new(Shared::new(Some(gate)));
    Streamable::new(move || Fixtures::of(Arc::clone(&shared)), most_bytes)
}
