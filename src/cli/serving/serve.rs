//! `memdir serve` and `memdir token`: a store served over HTTP, and what opens it.

use std::io::IsTerminal;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::cli::args::serve::{Serve, Token as Command, TokenCommand};
use crate::cli::serving::health::DoctorRuns;
#[cfg(unix)]
use crate::cli::serving::relay;
use crate::cli::serving::{mcp, page, service};
use crate::cli::terminal::fail::Failure;
use crate::cli::wiring::context::{Context, Outcome};
use crate::engine::{Engine, EngineError};
use crate::files::Lock;
use crate::http::tokens::{Rights, Token, TokenError};
use crate::http::{Address, HttpError, Rate, Serving, Settings, tokens};
use crate::model::is_possible_time;

/// Default port of a server.
pub(super) const PORT: u16 = 9077;

/// Maximum number of calls of one client per second.
const READS_A_SECOND: u32 = 50;
const WRITES_A_SECOND: u32 = 10;

/// Maximum number of calls of one client at once after a pause.
const READS_AT_ONCE: u32 = 200;
const WRITES_AT_ONCE: u32 = 40;

/// Serves until the process is asked to end.
pub fn serve(context: &mut Context, command: &Serve) -> Result<Outcome, Failure> {
    serve_then(context, command, &mut |context, engine, serving| {
        tell(context, command, engine, serving);
    })
}

/// As [`serve`]; calls `begun` once, when requests are answered.
pub(super) fn serve_then(
    context: &mut Context,
    command: &Serve,
    begun: &mut dyn FnMut(&mut Context, &Engine, &Serving),
) -> Result<Outcome, Failure> {
    let now = context.now();
    // The dates of HTTP know no other years.
    if !is_possible_time(now) {
        return Err(EngineError::ClockIsWrong(now).into());
    }
    let addresses = addresses(command)?;
    if command.install_service || command.uninstall_service {
        return service::service(context, command);
    }
    // Before there are threads.
    crate::embed::limit_kept_memory();
    mcp::settle_namespace(context, &command.tool_set);
    let (served, background) = mcp::begin(context, &command.tool_set)?;
    #[cfg(unix)]
    let place = relay::place(context, &command.tool_set);
    let engine = std::sync::Arc::clone(&served.engine);
    let doctor = DoctorRuns::new();
    let folders = (engine.live.state(), engine.live.root());
    let settings = settings(context, command, addresses, folders, &doctor);
    let note = engine.live.state().join(crate::http::NOTE);
    let noted = begin_note(&note);
    #[cfg(unix)]
    let mut offered = Vec::new();
    #[cfg(unix)]
    let relayed = served.clone();
    let ended = crate::http::serve(served, &settings, |serving| {
        // Before it is said: who reads that finds it.
        if noted.is_some()
            && let Err(error) = crate::files::write_derived(&note, serving.written().as_bytes())
        {
            tracing::warn!("cannot note where this server listens: {error}");
        }
        #[cfg(unix)]
        {
            offered = relay::offer(context, place, relayed);
        }
        begun(context, &engine, serving);
        if let Err(error) = crate::service::tell_ready() {
            tracing::warn!("cannot tell the service manager that this server is ready: {error}");
        }
    });
    doctor.end();
    if noted.is_some() {
        let _ = crate::files::remove_derived(&note); // Whoever follows it finds nobody there.
    }
    #[cfg(unix)]
    drop(offered);
    drop(noted);
    drop(background);
    crate::git::end_children();
    match ended {
        // As for `mcp`: a call that still runs must not keep the process.
        Ok(()) => std::process::exit(0),
        Err(error) => Err(failure(error)),
    }
}

/// Returns the settings of a server at `addresses`, whose tokens lie in the folder `state`; `doctor` examines `root`.
pub(super) fn settings(
    context: &Context,
    command: &Serve,
    addresses: Vec<Address>,
    (state, root): (&Path, &Path),
    doctor: &DoctorRuns,
) -> Settings {
    let [[reads, writes], [owner_reads, owner_writes]] = rates(command, &addresses);
    Settings {
        addresses,
        hosts: command.allow_host.clone(),
        origins: command.allow_origin.clone(),
        tokens: tokens::path(state),
        needs_token: !command.no_token,
        examine: doctor.examine(root),
        dialect: context.config.mcp.dialect.clone(),
        tls: command.tls_cert.clone().zip(command.tls_key.clone()),
        reads,
        writes,
        owner_reads,
        owner_writes,
        drain: Duration::ZERO,
        mcp: crate::mcp::streamable,
    }
}

