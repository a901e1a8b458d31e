//! `memdir open`: the page of a store in the browser, at a server that runs or at one that begins.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use clap::Parser;
use serde_json::json;

use crate::cli::args::serve::{Open, Serve};
use crate::cli::args::{Args, Command};
use crate::cli::serving::{page, serve};
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::Engine;
use crate::http::tokens::Rights;
use crate::http::{Address, NOTE, Serving};

/// Runs `memdir open`.
pub fn open(context: &mut Context, command: &Open) -> Result<Outcome, Failure> {
    let rights = |engine: &Engine| match engine.live.is_read_only() {
        true => Rights::ReadOnly,
        false => Rights::ReadWrite,
    };
    let id = command.id.as_deref();
    let is_served = {
        let engine = context.engine()?;
        let names = crate::http::noted(&engine.live.state().join(NOTE));
        let is_served = names.iter().any(|name| page::is_address(name));
        if is_served {
            let address = page::address_of(&engine, names.iter(), rights(&engine), id)?;
            show(context, command, &engine, &address)?;
        }
        is_served
    };
    if is_served {
        return Ok(Outcome::Done);
    }
    let mut failed = None;
    let ended = serve::serve_then(
        context,
        &usual_server()?,
        &mut |context, engine, serving: &Serving| {
            let shown = page::address_of(engine, serving.names.iter(), rights(engine), id)
                .and_then(|address| show(context, command, engine, &address));
            match shown {
                Ok(()) => context.output.note("serving until Ctrl-C"),
                Err(failure) => failed = Some(failure),
            }
        },
    );
    match failed {
        Some(failure) => Err(failure),
        None => ended,
    }
}

/// Returns `memdir serve` without options, at the usual port or at a free one.
fn usual_server() -> Result<Serve, Failure> {
    let parsed = Args::try_parse_from(["memdir", "serve"]);
    let parsed = parsed.map_err(|error| Failure::new(error.to_string()))?;
    let Some(Command::Serve(mut serve)) = parsed.command else {
        return Err(Failure::new("cannot begin a server"));
    };
    let usual: SocketAddr = (Ipv4Addr::LOCALHOST, serve::PORT).into();
    // Another store's server may be there.
    if TcpListener::bind(usual).is_err() {
        serve.listen = vec![Address::Network((Ipv4Addr::LOCALHOST, 0).into())];
    }
    Ok(*serve)
}

/// Prints the address, and opens it in the browser unless it is only to be printed.
fn show(
    context: &mut Context,
    command: &Open,
    engine: &Engine,
    address: &str,
) -> Result<(), Failure> {
    let output = &mut context.output;
    match output.json {
        true => output.json(&json!({"address": address}))?,
        false => output.line(address)?,
    }
    output.flush()?;
    if command.print {
        return Ok(());
    }
    match page::open_browser(engine.live.state(), address) {
        Ok(()) => output.note("opened in the browser; the address is valid once"),
        Err(error) => output.note(format!(
            "no browser could be opened ({error}): open the address yourself"
        )),
    }
    Ok(())
}