/// Returns the rates of reads and of writes: of every client, and of the store's owner.
fn rates(command: &Serve, addresses: &[Address]) -> [[Rate; 2]; 2] {
    let rate = |a_second: u32, burst: u32| Rate {
        a_second,
        // Who raises the one means the other, too.
        burst: burst.max(a_second),
    };
    let rates = |usual_reads: u32, usual_writes: u32| {
        [
            rate(
                command.reads_per_second.unwrap_or(usual_reads),
                READS_AT_ONCE,
            ),
            rate(
                command.writes_per_second.unwrap_or(usual_writes),
                WRITES_AT_ONCE,
            ),
        ]
    };
    // The owner could as well write files, where nobody but this machine reaches the server. Behind
    // a further name there may be a proxy, and behind that anybody.
    let is_private = addresses.iter().all(Address::is_local) && command.allow_host.is_empty();
    let of_everybody = rates(READS_A_SECOND, WRITES_A_SECOND);
    match is_private {
        true => [of_everybody, rates(0, 0)],
        false => [of_everybody, of_everybody],
    }
}

/// Takes the lock that is held while the note stands by which `mcp --connect` finds this server, so
/// that no client shows its token to a program that listens there later.
fn begin_note(note: &Path) -> Option<Lock> {
    match Lock::try_take(&crate::http::lock_of(note)) {
        Ok(Some(lock)) => Some(lock),
        Ok(None) => {
            tracing::info!("another server of this store is the one that is noted");
            None
        }
        Err(error) => {
            tracing::warn!("cannot note where this server listens: {error}");
            None
        }
    }
}

/// Returns the addresses to listen at, if that is safe.
pub(super) fn addresses(command: &Serve) -> Result<Vec<Address>, Failure> {
    let mut addresses = command.listen.clone();
    if addresses.is_empty() && command.socket.is_none() {
        addresses.push(Address::Network((Ipv4Addr::LOCALHOST, PORT).into()));
        let newer: SocketAddr = (Ipv6Addr::LOCALHOST, PORT).into();
        // Many machines have none.
        let is_there = TcpListener::bind(SocketAddr::from((Ipv6Addr::LOCALHOST, 0))).is_ok();
        addresses.extend(is_there.then_some(Address::Network(newer)));
    }
    addresses.extend(command.socket.clone().map(Address::Socket));
    let far = addresses.iter().find(|address| !address.is_local());
    match far {
        Some(far) if command.tls_cert.is_none() && !command.insecure => {
            let what = format!(
                "{far} can be reached from other machines, and nothing is secret on the way"
            );
            Err(Failure::new(what).hint(
                "Give --tls-cert FILE --tls-key FILE, or --insecure if a proxy before it has TLS.",
            ))
        }
        _ => Ok(addresses),
    }
}

/// Says where it listens, on standard error: standard output is for answers.
fn tell(context: &mut Context, command: &Serve, engine: &Engine, serving: &Serving) {
    let store = engine.live.root().display();
    let names = serving.names.join(" and ");
    let output = &context.output;
    output.note(format!("serving {store} at {names}"));
    output.note(match command.no_token {
        true => "no token is asked for: any program on this machine may read and write",
        false => {
            "MCP at /mcp, REST at /api/v1; the header that shows the token: memdir token header"
        }
    });
    // In no log of a service: whoever reads it could come in.
    match std::io::stderr().is_terminal() {
        true => match page::address_of(engine, serving.names.iter(), Rights::ReadWrite, None) {
            Ok(address) => output.note(format!("the page: {address} (valid once)")),
            Err(failure) => output.note(format!("the page cannot be opened: {}", failure.what)),
        },
        false => output.note("the page: memdir open"),
    }
}

/// Returns the failure of a command that this program was built without.
#[cfg(not(feature = "team"))]
pub fn without_team() -> Failure {
    Failure::new("this program was built without the feature `team`")
        .hint("Build it with `cargo install --path . --features team`.")
}

pub(super) fn failure(error: HttpError) -> Failure {
    let failure = Failure::new("cannot serve over HTTP");
    let hint = match &error {
        HttpError::Listen(_, cause) if cause.kind() == std::io::ErrorKind::AddrInUse => {
            Some("Another server listens there: end it, or give another one by --listen HOST:PORT.")
        }
        _ => None,
    };
    let failure = failure.because(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Shows and changes the tokens of the store.
pub fn token(context: &mut Context, command: &Command) -> Result<Outcome, Failure> {
    let engine = context.engine()?;
    let path = tokens::path(engine.live.state());
    match command.what.as_ref().unwrap_or(&TokenCommand::List) {
        TokenCommand::List => list(context, &path),
        TokenCommand::Show { name } => show(context, &named(&path, name)?),
        TokenCommand::Header { name } => {
            let token = named(&path, name)?;
            let value = format!("Bearer {}", token.secret);
            let output = &mut context.output;
            match output.json {
                true => output.json(&json!({"Authorization": value}))?,
                false => output.line(format!("Authorization: {value}"))?,
            }
            Ok(Outcome::Done)
        }
        TokenCommand::New { name, read_only } => {
            let rights = match read_only {
                true => Rights::ReadOnly,
                false => Rights::ReadWrite,
            };
            let token = tokens::add(&path, name, rights).map_err(failed)?;
            show(context, &token)
        }
        TokenCommand::Rotate { name } => {
            let token = tokens::rotate(&path, name).map_err(failed)?;
            show(context, &token)
        }
        TokenCommand::Remove { name } => {
            tokens::remove(&path, name).map_err(failed)?;
            Ok(Outcome::Done)
        }
    }
}

/// The token called `name`; the first one is made if there is none, as by the first start of a server.
fn named(path: &Path, name: &str) -> Result<Token, Failure> {
    if name == tokens::FIRST {
        tokens::first(path).map_err(failed)?;
    }
    let known = tokens::read(path).map_err(failed)?;
    let found = known.into_iter().find(|token| token.name == *name);
    found.ok_or_else(|| failed(TokenError::Missing(name.to_owned())))
}

fn list(context: &mut Context, path: &Path) -> Result<Outcome, Failure> {
    let known = tokens::read(path).map_err(failed)?;
    let output = &mut context.output;
    if output.json {
        let tokens = known.iter();
        let tokens = tokens.map(|one| json!({"name": one.name, "rights": one.rights.as_str()}));
        let tokens: Vec<_> = tokens.collect();
        output.json(&json!({"file": path.display().to_string(), "tokens": tokens}))?;
    } else {
        for token in &known {
            output.line(format!("{:12}  {}", token.rights.as_str(), token.name))?;
        }
    }
    match known.is_empty() {
        true => {
            output.note("there are no tokens yet: `memdir serve` makes one, and so does `memdir token show`");
            Ok(Outcome::Nothing)
        }
        false => Ok(Outcome::Done),
    }
}

fn show(context: &mut Context, token: &Token) -> Result<Outcome, Failure> {
    let output = &mut context.output;
    match output.json {
        true => output.json(&json!({
            "name": token.name,
            "rights": token.rights.as_str(),
            "token": token.secret,
        }))?,
        false => output.line(&token.secret)?,
    }
    Ok(Outcome::Done)
}

fn failed(error: TokenError) -> Failure {
    Failure::new("cannot do that with the tokens").because(error)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::args::{Args, Command as Any};

    /// Calls a second, 0 for any number: reads and writes of everybody, then of the owner.
    #[track_caller]
    fn check(arguments: &[&str], expected: [[u32; 2]; 2]) {
        let words = ["memdir", "serve"].iter().chain(arguments);
        let Some(Any::Serve(command)) = Args::parse_from(words).command else {
            panic!("it is another command");
        };
        let addresses = addresses(&command).unwrap();
        let rates = rates(&command, &addresses).map(|rates| rates.map(|rate| rate.a_second));
        assert_eq!(rates, expected);
    }

    #[test]
    fn the_owner_has_no_rate_where_only_this_machine_reaches_the_server() {
        let spared = [[50, 10], [0, 0]];
        check(&[], spared);
        check(&["--no-token", "--listen", "127.0.0.1:7000"], spared);
        check(&["--socket", "/tmp/memdir.sock"], spared);
        check(&["--writes-per-second", "3"], [[50, 3], [0, 3]]);
        let everybody = [[50, 10], [50, 10]];
        check(&["--allow-host", "notes.example"], everybody);
        check(&["--listen", "0.0.0.0:7000", "--insecure"], everybody);
    }
}
